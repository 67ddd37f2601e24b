// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When radios of clients doze (IEEE 802.11-2020 11.2.3), as the firmware of a card decides it.
//!
//! A host announces by a frame's bit that its radio dozes, or is awake. The access point's host keeps
//! frames for one that dozes, and tells of them in its beacons. A dozing radio wakes ahead of a
//! beacon. It goes on dozing after one that tells of nothing for it.

use std::collections::BTreeMap;

use hoplab_medium_core::{Duration, Instant, RadioId};
use hoplab_wire::ieee80211::Frame;
use hoplab_wire::Mac;

use crate::config::PowerSave;
use crate::dot11::Header;

/// When an access point's beacons come.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    last: Instant,
    interval: Duration,
    /// Beacons after `last` until frames for all may follow one.
    until_delivery: u32,
}

impl Schedule {
    /// The first beacon after `now` at which a client listens, one of so many.
    fn next(&self, now: Instant, listen_interval: u32) -> Instant {
        let every = self.until_delivery.clamp(1, listen_interval.max(1));
        let next = self.last + u64::from(every) * self.interval;
        let missed = now.since(next).as_nanos() / self.interval.as_nanos().max(1);
        if next > now {
            next
        } else {
            next + (missed + 1) * self.interval
        }
    }
}

/// What a radio that saves power is awake for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Nothing,
    /// A beacon, with this time.
    Beacon(Instant),
    /// Frames for all, after a beacon.
    ForAll,
    /// Its host's decision, or frames for it alone.
    Own,
}

/// A client's radio.
#[derive(Clone, Copy, Debug)]
struct Client {
    point: Mac,
    id: u16,
    /// Its host has announced that it dozes.
    saves: bool,
    waits: Waits,
}

pub struct Dozing {
    settings: PowerSave,
    points: BTreeMap<Mac, Schedule>,
    clients: BTreeMap<RadioId, Client>,
    alarms: BTreeMap<RadioId, Instant>,
}

impl Dozing {
    pub fn new(settings: PowerSave) -> Self {
        Self {
            settings,
            points: BTreeMap::new(),
            clients: BTreeMap::new(),
            alarms: BTreeMap::new(),
        }
    }

    /// When a radio wakes, or has waited for long enough.
    pub fn due(&self) -> Option<Instant> {
        self.alarms.values().min().copied()
    }

    /// The next radio that dozes, or wakes, by `now`, and when it does.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, RadioId, bool)> {
        let first = self.alarms.iter().min_by_key(|(radio, at)| (**at, **radio));
        let (radio, at) = first.map(|(radio, at)| (*radio, *at))?;
        if at > now {
            return None;
        }
        self.alarms.remove(&radio);
        let dozes = self.alarm(radio, at)?;
        Some((at, radio, dozes))
    }

    fn alarm(&mut self, radio: RadioId, at: Instant) -> Option<bool> {
        let client = self.clients.get_mut(&radio)?;
        match client.waits {
            Waits::Nothing => {
                let beacon = at + self.settings.ahead;
                client.waits = Waits::Beacon(beacon);
                self.alarms.insert(radio, beacon + self.settings.patience);
                Some(false)
            }
            Waits::Beacon(_) | Waits::ForAll | Waits::Own => self.rest(radio, at),
        }
    }

    /// The radio dozes from `now` until the next beacon at which it listens.
    fn rest(&mut self, radio: RadioId, now: Instant) -> Option<bool> {
        let client = self.clients.get_mut(&radio).filter(|client| client.saves)?;
        client.waits = Waits::Nothing;
        let schedule = self.points.get(&client.point)?;
        let ahead = self.settings.ahead;
        let beacon = schedule.next(now + ahead, self.settings.listen_interval);
        let wakes = Instant::ZERO + beacon.since(Instant::ZERO + ahead);
        self.alarms.insert(radio, wakes);
        Some(true)
    }

    /// A host sends a frame. A beacon goes at its time, or later where the channel is busy.
    pub fn sent(&mut self, header: Header, bytes: &[u8], now: Instant) {
        let Some(frame) = Frame::new(bytes).filter(|_| header.class.is_beacon()) else {
            return;
        };
        let (Some(point), Some(interval_us)) = (header.transmitter, frame.beacon_interval_us())
        else {
            return;
        };
        if interval_us == 0 {
            return;
        }
        let until_delivery = frame.traffic_map().map_or(1, |map| match map.count {
            0 => map.period.max(1),
            count => count,
        });
        let schedule = Schedule {
            last: now,
            interval: Duration::from_micros(interval_us.into()),
            until_delivery: until_delivery.into(),
        };
        self.points.insert(point, schedule);
    }

    /// A frame of the radio's host was acknowledged. Returns whether the radio dozes now, or is
    /// awake; none where nothing changes.
    pub fn told(&mut self, radio: RadioId, bytes: &[u8], now: Instant) -> Option<bool> {
        let frame = Frame::new(bytes).filter(Frame::is_to_access_point)?;
        let client = self.clients.get_mut(&radio)?;
        if frame.receiver() != Some(client.point) {
            return None;
        }
        client.saves = frame.saves_power();
        if client.saves {
            return self.rest(radio, now);
        }
        self.alarms.remove(&radio);
        client.waits = Waits::Nothing;
        Some(false)
    }

    /// A frame reaches the radio's host. Returns as [`told`](Self::told) does.
    pub fn heard(&mut self, radio: RadioId, bytes: &[u8], now: Instant) -> Option<bool> {
        let frame = Frame::new(bytes)?;
        if let (Some(id), Some(point)) = (frame.association_id(), frame.transmitter()) {
            let client = Client {
                point,
                id,
                saves: false,
                waits: Waits::Nothing,
            };
            self.clients.insert(radio, client);
            self.alarms.remove(&radio);
            return Some(false);
        }
        let client = self.clients.get_mut(&radio).filter(|client| client.saves)?;
        if frame.transmitter() != Some(client.point) {
            return None;
        }
        if frame.beacon_interval_us().is_some() {
            let map = frame.traffic_map()?;
            client.waits = if map.has_for(client.id) {
                Waits::Own
            } else if map.count == 0 && map.for_all {
                Waits::ForAll
            } else {
                return self.rest(radio, now);
            };
            return None;
        }
        if !frame.is_from_access_point() || frame.has_more_data() {
            return None;
        }
        let is_for_all = frame.receiver().is_some_and(|receiver| receiver.is_group());
        match (client.waits, is_for_all) {
            (Waits::ForAll, true) | (Waits::Own, false) => self.rest(radio, now),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot11;

    const POINT: u8 = 1;
    const STATION: u8 = 2;
    const RADIO: RadioId = RadioId::new(7);
    const TO_POINT: u8 = 0x01;
    const FROM_POINT: u8 = 0x02;
    const SAVES: u8 = 0x10;
    const MORE: u8 = 0x20;

    fn us(us: u64) -> Instant {
        Instant(1000 * us)
    }

    fn frame(kind: u8, flags: u8, to: [u8; 6], from: u8, body: &[u8]) -> Vec<u8> {
        let mut frame = vec![kind, flags, 0, 0];
        frame.extend(to);
        frame.extend([2, 0, 0, 0, 0, from]);
        frame.extend([2, 0, 0, 0, 0, POINT, 0, 0]);
        frame.extend(body);
        frame
    }

    fn own(last: u8) -> [u8; 6] {
        [2, 0, 0, 0, 0, last]
    }

    /// Every 100 time units; the map has octet 0 of its bits.
    fn beacon(count: u8, for_all: bool, bits: u8) -> Vec<u8> {
        let mut body = vec![0; 8];
        body.extend([100, 0, 1, 0]);
        body.extend([0, 1, b'x', 5, 4, count, 3, for_all.into(), bits]);
        frame(0x80, 0, [0xff; 6], POINT, &body)
    }

    fn null(saves: bool) -> Vec<u8> {
        let flags = TO_POINT | if saves { SAVES } else { 0 };
        frame(0x48, flags, own(POINT), STATION, &[])
    }

    fn dozing(listen_interval: u32) -> Dozing {
        let mut dozing = Dozing::new(PowerSave {
            listen_interval,
            ahead: Duration::from_micros(1000),
            patience: Duration::from_micros(20_000),
        });
        let response = frame(0x10, 0, own(STATION), POINT, &[1, 0, 0, 0, 3, 0xc0]);
        assert_eq!(dozing.heard(RADIO, &response, us(0)), Some(false));
        dozing
    }

    fn send(dozing: &mut Dozing, beacon: &[u8], now: Instant) {
        dozing.sent(dot11::parse(beacon).unwrap(), beacon, now);
    }

    #[test]
    fn a_radio_is_awake_from_ahead_of_a_beacon_until_it_has_come() {
        let mut dozing = dozing(1);
        let beacon = beacon(0, false, 0);
        send(&mut dozing, &beacon, us(0));
        assert_eq!(dozing.due(), None);
        assert_eq!(dozing.told(RADIO, &null(true), us(5000)), Some(true));
        assert_eq!(dozing.take(us(101_399)), None);
        assert_eq!(dozing.take(us(101_400)), Some((us(101_400), RADIO, false)));
        send(&mut dozing, &beacon, us(102_400));
        assert_eq!(dozing.heard(RADIO, &beacon, us(102_700)), Some(true));
        assert_eq!(dozing.due(), Some(us(203_800)));
        // One that does not come is not waited for without end.
        assert_eq!(dozing.take(us(203_800)), Some((us(203_800), RADIO, false)));
        assert_eq!(dozing.take(us(300_000)), Some((us(224_800), RADIO, true)));
        assert_eq!(dozing.due(), Some(us(306_200)));
        assert_eq!(dozing.told(RADIO, &null(false), us(230_000)), Some(false));
        assert_eq!(dozing.due(), None);
    }

    #[test]
    fn frames_that_wait_keep_it_awake_until_the_last() {
        let mut dozing = dozing(1);
        send(&mut dozing, &beacon(0, false, 0), us(0));
        dozing.told(RADIO, &null(true), us(5000));
        let data = |flags, to| frame(0x08, FROM_POINT | flags, to, POINT, &[0; 8]);
        let mut at = 110_000;
        let mut hears = |dozing: &mut Dozing, bytes: &[u8]| {
            at += 1;
            dozing.heard(RADIO, bytes, us(at))
        };
        dozing.take(us(101_400));
        // Bit 3 of octet 0 is its own, and bit 4 another's.
        assert_eq!(hears(&mut dozing, &beacon(1, false, 0x08)), None);
        assert_eq!(hears(&mut dozing, &data(MORE, own(STATION))), None);
        assert_eq!(hears(&mut dozing, &data(0, [0xff; 6])), None);
        assert_eq!(hears(&mut dozing, &data(0, own(STATION))), Some(true));
        dozing.take(us(203_800));
        assert_eq!(hears(&mut dozing, &beacon(0, true, 0x10)), None);
        assert_eq!(hears(&mut dozing, &data(MORE, [0xff; 6])), None);
        assert_eq!(hears(&mut dozing, &data(0, [0xff; 6])), Some(true));
        dozing.take(us(306_200));
        assert_eq!(hears(&mut dozing, &beacon(2, true, 0x10)), Some(true));
    }

    #[test]
    fn it_listens_to_some_beacons_and_to_those_that_frames_for_all_follow() {
        let wakes = |listen_interval, count| {
            let mut dozing = dozing(listen_interval);
            send(&mut dozing, &beacon(count, false, 0), us(0));
            dozing.told(RADIO, &null(true), us(5000));
            dozing.due().unwrap().0 / 1000 + 1000
        };
        assert_eq!(wakes(1, 0), 102_400);
        assert_eq!(wakes(2, 0), 204_800);
        assert_eq!(wakes(9, 0), 307_200);
        assert_eq!(wakes(9, 1), 102_400);
    }

    #[test]
    fn any_bytes_are_heard() {
        let mut random = hoplab_medium_core::Stream::new(1, "dozing");
        let seeds = [beacon(0, true, 8), null(true), null(false)];
        let mut dozing = dozing(3);
        for turn in 0..20_000u64 {
            let mut bytes = seeds[random.below(3) as usize].clone();
            bytes.truncate(random.below(bytes.len() as u32 + 1) as usize);
            if let Some(at) = random.below(64).checked_sub(16) {
                if let Some(byte) = bytes.get_mut(at as usize) {
                    *byte = random.below(256) as u8;
                }
            }
            if let Some(header) = dot11::parse(&bytes) {
                dozing.sent(header, &bytes, us(turn * 1000));
            }
            dozing.heard(RADIO, &bytes, us(turn * 1000));
            dozing.told(RADIO, &bytes, us(turn * 1000));
            while dozing.take(us(turn * 1000)).is_some() {}
        }
    }
}
