// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What must hold in any run: random networks, random models, random load, long.
//! `HOPLAB_RANDOM_RUNS` sets how many (default 60).

use std::collections::{BTreeMap, BTreeSet};

use hoplab_medium_core::{
    Acknowledgement, Aggregation, AirKind, Aired, Attempts, Block, CategoryParams, Class, Cost,
    Dbm, Duration, Edca, Emlsr, Energy, Fading, Fate, Frame, FrameId, FurtherLink, Guard, Instant,
    LossModel, LossRule, Medium, Mhz, Mimo, Nic, Ofdma, Output, Params, Position, Punctured,
    RadioId, Rate, Reception, Rules, Scheduler, Standard, Station, Stream, To, Waypoint, Width,
};

fn runs() -> u64 {
    let text = std::env::var("HOPLAB_RANDOM_RUNS").unwrap_or_else(|_| "60".into());
    text.parse()
        .expect("HOPLAB_RANDOM_RUNS: expected a number of runs")
}

/// A network of which every property is drawn.
struct Drawn {
    params: Params,
    overhears: bool,
    stations: Vec<Station>,
    losses: Vec<LossRule>,
    power: Vec<(Instant, usize, bool)>,
    load: Vec<(Instant, usize, Frame)>,
    /// How many further links each radio has, if some have any.
    further: Vec<usize>,
    /// Each second device has a single radio for its links.
    emlsr: Option<Emlsr>,
}

impl Drawn {
    /// When all is over for certain.
    fn end(&self) -> Instant {
        let last = self.load.last().map_or(Instant::ZERO, |entry| entry.0);
        last + Duration::from_secs(60)
    }
}

fn draw(run: u64) -> Drawn {
    let mut random = Stream::new(run, "properties");
    let mut chance = |one_in: u32| random.below(one_in) == 0;
    let mut params = Params {
        seed: run,
        rules: if chance(4) {
            Rules::Ns2
        } else {
            Rules::Standard
        },
        capture_later: chance(3),
        kernel_retries: chance(3),
        routing_priority: chance(2),
        no_ack: chance(6),
        queue_packets: 4,
        ..Params::default()
    };
    let overhears = chance(2);
    if chance(3) {
        params.reception = Reception::ErrorRate;
        params.noise_dbm = Some(Dbm(-90.0));
    }
    if chance(3) {
        params.fading = Fading::Nakagami { m: 1.5 };
    }
    if chance(3) {
        params.shadowing_db = 4.0;
        params.shadowing_correlation_m = chance(2).then_some(15.0);
    }
    if chance(2) {
        params.nic = Nic {
            tx_ring: 3,
            rx: Cost {
                frame_us: 0.0,
                mbps: 1.0,
            },
            rx_buffer_packets: 2,
            ..Nic::default()
        };
    }
    if chance(2) {
        // What it costs the host to send, and to load a card of one, two or three buffers.
        let costs = |frame_us, mbps| Cost { frame_us, mbps };
        params.nic.tx = [Cost::default(), costs(300.0, 4.0)][run as usize % 2];
        params.nic.load =
            [Cost::default(), costs(100.0, 16.0), costs(700.0, 0.0)][run as usize % 3];
        params.nic.tx_ring = 1 + run as usize % 3;
        params.nic.queue_packets = 2;
    }
    if chance(3) {
        params.energy = Energy {
            tx_w: 1.3,
            rx_w: 0.9,
            idle_w: 0.7,
            sleep_w: 0.05,
            battery_j: Some(4.0),
        };
    }
    // Every third run has access categories, TXOP and, mostly, aggregates.
    let categories = run % 3 == 2 && params.rules == Rules::Standard;
    if categories {
        params.phy.standard = Standard::Ht {
            signal_extension: true,
        };
        params.queue_packets = 64;
        let category = |aifsn, cw_min, cw_max, txop_us| CategoryParams {
            aifsn,
            cw_min,
            cw_max,
            txop: Duration::from_micros(txop_us),
        };
        params.edca = Some(Edca {
            categories: [
                category(2, 3, 7, 1504),
                category(2, 7, 15, 3008),
                category(3, 15, 1023, 0),
                category(7, 15, 1023, 0),
            ],
            aggregation: (random.below(4) > 0).then_some(Aggregation {
                window: 64,
                octets: 65_535,
                start_spacing: Duration::from_micros(8),
                by_hosts: false,
            }),
            rts_threshold: [2_000, usize::MAX][random.below(2) as usize],
        });
        params.delay = random.below(2) == 0;
    }
    let count = 2 + random.below(12) as usize;
    let moving = random.below(2) == 0;
    let place = |random: &mut Stream| Position::new(random.unit() * 900.0, random.unit() * 400.0);
    let stations = (0..count)
        .map(|i| {
            let mut waypoints = vec![Waypoint::new(Instant::ZERO, place(&mut random))];
            for step in 1..=u64::from(moving) * 3 {
                let place = place(&mut random);
                // Two points at one time are a jump.
                let repeat = random.below(3) == 0;
                let seconds = (step - u64::from(repeat && step > 1)) * 2;
                let at = Instant::ZERO + Duration::from_secs(seconds);
                waypoints.push(Waypoint::new(at, place));
            }
            Station {
                name: format!("n{i}"),
                waypoints,
            }
        })
        .collect();
    let losses = vec![
        LossRule::always(
            Some(RadioId::new(0)),
            None,
            LossModel::Uniform { rate: 0.1 },
        ),
        LossRule::always(
            Some(RadioId::new(1)),
            Some(RadioId::new(0)),
            LossModel::List { frames: vec![2, 5] },
        ),
    ];
    let mut power = Vec::new();
    for _ in 0..random.below(6) {
        let at = Instant::ZERO + Duration::from_millis(random.below(6_000).into());
        let radio = random.below(count as u32) as usize;
        power.push((at, radio, random.below(2) == 0));
    }
    let mean_gap = 500_000 + random.below(6_000_000);
    let mut load = Vec::new();
    let mut now = Instant::ZERO;
    for id in 1..1500 {
        now += Duration::from_nanos(random.below(2 * mean_gap).into());
        let from = random.below(count as u32) as usize;
        let to = match random.below(8) {
            0 => To::Everyone,
            1 => To::Nobody,
            _ => To::Radio(RadioId::new(
                (from + 1 + random.below(count as u32 - 1) as usize) % count,
            )),
        };
        let legacy = random.below(4);
        let rate = match Rate::ht(legacy as u8, Width::Mhz20, false) {
            Some(fast) if categories && legacy > 0 => fast,
            _ => Rate::LEGACY[legacy as usize],
        };
        let frame = Frame {
            id,
            to,
            bytes: 30 + random.below(1500) as usize,
            rates: vec![
                Attempts {
                    rate,
                    tries: 1 + random.below(4),
                    rts: random.below(3) == 0,
                },
                Attempts {
                    rate: Rate::DSSS_1,
                    tries: 2,
                    rts: false,
                },
            ],
            class: [Class::Data, Class::Data, Class::Management, Class::Beacon]
                [random.below(4) as usize],
            routing: random.below(4) == 0,
            tid: (categories && matches!(to, To::Radio(_))).then(|| random.below(8) as u8),
            numbered: None,
        };
        load.push((now, from, frame));
    }
    Drawn {
        params,
        overhears,
        stations,
        losses,
        power,
        load,
        further: Vec::new(),
        emlsr: None,
    }
}

/// Feed the load; wake at every event, or only when an output may come. Returns what came when.
fn play(drawn: &Drawn, every_event: bool) -> (Vec<(Instant, Output)>, Medium) {
    let mut medium = Medium::new(
        drawn.params.clone(),
        drawn.stations.clone(),
        drawn.losses.clone(),
    )
    .traced();
    if drawn.overhears {
        medium = medium.overheard();
    }
    for (radio, further) in drawn.further.iter().enumerate() {
        let blocks = &drawn.params.blocks;
        let block = blocks.get(radio % blocks.len().max(1));
        let channel = block.map_or(Mhz(5180), |block| block.primary);
        medium.place_on(RadioId::new(radio), channel);
        for number in 1..=*further {
            let link = FurtherLink {
                station: Station {
                    name: format!("n{radio}/{number}"),
                    ..drawn.stations[radio].clone()
                },
                channel: Mhz(5180 + 160 * number as u32),
                width: [Width::Mhz40, Width::Mhz20][number % 2],
                frequency_mhz: Some(5180.0 + 160.0 * number as f64),
            };
            medium.add_link(RadioId::new(radio), link);
        }
        if let Some(emlsr) = drawn.emlsr.filter(|_| *further > 0 && radio % 2 == 1) {
            medium.make_single(RadioId::new(radio), emlsr);
        }
    }
    for &(at, radio, up) in &drawn.power {
        medium.schedule_power(at, RadioId::new(radio), up);
    }
    let mut found = Vec::new();
    let end = drawn.end();
    let mut inputs = drawn.load.iter().peekable();
    loop {
        let wake = if every_event {
            medium.next_deadline()
        } else {
            medium.next_output()
        };
        let input = inputs.peek().map(|entry| entry.0);
        let next = [wake, input].into_iter().flatten().min();
        let Some(now) = next.filter(|now| *now < end) else {
            break;
        };
        medium.advance(now);
        let mut take = |medium: &mut Medium| {
            while let Some(output) = medium.poll_output() {
                found.push((now, output));
            }
        };
        take(&mut medium);
        while inputs.peek().is_some_and(|entry| entry.0 == now) {
            if let Some((_, from, frame)) = inputs.next() {
                medium.enqueue(RadioId::new(*from), frame.clone());
                take(&mut medium);
            }
        }
    }
    medium.advance(end);
    while let Some(output) = medium.poll_output() {
        found.push((end, output));
    }
    (found, medium)
}

fn has_unit(aired: &Aired) -> bool {
    let scheme = aired.rate.scheme();
    scheme.is_some_and(|scheme| scheme.unit.is_some())
}

/// Whether it leaves out subchannels, which are always some that its width allows.
fn is_punctured(run: u64, aired: &Aired) -> bool {
    aired.rate.scheme().is_some_and(|scheme| {
        let punctured = scheme.punctured;
        assert!(
            punctured.is_allowed_on(scheme.width),
            "run {run}: {aired:?}"
        );
        !punctured.is_none()
    })
}

/// Every frame of a run has one fate and one status, and is not spoken of after its end. Adds the
/// names of fates. Returns how many rows of the trace are of a resource unit, a trigger, a further link,
/// a sounding, and a punctured channel.
fn check_fates(run: u64, drawn: &Drawn, seen: &mut BTreeSet<&'static str>) -> [usize; 5] {
    let (mut shared, mut triggers, mut further, mut soundings) = (0, 0, 0, 0);
    let mut punctured = 0;
    let (found, medium) = play(drawn, true);
    let mut open: BTreeSet<FrameId> = drawn.load.iter().map(|entry| entry.2.id).collect();
    let mut kept = BTreeSet::new();
    let mut unicasts: BTreeMap<(RadioId, RadioId), u64> = BTreeMap::new();
    for (_, output) in &found {
        match output {
            Output::Status { frame, kept: k, .. } => {
                assert!(open.remove(frame), "run {run}: second status of {frame}");
                if *k {
                    kept.insert(*frame);
                }
            }
            Output::Deliver { frame, .. } => {
                let known = open.contains(frame) || kept.contains(frame);
                assert!(known, "run {run}: {frame} delivered after its end");
            }
            Output::Released { frame } => {
                assert!(kept.remove(frame), "run {run}: {frame} was not kept");
            }
            Output::Aired(aired) => {
                seen.insert(aired.fate.name());
                shared += usize::from(has_unit(aired));
                further += usize::from(aired.link > 0);
                punctured += usize::from(is_punctured(run, aired));
                if let (To::Radio(to), Some(id)) = (aired.to, aired.frame) {
                    let known = open.contains(&id) || kept.contains(&id);
                    assert!(known, "run {run}: {id} on the air after its end");
                    *unicasts.entry((aired.from, to)).or_default() += 1;
                }
                let control = [
                    AirKind::Ack,
                    AirKind::Rts,
                    AirKind::Cts,
                    AirKind::BlockAck,
                    AirKind::BlockAckRequest,
                    AirKind::Trigger,
                    AirKind::BufferStatus,
                    AirKind::Sounding,
                ];
                triggers += usize::from(aired.kind == AirKind::Trigger);
                soundings += usize::from(aired.kind == AirKind::Sounding);
                assert_eq!(aired.frame.is_none(), control.contains(&aired.kind));
            }
            Output::Exhausted { .. } => {}
        }
    }
    assert!(open.is_empty(), "run {run}: without status: {open:?}");
    assert!(kept.is_empty(), "run {run}: never released: {kept:?}");
    let audit = medium.audit();
    assert!(audit.holds() && audit.open == 0, "run {run}: {audit:?}");
    assert_eq!(audit.accepted, drawn.load.len() as u64);
    for from in (0..drawn.stations.len()).map(RadioId::new) {
        for view in medium.links(from) {
            let (to, link) = (view.to, view.counters);
            let fates = [
                link.delivered,
                link.collided,
                link.weak,
                link.capture_lost,
                link.error_model,
                link.deaf,
                link.off,
            ];
            let sum: u64 = fates.iter().sum();
            assert_eq!(sum, link.frames, "run {run}: {from} to {to}: {link:?}");
            let sent = unicasts.get(&(from, to)).copied().unwrap_or(0);
            assert!(link.frames >= sent, "run {run}: {from} to {to}: {sent}");
        }
    }
    [shared, triggers, further, soundings, punctured]
}

#[test]
fn every_frame_has_one_fate_and_one_status() {
    let mut seen = BTreeSet::new();
    for run in 0..runs() {
        check_fates(run, &draw(run), &mut seen);
    }
    for fate in [
        Fate::Delivered,
        Fate::Collided,
        Fate::Weak,
        Fate::CaptureLost,
        Fate::ErrorModel,
        Fate::Deaf,
        Fate::Off,
        Fate::Nobody,
    ] {
        assert!(seen.contains(fate.name()), "no frame was {}", fate.name());
    }
}

/// What is drawn with categories, at HE's or EHT's rates and without RTS, so that frames of several
/// receivers go together.
fn served_together(run: u64) -> Drawn {
    let mut drawn = draw(run);
    let (signal_extension, is_eht) = (true, run % 5 == 0);
    drawn.params.phy.standard = match is_eht {
        true => Standard::Eht { signal_extension },
        false => Standard::He { signal_extension },
    };
    drawn.params.ofdma = Some(Ofdma {
        scheduler: [
            Scheduler::RoundRobin,
            Scheduler::ProportionalFair,
            Scheduler::Airtime,
        ][(run / 3) as usize % 3],
        acknowledgement: [Acknowledgement::MuBar, Acknowledgement::Sequential]
            [(run / 9) as usize % 2],
        uplink: run % 2 == 0,
        bsrp: (run % 4 == 0).then(|| Duration::from_millis(run % 3)),
        mimo: None,
    });
    for (at, from, frame) in &mut drawn.load {
        // In a tenth of the time, so that queues fill up.
        *at = Instant::ZERO + at.since(Instant::ZERO) / 10;
        if frame.class == Class::Beacon {
            frame.class = Class::ScheduledBeacon;
        }
        // Most frames come from one radio, or go to it, which is then saturated.
        match frame.id % 8 {
            0..4 => *from = 0,
            4..7 if *from > 0 => frame.to = To::Radio(RadioId::new(0)),
            _ => {}
        }
        for attempts in &mut frame.rates {
            let mcs = (frame.id % 12) as u8;
            attempts.rate = match is_eht {
                true => Rate::eht(mcs + 2, 1, Width::Mhz20, Guard::Ns800).expect("an EHT rate"),
                false => Rate::he(mcs, 1, Width::Mhz20, Guard::Ns800).expect("an HE rate"),
            };
            attempts.rts = false;
        }
    }
    drawn
}

#[test]
fn frames_that_share_a_ppdu_have_one_fate_and_one_status() {
    let mut seen = BTreeSet::new();
    let (mut shared, mut triggers) = (0, 0);
    for run in (0..runs()).map(|run| 3 * run + 2) {
        let found = check_fates(run, &served_together(run), &mut seen);
        shared += found[0];
        triggers += found[1];
    }
    assert!(shared > 1000 && triggers > 100, "{shared} {triggers}");
}

/// The same by streams on the whole channel, at rates of VHT in every other run, with soundings up to all the
/// time.
fn with_streams(run: u64) -> Drawn {
    let mut drawn = served_together(run);
    let ofdma = drawn.params.ofdma.as_mut().expect("what was drawn");
    ofdma.mimo = Some(Mimo {
        antennas: (run / 3 % 10) as u8,
        sounding: Duration::from_micros([0, 1, 5000, 100_000][(run / 3) as usize % 4]),
    });
    if run % 2 == 0 {
        drawn.params.phy.standard = Standard::Vht {
            signal_extension: false,
        };
        for attempts in drawn.load.iter_mut().flat_map(|entry| &mut entry.2.rates) {
            let scheme = attempts.rate.scheme().expect("an HE rate");
            let (mcs, streams) = (scheme.mcs % 8, 1 + scheme.mcs % 2);
            let rate = Rate::vht(mcs, streams, Width::Mhz20, run % 4 == 0);
            attempts.rate = rate.expect("a VHT rate");
        }
    }
    drawn
}

#[test]
fn frames_of_several_streams_have_one_fate_and_one_status() {
    let mut seen = BTreeSet::new();
    let mut soundings = 0;
    for run in (0..runs()).map(|run| 3 * run + 2) {
        soundings += check_fates(run, &with_streams(run), &mut seen)[3];
    }
    assert!(soundings > 1000, "{soundings}");
}

/// What is drawn with categories, at EHT's rates, with devices that have one to three links.
fn with_links(run: u64) -> Drawn {
    let mut drawn = served_together(run);
    drawn.params.phy.standard = Standard::Eht {
        signal_extension: true,
    };
    drawn.params.ofdma = None;
    drawn.params.energy.battery_j = None;
    for (_, _, frame) in &mut drawn.load {
        for attempts in &mut frame.rates {
            let mcs = (frame.id % 12) as u8;
            attempts.rate = Rate::eht(mcs, 1, Width::Mhz20, Guard::Ns800).expect("an EHT rate");
            attempts.rts = frame.id % 5 == 0;
        }
    }
    let further = (0..drawn.stations.len()).map(|radio| (radio + run as usize / 3) % 3);
    drawn.further = further.collect();
    drawn
}

#[test]
fn frames_of_several_links_have_one_fate_and_one_status() {
    let (mut seen, mut further) = (BTreeSet::new(), 0);
    for run in (0..runs()).map(|run| 3 * run + 2) {
        further += check_fates(run, &with_links(run), &mut seen)[2];
    }
    assert!(further > 1000, "{further}");
}

/// The same of devices with one link, on channels that share frequencies. Each lacks subchannels that its
/// width allows.
fn on_punctured_channels(run: u64) -> Drawn {
    let mut drawn = with_links(run);
    drawn.further.fill(0);
    let mut random = Stream::new(run, "punctured");
    let widths = [Width::Mhz320, Width::Mhz160, Width::Mhz80];
    let block = |(number, width): (u32, Width)| {
        let primary = 4 * number as u16 % width.subchannels();
        let is_one = |one: &Punctured| {
            one.is_allowed_on(width) && !one.is_none() && one.within(primary, 1).is_none()
        };
        let patterns: Vec<_> = (1..=u16::MAX).map(Punctured).filter(is_one).collect();
        Block {
            primary: Mhz(5180 + 80 * number),
            low: Mhz(5170),
            width,
            punctured: patterns[random.below(patterns.len() as u32) as usize],
        }
    };
    drawn.params.blocks = (0..).zip(widths).map(block).collect();
    for attempts in drawn.load.iter_mut().flat_map(|entry| &mut entry.2.rates) {
        attempts.rate = attempts.rate.over(Width::Mhz320);
    }
    drawn
}

#[test]
fn frames_on_punctured_channels_have_one_fate_and_one_status() {
    let (mut seen, mut punctured) = (BTreeSet::new(), 0);
    for run in (0..runs()).map(|run| 3 * run + 2) {
        punctured += check_fates(run, &on_punctured_channels(run), &mut seen)[4];
    }
    assert!(punctured > 1000, "{punctured}");
}

#[test]
fn frames_of_single_radios_have_one_fate_and_one_status() {
    let (mut seen, mut further) = (BTreeSet::new(), 0);
    for run in (0..runs()).map(|run| 3 * run + 2) {
        let delay = |most: u64| Duration::from_micros(run * 16 % most);
        let emlsr = Emlsr {
            padding: delay(96),
            transition: delay(128),
        };
        let drawn = Drawn {
            emlsr: Some(emlsr),
            ..with_links(run)
        };
        further += check_fates(run, &drawn, &mut seen)[2];
    }
    assert!(further > 1000, "{further}");
    assert!(seen.contains(Fate::Deaf.name()));
}

/// A driver that sleeps until [`Medium::next_output`] misses nothing.
#[test]
fn waking_only_for_outputs_changes_nothing() {
    let outputs = |found: Vec<(Instant, Output)>| -> Vec<(Instant, Output)> {
        let told = |entry: &(Instant, Output)| !matches!(entry.1, Output::Aired(_));
        found.into_iter().filter(told).collect()
    };
    let (mut wakes, mut events) = (0, 0);
    for run in 0..runs() {
        let drawn = draw(run);
        let (each, medium) = play(&drawn, true);
        let (rare, _) = play(&drawn, false);
        events += medium.handled();
        wakes += rare.len() as u64;
        let (each, rare) = (outputs(each), outputs(rare));
        for (a, b) in each.iter().zip(&rare) {
            assert_eq!(a, b, "run {run}");
        }
        assert_eq!(each.len(), rare.len(), "run {run}");
    }
    assert!(wakes < events);
}

/// Time in the states of power adds up to the time that has passed.
#[test]
fn no_time_is_lost() {
    for mut drawn in (0..runs()).flat_map(|run| [draw(run), served_together(run)]) {
        let run = drawn.params.seed;
        drawn.params.energy.battery_j = None;
        let (_, medium) = play(&drawn, true);
        let end = drawn.end().since(Instant::ZERO);
        for radio in 0..drawn.stations.len() {
            let times = medium.counters(RadioId::new(radio)).times;
            assert_eq!(times.tx + times.rx + times.idle + times.sleep, end);
            let airtime: Duration = medium
                .counters(RadioId::new(radio))
                .airtime
                .into_iter()
                .sum();
            assert_eq!(times.tx, airtime, "run {run}: radio {radio}");
        }
    }
}
