// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When radios of clients doze (IEEE 802.11-2020 11.2.3), as the firmware of a card decides it.
//!
//! A host announces by a frame's bit that its radio dozes, or is awake. The access point's host keeps
//! frames for one that dozes, and tells of them in its beacons. A dozing radio wakes ahead of a
//! beacon. It goes on dozing after one that tells of nothing for it.
//!
//! What the beacon tells of, the host may fetch by PS-Polls. Then all its frames say that it dozes. Or
//! the radio fetches it by frames of its own, at beacons (U-APSD) or at times of its own (TWT).

use std::collections::BTreeMap;

use hoplab_medium_core::{Duration, Instant, RadioId};
use hoplab_wire::ieee80211::Frame;
use hoplab_wire::Mac;

use crate::config::{Fetch, PowerSave};
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

/// What a radio does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// As soon as it has answered what it owes an answer.
    Doze,
    Wake,
    /// Awake, it sends the frame that asks for what its access point keeps.
    Ask,
}

/// A client's radio.
#[derive(Clone, Copy, Debug)]
struct Client {
    point: Mac,
    id: u16,
    /// Its host has announced that it dozes.
    saves: bool,
    /// Its host announces it, acknowledged or not.
    announces: bool,
    waits: Waits,
    /// When its next service period begins by itself.
    period: Option<Instant>,
}

impl Client {
    /// The first of its periods after `now`. That of an access point's first client begins at
    /// `epoch`, and after each interval. Others follow one after the other.
    fn period_after(&self, now: Instant, fetch: Fetch, epoch: Instant) -> Option<Instant> {
        let Fetch::Twt { interval, duration } = fetch else {
            return None;
        };
        let interval_ns = interval.as_nanos().max(1);
        let phase_ns = epoch.0 % interval_ns;
        let first = Instant(phase_ns) + u64::from(self.id.saturating_sub(1)) * duration;
        if first > now {
            return Some(first);
        }
        let begun = now.since(first).as_nanos() / interval_ns;
        Some(first + (begun + 1) * interval)
    }
}

pub struct Dozing {
    settings: PowerSave,
    /// Time 0 of the records.
    epoch: Instant,
    points: BTreeMap<Mac, Schedule>,
    clients: BTreeMap<RadioId, Client>,
    alarms: BTreeMap<RadioId, Instant>,
}

impl Dozing {
    pub fn new(settings: PowerSave, epoch: Instant) -> Self {
        Self {
            settings,
            epoch,
            points: BTreeMap::new(),
            clients: BTreeMap::new(),
            alarms: BTreeMap::new(),
        }
    }

    /// Whether radios ask for frames by frames of their own.
    fn triggers(&self) -> bool {
        matches!(self.settings.fetch, Fetch::UApsd | Fetch::Twt { .. })
    }

    /// A null frame of a radio's host announces that it dozes, or is awake. Frames behind it already
    /// say so.
    pub fn announced(&mut self, radio: RadioId, bytes: &[u8]) {
        let frame = Frame::new(bytes).filter(|frame| frame.is_to_access_point());
        let client = self.clients.get_mut(&radio);
        if let (Some(frame), Some(client)) = (frame.filter(Frame::is_null), client) {
            client.announces = frame.saves_power();
        }
    }

    /// Whether the radio keeps a frame of its host to itself: a PS-Poll where it asks by itself.
    pub fn keeps(&self, bytes: &[u8]) -> bool {
        self.triggers() && Frame::new(bytes).is_some_and(|frame| frame.is_ps_poll())
    }

    /// The frame that the radio sends for that of its host; none where it is the same.
    pub fn instead_of(&self, radio: RadioId, bytes: &[u8]) -> Option<Vec<u8>> {
        let frame = Frame::new(bytes)?;
        if self.triggers() {
            if let Some(asking) = frame.asking_for_delivery() {
                return Some(asking);
            }
        }
        let client = self.clients.get(&radio);
        let announces = client.is_some_and(|client| client.announces);
        let goes_on = announces && self.settings.fetch != Fetch::Awake;
        frame.saving_power().filter(|_| goes_on)
    }

    /// Whether a frame of a radio's host, sent again, asks for what its access point keeps. A null
    /// frame does that announces that the radio dozes, if it has a QoS header.
    pub fn can_ask(&self, bytes: &[u8]) -> bool {
        self.triggers()
            && Frame::new(bytes).is_some_and(|frame| {
                frame.is_to_access_point()
                    && frame.is_null()
                    && frame.saves_power()
                    && frame.tid().is_some()
            })
    }

    /// When a radio wakes, or has waited for long enough.
    pub fn due(&self) -> Option<Instant> {
        self.alarms.values().min().copied()
    }

    /// What the next radio does by `now`, and when it does.
    pub fn take(&mut self, now: Instant) -> Option<(Instant, RadioId, Act)> {
        let first = self.alarms.iter().min_by_key(|(radio, at)| (**at, **radio));
        let (radio, at) = first.map(|(radio, at)| (*radio, *at))?;
        if at > now {
            return None;
        }
        self.alarms.remove(&radio);
        let act = self.alarm(radio, at)?;
        Some((at, radio, act))
    }

    fn alarm(&mut self, radio: RadioId, at: Instant) -> Option<Act> {
        let client = self.clients.get_mut(&radio)?;
        match client.waits {
            Waits::Nothing if client.period.is_some_and(|begins| begins <= at) => {
                self.begin(radio, at)
            }
            Waits::Nothing => {
                let beacon = at + self.settings.ahead;
                client.waits = Waits::Beacon(beacon);
                self.alarms.insert(radio, beacon + self.settings.patience);
                Some(Act::Wake)
            }
            Waits::Beacon(_) | Waits::ForAll | Waits::Own => self.rest(radio, at),
        }
    }

    /// The radio's service period begins, by itself or after a beacon.
    fn begin(&mut self, radio: RadioId, now: Instant) -> Option<Act> {
        let fetch = self.settings.fetch;
        let client = self.clients.get_mut(&radio)?;
        client.period = client.period_after(now, fetch, self.epoch);
        self.wait_for_own(radio, now)?;
        Some(Act::Ask)
    }

    /// The radio waits for frames for it alone.
    fn wait_for_own(&mut self, radio: RadioId, now: Instant) -> Option<()> {
        let client = self.clients.get_mut(&radio)?;
        client.waits = Waits::Own;
        let interval = self.points.get(&client.point).map(|point| point.interval);
        let patience = self.settings.patience;
        let until = now
            + match self.settings.fetch {
                Fetch::Twt { duration, .. } => duration,
                // The period ends with a frame that says so (11.2.3.6). That one may be lost.
                Fetch::UApsd => interval.unwrap_or(patience),
                _ => patience,
            };
        self.alarms.insert(radio, until);
        Some(())
    }

    /// The radio dozes from `now` until the next beacon at which it listens, or its next period.
    fn rest(&mut self, radio: RadioId, now: Instant) -> Option<Act> {
        let client = self.clients.get_mut(&radio).filter(|client| client.saves)?;
        if client.period.is_some_and(|begins| begins <= now) {
            return self.begin(radio, now);
        }
        client.waits = Waits::Nothing;
        let schedule = self.points.get(&client.point)?;
        let listens = match self.settings.fetch {
            // Only for frames for all.
            Fetch::Twt { .. } => u32::MAX,
            _ => self.settings.listen_interval,
        };
        let ahead = self.settings.ahead;
        let beacon = schedule.next(now + ahead, listens);
        let wakes = Instant::ZERO + beacon.since(Instant::ZERO + ahead);
        let wakes = client.period.map_or(wakes, |begins| begins.min(wakes));
        self.alarms.insert(radio, wakes);
        Some(Act::Doze)
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

    /// A frame of the radio was acknowledged. Returns what the radio does now; none where nothing
    /// changes.
    pub fn told(&mut self, radio: RadioId, bytes: &[u8], now: Instant) -> Option<Act> {
        let frame = Frame::new(bytes)?;
        let client = self.clients.get_mut(&radio)?;
        if frame.receiver() != Some(client.point) {
            return None;
        }
        if frame.is_ps_poll() && client.saves {
            self.wait_for_own(radio, now);
            return None;
        }
        if !frame.is_to_access_point() {
            return None;
        }
        let fetch = self.settings.fetch;
        let goes_on = client.saves && frame.saves_power();
        client.saves = frame.saves_power();
        if !client.saves {
            self.alarms.remove(&radio);
            client.waits = Waits::Nothing;
            return Some(Act::Wake);
        }
        if !goes_on || fetch == Fetch::Awake {
            client.period = client.period_after(now, fetch, self.epoch);
            return self.rest(radio, now);
        }
        let waits = client.waits;
        if self.triggers() && frame.tid().is_some() {
            self.wait_for_own(radio, now);
            return None;
        }
        match waits {
            Waits::Nothing => self.rest(radio, now),
            _ => None,
        }
    }

    /// A frame reaches the radio's host. Returns as [`told`](Self::told) does.
    pub fn heard(&mut self, radio: RadioId, bytes: &[u8], now: Instant) -> Option<Act> {
        let frame = Frame::new(bytes)?;
        if let (Some(id), Some(point)) = (frame.association_id(), frame.transmitter()) {
            let client = Client {
                point,
                id,
                saves: false,
                announces: false,
                waits: Waits::Nothing,
                period: None,
            };
            self.clients.insert(radio, client);
            self.alarms.remove(&radio);
            return Some(Act::Wake);
        }
        let client = self.clients.get(&radio).filter(|client| client.saves)?;
        if frame.transmitter() != Some(client.point) {
            return None;
        }
        if frame.beacon_interval_us().is_some() {
            return self.beacon(radio, frame, now);
        }
        if !frame.is_from_access_point() {
            return None;
        }
        let is_for_all = frame.receiver().is_some_and(|receiver| receiver.is_group());
        match (client.waits, is_for_all, frame.has_more_data()) {
            (Waits::ForAll, true, false) => self.rest(radio, now),
            (Waits::Own, false, more) if self.triggers() => match frame.ends_service_period() {
                true if more => self.begin(radio, now),
                true => self.rest(radio, now),
                false => None,
            },
            (Waits::Own, false, false) => self.rest(radio, now),
            _ => None,
        }
    }

    /// A beacon of its access point reaches the radio.
    fn beacon(&mut self, radio: RadioId, frame: Frame<'_>, now: Instant) -> Option<Act> {
        let map = frame.traffic_map()?;
        let fetch = self.settings.fetch;
        let client = self.clients.get_mut(&radio)?;
        let asks = fetch != Fetch::Awake;
        if asks && client.waits == Waits::Own {
            return None;
        }
        if map.has_for(client.id) && !matches!(fetch, Fetch::Twt { .. }) {
            client.waits = Waits::Own;
            if fetch == Fetch::UApsd {
                return self.begin(radio, now);
            }
            if asks {
                self.wait_for_own(radio, now);
            }
            return None;
        }
        if map.count == 0 && map.for_all {
            client.waits = Waits::ForAll;
            return None;
        }
        self.rest(radio, now)
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
        fetching(Fetch::Awake, listen_interval)
    }

    fn fetching(fetch: Fetch, listen_interval: u32) -> Dozing {
        let mut dozing = Dozing::new(
            PowerSave {
                listen_interval,
                ahead: Duration::from_micros(1000),
                patience: Duration::from_micros(20_000),
                fetch,
            },
            us(1_000_000),
        );
        let response = frame(0x10, 0, own(STATION), POINT, &[1, 0, 0, 0, 3, 0xc0]);
        assert_eq!(dozing.heard(RADIO, &response, us(0)), Some(Act::Wake));
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
        assert_eq!(dozing.told(RADIO, &null(true), us(5000)), Some(Act::Doze));
        assert_eq!(dozing.take(us(101_399)), None);
        assert_eq!(
            dozing.take(us(101_400)),
            Some((us(101_400), RADIO, Act::Wake))
        );
        send(&mut dozing, &beacon, us(102_400));
        assert_eq!(dozing.heard(RADIO, &beacon, us(102_700)), Some(Act::Doze));
        assert_eq!(dozing.due(), Some(us(203_800)));
        // One that does not come is not waited for without end.
        assert_eq!(
            dozing.take(us(203_800)),
            Some((us(203_800), RADIO, Act::Wake))
        );
        assert_eq!(
            dozing.take(us(300_000)),
            Some((us(224_800), RADIO, Act::Doze))
        );
        assert_eq!(dozing.due(), Some(us(306_200)));
        assert_eq!(
            dozing.told(RADIO, &null(false), us(230_000)),
            Some(Act::Wake)
        );
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
        assert_eq!(hears(&mut dozing, &data(0, own(STATION))), Some(Act::Doze));
        dozing.take(us(203_800));
        assert_eq!(hears(&mut dozing, &beacon(0, true, 0x10)), None);
        assert_eq!(hears(&mut dozing, &data(MORE, [0xff; 6])), None);
        assert_eq!(hears(&mut dozing, &data(0, [0xff; 6])), Some(Act::Doze));
        dozing.take(us(306_200));
        assert_eq!(hears(&mut dozing, &beacon(2, true, 0x10)), Some(Act::Doze));
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

    const TWT: Fetch = Fetch::Twt {
        interval: Duration::from_millis(50),
        duration: Duration::from_millis(8),
    };

    fn poll() -> Vec<u8> {
        let mut frame = vec![0xa4, SAVES, 1, 0xc0];
        frame.extend(own(POINT));
        frame.extend(own(STATION));
        frame
    }

    /// Of a QoS header with this first octet.
    fn qos(flags: u8, to: u8, from: u8, qos: u8) -> Vec<u8> {
        frame(0x88, flags, own(to), from, &[qos, 0])
    }

    /// A radio of this kind that dozes after a beacon with the map's octet 0.
    fn dozes(fetch: Fetch) -> Dozing {
        let mut dozing = fetching(fetch, 1);
        send(&mut dozing, &beacon(0, false, 0), us(0));
        assert_eq!(dozing.told(RADIO, &null(true), us(5000)), Some(Act::Doze));
        dozing
    }

    #[test]
    fn it_is_awake_from_a_ps_poll_until_the_last_frame() {
        let mut dozing = dozes(Fetch::PsPoll);
        dozing.take(us(101_400));
        assert_eq!(
            dozing.heard(RADIO, &beacon(1, false, 0x08), us(102_700)),
            None
        );
        let up = frame(0x08, TO_POINT | SAVES, own(POINT), STATION, &[0; 8]);
        assert_eq!(dozing.told(RADIO, &up, us(103_000)), None);
        assert_eq!(dozing.told(RADIO, &poll(), us(103_100)), None);
        let down = |flags| frame(0x08, FROM_POINT | flags, own(STATION), POINT, &[0; 8]);
        assert_eq!(dozing.heard(RADIO, &down(MORE), us(104_000)), None);
        assert_eq!(dozing.told(RADIO, &poll(), us(104_500)), None);
        assert_eq!(dozing.heard(RADIO, &down(0), us(105_000)), Some(Act::Doze));
        // A frame of its own does not end that it dozes.
        assert_eq!(dozing.told(RADIO, &up, us(110_000)), Some(Act::Doze));
        assert_eq!(dozing.due(), Some(us(101_400 + 102_400)));
        // Nor does it wait without end for what it asked for.
        assert_eq!(dozing.told(RADIO, &poll(), us(120_000)), None);
        assert_eq!(
            dozing.take(us(140_000)),
            Some((us(140_000), RADIO, Act::Doze))
        );
    }

    #[test]
    fn it_asks_after_a_beacon_and_is_awake_until_the_period_ends() {
        let mut dozing = dozes(Fetch::UApsd);
        dozing.take(us(101_400));
        let told = beacon(1, false, 0x08);
        assert_eq!(dozing.heard(RADIO, &told, us(102_700)), Some(Act::Ask));
        let down = |flags, control| qos(FROM_POINT | flags, STATION, POINT, control);
        assert_eq!(dozing.heard(RADIO, &down(MORE, 0), us(103_000)), None);
        assert_eq!(
            dozing.heard(RADIO, &down(MORE, 0x10), us(103_500)),
            Some(Act::Ask)
        );
        assert_eq!(
            dozing.heard(RADIO, &down(0, 0x10), us(104_000)),
            Some(Act::Doze)
        );
        // A frame of its own begins a period too.
        let up = qos(TO_POINT | SAVES, POINT, STATION, 0);
        assert_eq!(dozing.told(RADIO, &up, us(110_000)), None);
        assert_eq!(dozing.heard(RADIO, &down(0, 0), us(111_000)), None);
        assert_eq!(
            dozing.heard(RADIO, &down(0, 0x10), us(112_000)),
            Some(Act::Doze)
        );
        assert!(dozing.keeps(&poll()) && !dozes(Fetch::PsPoll).keeps(&poll()));
    }

    #[test]
    fn it_asks_at_times_of_its_own() {
        let mut dozing = fetching(TWT, 1);
        // The second client of its access point.
        let response = frame(0x10, 0, own(STATION), POINT, &[1, 0, 0, 0, 2, 0xc0]);
        dozing.heard(RADIO, &response, us(0));
        send(&mut dozing, &beacon(2, false, 0x04), us(0));
        assert_eq!(dozing.told(RADIO, &null(true), us(5000)), Some(Act::Doze));
        assert_eq!(dozing.take(us(8000)), Some((us(8000), RADIO, Act::Ask)));
        let ends = qos(FROM_POINT, STATION, POINT, 0x10);
        assert_eq!(dozing.heard(RADIO, &ends, us(9000)), Some(Act::Doze));
        assert_eq!(dozing.take(us(58_000)), Some((us(58_000), RADIO, Act::Ask)));
        // An access point that does not end it.
        assert_eq!(
            dozing.take(us(66_000)),
            Some((us(66_000), RADIO, Act::Doze))
        );
        assert_eq!(
            dozing.take(us(108_000)),
            Some((us(108_000), RADIO, Act::Ask))
        );
        dozing.heard(RADIO, &ends, us(109_000));
        // Frames for all follow the second beacon. Over that a period may come late.
        dozing.take(us(158_000));
        dozing.heard(RADIO, &ends, us(159_000));
        assert_eq!(
            dozing.take(us(203_800)),
            Some((us(203_800), RADIO, Act::Wake))
        );
        let map = beacon(0, true, 0x04);
        assert_eq!(dozing.heard(RADIO, &map, us(205_000)), None);
        let last = frame(0x08, FROM_POINT, [0xff; 6], POINT, &[0; 8]);
        assert_eq!(dozing.heard(RADIO, &last, us(208_500)), Some(Act::Ask));
    }

    #[test]
    fn frames_of_its_host_say_that_it_goes_on_dozing() {
        let mut dozing = fetching(Fetch::UApsd, 1);
        send(&mut dozing, &beacon(0, false, 0), us(0));
        let up = qos(TO_POINT, POINT, STATION, 0);
        assert_eq!(dozing.instead_of(RADIO, &up), None);
        // Also those that come before the announcement is acknowledged.
        dozing.announced(RADIO, &null(true));
        let mut saving = up.clone();
        saving[1] |= SAVES;
        assert_eq!(dozing.instead_of(RADIO, &up), Some(saving));
        assert_eq!(dozing.instead_of(RADIO, &null(false)), None);
        let mut awake = dozes(Fetch::Awake);
        awake.announced(RADIO, &null(true));
        assert_eq!(awake.instead_of(RADIO, &up), None);
        dozing.announced(RADIO, &null(false));
        assert_eq!(dozing.instead_of(RADIO, &up), None);
        let announces = frame(0xc8, TO_POINT | SAVES, own(POINT), STATION, &[7, 0]);
        assert!(dozing.can_ask(&announces) && !dozing.can_ask(&null(true)));
    }

    #[test]
    fn an_association_request_asks_for_delivery() {
        let dozing = fetching(Fetch::UApsd, 1);
        let wmm = |information| [221, 7, 0x00, 0x50, 0xf2, 2, 0, 1, information];
        let mut body = vec![1, 0, 1, 0, 0, 1, b'x', 221, 4, 1, 2, 3, 4];
        let request = |body: &[u8]| frame(0x00, 0, own(POINT), STATION, body);
        assert_eq!(dozing.instead_of(RADIO, &request(&body)), None);
        body.extend(wmm(0));
        let asked = dozing.instead_of(RADIO, &request(&body)).unwrap();
        assert!(asked.ends_with(&wmm(0x0f)) && asked.len() == 24 + body.len());
        assert_eq!(
            dozes(Fetch::PsPoll).instead_of(RADIO, &request(&body)),
            None
        );
    }

    #[test]
    fn any_bytes_are_heard() {
        any_bytes(Fetch::Awake);
        any_bytes(Fetch::PsPoll);
        any_bytes(Fetch::UApsd);
        any_bytes(TWT);
    }

    fn any_bytes(fetch: Fetch) {
        let mut random = hoplab_medium_core::Stream::new(1, "dozing");
        let request = frame(0, 0, own(POINT), STATION, &[0, 0, 0, 0, 221, 1, 5]);
        let ends = qos(FROM_POINT, STATION, POINT, 0x10);
        let seeds = [beacon(0, true, 8), null(true), null(false), request, ends];
        let mut dozing = fetching(fetch, 3);
        for turn in 0..20_000u64 {
            let mut bytes = seeds[random.below(5) as usize].clone();
            bytes.truncate(random.below(bytes.len() as u32 + 1) as usize);
            if let Some(at) = random.below(64).checked_sub(16) {
                if let Some(byte) = bytes.get_mut(at as usize) {
                    *byte = random.below(256) as u8;
                }
            }
            if let Some(header) = dot11::parse(&bytes) {
                dozing.sent(header, &bytes, us(turn * 1000));
            }
            dozing.keeps(&bytes);
            dozing.announced(RADIO, &bytes);
            dozing.can_ask(&bytes);
            dozing.instead_of(RADIO, &bytes);
            dozing.heard(RADIO, &bytes, us(turn * 1000));
            dozing.told(RADIO, &bytes, us(turn * 1000));
            while dozing.take(us(turn * 1000)).is_some() {}
        }
    }
}
