// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One end of a video call: it sends frames, takes those of the other end, and both adapt.
//!
//! The rate follows draft-ietf-rmcat-gcc-02, with a plain threshold in place of its adaptive filter:
//!
//! - Feedback every [`REPORT`] tells the other end's losses, delay and received rate.
//! - More than 10 % lost: the rate falls by half of the lost share (6).
//! - A mean delay of [`OVERUSE`] above the least: 0.85 of what was received (5.5).
//! - Else, below 2 % lost: it grows by 8 % a second (5.5), to 1.5 of what was received at most.
//! - Without feedback for [`SILENCE`] it halves.

use crate::draw::{Draw, Draws};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use hoplab_base::{Duration, Instant};

/// Between frames: 30 a second.
const FRAME: Duration = Duration(33_333_333);
const REPORT: Duration = Duration::from_millis(100);
const OVERUSE: Duration = Duration::from_millis(50);
const SILENCE: Duration = Duration::from_millis(1000);
/// An incomplete frame is given up so long after its sending.
const GIVE_UP: Duration = Duration::from_millis(2000);
/// Frames from one that stands alone to the next, and its size, in those of the mean.
const KEY_EVERY: u32 = 300;
const KEY_SIZE: f64 = 4.0;
/// Frames after it that are smaller for it.
const REPAID_IN: f64 = 30.0;
const LARGEST_PACKET: usize = 1200;
const START_BPS: f64 = 300e3;
const LEAST_BPS: f64 = 100e3;
const LOSSY: f64 = 0.1;
const LOSSLESS: f64 = 0.02;
const BACK_OFF: f64 = 0.85;
const GROWTH_PER_S: f64 = 1.08;
const MOST_OF_RECEIVED: f64 = 1.5;
const NS_PER_S: f64 = 1e9;
/// Frames under way that an end remembers; a hostile peer cannot ask for more.
const MOST_FRAMES: usize = 256;
const MOST_PACKETS: u16 = 4096;

/// Octets of a packet's header: kind, number, index, count, octets of the frame, time of sending.
pub const CALL_HEADER_LEN: usize = 21;
const MEDIA: u8 = 1;
const FEEDBACK: u8 = 2;

/// A frame that has come, or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub number: u64,
    pub sent: Instant,
    pub octets: u64,
    /// When its last packet came, or when it was given up.
    pub at: Instant,
    pub is_whole: bool,
}

/// How one end behaves.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The highest rate, bit/s.
    pub most_bps: f64,
    pub seed: u64,
    /// No frame is sent from then on.
    pub stop: Instant,
}

struct Coming {
    sent: Instant,
    octets: u64,
    left: u16,
    seen: Vec<bool>,
}

/// An end of a call.
///
/// The driver waits until [`next_deadline`](Call::next_deadline) or for a datagram, which it hands to
/// [`handle_datagram`](Call::handle_datagram), calls [`handle_time`](Call::handle_time), and sends
/// what [`poll_datagram`](Call::poll_datagram) returns. [`poll_frame`](Call::poll_frame) returns the
/// other end's frames that have come or are given up. Both ends have one clock.
pub struct Call {
    settings: Settings,
    rate_bps: f64,
    sizes: Draws,
    next_frame: Instant,
    number: u32,
    debt: f64,
    out: VecDeque<Vec<u8>>,
    heard: Instant,
    next_report: Instant,
    coming: BTreeMap<u32, Coming>,
    known: u32,
    rows: VecDeque<Frame>,
    packets: u32,
    highest: u32,
    octets: u64,
    delays_ns: u64,
    least_delay: Option<Duration>,
    sequence: u32,
    reported: u32,
}

impl Call {
    /// The first frame is due at `start`.
    pub fn new(settings: Settings, start: Instant) -> Self {
        Call {
            settings,
            rate_bps: START_BPS.min(settings.most_bps),
            sizes: Draws::new(
                Draw::Uniform {
                    low: 0.75,
                    high: 1.25,
                },
                settings.seed,
                "frames",
            ),
            next_frame: start,
            number: 0,
            debt: 0.0,
            out: VecDeque::new(),
            heard: start,
            next_report: start + REPORT,
            coming: BTreeMap::new(),
            known: 0,
            rows: VecDeque::new(),
            packets: 0,
            highest: 0,
            octets: 0,
            delays_ns: 0,
            least_delay: None,
            sequence: 0,
            reported: 0,
        }
    }

    /// The rate at which it sends, bit/s.
    pub fn rate_bps(&self) -> f64 {
        self.rate_bps
    }

    /// When [`handle_time`](Call::handle_time) is due.
    pub fn next_deadline(&self) -> Instant {
        self.next_frame.min(self.next_report)
    }

    /// Makes what is due by `now`.
    pub fn handle_time(&mut self, now: Instant) {
        while self.next_frame <= now {
            let due = self.next_frame;
            if due < self.settings.stop {
                self.frame(due);
            }
            self.next_frame = due + FRAME;
        }
        if self.next_report <= now {
            self.report(now);
            if now.since(self.heard) >= SILENCE {
                self.heard = now;
                self.set_rate(self.rate_bps / 2.0);
            }
            self.give_up(now);
            self.next_report = now + REPORT;
        }
    }

    /// Takes a payload that came at `now`. One that is none of a call is ignored.
    pub fn handle_datagram(&mut self, now: Instant, payload: &[u8]) {
        match payload.first() {
            Some(&MEDIA) => self.media(now, payload),
            Some(&FEEDBACK) => self.feedback(now, payload),
            _ => {}
        }
    }

    /// The next payload to send.
    pub fn poll_datagram(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    /// The next frame of the other end that has come, or is given up.
    pub fn poll_frame(&mut self) -> Option<Frame> {
        self.rows.pop_front()
    }

    /// Gives up what has not come by `now`, the end.
    pub fn finish(&mut self, now: Instant) {
        while let Some((number, coming)) = self.coming.pop_first() {
            self.lost(number, &coming, now);
        }
    }

    fn frame(&mut self, due: Instant) {
        let mean = self.rate_bps / 8.0 * (FRAME.0 as f64 / NS_PER_S);
        let mut size = mean * self.sizes.number();
        if self.number % KEY_EVERY == 0 {
            self.debt += (KEY_SIZE - 1.0) * mean;
            size *= KEY_SIZE;
        } else {
            let repaid = (self.debt / REPAID_IN).max(mean / REPAID_IN).min(self.debt);
            let repaid = repaid.min(0.5 * size);
            self.debt -= repaid;
            size -= repaid;
        }
        let octets = (size as usize).max(CALL_HEADER_LEN);
        let room = LARGEST_PACKET - CALL_HEADER_LEN;
        let count = octets.div_ceil(room).min(MOST_PACKETS as usize);
        self.number += 1;
        for index in 0..count {
            let part = room.min(octets - index * room);
            let mut payload = vec![0; CALL_HEADER_LEN + part];
            payload[0] = MEDIA;
            payload[1..5].copy_from_slice(&self.number.to_be_bytes());
            payload[5..7].copy_from_slice(&(index as u16).to_be_bytes());
            payload[7..9].copy_from_slice(&(count as u16).to_be_bytes());
            payload[9..13].copy_from_slice(&self.sequence.to_be_bytes());
            payload[13..21].copy_from_slice(&due.0.to_be_bytes());
            self.sequence = self.sequence.wrapping_add(1);
            self.out.push_back(payload);
        }
    }

    fn media(&mut self, now: Instant, payload: &[u8]) {
        if payload.len() < CALL_HEADER_LEN {
            return;
        }
        let number = u32::from_be_bytes(part(payload, 1));
        let index = u16::from_be_bytes(part(payload, 5));
        let count = u16::from_be_bytes(part(payload, 7));
        let sequence = u32::from_be_bytes(part(payload, 9));
        let sent = Instant(u64::from_be_bytes(part(payload, 13)));
        if index >= count || count > MOST_PACKETS || sent > now {
            return;
        }
        let octets = payload.len() as u64;
        let delay = now.since(sent);
        self.packets += 1;
        self.octets += octets;
        self.delays_ns = self.delays_ns.saturating_add(delay.0);
        self.highest = self.highest.max(sequence.wrapping_add(1));
        self.least_delay = Some(self.least_delay.map_or(delay, |least| least.min(delay)));
        if number <= self.known && !self.coming.contains_key(&number) {
            return;
        }
        // What is missing between was lost as a whole, or is late.
        self.known = self.known.max(number);
        let coming = self.coming.entry(number).or_insert_with(|| Coming {
            sent,
            octets: 0,
            left: count,
            seen: vec![false; count.into()],
        });
        if coming.seen.len() != usize::from(count) || coming.seen[usize::from(index)] {
            return;
        }
        coming.seen[usize::from(index)] = true;
        coming.octets += octets;
        coming.left -= 1;
        if coming.left == 0 {
            self.rows.push_back(Frame {
                number: number.into(),
                sent,
                octets: coming.octets,
                at: now,
                is_whole: true,
            });
            self.coming.remove(&number);
        }
        if self.coming.len() > MOST_FRAMES {
            if let Some((number, coming)) = self.coming.pop_first() {
                self.lost(number, &coming, now);
            }
        }
    }

    fn give_up(&mut self, now: Instant) {
        while let Some(entry) = self.coming.first_entry() {
            if now.since(entry.get().sent) < GIVE_UP {
                return;
            }
            let (number, coming) = entry.remove_entry();
            self.lost(number, &coming, now);
        }
    }

    fn lost(&mut self, number: u32, coming: &Coming, now: Instant) {
        self.rows.push_back(Frame {
            number: number.into(),
            sent: coming.sent,
            octets: coming.octets,
            at: now,
            is_whole: false,
        });
    }

    /// Tells the other end what came since the last report. Of silence it tells nothing.
    fn report(&mut self, now: Instant) {
        let expected = self.highest.saturating_sub(self.reported);
        if expected == 0 {
            return;
        }
        let lost = expected.saturating_sub(self.packets);
        let delay = self.delays_ns / u64::from(self.packets.max(1));
        let above = delay.saturating_sub(self.least_delay.map_or(0, |least| least.0));
        let since = now.since(self.next_report) + REPORT;
        let bps = self.octets as f64 * 8.0 * NS_PER_S / since.0 as f64;
        let mut payload = vec![0; CALL_HEADER_LEN];
        payload[0] = FEEDBACK;
        payload[1..5].copy_from_slice(&expected.to_be_bytes());
        payload[5..9].copy_from_slice(&lost.to_be_bytes());
        payload[9..13].copy_from_slice(&((above / 1000).min(u32::MAX.into()) as u32).to_be_bytes());
        payload[13..21].copy_from_slice(&(bps as u64).to_be_bytes());
        self.out.push_back(payload);
        self.reported = self.highest;
        self.packets = 0;
        self.octets = 0;
        self.delays_ns = 0;
    }

    fn feedback(&mut self, now: Instant, payload: &[u8]) {
        if payload.len() < CALL_HEADER_LEN {
            return;
        }
        let expected = u32::from_be_bytes(part(payload, 1));
        let lost = u32::from_be_bytes(part(payload, 5));
        let above = Duration(u64::from(u32::from_be_bytes(part(payload, 9))) * 1000);
        let received = u64::from_be_bytes(part(payload, 13)) as f64;
        if expected == 0 || lost > expected {
            return;
        }
        let share = f64::from(lost) / f64::from(expected);
        let since_s = (now.since(self.heard).0 as f64 / NS_PER_S).min(1.0);
        self.heard = now;
        let rate = if share > LOSSY {
            self.rate_bps * (1.0 - 0.5 * share)
        } else if above > OVERUSE {
            self.rate_bps.min(BACK_OFF * received)
        } else if share < LOSSLESS {
            let grown = self.rate_bps * libm::pow(GROWTH_PER_S, since_s);
            grown.min((MOST_OF_RECEIVED * received).max(self.rate_bps))
        } else {
            self.rate_bps
        };
        self.set_rate(rate);
    }

    fn set_rate(&mut self, bps: f64) {
        self.rate_bps = bps.max(LEAST_BPS).min(self.settings.most_bps);
    }
}

/// So many octets of a payload that is long enough.
fn part<const N: usize>(payload: &[u8], at: usize) -> [u8; N] {
    let mut octets = [0; N];
    octets.copy_from_slice(&payload[at..at + N]);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant(5_000_000_000);
    const STOP: Instant = Instant(65_000_000_000);

    fn end(most_bps: f64) -> Call {
        let settings = Settings {
            most_bps,
            seed: 3,
            stop: STOP,
        };
        Call::new(settings, START)
    }

    /// Two ends over wires with a delay, a rate of the first's wire, and a loss every so many
    /// datagrams there. Returns the frames that the second has, and the first one's rate at the end.
    fn called(most_bps: f64, wire_bps: f64, lose_every: u64) -> (Vec<Frame>, f64) {
        let delay = Duration::from_millis(20);
        let (mut one, mut two) = (end(most_bps), end(most_bps));
        let mut under_way: BTreeMap<(u64, u64), (bool, Vec<u8>)> = BTreeMap::new();
        let (mut number, mut free, mut frames) = (0, START, Vec::new());
        let mut sent = 0;
        let mut now = START;
        while now < STOP {
            one.handle_time(now);
            two.handle_time(now);
            while let Some(payload) = one.poll_datagram() {
                number += 1;
                sent += 1;
                let taken = Duration((payload.len() as f64 * 8.0 / wire_bps * NS_PER_S) as u64);
                free = free.max(now) + taken;
                // A queue of half a second.
                if free.since(now) > Duration::from_millis(500) {
                    free = Instant(free.0 - taken.0);
                } else if lose_every == 0 || sent % lose_every != 0 {
                    under_way.insert(((free + delay).0, number), (true, payload));
                }
            }
            while let Some(payload) = two.poll_datagram() {
                number += 1;
                under_way.insert(((now + delay).0, number), (false, payload));
            }
            frames.extend(core::iter::from_fn(|| two.poll_frame()));
            while one.poll_frame().is_some() {}
            now = one.next_deadline().min(two.next_deadline());
            if let Some(((at, _), _)) = under_way.first_key_value() {
                now = now.min(Instant(*at));
            }
            while let Some(entry) = under_way.first_entry() {
                if entry.key().0 > now.0 {
                    break;
                }
                let (to_second, payload) = entry.remove();
                let to = if to_second { &mut two } else { &mut one };
                to.handle_datagram(now, &payload);
            }
        }
        (frames, one.rate_bps())
    }

    #[test]
    fn a_call_on_a_free_path_reaches_its_rate_and_every_frame_comes() {
        let (frames, rate) = called(2e6, 1e9, 0);
        assert!(rate > 1.99e6, "{rate}");
        assert!((1790..=1801).contains(&frames.len()), "{}", frames.len());
        assert!(frames.iter().all(|frame| frame.is_whole));
        let delays = frames.iter().map(|frame| frame.at.since(frame.sent).0);
        assert!(delays.max() < Some(25_000_000));
        // The last 20 s: 2 Mbit/s, with the keys' weight spread over the frames after them.
        let octets: u64 = frames
            .iter()
            .rev()
            .take(600)
            .map(|frame| frame.octets)
            .sum();
        assert!(
            (octets as f64 * 8.0 / 20.0 / 2e6 - 1.0).abs() < 0.1,
            "{octets}"
        );
    }

    #[test]
    fn a_narrow_path_is_used_and_not_overfilled() {
        let (frames, rate) = called(5e6, 1e6, 0);
        assert!((0.6e6..1.3e6).contains(&rate), "{rate}");
        let whole = frames.iter().filter(|frame| frame.is_whole).count();
        assert!(
            whole * 100 > frames.len() * 95,
            "{whole} of {}",
            frames.len()
        );
    }

    #[test]
    fn losses_of_a_fifth_keep_the_rate_low() {
        let (frames, rate) = called(2e6, 1e9, 5);
        assert!(rate < 0.3e6, "{rate}");
        assert!(frames.iter().any(|frame| !frame.is_whole));
    }

    #[test]
    fn silence_halves_the_rate() {
        let mut alone = end(2e6);
        let mut now = START;
        while now < START + Duration::from_secs(4) {
            now = alone.next_deadline();
            alone.handle_time(now);
            while alone.poll_datagram().is_some() {}
        }
        assert!(alone.rate_bps() < 0.11e6);
    }

    #[test]
    fn hostile_datagrams_change_nothing_without_bounds() {
        let mut victim = end(2e6);
        let mut chance = crate::twister::Twister::new(9);
        for round in 0..20_000_u64 {
            let octets = (chance.unit() * 40.0) as usize;
            let mut payload: Vec<u8> = (0..octets).map(|_| (chance.unit() * 256.0) as u8).collect();
            if let Some(first) = payload.first_mut() {
                *first = 1 + (round % 2) as u8;
            }
            victim.handle_datagram(START + Duration(round * 1_000_000), &payload);
            assert!(victim.coming.len() <= MOST_FRAMES + 1);
            assert!((LEAST_BPS..=2e6).contains(&victim.rate_bps()));
            while victim.poll_frame().is_some() {}
        }
    }
}
