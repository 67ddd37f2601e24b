// SPDX-License-Identifier: Apache-2.0
//! Which radio each address is by which hwsim knows one.

use std::collections::BTreeMap;

use hoplab_medium_core::RadioId;
use hoplab_wire::Mac;

/// The bit that tells hwsim's address of a radio that was made without one from the radio's own.
const UNNAMED: u8 = 0x40;

/// What is known of the addresses of radios.
pub struct Addresses {
    /// What the configuration calls each radio, by number.
    given: Vec<Mac>,
    /// Radio of each of them.
    radios: BTreeMap<Mac, RadioId>,
    /// See [`Config::others_radios`](crate::config::Config).
    others_radios: bool,
    /// Radio of each address that hwsim knows it by.
    senders: BTreeMap<Mac, RadioId>,
    /// What hwsim calls each radio, as far as is known.
    called: Vec<Mac>,
    known: Vec<Known>,
}

/// How it is known what hwsim calls a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Not,
    /// It sent under it, or was reached there.
    Taken,
    /// Its frames say so.
    Told,
    /// It has none of its own: it is an interface more of another radio.
    Part,
}

impl Addresses {
    pub fn new(given: &[Mac], others_radios: bool) -> Self {
        let radios: BTreeMap<Mac, RadioId> = {
            let ids = (0..).map(RadioId::new);
            given.iter().copied().zip(ids).collect()
        };
        Self {
            given: given.to_vec(),
            senders: if others_radios {
                BTreeMap::new()
            } else {
                radios.clone()
            },
            radios,
            others_radios,
            called: given.to_vec(),
            known: vec![Known::Not; given.len()],
        }
    }

    /// One radio more, with the next number.
    pub fn add(&mut self, given: Mac) {
        let radio = RadioId::new(self.given.len());
        self.given.push(given);
        self.radios.insert(given, radio);
        if !self.others_radios {
            self.senders.insert(given, radio);
        }
        self.called.push(given);
        self.known.push(Known::Not);
    }

    /// What hwsim calls this radio, or may call it; none for one that is part of another.
    pub fn of(&self, radio: RadioId) -> Option<Mac> {
        (self.known[radio.index()] != Known::Part).then_some(self.called[radio.index()])
    }

    /// Which radio sent a frame that names `transmitter`, as hwsim's `address`. That is its own, or
    /// for a radio that was made without a given address, its own with the bit 0x40 set. A radio
    /// whose address was changed since says so in its frames. That goes before what was known until
    /// then: for hwsim the new address may be that of another radio.
    pub fn sender(&mut self, address: Mac, transmitter: Option<Mac>) -> Option<RadioId> {
        let named = transmitter.filter(|_| self.others_radios);
        let named = named.and_then(|named| self.radios.get(&named).copied());
        let learnt = self.senders.get(&address).copied();
        let radio = match (named, learnt) {
            (Some(radio), Some(other))
                if radio != other && self.known[other.index()] == Known::Told =>
            {
                self.known[radio.index()] = Known::Part;
                return Some(other);
            }
            (Some(radio), _) => {
                if learnt != named || self.known[radio.index()] != Known::Told {
                    self.learn(radio, address, Known::Told);
                }
                return Some(radio);
            }
            (None, Some(radio)) => radio,
            (None, None) => {
                let mut plain = address;
                plain.0[0] &= !UNNAMED;
                let radio = self.radios.get(&plain).copied();
                radio.filter(|radio| {
                    matches!(self.known[radio.index()], Known::Not | Known::Taken)
                })?
            }
        };
        if learnt.is_none() || self.known[radio.index()] == Known::Not {
            self.learn(radio, address, Known::Taken);
        }
        Some(radio)
    }

    /// Hwsim knows no radio at the address of a delivery, or that radio is down. Returns which
    /// radio it was for, and the other address that it may have.
    pub fn other(&self, refused: Mac) -> Option<(RadioId, Mac)> {
        let at = self.called.iter().position(|called| *called == refused)?;
        let radio = RadioId::new(at);
        let other = unnamed(refused);
        let free = self.known[radio.index()] == Known::Not && !self.senders.contains_key(&other);
        free.then_some((radio, other))
    }

    /// A delivery to the [other](Self::other) address of a radio was accepted.
    pub fn reached(&mut self, radio: RadioId) {
        let Some(called) = self.called.get(radio.index()) else {
            return;
        };
        if let Some((radio, other)) = self.other(*called) {
            self.learn(radio, other, Known::Taken);
        }
    }

    /// What was taken to be so until now, of this radio and this address, was wrong.
    fn learn(&mut self, radio: RadioId, address: Mac, how: Known) {
        if self.senders.get(&self.called[radio.index()]) == Some(&radio) {
            self.senders.remove(&self.called[radio.index()]);
        }
        let before = self.senders.insert(address, radio);
        if let Some(before) = before.filter(|before| *before != radio) {
            self.called[before.index()] = self.given[before.index()];
            self.known[before.index()] = Known::Not;
        }
        self.called[radio.index()] = address;
        self.known[radio.index()] = how;
    }
}

fn unnamed(mut address: Mac) -> Mac {
    address.0[0] |= UNNAMED;
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Mac = Mac([2, 0, 0, 0, 1, 0]);
    const B: Mac = Mac([2, 0, 0, 0, 2, 0]);
    const OWN: Mac = Mac([0, 0, 0, 0, 0, 1]);

    fn radio(number: usize) -> RadioId {
        RadioId::new(number)
    }

    #[test]
    fn a_radio_made_without_an_address_is_found_by_its_own() {
        let mut known = Addresses::new(&[A, B], false);
        assert_eq!(known.sender(unnamed(B), Some(A)), Some(radio(1)));
        assert_eq!(known.of(radio(1)), Some(unnamed(B)));
        assert_eq!(known.sender(A, None), Some(radio(0)));
        assert_eq!(known.of(radio(0)), Some(A));
        assert_eq!(known.sender(OWN, Some(A)), None);
        assert_eq!(known.other(A), None);
    }

    #[test]
    fn one_that_has_not_sent_is_tried_at_its_other_address() {
        for others_radios in [false, true] {
            let mut known = Addresses::new(&[A, B], others_radios);
            assert_eq!(known.other(B), Some((radio(1), unnamed(B))));
            known.reached(radio(1));
            assert_eq!(known.of(radio(1)), Some(unnamed(B)));
            assert_eq!(known.other(unnamed(B)), None);
        }
    }

    /// Three radios without given addresses. The first has one of its own now, and each of the
    /// others has the address that the one before was made with.
    fn shifted() -> Addresses {
        Addresses::new(&[OWN, A, B], true)
    }

    #[test]
    fn what_frames_say_of_their_sender_goes_before_what_was_taken_to_be_so() {
        let mut known = shifted();
        // Hwsim's radio of this address is the first, and accepts what the second should have.
        assert_eq!(known.other(A), Some((radio(1), unnamed(A))));
        known.reached(radio(1));
        assert_eq!(known.of(radio(1)), Some(unnamed(A)));
        assert_eq!(known.sender(unnamed(A), Some(OWN)), Some(radio(0)));
        assert_eq!(
            (known.of(radio(0)), known.of(radio(1))),
            (Some(unnamed(A)), Some(A))
        );
        assert_eq!(known.other(A), None, "is the first radio's");
        assert_eq!(known.sender(unnamed(B), Some(A)), Some(radio(1)));
        assert_eq!(
            (known.of(radio(0)), known.of(radio(1))),
            (Some(unnamed(A)), Some(unnamed(B)))
        );
        assert_eq!(known.sender(unnamed(A), Some(OWN)), Some(radio(0)));
    }

    #[test]
    fn a_frame_with_an_unknown_address_is_whose_its_radio_last_was() {
        let mut known = shifted();
        assert_eq!(known.sender(unnamed(B), Some(A)), Some(radio(1)));
        assert_eq!(known.sender(unnamed(B), Some(Mac([6; 6]))), Some(radio(1)));
        assert_eq!(known.sender(unnamed(B), None), Some(radio(1)));
        // The radio that was made with that address is known to be another one.
        assert_eq!(known.sender(unnamed(A), None), None);
    }

    #[test]
    fn an_interface_more_is_part_of_the_radio_that_it_sends_with() {
        let mut known = shifted();
        assert_eq!(known.sender(unnamed(B), Some(B)), Some(radio(2)));
        assert_eq!(known.sender(unnamed(B), Some(A)), Some(radio(2)));
        assert_eq!(known.sender(unnamed(B), Some(B)), Some(radio(2)));
        assert_eq!(
            (known.of(radio(1)), known.of(radio(2))),
            (None, Some(unnamed(B)))
        );
        assert_eq!(known.other(A), None);
        // It has become one of its own.
        assert_eq!(known.sender(unnamed(OWN), Some(A)), Some(radio(1)));
        assert_eq!(known.of(radio(1)), Some(unnamed(OWN)));
    }
}
