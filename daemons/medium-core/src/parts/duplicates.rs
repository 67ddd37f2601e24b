// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A receiver's memory of the last frame from each sender (IEEE 802.11-2020 10.3.2.14).

use alloc::vec::Vec;

use crate::RadioId;

/// Sender, its access function and the number of its last frame, in that order.
#[derive(Default)]
pub struct Duplicates(Vec<((RadioId, u8), u64)>);

impl Duplicates {
    /// Note a frame from this function of a sender; returns whether it is the one that came last, again.
    pub fn repeats(&mut self, sender: (RadioId, u8), number: u64) -> bool {
        match self.0.binary_search_by_key(&sender, |entry| entry.0) {
            Ok(at) => core::mem::replace(&mut self.0[at].1, number) == number,
            Err(at) => {
                self.0.insert(at, (sender, number));
                number == 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_repeats_only_its_own_senders_last() {
        let mut duplicates = Duplicates::default();
        let [a, b] = [7, 3].map(|radio| (RadioId::new(radio), 0));
        assert!(!duplicates.repeats(a, 1));
        assert!(!duplicates.repeats(b, 1));
        assert!(duplicates.repeats(a, 1));
        assert!(!duplicates.repeats(a, 2));
        assert!(duplicates.repeats(b, 1));
    }
}
