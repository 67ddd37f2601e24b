// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sequence numbers of block ack agreements, as hosts have them: the medium's own places grow as the
//! host's numbers do, from another beginning.

use std::collections::BTreeMap;

use hoplab_medium_core::{AirKind, Aired, RadioId, To};
use hoplab_wire::ieee80211::{Bitmap, Control, Together};
use hoplab_wire::Mac;

/// Sequence numbers have 12 bits (IEEE 802.11-2020 9.2.4.4.2).
const NUMBERS: u64 = 1 << 12;
/// Octets of a BlockAck but its bitmap, FCS included.
pub const BLOCK_ACK_BYTES: usize = 24;

/// Sender and receiver of the frames, and their TID.
type Key = (RadioId, RadioId, u8);

/// How far the host's number is ahead of the medium's place, by agreement.
#[derive(Default)]
pub struct Sequences(BTreeMap<Key, u64>);

impl Sequences {
    /// A frame of a host, with this number, was on the air.
    pub fn learn(&mut self, aired: &Aired, number: u16) {
        if let (Some(at), To::Radio(to)) = (aired.agreement, aired.to) {
            let ahead = u64::from(number).wrapping_sub(at.sequence) % NUMBERS;
            self.0.insert((aired.from, to, at.tid), ahead);
        }
    }

    /// The frame that is about an agreement: a request for a BlockAck, or a BlockAck. None for
    /// another, and where no frame of the agreement was on the air yet.
    pub fn control(&self, aired: &Aired, receiver: Mac, transmitter: Mac) -> Option<Control> {
        let (at, to) = match (aired.agreement, aired.to) {
            (Some(at), To::Radio(to)) => (at, to),
            _ => return None,
        };
        let together = |sender, receiver_of, place: u64| {
            let ahead = self.0.get(&(sender, receiver_of, at.tid))?;
            Some(Together {
                receiver,
                transmitter,
                tid: at.tid,
                sequence: (place.wrapping_add(*ahead) % NUMBERS) as u16,
            })
        };
        match (aired.kind, aired.block_ack) {
            (AirKind::BlockAckRequest, _) => {
                let of = together(aired.from, to, at.sequence)?;
                Some(Control::BlockAckRequest(of))
            }
            (AirKind::BlockAck, Some(says)) => {
                let bytes = aired.bytes.saturating_sub(BLOCK_ACK_BYTES);
                let bitmap = Bitmap::new(says.bitmap(), bytes)?;
                let of = together(to, aired.from, says.start())?;
                Some(Control::BlockAck(of, bitmap))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoplab_medium_core::Agreed;

    #[test]
    fn numbers_wrap_where_the_host_s_do() {
        let [a, b] = [0, 1].map(RadioId::new);
        let mut sequences = Sequences::default();
        sequences.0.insert((a, b, 0), 4094);
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
        assert_eq!(sequences.0.get(&(a, b, 5)), Some(&(NUMBERS - 2)));
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
        }
    }
}
