// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames that sound channels, as captures have them. The engine tells of each station's part by
//! itself. Of EHT's, as of its triggers, nobody writes any.

use std::collections::{BTreeMap, BTreeSet};

use hoplab_medium_core::{Aired, Modulation, Portion, RadioId, Rate, Sounding, To};
use hoplab_wire::sounding::{Announced, Announcement, Kind, Poll, Report};
use hoplab_wire::Mac;

use crate::triggers::Triggers;
use crate::units;

/// Octets of a frame check sequence.
const FCS: usize = 4;
/// Tokens have 6 bits.
const TOKENS: u8 = 0x3f;

/// What of a sounding its later frames repeat.
pub struct Soundings {
    /// Of access points.
    antennas: u8,
    /// The token that each access point chose last.
    tokens: BTreeMap<RadioId, u8>,
    /// Access points whose last frame was a trigger, so that reports answer it.
    triggered: BTreeSet<RadioId>,
    /// Stations of an announcement whose others follow.
    stations: Vec<Announced>,
}

impl Soundings {
    pub fn new(antennas: u8) -> Self {
        Self {
            antennas,
            tokens: BTreeMap::new(),
            triggered: BTreeSet::new(),
            stations: Vec::new(),
        }
    }

    /// Whether this is a report that answers no trigger, though its station was asked for it.
    pub fn goes_alone(&self, aired: &Aired) -> bool {
        let is_report = aired.sounding == Some(Sounding::Report);
        is_report && matches!(aired.to, To::Radio(to) if !self.triggered.contains(&to))
    }

    /// A trigger asks for reports. The other frames of this access point are not triggers.
    pub fn asks_by_trigger(&mut self, access_point: RadioId) {
        self.triggered.insert(access_point);
    }

    /// The frame of which this is the last part. None for another, and as long as a station is not
    /// known. A null data packet has no octets.
    pub fn frame(&mut self, aired: &Aired, macs: &[Mac], known: &Triggers) -> Option<Vec<u8>> {
        let To::Radio(to) = aired.to else { return None };
        let (receiver, transmitter) = (macs[to.index()], macs[aired.from.index()]);
        let duration_us = u16::try_from(aired.nav.as_micros_ceil()).unwrap_or(u16::MAX);
        match aired.sounding? {
            Sounding::Announcement => {
                let rate = aired.asks?.rate;
                let station = Announced {
                    receiver,
                    association: known.association(aired)?,
                    columns: rate.streams(),
                };
                let stations = self.last_part(aired, station)?;
                self.triggered.remove(&aired.from);
                let token = self.tokens.entry(aired.from).or_default();
                *token = (*token + 1) & TOKENS;
                let announcement = Announcement {
                    kind: kind(rate)?,
                    transmitter,
                    token: *token,
                    bandwidth: units::bandwidth(rate.width()),
                    stations,
                };
                Some(announcement.emit(duration_us))
            }
            Sounding::NullData => {
                kind(aired.rate)?;
                let number = aired.share.map_or(0, |share| share.number);
                (number == 0).then(Vec::new)
            }
            Sounding::Poll => {
                let asked = kind(aired.asks?.rate)?;
                let poll = Poll {
                    receiver,
                    transmitter,
                };
                (asked == Kind::Vht).then(|| poll.emit(duration_us))
            }
            Sounding::Report => {
                let report = Report {
                    kind: kind(aired.rate)?,
                    receiver,
                    transmitter,
                    token: self.tokens.get(&to).copied()?,
                    bandwidth: units::bandwidth(aired.rate.width()),
                    columns: aired.rate.streams(),
                    rows: self.antennas,
                    octets: aired.bytes.checked_sub(FCS)?,
                };
                Some(report.emit(duration_us))
            }
        }
    }

    /// All stations of an announcement, if this is the last of them.
    fn last_part(&mut self, aired: &Aired, station: Announced) -> Option<Vec<Announced>> {
        let alone = Portion {
            number: 0,
            users: 1,
        };
        let share = aired.share.unwrap_or(alone);
        if share.number == 0 {
            self.stations.clear();
        }
        self.stations.push(station);
        (self.stations.len() == usize::from(share.users))
            .then(|| core::mem::take(&mut self.stations))
    }
}

/// None of EHT.
fn kind(rate: Rate) -> Option<Kind> {
    match rate.modulation() {
        Modulation::Vht(_) => Some(Kind::Vht),
        Modulation::He(_) => Some(Kind::He),
        _ => None,
    }
}
