// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sequence numbers of block ack agreements, as hosts have them: the medium's own places grow as the
//! host's numbers do, from another beginning.

use std::collections::BTreeMap;

use hoplab_medium_core::{AirKind, Aired, BlockAck, RadioId, To};
use hoplab_wire::ieee80211::{Bitmap, Control, Together};
use hoplab_wire::Mac;

/// Sequence numbers have 12 bits (IEEE 802.11-2020 9.2.4.4.2).
const NUMBERS: u64 = 1 << 12;
/// Octets of a BlockAck but its bitmap, FCS included.
pub const BLOCK_ACK_BYTES: usize = 24;

/// Of the longest bitmap.
const MOST_WORDS: usize = 16;

/// Sender and receiver of the frames, and their TID.
type Key = (RadioId, RadioId, u8);

#[derive(Default)]
pub struct Sequences {
    /// How far the host's number is ahead of the medium's place, by agreement.
    ahead: BTreeMap<Key, u64>,
    /// The first frame of which a BlockAck tells next, by agreement and link: that of the A-MPDU, or
    /// the one that a request names.
    first: BTreeMap<(Key, u8), u64>,
}

impl Sequences {
    /// A frame of a host, with this number, was on the air.
    pub fn learn(&mut self, aired: &Aired, number: u16) {
        if let (Some(at), To::Radio(to)) = (aired.agreement, aired.to) {
            let ahead = u64::from(number).wrapping_sub(at.sequence) % NUMBERS;
            let key = (aired.from, to, at.tid);
            self.ahead.insert(key, ahead);
            if aired.place.is_none_or(|place| place.number == 0) {
                self.first.insert((key, aired.link), at.sequence);
            }
        }
    }

    /// The frame that is about an agreement: a request for a BlockAck, or a BlockAck. None for
    /// another, and where no frame of the agreement was on the air yet.
    pub fn control(&mut self, aired: &Aired, receiver: Mac, transmitter: Mac) -> Option<Control> {
        let (at, to) = match (aired.agreement, aired.to) {
            (Some(at), To::Radio(to)) => (at, to),
            _ => return None,
        };
        let ahead = &self.ahead;
        let together = |key: Key, place: u64| {
            let ahead = ahead.get(&key)?;
            Some(Together {
                receiver,
                transmitter,
                tid: at.tid,
                sequence: (place.wrapping_add(*ahead) % NUMBERS) as u16,
            })
        };
        match (aired.kind, aired.block_ack) {
            (AirKind::BlockAckRequest, _) => {
                let key = (aired.from, to, at.tid);
                let of = together(key, at.sequence)?;
                self.first.insert((key, aired.link), at.sequence);
                Some(Control::BlockAckRequest(of))
            }
            (AirKind::BlockAck, Some(says)) => {
                let bytes = aired.bytes.saturating_sub(BLOCK_ACK_BYTES);
                let key = (to, aired.from, at.tid);
                let first = self.first.get(&(key, aired.link));
                let start = first.map_or(says.start(), |first| says.start().min(*first));
                let bitmap = Bitmap::new(&covered(&says, start), bytes)?;
                let of = together(key, start)?;
                Some(Control::BlockAck(of, bitmap))
            }
            _ => None,
        }
    }
}

/// What a BlockAck says of the frames from `start` on. By itself it tells only of those behind the
/// first that is missing, as nothing before matters to its receiver.
fn covered(says: &BlockAck, start: u64) -> [u64; MOST_WORDS] {
    core::array::from_fn(|word| {
        let covers = |bit: &u64| says.covers(start + 64 * word as u64 + bit);
        (0..64).filter(covers).fold(0, |bits, bit| bits | 1 << bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoplab_medium_core::Agreed;

    #[test]
    fn numbers_wrap_where_the_host_s_do() {
        let [a, b] = [0, 1].map(RadioId::new);
        let mut sequences = Sequences::default();
        sequences.ahead.insert((a, b, 0), 4094);
        let agreement = Some(Agreed {
            tid: 0,
            sequence: 3,
        });
        let request = aired(AirKind::BlockAckRequest, agreement, a, b);
        let found = sequences.control(&request, Mac([1; 6]), Mac([2; 6]));
        let Some(Control::BlockAckRequest(of)) = found else {
            panic!("{found:?}");
        };
        assert_eq!((of.sequence, of.tid), (1, 0));
        // Of the other way nothing is known.
        let back = aired(AirKind::BlockAckRequest, agreement, b, a);
        assert_eq!(sequences.control(&back, Mac([1; 6]), Mac([2; 6])), None);
    }

    #[test]
    fn a_number_is_learnt_from_the_host_s_frame() {
        let [a, b] = [0, 1].map(RadioId::new);
        let mut sequences = Sequences::default();
        let agreement = Some(Agreed {
            tid: 5,
            sequence: 9,
        });
        sequences.learn(&aired(AirKind::Data, agreement, a, b), 7);
        assert_eq!(sequences.ahead.get(&(a, b, 5)), Some(&(NUMBERS - 2)));
    }

    fn aired(kind: AirKind, agreement: Option<Agreed>, from: RadioId, to: RadioId) -> Aired {
        use hoplab_medium_core::{Duration, Fate, Instant, Rate};
        Aired {
            at: Instant::ZERO,
            until: Instant::ZERO,
            from,
            link: 0,
            to: To::Radio(to),
            kind,
            frame: None,
            bytes: 24,
            rate: Rate::DSSS_1,
            attempt: 1,
            nav: Duration::ZERO,
            fate: Fate::Delivered,
            signal_dbm: None,
            function: 0,
            place: None,
            agreement,
            block_ack: None,
            share: None,
            triggered: false,
            asks: None,
            waiting: None,
            sounding: None,
        }
    }
}
