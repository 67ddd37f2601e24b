// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was seen lately: requests that were handled, neighbours that are blacklisted.

use crate::expiring::Expiring;
use hoplab_base::Instant;

/// Keys, each until its time. When it is full, the key that would leave first makes room.
#[derive(Clone, Debug)]
pub struct Recent<K>(Expiring<K, ()>);

impl<K: Ord + Copy> Recent<K> {
    /// With room for `most` keys, at least one.
    pub fn new(most: usize) -> Self {
        Recent(Expiring::new(most))
    }

    pub fn contains(&self, now: Instant, key: &K) -> bool {
        self.0.get(now, key).is_some()
    }

    /// Keeps `key` until `until`. True if it was not there.
    pub fn insert(&mut self, now: Instant, key: K, until: Instant) -> bool {
        let new = self.0.get(now, &key).is_none();
        self.0.insert(now, key, (), until);
        new
    }

    pub fn remove(&mut self, key: &K) {
        self.0.remove(key);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_until_it_is_there_and_after_its_time() {
        let mut recent = Recent::new(2);
        assert!(recent.insert(Instant(0), 'a', Instant(10)));
        assert!(!recent.insert(Instant(1), 'a', Instant(30)));
        assert!(recent.contains(Instant(29), &'a') && !recent.contains(Instant(30), &'a'));
        assert!(recent.insert(Instant(30), 'a', Instant(50)));
        recent.remove(&'a');
        assert!(recent.is_empty());
    }
}
