// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An access point that serves stations by streams of their own (MU-MIMO), against the times of one
//! exchange by hand (IEEE 802.11-2020 21.3, 802.11ax-2021 27.3). `--nocapture` prints what is measured.

use crate::common::{aggregating, at, attempts, data, keep_waiting, ms};
use hoplab_medium_core::{
    Acknowledgement, AirKind, Aired, Class, Dbm, Duration, Fate, Frame, Guard, LinkId, LossModel,
    LossRule, Medium, Mimo, Ofdma, Output, Params, RadioId, Rate, Reception, Scheduler, Standard,
    Station, Takes, To, Width,
};

const SIFS_US: f64 = 16.0;
/// AIFS of best effort, and the mean backoff of 15 slots.
const ACCESS_US: f64 = SIFS_US + 3.0 * 9.0 + 7.5 * 9.0;
const LONGEST_US: f64 = 5484.0;
const FRAME: usize = 1538;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Vht,
    He,
    Eht,
}

/// MCS 7 (64-QAM 5/6) with so many streams for each station.
#[derive(Clone, Copy)]
struct Case {
    kind: Kind,
    by: Acknowledgement,
    width: Width,
    antennas: u8,
    stations: usize,
    streams: u8,
    sounding_ms: u64,
}

impl Case {
    /// `PAIR` of this kind, with the acknowledgement that it has by default.
    fn pair(kind: Kind) -> Self {
        let by = match kind {
            Kind::Vht => Acknowledgement::Sequential,
            Kind::He | Kind::Eht => Acknowledgement::MuBar,
        };
        Self { kind, by, ..PAIR }
    }

    fn rate(&self) -> Rate {
        match self.kind {
            Kind::Vht => Rate::vht(7, self.streams, self.width, false),
            Kind::He => Rate::he(7, self.streams, self.width, Guard::Ns800),
            Kind::Eht => Rate::eht(7, self.streams, self.width, Guard::Ns800),
        }
        .expect("a rate of the standard")
    }

    fn window(&self) -> usize {
        match self.kind {
            Kind::Vht => 64,
            Kind::He => 256,
            Kind::Eht => 1024,
        }
    }

    fn is_vht(&self) -> bool {
        self.kind == Kind::Vht
    }

    fn params(&self) -> Params {
        let signal_extension = false;
        let standard = match self.kind {
            Kind::Vht => Standard::Vht { signal_extension },
            Kind::He => Standard::He { signal_extension },
            Kind::Eht => Standard::Eht { signal_extension },
        };
        Params {
            ofdma: Some(Ofdma {
                scheduler: Scheduler::RoundRobin,
                acknowledgement: self.by,
                uplink: false,
                bsrp: None,
                mimo: Some(Mimo {
                    antennas: self.antennas,
                    sounding: Duration::from_millis(self.sounding_ms),
                }),
            }),
            ..aggregating(standard, self.window(), 0, Duration::from_micros(8))
        }
    }

    /// Stations of one PPDU.
    fn users(&self) -> usize {
        let most = if self.is_vht() { 4 } else { 8 };
        let fit = usize::from(self.antennas / self.streams);
        self.stations.min(fit).min(most)
    }

    /// Data bits of a symbol on the whole channel: five on each tone and stream.
    fn bits(&self) -> f64 {
        let tones = match (self.is_vht(), self.width) {
            (false, Width::Mhz20) => 234,
            (false, _) => 980,
            (true, Width::Mhz20) => 52,
            (true, _) => 234,
        };
        f64::from(5 * tones * u32::from(self.streams))
    }

    fn symbol_us(&self) -> f64 {
        if self.is_vht() {
            4.0
        } else {
            13.6
        }
    }

    fn trainings(streams: usize) -> f64 {
        [1.0, 1.0, 2.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0][streams]
    }

    /// With a long training field for each stream. HE-SIG-B has no allocations: two users have 52 bits,
    /// a last one 31, of 208 a symbol. Beyond 20 MHz each of two contents has half of them.
    fn preamble_us(&self, users: usize) -> f64 {
        let trainings = Self::trainings(users * usize::from(self.streams));
        if self.is_vht() {
            return 36.0 + 4.0 * trainings;
        }
        let contents = if self.width == Width::Mhz20 { 1 } else { 2 };
        let each = users.div_ceil(contents);
        let sig = match self.kind {
            Kind::He if users == 1 => 0,
            Kind::He => (52 * (each / 2) + 31 * (each % 2)).div_ceil(208),
            // At MCS 0 two symbols; to several users 52 bits with the first one, then as HE, 22 each.
            _ if users == 1 => 2,
            _ => (52 + 54 * ((each - 1) / 2) + 32 * ((each - 1) % 2)).div_ceil(104),
        };
        36.0 + 4.0 * sig as f64 + 7.2 * trainings
    }

    fn ppdu_us(&self, users: usize, octets: usize) -> f64 {
        let tails = if self.is_vht() { 6.0 } else { 0.0 };
        let bits = 16.0 + tails + 8.0 * octets as f64;
        self.preamble_us(users) + self.symbol_us() * (bits / self.bits()).ceil()
    }

    /// Octets of an A-MPDU, whose frames begin at least 8 us after each other.
    fn octets(&self, frames: usize) -> usize {
        let spacing = (8.0 * self.bits() / self.symbol_us() / 8.0).ceil() as usize;
        let padded = (4 + FRAME).max(spacing).next_multiple_of(4);
        (frames - 1) * padded + 4 + FRAME
    }

    fn block_ack_octets(&self) -> usize {
        24 + self.window() / 8
    }

    fn answered_us(&self) -> f64 {
        let users = self.users();
        let block_ack = SIFS_US + control_us(self.block_ack_octets());
        if users == 1 || self.by == Acknowledgement::Sequential {
            return block_ack + (users - 1) as f64 * (SIFS_US + control_us(24) + block_ack);
        }
        // In units of 102 tones for 2 users of 20 MHz, 48 for 4, 24 for 8; of 80 MHz 468, 234, 102.
        // 16-QAM 1/2 puts two bits on each.
        let tones = self.unit_tones();
        let symbols = ((16 + 8 * (4 + self.block_ack_octets())) as f64 / (2.0 * tones)).ceil();
        SIFS_US + control_us(self.trigger_octets() + 9 * users) + SIFS_US + 48.0 + 14.4 * symbols
    }

    /// Of a trigger without users. One for EHT has a special user.
    fn trigger_octets(&self) -> usize {
        if self.kind == Kind::Eht {
            33
        } else {
            28
        }
    }

    fn unit_tones(&self) -> f64 {
        match (self.width, self.users()) {
            (Width::Mhz20, 2) => 102.0,
            (Width::Mhz20, 3..=4) => 48.0,
            (Width::Mhz20, _) => 24.0,
            (_, 2) => 468.0,
            (_, 3..=4) => 234.0,
            _ => 102.0,
        }
    }

    /// Octets of a report: 16 bits for each of `pairs` of angles on each tone, and 4 for each stream.
    fn report_octets(&self) -> usize {
        let streams = usize::from(self.streams);
        let pairs = match (self.antennas, self.streams) {
            (4, 1) => 3,
            (4, 2) => 5,
            (8, 1) => 7,
            _ => unreachable!(),
        };
        let (tones, rated, fixed): (usize, usize, usize) = match (self.is_vht(), self.width) {
            (false, Width::Mhz20) => (64, 64, 35),
            (false, _) => (250, 250, 35),
            (true, Width::Mhz20) => (52, 30, 33),
            (true, _) => (234, 122, 33),
        };
        fixed + (16 * pairs * tones + 8 * streams).div_ceil(8) + (4 * streams * rated).div_ceil(8)
    }

    /// Of all users of a PPDU, with the access before it.
    fn sounding_us(&self) -> f64 {
        let users = self.users();
        let trainings = Self::trainings(self.antennas.into());
        if self.is_vht() {
            let report = SIFS_US + self.ppdu_us(1, 4 + self.report_octets());
            let polls = (users - 1) as f64 * (SIFS_US + control_us(21));
            let announced = control_us(21 + 2 * users) + SIFS_US + 36.0 + 4.0 * trainings;
            return ACCESS_US + announced + users as f64 * report + polls;
        }
        let announced = control_us(21 + 4 * users) + SIFS_US + 36.0 + 7.2 * trainings + 4.0;
        let sig = if self.kind == Kind::Eht { 4.0 } else { 0.0 };
        let bits = (16 + 8 * (4 + self.report_octets())) as f64;
        let streams = f64::from(self.streams);
        let symbols = (bits / (5.0 * self.unit_tones() * streams)).ceil();
        let reports = 40.0 + 8.0 * Self::trainings(self.streams.into()) + 14.4 * symbols;
        let trigger = control_us(self.trigger_octets() + 6 * users);
        ACCESS_US + announced + sig + SIFS_US + trigger + SIFS_US + reports
    }

    /// Frames that one second brings to all.
    fn frames(&self) -> f64 {
        let users = self.users();
        let fits = |frames: &usize| {
            let octets = self.octets(*frames);
            self.ppdu_us(users, octets) <= LONGEST_US && (!self.is_vht() || octets <= 1_048_575)
        };
        let frames = (1..=self.window())
            .rev()
            .find(fits)
            .expect("one frame fits");
        let cycle = ACCESS_US + self.ppdu_us(users, self.octets(frames)) + self.answered_us();
        // Groups of stations are sounded one after the other.
        let groups = self.stations.div_ceil(users) as f64;
        let sounding = if users > 1 {
            groups * self.sounding_us()
        } else {
            0.0
        };
        (1.0 - sounding / (1e3 * self.sounding_ms as f64)) * (frames * users) as f64 * 1e6 / cycle
    }
}

/// At 24 Mbit/s, which answers at MCS 3 and more go by.
fn control_us(octets: usize) -> f64 {
    20.0 + 4.0 * ((22 + 8 * octets) as f64 / 96.0).ceil()
}

/// An access point and so many stations around it.
fn cell(stations: usize) -> Vec<Station> {
    let places = (0..=stations).map(|i| at(&format!("s{i}"), i as f64));
    places.collect()
}

/// A channel whose first radio is an access point, as its beacon shows.
fn access_point(params: Params, stations: Vec<Station>, losses: Vec<LossRule>) -> Medium {
    let mut medium = Medium::new(params, stations, losses);
    let beacon = Frame {
        to: To::Everyone,
        rates: vec![attempts(6.0, 1, false)],
        class: Class::ScheduledBeacon,
        tid: None,
        ..data(u64::MAX, 0, 100, Rate::OFDM_6)
    };
    medium.enqueue(RadioId::new(0), beacon);
    medium.advance(ms(1));
    while medium.poll_output().is_some() {}
    medium
}

fn cases() -> Vec<Case> {
    use Acknowledgement::{MuBar, Sequential};
    let kinds = [
        (Kind::Vht, Sequential),
        (Kind::He, Sequential),
        (Kind::He, MuBar),
        (Kind::Eht, MuBar),
    ];
    let mut cases = Vec::new();
    for (kind, by) in kinds {
        for width in [Width::Mhz20, Width::Mhz80] {
            for (antennas, stations, streams, sounding_ms) in [
                (4, 1, 1, 10),
                (4, 2, 1, 10),
                (4, 3, 1, 20),
                (4, 4, 1, 100),
                (4, 8, 1, 20),
                (4, 2, 2, 20),
                (8, 4, 1, 20),
                (8, 8, 1, 40),
            ] {
                cases.push(Case {
                    kind,
                    by,
                    width,
                    antennas,
                    stations,
                    streams,
                    sounding_ms,
                });
            }
        }
    }
    cases
}

/// The limit is a hundredth; the mean of the backoffs alone is known to some thousandths.
#[test]
fn saturated_stations_get_what_the_times_of_an_exchange_give() {
    for case in cases() {
        let mut medium = access_point(case.params(), cell(case.stations), vec![]);
        let flows: Vec<_> = (1..=case.stations).map(|to| (0, to, 0)).collect();
        let done = keep_waiting(&mut medium, &flows, (FRAME, case.rate()), 4);
        let measured = done.iter().sum::<u64>() as f64 / 4.0;
        let off = measured / case.frames() - 1.0;
        let what = format!(
            "{:?} {:?} {} MHz, {} antennas, {} stations of {}",
            case.kind,
            case.by,
            case.width.mhz(),
            case.antennas,
            case.stations,
            case.streams
        );
        println!(
            "{what}: {measured:.0} {:.0} {:+.2} %",
            case.frames(),
            100.0 * off
        );
        assert!(off.abs() < 0.01, "{what}: {off}");
        let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
        assert!(*least as f64 > 0.95 * *most as f64, "{what}: {done:?}");
        assert!(medium.audit().holds());
    }
}

const PAIR: Case = Case {
    kind: Kind::He,
    by: Acknowledgement::MuBar,
    width: Width::Mhz20,
    antennas: 4,
    stations: 2,
    streams: 1,
    sounding_ms: 100,
};

/// What was on the air up to then, and how many frames came.
fn run(medium: &mut Medium, until_ms: u64) -> (Vec<Aired>, Vec<(RadioId, u64)>) {
    let (mut aired, mut came) = (vec![], vec![]);
    while let Some(next) = medium.next_deadline().filter(|next| *next < ms(until_ms)) {
        medium.advance(next);
        while let Some(output) = medium.poll_output() {
            match output {
                Output::Aired(one) => aired.push(*one),
                Output::Deliver { to, frame, .. } => came.push((to, frame)),
                _ => {}
            }
        }
    }
    (aired, came)
}

fn traced(case: Case, losses: Vec<LossRule>) -> Medium {
    access_point(case.params(), cell(3), losses).traced()
}

/// Put frames for stations 1 and 2 into the access point's queue.
fn load(medium: &mut Medium, case: Case, frames: u64) {
    for id in 0..frames {
        let to = 1 + (id % 2) as usize;
        medium.enqueue(RadioId::new(0), data(id, to, 1000, case.rate()));
    }
}

/// One exchange from the announcement on. Each NAV ends with the last report.
#[test]
fn an_access_point_sounds_and_then_serves_both_at_once() {
    for kind in [Kind::Vht, Kind::He, Kind::Eht] {
        let case = Case::pair(kind);
        let mut medium = traced(case, vec![]);
        load(&mut medium, case, 40);
        let (aired, came) = run(&mut medium, 20);
        assert_eq!(came.len(), 40);
        let sounding: Vec<_> = aired
            .iter()
            .filter(|one| one.kind == AirKind::Sounding)
            .collect();
        let station = |number| To::Radio(RadioId::new(number));
        let sent: Vec<_> = sounding
            .iter()
            .map(|one| (one.from.index(), one.to))
            .collect();
        let (ap, one, two) = (station(0), station(1), station(2));
        // Announcement, null data packet, then polls and reports.
        let expected = match kind {
            Kind::He | Kind::Eht => vec![
                (0, one),
                (0, two),
                (0, one),
                (0, two),
                (0, one),
                (0, two),
                (1, ap),
                (2, ap),
            ],
            Kind::Vht => vec![
                (0, one),
                (0, two),
                (0, one),
                (0, two),
                (1, ap),
                (0, two),
                (2, ap),
            ],
        };
        assert_eq!(sent, expected);
        assert!(sounding.iter().all(|one| one.fate == Fate::Delivered));
        let end = sounding.iter().map(|one| one.until).max().unwrap();
        let own = sounding.iter().filter(|one| one.from == RadioId::new(0));
        for frame in own {
            assert_eq!(frame.until + frame.nav, end, "{frame:?}");
        }
        let lasts = end.since(sounding[0].at).as_nanos() as f64 / 1000.0;
        assert_eq!(lasts, case.sounding_us() - ACCESS_US);
        let data = aired
            .iter()
            .filter(|one| one.kind == AirKind::Data && one.at > end);
        let data: Vec<_> = data.collect();
        assert_eq!(data.len(), 40);
        assert!(data
            .iter()
            .all(|one| (one.at, one.until) == (data[0].at, data[0].until)));
        assert!(medium.audit().holds());
    }
}

/// What gets lost of a sounding leaves its station served alone until the next one. The others go on.
#[test]
fn a_station_that_does_not_report_is_served_alone() {
    for (from, to) in [(0, 2), (2, 0)] {
        for kind in [Kind::Vht, Kind::He, Kind::Eht] {
            let case = Case::pair(kind);
            let rule = LossRule {
                takes: Takes::Frames,
                active: ms(0)..ms(3),
                ..LossRule::always(
                    Some(RadioId::new(from)),
                    Some(RadioId::new(to)),
                    LossModel::Uniform { rate: 1.0 },
                )
            };
            let mut medium = traced(case, vec![rule]);
            load(&mut medium, case, 4000);
            let (aired, came) = run(&mut medium, 1500);
            assert_eq!(came.len(), 4000, "{from} to {to}");
            let together = |after: u64, before: u64| {
                let mut data = aired.iter().filter(|one| {
                    one.kind == AirKind::Data && one.at > ms(after) && one.at < ms(before)
                });
                let is_beside = |one: &Aired| {
                    let beside = |other: &Aired| {
                        other.kind == AirKind::Data && other.at == one.at && other.to != one.to
                    };
                    aired.iter().any(beside)
                };
                data.any(is_beside)
            };
            assert!(!together(0, 100), "{from} to {to}");
            assert!(together(100, 200), "{from} to {to}");
            assert!(medium.audit().holds());
        }
    }
}

/// A station that has gone off costs a sounding in each period, and the frames that it loses.
#[test]
fn a_station_that_goes_off_leaves_the_others_alone() {
    for kind in [Kind::Vht, Kind::He, Kind::Eht] {
        let case = Case::pair(kind);
        let mut medium = traced(case, vec![]);
        medium.schedule_power(ms(20), RadioId::new(2), false);
        load(&mut medium, case, 3000);
        let (_, came) = run(&mut medium, 5000);
        let first = came.iter().filter(|(to, _)| *to == RadioId::new(1));
        assert_eq!(first.count(), 1500);
        let audit = medium.audit();
        assert!(audit.holds() && audit.open == 0, "{audit:?}");
    }
}

/// Each of two users has half of the power. Alone at half of the power a station loses as many frames.
#[test]
fn users_divide_the_power() {
    let lost = |stations: usize, dbm: f64| {
        let case = Case { stations, ..PAIR };
        let mut params = Params {
            reception: Reception::ErrorRate,
            noise_dbm: Some(Dbm(-90.0)),
            cs_threshold_dbm: Dbm(-110.0),
            retry_short: 100,
            ..case.params()
        };
        params.propagation.tx_power_dbm = Dbm(dbm);
        let place = |i| at(&format!("s{i}"), if i == 0 { 0.0 } else { 50.0 });
        let mut medium = access_point(params, (0..=stations).map(place).collect(), vec![]);
        let flows: Vec<_> = (1..=stations).map(|to| (0, to, 0)).collect();
        keep_waiting(&mut medium, &flows, (FRAME, case.rate()), 2);
        let (mut frames, mut delivered) = (0, 0);
        for to in 1..=stations {
            let link = medium.link(LinkId {
                from: RadioId::new(0),
                to: RadioId::new(to),
            });
            frames += link.frames;
            delivered += link.delivered;
        }
        1.0 - delivered as f64 / frames as f64
    };
    // MCS 7 loses half of such frames at 17.7 dB.
    let half = -90.0 + 17.7 + path_loss_db();
    let (alone, weaker) = (lost(1, half + HALF_DB), lost(1, half));
    let both = lost(2, half + HALF_DB);
    println!("{alone} alone, {both} beside another, {weaker} alone at half the power");
    assert!(alone < 0.05 && weaker > 0.2 && weaker < 0.8);
    assert!((both - weaker).abs() < 0.02);
}

const HALF_DB: f64 = 3.0103;

/// Of the default's 914 MHz over 50 m: Friis.
fn path_loss_db() -> f64 {
    let wavelength_m = 299_792_458.0 / 914e6;
    20.0 * (4.0 * std::f64::consts::PI * 50.0 / wavelength_m).log10()
}

/// Frames a second that saturated stations bring when a trigger asks for them.
fn asked_frames(case: &Case) -> f64 {
    let users = case.users();
    let trained = 40.0 + 8.0 * Case::trainings(users * usize::from(case.streams));
    let room = ((LONGEST_US - trained) / 14.4).floor();
    let spacing = (8.0 * case.bits() / 14.4 / 8.0).ceil() as usize;
    let padded = (4 + FRAME).max(spacing).next_multiple_of(4);
    let fits = |frames: &usize| {
        let octets = (frames - 1) * padded + 4 + FRAME;
        (16 + 8 * octets) as f64 <= room * case.bits()
    };
    let frames = (1..=case.window())
        .rev()
        .find(fits)
        .expect("one frame fits");
    let trigger = control_us(case.trigger_octets() + 6 * users);
    let answer = control_us(22 + (4 + case.window() / 8) * users);
    let lasts = trained + 14.4 * room;
    let cycle = ACCESS_US + trigger + SIFS_US + lasts + SIFS_US + answer;
    (frames * users) as f64 * 1e6 / cycle
}

/// Stations send at once on the whole channel. The access point tells them apart by its antennas, and
/// needs no sounding.
#[test]
fn saturated_stations_send_what_the_times_of_a_triggered_exchange_give() {
    for (kind, width, antennas, stations, streams) in [
        (Kind::Eht, Width::Mhz20, 4, 4, 1),
        (Kind::Eht, Width::Mhz80, 4, 2, 2),
        (Kind::He, Width::Mhz20, 4, 2, 1),
        (Kind::He, Width::Mhz20, 4, 4, 1),
        (Kind::He, Width::Mhz20, 4, 2, 2),
        (Kind::He, Width::Mhz20, 4, 6, 1),
        (Kind::He, Width::Mhz80, 2, 2, 1),
        (Kind::He, Width::Mhz80, 8, 8, 1),
    ] {
        let case = Case {
            kind,
            width,
            antennas,
            stations,
            streams,
            ..PAIR
        };
        let mut params = case.params();
        params.ofdma = params.ofdma.map(|ofdma| Ofdma {
            uplink: true,
            ..ofdma
        });
        let up: Vec<_> = (1..=stations).map(|from| (from, 0, 0)).collect();
        let after = |seconds| {
            let mut medium = access_point(params.clone(), cell(stations), vec![]);
            let done = keep_waiting(&mut medium, &up, (FRAME, case.rate()), seconds);
            assert!(medium.audit().holds());
            done.iter().sum::<u64>()
        };
        // At first each contends, until the access point knows of its queue.
        let measured = (after(5) - after(1)) as f64 / 4.0;
        let expected = asked_frames(&case);
        let off = measured / expected - 1.0;
        println!("{width:?} {antennas} {stations} {streams}: {measured} {expected:.0} {off:+.4}");
        assert!(off.abs() < 0.01, "{width:?} {antennas} {stations}: {off}");
    }
}

/// One antenna, or streams that no two stations have room for: as without the key.
#[test]
fn who_cannot_share_is_served_alone() {
    for (antennas, streams) in [(0, 1), (1, 1), (3, 2)] {
        let case = Case {
            antennas,
            streams,
            ..PAIR
        };
        let mut medium = traced(case, vec![]);
        load(&mut medium, case, 200);
        let (aired, came) = run(&mut medium, 500);
        assert_eq!(came.len(), 200);
        assert!(aired.iter().all(|one| one.kind != AirKind::Sounding));
    }
}
