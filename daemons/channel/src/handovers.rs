// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When packets of a station go by way of another access point than before.

use std::collections::BTreeMap;

use hoplab_medium_core::Instant;
use hoplab_wire::Mac;

/// A station that packets reach by way of another access point now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    pub station: Mac,
    pub old: Mac,
    pub new: Mac,
    /// The last packet by way of the old access point, and the first by way of the new one.
    pub last: Instant,
    pub first: Instant,
}

/// Where stations are, and by way of which access point their last packets went.
#[derive(Default)]
pub struct Handovers {
    /// The access point of each station that has one.
    points: BTreeMap<Mac, Mac>,
    /// The last packet's of each, and when it went.
    last: BTreeMap<Mac, (Mac, Instant)>,
}

impl Handovers {
    /// From now on packets of `station` go by way of this access point, or of none. The station
    /// takes no frame of another access point, even if its radio acknowledges it.
    pub fn associated(&mut self, station: Mac, point: Option<Mac>) {
        match point {
            Some(point) => self.points.insert(station, point),
            None => self.points.remove(&station),
        };
    }

    /// A packet between a station and an access point has been acknowledged `at` this time. Returns
    /// the handover if it is the station's first by way of that access point.
    pub fn acknowledged(&mut self, (station, new): (Mac, Mac), at: Instant) -> Option<Handover> {
        if self.points.get(&station) != Some(&new) {
            return None;
        }
        let before = self.last.insert(station, (new, at));
        let (old, last) = before.filter(|(old, _)| *old != new)?;
        Some(Handover {
            station,
            old,
            new,
            last,
            first: at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot11;
    use hoplab_wire::ieee80211::LLC_SNAP;

    const TO_POINT: u8 = 1;
    const TO_STATION: u8 = 2;
    const PROTECTED: u8 = 0x40;
    const STATION: u8 = 9;

    fn data(flags: u8, ethertype: u16, point: u8) -> Vec<u8> {
        let (to, from) = match flags & 3 {
            TO_POINT => (point, STATION),
            _ => (STATION, point),
        };
        let mut frame = vec![8, flags, 0, 0];
        for address in [to, from, 7] {
            frame.extend([2, 0, 0, 0, 0, address]);
        }
        frame.extend([0, 0]);
        frame.extend(LLC_SNAP);
        frame.extend(ethertype.to_be_bytes());
        frame
    }

    /// A frame has been acknowledged at this time.
    fn at(handovers: &mut Handovers, frame: &[u8], ns: u64) -> Option<Handover> {
        let cell = dot11::parse(frame)?.cell?;
        handovers.acknowledged(cell, Instant(ns))
    }

    fn mac(last: u8) -> Mac {
        Mac([2, 0, 0, 0, 0, last])
    }

    #[test]
    fn the_first_packet_by_another_access_point_ends_a_handover() {
        let mut handovers = Handovers::default();
        handovers.associated(mac(STATION), Some(mac(1)));
        assert_eq!(at(&mut handovers, &data(TO_POINT, 0x0800, 1), 1), None);
        assert_eq!(at(&mut handovers, &data(TO_STATION, 0x0800, 1), 2), None);
        // Acknowledged by its radio and lost on its host.
        handovers.associated(mac(STATION), None);
        assert_eq!(at(&mut handovers, &data(TO_STATION, 0x0800, 1), 3), None);
        handovers.associated(mac(STATION), Some(mac(2)));
        assert_eq!(at(&mut handovers, &data(TO_STATION, 0x0800, 1), 4), None);
        // Keys are agreed on, and the station says that it does not sleep: no packets of a user's.
        assert_eq!(at(&mut handovers, &data(TO_STATION, 0x888e, 2), 5), None);
        let mut null = data(TO_POINT, 0x0800, 2);
        null[0] = 0x48;
        assert_eq!(at(&mut handovers, &null, 6), None);
        let expected = Handover {
            station: mac(STATION),
            old: mac(1),
            new: mac(2),
            last: Instant(2),
            first: Instant(7),
        };
        let protected = data(TO_POINT | PROTECTED, 0x888e, 2);
        assert_eq!(at(&mut handovers, &protected, 7), Some(expected));
        let next = data(TO_STATION | PROTECTED, 0x0800, 2);
        assert_eq!(at(&mut handovers, &next, 8), None);
    }

    #[test]
    fn who_comes_back_has_not_gone_over() {
        let mut handovers = Handovers::default();
        for point in [Some(mac(1)), None, Some(mac(1))] {
            handovers.associated(mac(STATION), point);
            let packet = data(TO_POINT, 0x0800, 1);
            assert_eq!(at(&mut handovers, &packet, 1), None);
        }
    }

    #[test]
    fn frames_between_stations_alike_say_nothing() {
        let mut handovers = Handovers::default();
        handovers.associated(mac(STATION), Some(mac(1)));
        for flags in [0, 3] {
            let frame = data(flags, 0x0800, 1);
            assert_eq!(at(&mut handovers, &frame, 1), None);
        }
        assert!(handovers.last.is_empty());
    }
}
