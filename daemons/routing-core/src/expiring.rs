// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a protocol knows for a time, in bounded memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::RangeBounds;
use hoplab_base::Instant;

/// Values by key, each until its time. When it is full, the one that would leave first makes room.
#[derive(Clone, Debug)]
pub struct Expiring<K, V> {
    values: BTreeMap<K, (Instant, V)>,
    by_time: BTreeSet<(Instant, K)>,
    most: usize,
}

impl<K: Ord + Copy, V> Expiring<K, V> {
    /// With room for `most` keys, at least one.
    pub fn new(most: usize) -> Self {
        Expiring {
            values: BTreeMap::new(),
            by_time: BTreeSet::new(),
            most: most.max(1),
        }
    }

    pub fn get(&self, now: Instant, key: &K) -> Option<&V> {
        let found = self.values.get(key).filter(|(until, _)| *until > now);
        found.map(|(_, value)| value)
    }

    /// Keeps a value until `until`. What it was before, even if its time was over.
    pub fn insert(&mut self, now: Instant, key: K, value: V, until: Instant) -> Option<V> {
        while let Some(&(at, first)) = self.by_time.first() {
            let full = self.values.len() >= self.most && !self.values.contains_key(&key);
            if first == key || at > now && !full {
                break;
            }
            self.remove(&first);
        }
        let old = self.remove(&key);
        self.values.insert(key, (until, value));
        self.by_time.insert((until, key));
        old
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (until, value) = self.values.remove(key)?;
        self.by_time.remove(&(until, *key));
        Some(value)
    }

    /// Removes those for which `keep` does not hold; whether there were any.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) -> bool {
        let before = self.values.len();
        let by_time = &mut self.by_time;
        self.values.retain(|key, (until, value)| {
            let kept = keep(key, value);
            if !kept {
                by_time.remove(&(*until, *key));
            }
            kept
        });
        self.values.len() < before
    }

    /// Removes those whose time is over; whether there were any.
    pub fn expire(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(&(at, first)) = self.by_time.first() {
            if at > now {
                break;
            }
            self.remove(&first);
            any = true;
        }
        any
    }

    /// All of a range of keys, in their order, also those whose time is over.
    pub fn range(&self, keys: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        let found = self.values.range(keys);
        found.map(|(key, (_, value))| (key, value))
    }

    pub fn keys(&self) -> Vec<K> {
        self.values.keys().copied().collect()
    }

    /// When the first value leaves.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.by_time.first().map(|(until, _)| *until)
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_leave_at_their_time_and_the_first_makes_room() {
        let mut all = Expiring::new(2);
        assert_eq!(all.insert(Instant(0), 'a', 1, Instant(10)), None);
        assert_eq!(all.insert(Instant(1), 'a', 2, Instant(30)), Some(1));
        assert_eq!(all.get(Instant(29), &'a'), Some(&2));
        assert_eq!(all.get(Instant(30), &'a'), None);
        all.insert(Instant(2), 'b', 3, Instant(20));
        all.insert(Instant(3), 'c', 4, Instant(40));
        assert_eq!(all.keys(), ['a', 'c']);
        assert_eq!(all.next_deadline(), Some(Instant(30)));
        // What is over leaves without a word, and comes back as new.
        all.insert(Instant(30), 'd', 5, Instant(50));
        assert_eq!(all.keys(), ['c', 'd']);
        assert!(!all.expire(Instant(39)) && all.expire(Instant(40)));
        assert!(all.retain(|key, _| *key != 'd') && all.is_empty());
        assert_eq!(all.next_deadline(), None);
    }
}
