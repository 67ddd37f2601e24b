// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transmitters that are no radios of this network: when they send, with which power, and how much
//! of it falls into a channel.

use alloc::string::String;
use alloc::vec::Vec;

use hoplab_base::{Duration, Instant, Stream};

use super::mobility::Waypoint;
use crate::{Dbm, Mhz};

/// Nothing of it lasts less.
const SHORTEST: Duration = Duration::from_micros(1);

/// How much of it a channel gets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Share {
    #[cfg_attr(feature = "serde", serde(rename = "channel_mhz"))]
    pub channel: Mhz,
    /// Over its power, so 0 at most.
    pub db: f64,
    /// Of one that hops: only its hops from this one up to below that one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub hops: Option<(u32, u32)>,
}

/// When it sends, and with which power.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Course {
    /// A power from each of these times after the beginning on, in their order; none is silence.
    Steps {
        points: Vec<(Duration, Option<Dbm>)>,
        /// After so long they begin anew; none for never.
        #[cfg_attr(feature = "serde", serde(rename = "period_ns", default))]
        period: Option<Duration>,
    },
    /// In each slot on another of so many frequencies, drawn evenly, for the slot's first part.
    Hops {
        dbm: Dbm,
        #[cfg_attr(feature = "serde", serde(rename = "slot_ns"))]
        slot: Duration,
        #[cfg_attr(feature = "serde", serde(rename = "on_ns"))]
        on: Duration,
        frequencies: u32,
    },
}

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Interferer {
    pub name: String,
    pub waypoints: Vec<Waypoint>,
    #[cfg_attr(feature = "serde", serde(rename = "begins_ns"))]
    pub begins: Instant,
    #[cfg_attr(feature = "serde", serde(rename = "ends_ns"))]
    pub ends: Instant,
    pub course: Course,
    /// Channels that get a part, the one of radios that were not tuned first.
    pub shares: Vec<Share>,
}

/// What an interferer does from an instant on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emission {
    pub dbm: Dbm,
    hop: Option<u32>,
}

impl Interferer {
    /// What it does from `now` on, and when that changes; none for never. To be asked at those times
    /// alone, as each slot of [`Course::Hops`] is a draw.
    pub fn step(&self, now: Instant, random: &mut Stream) -> (Option<Emission>, Option<Instant>) {
        if now < self.begins {
            return (None, Some(self.begins));
        }
        if now >= self.ends {
            return (None, None);
        }
        let since = now.since(self.begins);
        let (emission, next) = match &self.course {
            Course::Steps { points, period } => {
                let (turn, within) = match period {
                    Some(period) => {
                        let turns = since.as_nanos() / period.as_nanos().max(1);
                        let turn = Duration::from_nanos(turns * period.as_nanos());
                        (
                            turn,
                            Duration::from_nanos(since.as_nanos() - turn.as_nanos()),
                        )
                    }
                    None => (Duration::ZERO, since),
                };
                let after = points.partition_point(|(at, _)| *at <= within);
                let level = after.checked_sub(1).and_then(|at| points[at].1);
                let next = points.get(after).map(|(at, _)| *at).or(*period);
                let emission = level.map(|dbm| Emission { dbm, hop: None });
                (emission, next.map(|next| self.begins + turn + next))
            }
            Course::Hops {
                dbm,
                slot,
                on,
                frequencies,
            } => {
                let slots = since.as_nanos() / slot.as_nanos().max(1);
                let begun = self.begins + Duration::from_nanos(slots * slot.as_nanos());
                if now.since(begun) < *on {
                    let hop = (random.unit() * f64::from(*frequencies)) as u32;
                    let emission = Emission {
                        dbm: *dbm,
                        hop: Some(hop),
                    };
                    (Some(emission), Some(begun + *on))
                } else {
                    (None, Some(begun + *slot))
                }
            }
        };
        // A time that stood still would be asked for again without end.
        let next = next.map_or(self.ends, |next| next.max(now + SHORTEST).min(self.ends));
        (emission, Some(next))
    }

    /// How much of an emission a radio on this channel gets, in dB; none where it gets nothing.
    pub fn share_db(&self, emission: Emission, channel: Option<Mhz>) -> Option<f64> {
        let share = match channel {
            Some(channel) => self.shares.iter().find(|share| share.channel == channel),
            None => self.shares.first(),
        }?;
        let hears = match (share.hops, emission.hop) {
            (Some((low, high)), Some(hop)) => (low..high).contains(&hop),
            _ => true,
        };
        hears.then_some(share.db)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn interferer(course: Course, shares: Vec<Share>) -> Interferer {
        Interferer {
            name: "oven".into(),
            waypoints: Vec::new(),
            begins: Instant(5 * MS),
            ends: Instant(50 * MS),
            course,
            shares,
        }
    }

    /// When it is on, from and to, in whole ms.
    fn on(source: &Interferer) -> Vec<(u64, u64)> {
        let mut random = Stream::new(1, "oven");
        let (mut now, mut found) = (Instant::ZERO, Vec::new());
        loop {
            let (emission, next) = source.step(now, &mut random);
            let Some(next) = next else {
                return found;
            };
            assert!(next > now);
            if emission.is_some() {
                found.push((now.0 / MS, next.0 / MS));
            }
            now = next;
        }
    }

    #[test]
    fn an_oven_is_on_for_half_of_each_period() {
        let ms = Duration::from_millis;
        let points = alloc::vec![(ms(0), Some(Dbm(20.0))), (ms(10), None)];
        let period = Some(ms(20));
        let oven = interferer(Course::Steps { points, period }, Vec::new());
        assert_eq!(on(&oven), [(5, 15), (25, 35), (45, 50)]);
        let points = alloc::vec![(ms(3), Some(Dbm(20.0))), (ms(10), Some(Dbm(9.0)))];
        let trace = interferer(
            Course::Steps {
                points,
                period: None,
            },
            Vec::new(),
        );
        assert_eq!(on(&trace), [(8, 15), (15, 50)]);
    }

    #[test]
    fn a_channel_gets_the_hops_that_fall_into_it() {
        let share = |channel, hops| Share {
            channel: Mhz(channel),
            db: 0.0,
            hops: Some(hops),
        };
        let course = Course::Hops {
            dbm: Dbm(4.0),
            slot: Duration::from_micros(625),
            on: Duration::from_micros(366),
            frequencies: 79,
        };
        let mut source = interferer(course, alloc::vec![share(2412, (1, 20))]);
        source.ends = Instant(100_000 * MS);
        let mut random = Stream::new(1, "headset");
        let (mut now, mut hops, mut heard) = (Instant::ZERO, 0, 0);
        while let (emission, Some(next)) = source.step(now, &mut random) {
            if let Some(emission) = emission {
                hops += 1;
                heard += u32::from(source.share_db(emission, Some(Mhz(2412))).is_some());
                assert_eq!(source.share_db(emission, Some(Mhz(2462))), None);
            }
            now = next;
        }
        assert_eq!(hops, 159_992);
        // 19 of 79, within 4 standard deviations.
        let (share, expected) = (f64::from(heard) / f64::from(hops), 19.0 / 79.0);
        let deviation = libm::sqrt(expected * (1.0 - expected) / f64::from(hops));
        assert!((share - expected).abs() < 4.0 * deviation, "{share}");
    }
}
