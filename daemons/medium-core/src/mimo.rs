// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stations that an access point serves by streams of their own, each on the whole channel (MU-MIMO).
//! It must know their channels before (IEEE 802.11-2020 10.36.5.2, 802.11ax-2021 26.7).

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use crate::ofdma::Candidate;
use crate::{Modulation, RadioId, Rate, Width};

/// Antennas of an access point, and how often it sounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Mimo {
    /// As many streams go to all users together.
    pub antennas: u8,
    /// A station is sounded once in each period of this length, before it is served in that.
    #[cfg_attr(feature = "serde", serde(rename = "sounding_ns"))]
    pub sounding: Duration,
}

/// Streams of all users (21.3.8.3.5, 802.11ax-2021 27.3.11.10).
const MOST_STREAMS: u8 = 8;
/// Users of a VHT PPDU (21.3.11.1), and of an HE one (802.11ax-2021 27.3.3.1).
const MOST_VHT_USERS: usize = 4;
const MOST_USERS: usize = 8;

impl Mimo {
    pub fn streams(self) -> u8 {
        self.antennas.min(MOST_STREAMS)
    }

    /// Leave as many candidates as have streams, in their order.
    pub(crate) fn admit(self, candidates: &mut Vec<Candidate>) {
        let (mut left, mut users) = (self.streams(), 0);
        candidates.retain(|candidate| {
            let rate = candidate.rate;
            let most = match rate.modulation() {
                Modulation::Vht(_) => MOST_VHT_USERS,
                _ => MOST_USERS,
            };
            let rest = left.checked_sub(rate.streams()).filter(|_| users < most);
            left = rest.unwrap_or(left);
            users += usize::from(rest.is_some());
            rest.is_some()
        });
    }

    /// The number of the period of sounding.
    fn period(self, now: Instant) -> u64 {
        let nanos = self.sounding.as_nanos();
        now.as_nanos().checked_div(nanos).unwrap_or_default()
    }
}

/// What an access point knows of the channels to its stations.
#[derive(Default)]
pub(crate) struct Soundings {
    period: u64,
    known: Vec<Known>,
    /// It has just sounded. So the next PPDU carries frames, however short the period.
    pub rests: bool,
}

struct Known {
    station: RadioId,
    period: u64,
    has_reported: bool,
}

impl Soundings {
    /// The time has come to this.
    pub fn pass(&mut self, mimo: Mimo, now: Instant) {
        self.period = mimo.period(now);
    }

    fn of(&self, station: RadioId) -> Option<&Known> {
        self.known.iter().find(|known| known.station == station)
    }

    pub fn is_due(&self, station: RadioId) -> bool {
        let is_fresh = |known: &Known| self.rests || known.period == self.period;
        !self.of(station).is_some_and(is_fresh)
    }

    /// It did not report when it was sounded. So it is served alone until it is sounded again.
    pub fn is_silent(&self, station: RadioId) -> bool {
        let known = self.of(station);
        known.is_some_and(|known| !known.has_reported) && !self.is_due(station)
    }

    /// That station is being sounded.
    pub fn begin(&mut self, station: RadioId) {
        self.known.retain(|known| known.station != station);
        self.known.push(Known {
            station,
            period: self.period,
            has_reported: false,
        });
    }

    pub fn report(&mut self, station: RadioId) {
        let mut known = self.known.iter_mut();
        if let Some(known) = known.find(|known| known.station == station) {
            known.has_reported = true;
        }
    }
}

/// Octets of the announcement of a null data packet (9.3.1.20, 802.11ax-2021 9.3.1.19): without users,
/// and for each of VHT or HE.
const ANNOUNCEMENT_BYTES: usize = 21;
const VHT_USER_BYTES: usize = 2;
const HE_USER_BYTES: usize = 4;

pub(crate) fn announcement_bytes(rates: &[Rate]) -> usize {
    let user = |rate: &Rate| match rate.modulation() {
        Modulation::Vht(_) => VHT_USER_BYTES,
        _ => HE_USER_BYTES,
    };
    ANNOUNCEMENT_BYTES + rates.iter().map(user).sum::<usize>()
}

/// Of a beamforming report poll of VHT (9.3.1.21).
pub(crate) const REPORT_POLL_BYTES: usize = 21;

/// Of a frame with a report: MAC header, category, action and FCS. MIMO control of VHT and HE follows
/// (9.4.1.48, 802.11ax-2021 9.4.1.64).
const REPORT_FRAME_BYTES: usize = 24 + 2 + 4;
const VHT_CONTROL_BYTES: usize = 3;
const HE_CONTROL_BYTES: usize = 5;
/// Two angles with the finest codebook for several users: 9 and 7 bits (table 9-77).
const ANGLES_BITS: usize = 9 + 7;
/// The mean ratio of a stream, and how a subcarrier's differs (9.4.1.49, 9.4.1.51).
const RATIO_BITS: usize = 8;
const DIFFERENCE_BITS: usize = 4;

/// Octets of a station's report on the channel from so many antennas to streams of its rate. It is as
/// fine as the standard has it: with a grouping of 1 (9.4.1.49, 9.4.1.51), of HE 4 (802.11ax-2021
/// 9.4.1.65, 9.4.1.66).
pub(crate) fn report_bytes(antennas: u8, rate: Rate) -> usize {
    let (rows, columns) = (usize::from(antennas), usize::from(rate.streams()));
    // Tables 9-73 and 9-80: subcarriers with angles, and those with a ratio of their own.
    let (control, angled, rated) = match (rate.modulation(), rate.width()) {
        (Modulation::Vht(_), width) => {
            let (angled, rated) = match width {
                Width::Mhz20 => (52, 30),
                Width::Mhz40 => (108, 58),
                Width::Mhz80 => (234, 122),
                Width::Mhz160 | Width::Mhz320 => (468, 244),
            };
            (VHT_CONTROL_BYTES, angled, rated)
        }
        (_, width) => {
            let tones = match width {
                Width::Mhz20 => 64,
                Width::Mhz40 => 122,
                Width::Mhz80 => 250,
                Width::Mhz160 => 500,
                Width::Mhz320 => 1000,
            };
            (HE_CONTROL_BYTES, tones, tones)
        }
    };
    // Table 9-70: a matrix has half as many pairs of angles as angles.
    let pairs = columns * (2 * rows).saturating_sub(columns + 1) / 2;
    let angles = (angled * pairs * ANGLES_BITS + columns * RATIO_BITS).div_ceil(8);
    let ratios = (rated * columns * DIFFERENCE_BITS).div_ceil(8);
    REPORT_FRAME_BYTES + control + angles + ratios
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Guard;

    /// By hand: two angles each of 16 bits together for four antennas and one stream are 3 pairs.
    #[test]
    fn reports_are_as_long_as_their_fields() {
        let vht = |streams, width| Rate::vht(5, streams, width, false).expect("a VHT rate");
        let he = |streams, width| Rate::he(5, streams, width, Guard::Ns800).expect("an HE rate");
        // 52 x 48 + 8 bits are 313 octets, 30 x 4 are 15.
        assert_eq!(report_bytes(4, vht(1, Width::Mhz20)), 33 + 313 + 15);
        // 5 pairs: 234 x 80 + 16 bits are 2342 octets, 122 x 8 are 122.
        assert_eq!(report_bytes(4, vht(2, Width::Mhz80)), 33 + 2342 + 122);
        // 250 x 48 + 8 bits are 1501 octets, 250 x 4 are 125.
        assert_eq!(report_bytes(4, he(1, Width::Mhz80)), 35 + 1501 + 125);
        // 7 pairs: 64 x 112 + 8 bits are 897 octets, 64 x 4 are 32.
        assert_eq!(report_bytes(8, he(1, Width::Mhz20)), 35 + 897 + 32);
    }

    #[test]
    fn a_ppdu_has_no_more_streams_than_antennas() {
        let candidate = |flow, streams| Candidate {
            flow,
            rate: Rate::he(0, streams, Width::Mhz20, Guard::Ns800).expect("an HE rate"),
            served: Default::default(),
        };
        let admitted = |antennas, streams: &[u8]| {
            let mimo = Mimo {
                antennas,
                sounding: Duration::ZERO,
            };
            let of_flow = streams.iter().enumerate();
            let mut found: Vec<_> = of_flow.map(|(flow, n)| candidate(flow, *n)).collect();
            mimo.admit(&mut found);
            found.iter().map(|one| one.flow).collect::<Vec<_>>()
        };
        assert_eq!(admitted(4, &[2, 3, 1, 1, 1]), [0, 2, 3]);
        assert_eq!(admitted(255, &[1; 12]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(admitted(0, &[1, 1]).is_empty());
    }
}
