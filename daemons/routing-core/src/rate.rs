// SPDX-License-Identifier: Apache-2.0 OR MIT
//! At most so many messages in any second.

use alloc::collections::VecDeque;
use hoplab_base::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// The times of the latest messages.
#[derive(Clone, Debug)]
pub struct RateLimit {
    most: usize,
    sent: VecDeque<Instant>,
}

impl RateLimit {
    /// At most `most` in any second.
    pub fn per_second(most: u32) -> Self {
        RateLimit {
            most: most as usize,
            sent: VecDeque::new(),
        }
    }

    /// Whether one more may go now. If so, it counts as sent.
    pub fn allows(&mut self, now: Instant) -> bool {
        self.forget(now);
        let allowed = self.sent.len() < self.most;
        if allowed {
            self.sent.push_back(now);
        }
        allowed
    }

    /// When the next one may go, at the earliest; [`Instant::MAX`] where none ever may.
    pub fn next(&mut self, now: Instant) -> Instant {
        self.forget(now);
        match self.sent.front() {
            _ if self.most == 0 => Instant::MAX,
            Some(first) if self.sent.len() >= self.most => *first + SECOND,
            _ => now,
        }
    }

    fn forget(&mut self, now: Instant) {
        while self.sent.front().is_some_and(|at| *at + SECOND <= now) {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_no_more_than_the_limit() {
        let mut limit = RateLimit::per_second(2);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert!(limit.allows(at(0)));
        assert!(limit.allows(at(400)));
        assert!(!limit.allows(at(999)));
        assert_eq!(limit.next(at(999)), at(1000));
        assert!(limit.allows(at(1000)));
        assert!(!limit.allows(at(1399)));
        assert!(limit.allows(at(1400)));
        assert_eq!(RateLimit::per_second(0).next(at(0)), Instant::MAX);
    }
}
