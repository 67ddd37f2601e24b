// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was seen lately: requests that were handled, neighbours that are blacklisted.

use alloc::collections::BTreeMap;
use hoplab_base::Instant;

/// Keys, each until its time. When it is full, the key that would leave first makes room.
#[derive(Clone, Debug)]
pub struct Recent<K> {
    until: BTreeMap<K, Instant>,
    by_time: BTreeMap<(Instant, K), ()>,
    most: usize,
}

impl<K: Ord + Copy> Recent<K> {
    /// With room for `most` keys, at least one.
    pub fn new(most: usize) -> Self {
        Recent {
            until: BTreeMap::new(),
            by_time: BTreeMap::new(),
            most: most.max(1),
        }
    }

    pub fn contains(&self, now: Instant, key: &K) -> bool {
        self.until.get(key).is_some_and(|until| *until > now)
    }

    /// Keeps `key` until `until`. True if it was not there.
    pub fn insert(&mut self, now: Instant, key: K, until: Instant) -> bool {
        while let Some((&first, ())) = self.by_time.first_key_value() {
            let full = self.until.len() >= self.most && !self.until.contains_key(&key);
            if first.0 > now && !full {
                break;
            }
            self.by_time.remove(&first);
            self.until.remove(&first.1);
        }
        let old = self.until.insert(key, until);
        if let Some(old) = old {
            self.by_time.remove(&(old, key));
        }
        self.by_time.insert((until, key), ());
        old.is_none()
    }

    pub fn remove(&mut self, key: &K) {
        if let Some(until) = self.until.remove(key) {
            self.by_time.remove(&(until, *key));
        }
    }

    pub fn len(&self) -> usize {
        self.until.len()
    }

    pub fn is_empty(&self) -> bool {
        self.until.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_leave_at_their_time_and_the_first_makes_room() {
        let mut recent = Recent::new(2);
        assert!(recent.insert(Instant(0), 'a', Instant(10)));
        assert!(!recent.insert(Instant(1), 'a', Instant(30)));
        assert!(recent.contains(Instant(29), &'a'));
        assert!(!recent.contains(Instant(30), &'a'));
        assert!(recent.insert(Instant(2), 'b', Instant(20)));
        assert!(recent.insert(Instant(3), 'c', Instant(40)));
        assert!(!recent.contains(Instant(3), &'b'));
        assert!(recent.contains(Instant(3), &'a') && recent.contains(Instant(3), &'c'));
        assert!(recent.insert(Instant(30), 'd', Instant(50)));
        assert_eq!(recent.len(), 2);
        recent.remove(&'c');
        assert!(!recent.contains(Instant(30), &'c') && recent.len() == 1);
    }
}
