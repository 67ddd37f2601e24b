// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LACKs to be sent: what came from each custodian, by its transmission numbers.

use crate::config::Tuning;
use crate::stats::Ends;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_wire::ipv4::Header as Ipv4Header;
use hoplab_wire::split::{Lack, Stamp, BITMAP_BITS, PROTOCOL_LACK};

/// Custodians of one connection that are remembered: more than one after a change of route.
const CUSTODIANS: usize = 8;
const TTL: u8 = 64;

/// Numbers of one custodian that have been taken.
#[derive(Clone, Copy)]
struct Tracker {
    cumulative: u32,
    run: u16,
    bitmap: u32,
}

impl Tracker {
    fn new(number: u32) -> Self {
        Tracker {
            cumulative: number,
            run: 1,
            bitmap: 0,
        }
    }

    fn add(&mut self, number: u32) {
        let ahead = number.wrapping_sub(self.cumulative);
        match ahead {
            // It came late or again.
            0 | 0x8000_0000.. => {
                if self.cumulative.wrapping_sub(number) >= u32::from(self.run) {
                    *self = Tracker::new(number);
                }
            }
            1..=BITMAP_BITS => self.set(ahead),
            _ => self.move_to(number),
        }
    }

    fn set(&mut self, ahead: u32) {
        self.bitmap |= 1 << (BITMAP_BITS - ahead);
        self.absorb();
    }

    /// Takes the numbers that follow the run into it.
    fn absorb(&mut self) {
        while self.bitmap & 1 << (BITMAP_BITS - 1) != 0 {
            self.cumulative = self.cumulative.wrapping_add(1);
            self.run = self.run.saturating_add(1);
            self.bitmap <<= 1;
        }
    }

    /// Begins the run with the first known number from which `number` fits the bitmap. Holes before
    /// it are not filled any more: retransmissions have new numbers.
    fn move_to(&mut self, number: u32) {
        while self.bitmap != 0 {
            let next = self.bitmap.leading_zeros() + 1;
            self.cumulative = self.cumulative.wrapping_add(next);
            self.run = 1;
            self.bitmap = self.bitmap.checked_shl(next).unwrap_or(0);
            self.absorb();
            let ahead = number.wrapping_sub(self.cumulative);
            if ahead <= BITMAP_BITS {
                return self.set(ahead);
            }
        }
        *self = Tracker::new(number);
    }

    /// Whether `number` follows what is known without a gap.
    fn is_next(&self, number: u32) -> bool {
        self.bitmap == 0 && number == self.cumulative.wrapping_add(1)
    }
}

struct Answer {
    custodian: Ipv4Addr,
    tracker: Tracker,
    /// Taken and not yet reported.
    pending: usize,
    due: Option<Instant>,
}

/// What the custodians of a connection must get to know.
#[derive(Default)]
pub(crate) struct Answers(Vec<Answer>);

impl Answers {
    /// A stamped segment was taken, or had been (`again`): then its custodian does not know. The LACK
    /// to send now, if it does not wait for others.
    pub fn took(
        &mut self,
        now: Instant,
        stamp: &Stamp,
        again: bool,
        tuning: &Tuning,
    ) -> Option<Told> {
        let custodian = stamp.custodian;
        let at = self.0.iter().position(|a| a.custodian == custodian);
        let mut answer = match at {
            Some(at) => self.0.remove(at),
            None => Answer {
                custodian,
                tracker: Tracker::new(stamp.number),
                pending: 0,
                due: None,
            },
        };
        let in_order = at.is_none() || answer.tracker.is_next(stamp.number);
        answer.tracker.add(stamp.number);
        answer.pending += 1;
        let wanted = again || stamp.custodian_waits || !in_order;
        let at_once = wanted || answer.pending >= tuning.lack_every;
        let told = at_once.then(|| answer.tell());
        if !at_once {
            answer.due = answer.due.or(Some(now + tuning.lack_delay));
        }
        if self.0.len() >= CUSTODIANS {
            self.0.remove(0);
        }
        self.0.push(answer);
        told
    }

    pub fn due(&self) -> Option<Instant> {
        self.0.iter().filter_map(|a| a.due).min()
    }

    pub fn take_due(&mut self, now: Instant) -> Vec<Told> {
        let due = |a: &&mut Answer| a.due.is_some_and(|at| at <= now);
        self.0.iter_mut().filter(due).map(Answer::tell).collect()
    }
}

impl Answer {
    fn tell(&mut self) -> Told {
        self.pending = 0;
        self.due = None;
        Told {
            custodian: self.custodian,
            tracker: self.tracker,
        }
    }
}

/// What one custodian gets to know.
pub(crate) struct Told {
    custodian: Ipv4Addr,
    tracker: Tracker,
}

impl Told {
    /// The LACK as a packet of the station `own`.
    pub fn packet(&self, own: Ipv4Addr, ends: &Ends) -> Vec<u8> {
        let lack = Lack {
            source: ends.source,
            destination: ends.destination,
            source_port: ends.source_port,
            destination_port: ends.destination_port,
            cumulative: self.tracker.cumulative,
            run: self.tracker.run,
            bitmap: self.tracker.bitmap,
        };
        let mut body = Vec::new();
        lack.emit(&mut body);
        let mut packet = Vec::new();
        Ipv4Header::new(own, self.custodian, PROTOCOL_LACK, TTL).emit(body.len(), &mut packet);
        packet.extend_from_slice(&body);
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lack(t: &Tracker) -> Lack {
        Lack {
            source: Ipv4Addr::LOCALHOST,
            destination: Ipv4Addr::LOCALHOST,
            source_port: 1,
            destination_port: 2,
            cumulative: t.cumulative,
            run: t.run,
            bitmap: t.bitmap,
        }
    }

    /// Whatever the order, the latest number is reported, and nothing that did not come. Of what
    /// came lately nothing is left out.
    #[test]
    fn a_tracker_tells_the_truth() {
        let mut random = hoplab_base::Stream::new(1, "tracker");
        for round in 0..2000u32 {
            let start = if round % 2 == 0 { u32::MAX - 40 } else { 1000 };
            let mut t = Tracker::new(start);
            let mut came = alloc::vec![start];
            let mut next = start;
            for _ in 0..120 {
                next = match random.bits() % 8 {
                    0 => next.wrapping_add(2),
                    1 => next.wrapping_add((random.bits() % 60) as u32),
                    2 => came[(random.bits() % came.len() as u64) as usize],
                    _ => next.wrapping_add(1),
                };
                t.add(next);
                came.push(next);
                let lack = lack(&t);
                assert!(lack.covers(next));
                for ahead in 0..300u32 {
                    let number = start.wrapping_add(ahead);
                    assert!(!lack.covers(number) || came.contains(&number));
                }
            }
        }
    }

    #[test]
    fn a_gap_is_in_the_bitmap_until_it_is_filled() {
        let mut t = Tracker::new(10);
        for number in [11, 13, 14] {
            t.add(number);
        }
        assert_eq!((t.cumulative, t.run, t.bitmap), (11, 2, 0x6000_0000));
        t.add(12);
        assert_eq!((t.cumulative, t.run, t.bitmap), (14, 5, 0));
    }
}
