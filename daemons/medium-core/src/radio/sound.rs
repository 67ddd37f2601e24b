// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An access point sounds the channels to stations before they get streams of their own (IEEE
//! 802.11-2020 10.36.5.2, 802.11ax-2021 26.7.3). An announcement names them, a null data packet
//! follows, and each station reports. Those of VHT do so one after the other, others at once.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hoplab_base::Duration;

use super::{Moment, Radio};
use crate::mimo::{announcement_bytes, report_bytes, REPORT_POLL_BYTES};
use crate::parts::{Asked, Ppdu, Setup};
use crate::phy::{Shape, DELIMITER_BYTES, LONGEST_PPDU};
use crate::step::Step;
use crate::units::Plan;
use crate::{Modulation, RadioId, Rate, To, Unit};

/// A station, and the rate of its data on the whole channel.
pub(super) type Sounded = (RadioId, Rate);

/// A sounding under way.
pub(super) struct Sounding {
    /// Of the null data packet: its time on the air, and the rate that tells its kind.
    lasts: Duration,
    rate: Rate,
    /// Reports that are still to come, those that come at once together.
    groups: VecDeque<Group>,
    /// The null data packet is still to come.
    is_announced: bool,
    pub(super) has_reports: bool,
}

struct Group {
    reports: Vec<Report>,
    shape: Shape,
    /// What asks for them; none for the report that follows the null data packet.
    ask: Option<Ask>,
}

#[derive(Clone, Copy)]
struct Report {
    from: RadioId,
    rate: Rate,
}

#[derive(Clone, Copy)]
struct Ask {
    bytes: usize,
    rate: Rate,
    lasts: Duration,
}

impl Ask {
    fn new(bytes: usize, rate: Rate, setup: &Setup) -> Self {
        Self {
            bytes,
            rate,
            lasts: setup.params.phy.duration(bytes, rate),
        }
    }
}

impl Group {
    /// Reports of HE or EHT that a trigger asks for, each of several in a resource unit.
    fn triggered(stations: &[Sounded], antennas: u8, setup: &Setup) -> Option<Self> {
        let report = |&(from, rate): &Sounded| {
            let rate = match stations.len() {
                1 => rate.asked()?,
                several => rate.asked_on(Unit::for_each(several, Plan::of(rate)).0)?,
            };
            Some(Report { from, rate })
        };
        let reports = stations.iter().map(report).collect::<Option<Vec<_>>>()?;
        let rates: Vec<Rate> = reports.iter().map(|report| report.rate).collect();
        let phy = &setup.params.phy;
        let preamble = phy.triggered_preamble(&rates);
        let octets = |rate: &Rate| report_bytes(antennas, *rate) + DELIMITER_BYTES;
        let users = rates.iter().map(|rate| (octets(rate), *rate));
        let lasts = phy.shared_duration(preamble, users);
        let control = setup
            .timing
            .common_rate(stations.iter().map(|(_, rate)| *rate));
        Some(Self {
            reports,
            shape: Shape { preamble, lasts },
            ask: Some(Ask::new(
                setup.timing.poll_bytes(rates.len()),
                control,
                setup,
            )),
        })
    }

    /// A report in a PPDU of its own, behind a poll of VHT or the null data packet.
    fn alone(station: Sounded, is_polled: bool, antennas: u8, setup: &Setup) -> Self {
        let (phy, (from, rate)) = (&setup.params.phy, station);
        let control = setup.timing.control_rate(rate);
        Self {
            reports: alloc::vec![Report { from, rate }],
            shape: Shape {
                preamble: phy.preamble(rate),
                lasts: phy.duration(report_bytes(antennas, rate), rate),
            },
            ask: is_polled.then(|| Ask::new(REPORT_POLL_BYTES, control, setup)),
        }
    }

    /// From the end of what goes before to that of the reports.
    fn lasts(&self, sifs: Duration) -> Duration {
        let asked = self.ask.map_or(Duration::ZERO, |ask| sifs + ask.lasts);
        asked + sifs + self.shape.lasts
    }
}

impl Sounding {
    fn new(stations: &[Sounded], antennas: u8, setup: &Setup) -> Option<Self> {
        let is_vht = |(_, rate): &Sounded| matches!(rate.modulation(), Modulation::Vht(_));
        let groups = match stations {
            [first, ..] if stations.len() == 1 || is_vht(first) => {
                let group = |(place, station): (usize, &Sounded)| {
                    Group::alone(*station, place > 0, antennas, setup)
                };
                stations.iter().enumerate().map(group).collect()
            }
            _ => {
                let all = Group::triggered(stations, antennas, setup);
                match all.filter(|all| all.shape.lasts <= LONGEST_PPDU) {
                    Some(all) => [all].into(),
                    None => {
                        let groups = stations.chunks(1);
                        let group = |one| Group::triggered(one, antennas, setup);
                        groups.filter_map(group).collect()
                    }
                }
            }
        };
        let &(_, rate) = stations.first()?;
        Some(Self {
            lasts: setup.params.phy.null_data(antennas, rate),
            rate,
            groups,
            is_announced: true,
            has_reports: false,
        })
    }

    /// From the end of what goes before to that of the last report.
    fn rest(&self, sifs: Duration) -> Duration {
        let groups = self.groups.iter().map(|group| group.lasts(sifs));
        groups.fold(Duration::ZERO, |sum, group| sum + group)
    }

    /// That station reports.
    pub(super) fn take(&mut self, from: RadioId) {
        if let Some(group) = self.groups.front_mut() {
            group.reports.retain(|report| report.from != from);
        }
        self.has_reports = true;
    }

    /// Its next reports; whether there are some.
    pub(super) fn goes_on(&mut self) -> bool {
        self.groups.pop_front();
        !self.groups.is_empty()
    }

    /// Nobody is to report any more before others are asked.
    pub(super) fn is_answered(&self) -> bool {
        let group = self.groups.front();
        group.is_none_or(|group| group.reports.is_empty())
    }
}

impl Radio {
    /// The announcement that begins to sound these stations.
    pub(super) fn sound(&mut self, stations: &[Sounded], at: Moment<'_>) -> Option<Ppdu> {
        let (setup, timing) = (at.setup, &at.setup.timing);
        let antennas = setup.params.ofdma?.mimo?.streams();
        let sounding = Sounding::new(stations, antennas, setup)?;
        let rates: Vec<Rate> = stations.iter().map(|(_, rate)| *rate).collect();
        let nav = timing.sifs + sounding.lasts + sounding.rest(timing.sifs);
        let bytes = announcement_bytes(&rates);
        let rate = timing.common_rate(rates.iter().copied());
        for (station, _) in stations {
            self.soundings.begin(*station);
        }
        self.txop.sounding = Some(sounding);
        let groups = self.txop.sounding.iter().flat_map(|one| &one.groups);
        let reports: Vec<(&Group, &Report)> = groups
            .flat_map(|group| group.reports.iter().map(move |report| (group, report)))
            .collect();
        all(reports.iter().map(|(group, report)| Ppdu {
            rate,
            width: report.rate.width(),
            asked: Some(asked(group, report)),
            ..self.to_sound(Step::Announcement, report.from, bytes, nav, setup)
        }))
    }

    /// The null data packet, or what asks for the next reports.
    pub(super) fn sound_on(&mut self, at: Moment<'_>) -> Option<Ppdu> {
        let sounding = self.txop.sounding.as_mut()?;
        let is_announced = core::mem::take(&mut sounding.is_announced);
        let sounding = self.txop.sounding.as_ref()?;
        match is_announced {
            true => self.null_data(sounding, at),
            false => self.ask_for_reports(sounding, at),
        }
    }

    fn null_data(&self, sounding: &Sounding, at: Moment<'_>) -> Option<Ppdu> {
        let (setup, sifs) = (at.setup, at.setup.timing.sifs);
        let nav = sounding.rest(sifs);
        let Sounding { lasts, rate, .. } = *sounding;
        let part = |group: &Group, report: &Report| {
            let (step, is_first) = match group.ask {
                None => (Step::Ndp, true),
                Some(_) => (Step::NdpShared, false),
            };
            Ppdu {
                rate,
                width: rate.width(),
                shape: Some(Shape {
                    preamble: lasts,
                    lasts,
                }),
                asked: is_first.then(|| asked(group, report)),
                answered: is_first.then(|| sifs + group.shape.lasts),
                ..self.to_sound(step, report.from, 0, nav, setup)
            }
        };
        let groups = sounding.groups.iter();
        all(groups.flat_map(|group| group.reports.iter().map(move |one| part(group, one))))
    }

    fn ask_for_reports(&self, sounding: &Sounding, at: Moment<'_>) -> Option<Ppdu> {
        let (setup, sifs) = (at.setup, at.setup.timing.sifs);
        let group = sounding.groups.front()?;
        let ask = group.ask?;
        let nav = sounding.rest(sifs) - sifs - ask.lasts;
        all(group.reports.iter().map(|report| Ppdu {
            rate: ask.rate,
            width: report.rate.width(),
            asked: Some(asked(group, report)),
            answered: Some(sifs + group.shape.lasts),
            ..self.to_sound(Step::ReportPoll, report.from, ask.bytes, nav, setup)
        }))
    }

    fn to_sound(
        &self,
        step: Step,
        to: RadioId,
        bytes: usize,
        nav: Duration,
        setup: &Setup,
    ) -> Ppdu {
        Ppdu {
            function: self.txop.function as u8,
            ..(self.exchange).control(step, To::Radio(to), bytes, nav, setup)
        }
    }
}

fn asked(group: &Group, report: &Report) -> Asked {
    Asked {
        rate: report.rate,
        shape: group.shape,
        answered: Duration::ZERO,
    }
}

/// One PPDU with a part for each station.
fn all(mut parts: impl Iterator<Item = Ppdu>) -> Option<Ppdu> {
    let first = parts.next()?;
    let beside = parts.collect();
    Some(Ppdu { beside, ..first })
}
