// SPDX-License-Identifier: Apache-2.0
//! The distributed coordination function (IEEE 802.11-2020 10.3) of radios on one channel.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::loss::LossRule;
use crate::phy::{Phy, Propagation};
use crate::{Nanos, Stream};

/// The driver's name of a frame.
pub type FrameId = u64;

const ACK_BYTES: usize = 14;
const CTS_BYTES: usize = 14;
const RTS_BYTES: usize = 20;

/// Channel and MAC parameters that all radios share.
#[derive(Clone, Debug)]
pub struct Params {
    pub seed: u64,
    pub phy: Phy,
    pub propagation: Propagation,
    pub rx_threshold_dbm: f64,
    pub cs_threshold_dbm: f64,
    /// Signal to interference ratio that a reception needs, in dB.
    pub capture_db: f64,
    /// Whether interference adds up; otherwise only the strongest interferer counts (ns-2).
    pub cumulative_interference: bool,
    pub retry_short: u32,
    pub retry_long: u32,
    /// Retry as often as the kernel's rate table says instead of the retry limits.
    pub kernel_retries: bool,
    pub queue_packets: usize,
    /// Pre-standard WaveLAN: no acknowledgement, no retry.
    pub no_ack: bool,
    /// Back off even when a frame finds the medium idle (as ns-2.35); the standard lets it go.
    pub always_backoff: bool,
    /// Receive as ns-2.35's Mac802_11 does: a radio locks on the first frame that it senses, one
    /// too weak to decode included, and what comes later can only spoil it; a reception with
    /// errors reserves the medium for EIFS; CTS, and data after CTS, wait for an idle medium.
    pub ns2_reception: bool,
    /// Hand unicast frames also to other radios that decoded them.
    pub overhear: bool,
}

/// A radio's name and way: (time, x in m, y in m), linear between, at rest before and after.
#[derive(Clone, Debug)]
pub struct Station {
    pub name: String,
    pub waypoints: Vec<(Nanos, f64, f64)>,
}

/// Where a frame is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Everyone,
    Radio(usize),
    /// An address that no radio has.
    Nobody,
}

/// A frame as its host hands it over.
#[derive(Clone, Debug)]
pub struct Frame {
    pub id: FrameId,
    pub to: To,
    /// MAC header to FCS.
    pub bytes: usize,
    /// Rate in Mbit/s, tries at it, RTS first; at least one entry.
    pub rates: Vec<(f64, u32, bool)>,
    pub beacon: bool,
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// `frame` reached radio `to`.
    Deliver {
        frame: FrameId,
        from: usize,
        to: usize,
        signal_dbm: f64,
        rate_mbps: f64,
    },
    /// The sender is done with `frame`; `tries` per entry of its rate table.
    Status {
        frame: FrameId,
        radio: usize,
        acked: bool,
        tries: Vec<u32>,
    },
}

/// What became of one data frame at one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    Collided,
    Weak,
    ErrorModel,
    Deaf,
}

/// Counts and times of one radio since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub tx_frames: u64,
    pub tx_bytes: u64,
    pub rx_frames: u64,
    pub rx_bytes: u64,
    pub retries: u64,
    pub retry_limit: u64,
    pub queue_full: u64,
    /// Time on the air of data, ACK, RTS, CTS, beacons, broadcasts.
    pub airtime: [Nanos; 6],
    pub tx_time: Nanos,
    pub busy_time: Nanos,
}

/// Counts of the data frames from one radio to another.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkCounters {
    pub frames: u64,
    pub bytes: u64,
    pub delivered: u64,
    pub collided: u64,
    pub weak: u64,
    pub error_model: u64,
    pub signal_sum_dbm: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Ack,
    Rts,
    Cts,
}

#[derive(Clone, Debug)]
struct Transmission {
    from: usize,
    kind: Kind,
    to: To,
    frame: Option<Frame>,
    /// Sender's count of frames, by which a receiver knows a repeat.
    number: u64,
    rate_mbps: f64,
    /// Time that the medium stays reserved after the end.
    reserve: Nanos,
    /// Radios that sense it, with the power there in dBm and mW.
    heard: Vec<(usize, f64, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct Reception {
    tx: usize,
    mw: f64,
    interference_mw: f64,
    spoiled: bool,
    ends: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaiting {
    Nothing,
    Cts,
    Ack,
}

#[derive(Clone, Debug)]
struct Response {
    kind: Kind,
    to: usize,
    reserve: Nanos,
    /// Handed to the host when this acknowledgement has ended.
    deliver: Option<(FrameId, f64, f64)>,
}

#[derive(Debug)]
struct Radio {
    station: Station,
    up: bool,
    queue: VecDeque<Frame>,
    current: Option<Frame>,
    number: u64,
    tries: Vec<u32>,
    short_retries: u32,
    long_retries: u32,
    cw: u32,
    slots: u32,
    needs_backoff: bool,
    /// Start of the slot count; slots elapse from here.
    origin: Nanos,
    access_at: Option<Nanos>,
    drawn_at: Nanos,
    generation: u64,
    transmitting: bool,
    awaiting: Awaiting,
    response: Option<Response>,
    /// Received frame whose acknowledgement is on the air: sender, frame, signal, rate.
    delivering: Option<(usize, FrameId, f64, f64)>,
    sensed: u32,
    air: Vec<(usize, f64)>,
    reception: Option<Reception>,
    nav_until: Nanos,
    idle_from: Nanos,
    busy_since: Nanos,
    eifs: bool,
    last_number: Vec<u64>,
    random: Stream,
    counters: Counters,
}

/// Kinds of events, in the order in which they are handled at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End,
    Power(bool),
    Respond,
    Timeout(u64),
    Access(u64),
}

/// The channel and its radios.
pub struct Medium {
    params: Params,
    radios: Vec<Radio>,
    air: Vec<Option<Transmission>>,
    events: BinaryHeap<Reverse<(Nanos, Event, usize, u64)>>,
    sequence: u64,
    now: Nanos,
    outputs: VecDeque<Output>,
    links: Vec<LinkCounters>,
    losses: Vec<(LossRule, Stream)>,
    moves: bool,
    power_dbm: Vec<f64>,
}

impl Medium {
    pub fn new(params: Params, stations: Vec<Station>, losses: Vec<LossRule>) -> Self {
        let count = stations.len();
        let moves = stations.iter().any(|s| s.waypoints.len() > 1);
        let radios = stations
            .into_iter()
            .map(|station| Radio {
                random: Stream::new(params.seed, &format!("medium/backoff/{}", station.name)),
                station,
                up: true,
                queue: VecDeque::new(),
                current: None,
                number: 0,
                tries: Vec::new(),
                short_retries: 0,
                long_retries: 0,
                cw: params.phy.cw_min,
                slots: 0,
                needs_backoff: false,
                origin: 0,
                access_at: None,
                drawn_at: 0,
                generation: 0,
                transmitting: false,
                awaiting: Awaiting::Nothing,
                response: None,
                delivering: None,
                sensed: 0,
                air: Vec::new(),
                reception: None,
                nav_until: 0,
                idle_from: 0,
                busy_since: 0,
                eifs: false,
                last_number: vec![0; count],
                counters: Counters::default(),
            })
            .collect();
        let losses = losses
            .into_iter()
            .enumerate()
            .map(|(i, rule)| (rule, Stream::new(params.seed, &format!("medium/loss/{i}"))))
            .collect();
        let mut medium = Self {
            params,
            radios,
            air: Vec::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            now: 0,
            outputs: VecDeque::new(),
            links: vec![LinkCounters::default(); count * count],
            losses,
            moves,
            power_dbm: Vec::new(),
        };
        medium.power_dbm = medium.all_powers(0);
        medium
    }

    /// When the next thing happens by itself.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.events.peek().map(|Reverse(event)| event.0)
    }

    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Let everything happen that is due up to `now`.
    pub fn advance(&mut self, now: Nanos) {
        while self.next_deadline().is_some_and(|at| at <= now) {
            let Some(Reverse((at, event, index, _))) = self.events.pop() else {
                break;
            };
            self.now = self.now.max(at);
            match event {
                Event::End => self.end(index),
                Event::Power(up) => self.set_power(index, up),
                Event::Respond => self.respond(index),
                Event::Timeout(generation) => self.timeout(index, generation),
                Event::Access(generation) => self.access(index, generation),
            }
        }
        self.now = self.now.max(now);
    }

    /// A frame from radio `radio`'s host, at the time of the last `advance`.
    pub fn enqueue(&mut self, radio: usize, frame: Frame) {
        let limit = self.params.queue_packets;
        let station = &mut self.radios[radio];
        if !station.up || station.queue.len() >= limit {
            station.counters.queue_full += u64::from(station.up);
            let tries = vec![0; frame.rates.len()];
            let status = Output::Status {
                frame: frame.id,
                radio,
                acked: false,
                tries,
            };
            self.outputs.push_back(status);
            return;
        }
        station.queue.push_back(frame);
        self.next_frame(radio);
    }

    /// Switch a radio off or on at `at`.
    pub fn schedule_power(&mut self, at: Nanos, radio: usize, up: bool) {
        self.push(at, Event::Power(up), radio);
    }

    pub fn counters(&self, radio: usize) -> Counters {
        let station = &self.radios[radio];
        let mut counters = station.counters;
        if station.sensed > 0 || station.transmitting {
            counters.busy_time += self.now - station.busy_since;
        }
        counters
    }

    pub fn queue_len(&self, radio: usize) -> usize {
        self.radios[radio].queue.len() + usize::from(self.radios[radio].current.is_some())
    }

    pub fn link(&self, from: usize, to: usize) -> LinkCounters {
        self.links[from * self.radios.len() + to]
    }

    /// Place of a radio at `at`, exact by its waypoints.
    pub fn position(&self, radio: usize, at: Nanos) -> (f64, f64) {
        let points = &self.radios[radio].station.waypoints;
        let after = points.partition_point(|point| point.0 <= at);
        if after == 0 {
            return points.first().map_or((0.0, 0.0), |p| (p.1, p.2));
        }
        let (t0, x0, y0) = points[after - 1];
        let Some(&(t1, x1, y1)) = points.get(after) else {
            return (x0, y0);
        };
        let part = (at - t0) as f64 / (t1 - t0) as f64;
        (x0 + (x1 - x0) * part, y0 + (y1 - y0) * part)
    }

    fn push(&mut self, at: Nanos, event: Event, index: usize) {
        self.sequence += 1;
        self.events.push(Reverse((at, event, index, self.sequence)));
    }

    fn received_dbm(&self, from: usize, to: usize, at: Nanos) -> f64 {
        let (a, b) = (self.position(from, at), self.position(to, at));
        self.params
            .propagation
            .received_dbm((a.0 - b.0).hypot(a.1 - b.1))
    }

    fn all_powers(&self, at: Nanos) -> Vec<f64> {
        let n = self.radios.len();
        (0..n * n)
            .map(|i| self.received_dbm(i / n, i % n, at))
            .collect()
    }

    fn power(&self, from: usize, to: usize) -> f64 {
        if self.moves {
            self.received_dbm(from, to, self.now)
        } else {
            self.power_dbm[from * self.radios.len() + to]
        }
    }

    // ---- access to the channel (10.3.4.2, 10.3.4.3) ----

    fn next_frame(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        if station.current.is_some() {
            return;
        }
        let Some(frame) = station.queue.pop_front() else {
            return;
        };
        station.number += 1;
        station.tries = vec![0; frame.rates.len()];
        station.short_retries = 0;
        station.long_retries = 0;
        station.current = Some(frame);
        if !station.needs_backoff {
            let idle =
                station.sensed == 0 && !station.transmitting && station.nav_until <= self.now;
            let ifs = if station.eifs {
                self.params.phy.eifs()
            } else {
                self.params.phy.difs()
            };
            if self.params.always_backoff || !idle || self.now < station.idle_from + ifs {
                self.draw_backoff(radio);
            }
        }
        self.count_down(radio);
    }

    fn draw_backoff(&mut self, radio: usize) {
        let now = self.now;
        let station = &mut self.radios[radio];
        station.slots = station.random.below(station.cw + 1);
        station.needs_backoff = true;
        station.drawn_at = now;
    }

    /// Start counting slots if the channel is idle and there is something to count for.
    fn count_down(&mut self, radio: usize) {
        let phy = &self.params.phy;
        let (difs, eifs, slot) = (phy.difs(), phy.eifs(), phy.slot);
        let now = self.now;
        let always = self.params.always_backoff;
        let station = &mut self.radios[radio];
        if station.access_at.is_some()
            || !station.up
            || station.transmitting
            || station.sensed > 0
            || station.awaiting != Awaiting::Nothing
            || station.response.is_some()
            || !(station.needs_backoff || station.current.is_some())
        {
            return;
        }
        let idle_from = station.idle_from.max(station.nav_until);
        let ifs = if station.eifs { eifs } else { difs };
        // A backoff drawn while the medium was already idle starts then; ns-2 defers again first.
        let drawn = if always {
            station.drawn_at + difs
        } else {
            station.drawn_at
        };
        station.origin = (idle_from + ifs).max(drawn);
        let slots = if station.needs_backoff {
            station.slots
        } else {
            0
        };
        let at = (station.origin + Nanos::from(slots) * slot).max(now);
        station.access_at = Some(at);
        station.generation += 1;
        let generation = station.generation;
        self.push(at, Event::Access(generation), radio);
    }

    /// Stop counting and keep the slots that have not elapsed.
    fn freeze(&mut self, radio: usize) {
        let slot = self.params.phy.slot;
        let now = self.now;
        let station = &mut self.radios[radio];
        let Some(at) = station.access_at else { return };
        if at <= now {
            // Its slot has come too: it cannot sense what starts in the same instant, and both
            // transmit. This is how DCF collides.
            return;
        }
        let elapsed = now.saturating_sub(station.origin) / slot;
        station.slots = station.slots.saturating_sub(elapsed as u32);
        if !station.needs_backoff {
            // Deferring without backoff: the medium became busy first, so now it must back off.
            station.access_at = None;
            station.generation += 1;
            self.draw_backoff(radio);
            return;
        }
        station.drawn_at = 0;
        station.access_at = None;
        station.generation += 1;
    }

    fn access(&mut self, radio: usize, generation: u64) {
        let station = &mut self.radios[radio];
        if station.generation != generation || station.access_at.is_none() {
            return;
        }
        station.access_at = None;
        station.needs_backoff = false;
        station.slots = 0;
        if station.transmitting || station.response.is_some() {
            return;
        }
        if station.current.is_some() {
            self.send_current(radio);
        }
    }

    // ---- frame exchange ----

    /// Rate entry of the current frame's try after all but the last `back` that were made.
    fn rate_entry(&self, radio: usize, back: u32) -> usize {
        let station = &self.radios[radio];
        let Some(frame) = &station.current else {
            return 0;
        };
        let done = station.tries.iter().sum::<u32>() - back;
        let mut total = 0;
        for (i, rate) in frame.rates.iter().enumerate() {
            total += rate.1;
            if done < total {
                return i;
            }
        }
        frame.rates.len() - 1
    }

    fn send_current(&mut self, radio: usize) {
        let entry = self.rate_entry(radio, 0);
        let Some(frame) = self.radios[radio].current.clone() else {
            return;
        };
        let (_, _, rts) = frame.rates[entry];
        if rts && frame.to != To::Everyone && !self.params.no_ack {
            let phy = &self.params.phy;
            let data = phy.duration(frame.bytes, frame.rates[entry].0);
            let basic = phy.basic_rate_mbps;
            let cts = phy.duration(CTS_BYTES, basic);
            let ack = phy.duration(ACK_BYTES, basic);
            let reserve = 3 * phy.sifs + cts + data + ack;
            self.radios[radio].tries[entry] += 1;
            self.transmit(radio, Kind::Rts, frame.to, None, basic, RTS_BYTES, reserve);
        } else {
            self.radios[radio].tries[entry] += 1;
            self.send_data(radio, entry, frame);
        }
    }

    fn send_data(&mut self, radio: usize, entry: usize, frame: Frame) {
        let rate = frame.rates[entry].0;
        let expects_ack = frame.to != To::Everyone && !self.params.no_ack;
        let phy = &self.params.phy;
        let ack = phy.sifs + phy.duration(ACK_BYTES, phy.basic_rate_mbps);
        let bytes = frame.bytes;
        let reserve = if expects_ack { ack } else { 0 };
        self.transmit(
            radio,
            Kind::Data,
            frame.to,
            Some(frame),
            rate,
            bytes,
            reserve,
        );
    }

    #[allow(clippy::too_many_arguments)]
    fn transmit(
        &mut self,
        radio: usize,
        kind: Kind,
        to: To,
        frame: Option<Frame>,
        rate_mbps: f64,
        bytes: usize,
        reserve: Nanos,
    ) {
        let now = self.now;
        let duration = self.params.phy.duration(bytes, rate_mbps);
        let slot = match kind {
            Kind::Ack => 1,
            Kind::Rts => 2,
            Kind::Cts => 3,
            Kind::Data if frame.as_ref().is_some_and(|f| f.beacon) => 4,
            Kind::Data if to == To::Everyone => 5,
            Kind::Data => 0,
        };
        self.freeze(radio);
        let station = &mut self.radios[radio];
        if station.sensed == 0 {
            station.busy_since = now;
        }
        station.transmitting = true;
        // A radio that transmits is deaf (half duplex).
        if let Some(reception) = &mut station.reception {
            reception.spoiled = true;
        }
        station.counters.airtime[slot] += duration;
        station.counters.tx_time += duration;
        if kind == Kind::Data {
            station.counters.tx_frames += 1;
            station.counters.tx_bytes += bytes as u64;
        }
        let number = station.number;
        let tx = self
            .air
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                self.air.push(None);
                self.air.len() - 1
            });
        let mut heard = Vec::new();
        for other in 0..self.radios.len() {
            if other == radio || !self.radios[other].up {
                continue;
            }
            let dbm = self.power(radio, other);
            if dbm >= self.params.cs_threshold_dbm {
                let mw = 10f64.powf(dbm / 10.0);
                heard.push((other, dbm, mw));
                self.arrive(other, tx, dbm, mw, now + duration);
            }
        }
        self.air[tx] = Some(Transmission {
            from: radio,
            kind,
            to,
            frame,
            number,
            rate_mbps,
            reserve,
            heard,
        });
        self.push(now + duration, Event::End, tx);
    }

    /// A transmission begins to be sensed at `radio`.
    fn arrive(&mut self, radio: usize, tx: usize, dbm: f64, mw: f64, ends: Nanos) {
        self.freeze(radio);
        let now = self.now;
        let capture = 10f64.powf(self.params.capture_db / 10.0);
        let cumulative = self.params.cumulative_interference;
        let decodable = dbm >= self.params.rx_threshold_dbm;
        let station = &mut self.radios[radio];
        if station.sensed == 0 && !station.transmitting {
            station.busy_since = now;
        }
        station.sensed += 1;
        if self.params.ns2_reception {
            match &mut station.reception {
                None => {
                    station.reception = Some(Reception {
                        tx,
                        mw,
                        interference_mw: 0.0,
                        spoiled: station.transmitting || !decodable,
                        ends,
                    });
                }
                Some(first) if first.mw >= capture * mw => {
                    station.nav_until = station.nav_until.max(ends + self.params.phy.eifs());
                }
                Some(first) => {
                    first.spoiled = true;
                    if ends > first.ends {
                        (first.tx, first.mw, first.ends) = (tx, mw, ends);
                    }
                }
            }
        } else if let Some(reception) = &mut station.reception {
            reception.interference_mw = if cumulative {
                reception.interference_mw + mw
            } else {
                reception.interference_mw.max(mw)
            };
            if reception.mw < capture * reception.interference_mw {
                reception.spoiled = true;
            }
        } else if decodable {
            let others = station.air.iter().map(|entry| entry.1);
            let interference_mw = if cumulative {
                others.sum()
            } else {
                others.fold(0.0, f64::max)
            };
            station.reception = Some(Reception {
                tx,
                mw,
                interference_mw,
                spoiled: station.transmitting || mw < capture * interference_mw,
                ends,
            });
        }
        station.air.push((tx, mw));
    }

    /// Transmission `tx` ends everywhere at once: propagation delay is not modelled.
    fn end(&mut self, tx: usize) {
        let Some(transmission) = self.air[tx].take() else {
            return;
        };
        let from = transmission.from;
        self.radios[from].transmitting = false;
        self.idle_again(from);
        let mut decoded = Vec::new();
        for &(radio, dbm, _) in &transmission.heard {
            let station = &mut self.radios[radio];
            station.sensed = station.sensed.saturating_sub(1);
            station.air.retain(|entry| entry.0 != tx);
            let cumulative = self.params.cumulative_interference;
            match station.reception {
                Some(reception) if reception.tx == tx => {
                    station.reception = None;
                    if !self.params.ns2_reception {
                        station.eifs = reception.spoiled;
                    } else if reception.spoiled && !station.transmitting {
                        let until = self.now + self.params.phy.eifs();
                        station.nav_until = station.nav_until.max(until);
                    }
                    decoded.push((radio, dbm, !reception.spoiled));
                }
                Some(_) => {
                    if cumulative {
                        let rest: f64 = station.air.iter().map(|entry| entry.1).sum();
                        if let Some(reception) = &mut station.reception {
                            reception.interference_mw = (rest - reception.mw).max(0.0);
                        }
                    }
                    decoded.push((radio, dbm, false));
                }
                None if self.params.ns2_reception => decoded.push((radio, dbm, false)),
                None => {
                    // Sensed but not decodable: a frame with errors (10.3.4.3.5 wants EIFS).
                    station.eifs = true;
                    decoded.push((radio, dbm, false));
                }
            }
            self.idle_again(radio);
        }
        if transmission.kind == Kind::Ack {
            // Before the sender's status, which ends the frame's life.
            if let Some((sender, frame, dbm, rate)) = self.radios[from].delivering.take() {
                self.deliver(sender, from, frame, dbm, rate);
            }
        }
        for (radio, dbm, intact) in decoded {
            let fate = self.receive(radio, &transmission, dbm, intact);
            self.count_link(&transmission, radio, dbm, fate);
        }
        self.after_sending(from, &transmission);
        for &(radio, ..) in &transmission.heard {
            self.count_down(radio);
        }
        self.count_down(from);
    }

    fn idle_again(&mut self, radio: usize) {
        let now = self.now;
        let station = &mut self.radios[radio];
        if station.sensed == 0 && !station.transmitting {
            station.idle_from = now;
            station.counters.busy_time += now - station.busy_since;
        }
    }

    fn count_link(&mut self, transmission: &Transmission, radio: usize, dbm: f64, fate: Fate) {
        let Some(frame) = &transmission.frame else {
            return;
        };
        let meant = match transmission.to {
            To::Everyone => dbm >= self.params.rx_threshold_dbm,
            To::Radio(to) => to == radio,
            To::Nobody => false,
        };
        if !meant {
            return;
        }
        let n = self.radios.len();
        let link = &mut self.links[transmission.from * n + radio];
        link.frames += 1;
        link.signal_sum_dbm += dbm;
        match fate {
            Fate::Delivered => {
                link.delivered += 1;
                link.bytes += frame.bytes as u64;
            }
            Fate::Weak => link.weak += 1,
            Fate::ErrorModel => link.error_model += 1,
            Fate::Collided | Fate::Deaf => link.collided += 1,
        }
    }

    fn receive(&mut self, radio: usize, tx: &Transmission, dbm: f64, intact: bool) -> Fate {
        if dbm < self.params.rx_threshold_dbm {
            return Fate::Weak;
        }
        if !intact {
            return Fate::Collided;
        }
        if !self.radios[radio].up {
            return Fate::Deaf;
        }
        let now = self.now;
        let mine = tx.to == To::Radio(radio);
        if !mine && tx.reserve > 0 {
            let station = &mut self.radios[radio];
            station.nav_until = station.nav_until.max(now + tx.reserve);
        }
        match tx.kind {
            Kind::Data => return self.receive_data(radio, tx, dbm),
            Kind::Rts if mine => {
                let station = &self.radios[radio];
                if station.nav_until <= now && station.response.is_none() {
                    let phy = &self.params.phy;
                    let cts = phy.sifs + phy.duration(CTS_BYTES, phy.basic_rate_mbps);
                    let reserve = tx.reserve.saturating_sub(cts);
                    self.plan(radio, Kind::Cts, tx.from, reserve, None);
                }
            }
            Kind::Cts if mine && self.radios[radio].awaiting == Awaiting::Cts => {
                let station = &mut self.radios[radio];
                station.awaiting = Awaiting::Nothing;
                station.generation += 1;
                station.short_retries = 0;
                self.plan(radio, Kind::Data, tx.from, 0, None);
            }
            Kind::Ack if mine && self.radios[radio].awaiting == Awaiting::Ack => {
                let station = &mut self.radios[radio];
                station.awaiting = Awaiting::Nothing;
                station.generation += 1;
                self.finish(radio, true);
            }
            _ => {}
        }
        Fate::Delivered
    }

    fn receive_data(&mut self, radio: usize, tx: &Transmission, dbm: f64) -> Fate {
        let Some(frame) = &tx.frame else {
            return Fate::Delivered;
        };
        let mine = tx.to == To::Radio(radio);
        if (mine || tx.to == To::Everyone) && !frame.beacon {
            for (rule, random) in &mut self.losses {
                if rule.applies(tx.from, radio) && rule.loses(self.now, tx.number, random) {
                    return Fate::ErrorModel;
                }
            }
        }
        let acknowledged = mine && !self.params.no_ack;
        let station = &mut self.radios[radio];
        let repeat = mine && station.last_number[tx.from] == tx.number;
        let wanted = mine || tx.to == To::Everyone || self.params.overhear;
        if wanted && !repeat {
            if mine {
                station.last_number[tx.from] = tx.number;
            }
            station.counters.rx_frames += 1;
            station.counters.rx_bytes += frame.bytes as u64;
            if !acknowledged {
                self.deliver(tx.from, radio, frame.id, dbm, tx.rate_mbps);
            }
        }
        if acknowledged {
            let deliver = (!repeat).then_some((frame.id, dbm, tx.rate_mbps));
            self.plan(radio, Kind::Ack, tx.from, 0, deliver);
        }
        Fate::Delivered
    }

    fn deliver(&mut self, from: usize, to: usize, frame: FrameId, signal_dbm: f64, rate_mbps: f64) {
        self.outputs.push_back(Output::Deliver {
            frame,
            from,
            to,
            signal_dbm,
            rate_mbps,
        });
    }

    /// Answer `to` after a SIFS.
    fn plan(
        &mut self,
        radio: usize,
        kind: Kind,
        to: usize,
        reserve: Nanos,
        deliver: Option<(FrameId, f64, f64)>,
    ) {
        self.freeze(radio);
        self.radios[radio].response = Some(Response {
            kind,
            to,
            reserve,
            deliver,
        });
        self.push(self.now + self.params.phy.sifs, Event::Respond, radio);
    }

    fn respond(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        let Some(response) = station.response.take() else {
            return;
        };
        if !station.up || station.transmitting {
            return;
        }
        let busy = station.sensed > 0 || station.nav_until > self.now;
        if self.params.ns2_reception && busy && response.kind != Kind::Ack {
            if response.kind == Kind::Data {
                station.cw = (2 * station.cw + 1).min(self.params.phy.cw_max);
                self.draw_backoff(radio);
            }
            self.count_down(radio);
            return;
        }
        let basic = self.params.phy.basic_rate_mbps;
        let to = To::Radio(response.to);
        match response.kind {
            Kind::Ack => {
                // The host gets the frame when the acknowledgement has ended, in the same instant
                // in which the sender's host learns of it; its radio is busy until then.
                if let Some((frame, dbm, rate)) = response.deliver {
                    self.radios[radio].delivering = Some((response.to, frame, dbm, rate));
                }
                self.transmit(radio, Kind::Ack, to, None, basic, ACK_BYTES, 0);
            }
            Kind::Cts => {
                self.transmit(
                    radio,
                    Kind::Cts,
                    to,
                    None,
                    basic,
                    CTS_BYTES,
                    response.reserve,
                );
            }
            _ => {
                // The request to send counted the try, so its rate entry is that of the last one.
                let entry = self.rate_entry(radio, 1);
                if let Some(frame) = self.radios[radio].current.clone() {
                    self.send_data(radio, entry, frame);
                }
            }
        }
    }

    fn after_sending(&mut self, radio: usize, transmission: &Transmission) {
        let phy = &self.params.phy;
        let basic = phy.basic_rate_mbps;
        let wait = |bytes| phy.sifs + phy.duration(bytes, basic) + phy.slot;
        match transmission.kind {
            Kind::Rts => self.wait_for(radio, Awaiting::Cts, wait(CTS_BYTES)),
            Kind::Data if transmission.to == To::Everyone || self.params.no_ack => {
                self.finish(radio, true);
            }
            Kind::Data => self.wait_for(radio, Awaiting::Ack, wait(ACK_BYTES)),
            Kind::Ack | Kind::Cts => {}
        }
    }

    fn wait_for(&mut self, radio: usize, what: Awaiting, wait: Nanos) {
        let station = &mut self.radios[radio];
        if !station.up || station.current.is_none() {
            return;
        }
        station.awaiting = what;
        station.generation += 1;
        let generation = station.generation;
        self.push(self.now + wait, Event::Timeout(generation), radio);
    }

    /// No CTS or ACK came: retry with a doubled window, or give up (10.3.4.4).
    fn timeout(&mut self, radio: usize, generation: u64) {
        let cw_max = self.params.phy.cw_max;
        let params = &self.params;
        let station = &mut self.radios[radio];
        if station.generation != generation || station.awaiting == Awaiting::Nothing {
            return;
        }
        let Some(frame) = &station.current else {
            return;
        };
        let protected = frame.rates.iter().any(|rate| rate.2);
        // Frames above the RTS threshold, which are those that RTS protects, count long retries.
        if station.awaiting == Awaiting::Ack && protected {
            station.long_retries += 1;
        } else {
            station.short_retries += 1;
        }
        station.awaiting = Awaiting::Nothing;
        let tried: u32 = station.tries.iter().sum();
        let allowed: u32 = frame.rates.iter().map(|rate| rate.1).sum();
        let over = if params.kernel_retries {
            tried >= allowed
        } else {
            station.short_retries >= params.retry_short || station.long_retries >= params.retry_long
        };
        if over {
            station.counters.retry_limit += 1;
            self.finish(radio, false);
            return;
        }
        station.counters.retries += 1;
        station.cw = (2 * station.cw + 1).min(cw_max);
        self.draw_backoff(radio);
        self.count_down(radio);
    }

    /// The current frame is done; the next one waits for a backoff in any case (post-backoff).
    fn finish(&mut self, radio: usize, acked: bool) {
        let cw_min = self.params.phy.cw_min;
        let station = &mut self.radios[radio];
        let Some(frame) = station.current.take() else {
            return;
        };
        station.cw = cw_min;
        let tries = std::mem::take(&mut station.tries);
        self.outputs.push_back(Output::Status {
            frame: frame.id,
            radio,
            acked,
            tries,
        });
        self.draw_backoff(radio);
        self.next_frame(radio);
        self.count_down(radio);
    }

    fn set_power(&mut self, radio: usize, up: bool) {
        let now = self.now;
        let station = &mut self.radios[radio];
        if station.up == up {
            return;
        }
        station.up = up;
        station.generation += 1;
        station.access_at = None;
        station.awaiting = Awaiting::Nothing;
        station.response = None;
        station.delivering = None;
        station.needs_backoff = false;
        if up {
            station.idle_from = now;
            return;
        }
        let lost: Vec<Frame> = station
            .current
            .take()
            .into_iter()
            .chain(station.queue.drain(..))
            .collect();
        for frame in lost {
            let tries = vec![0; frame.rates.len()];
            self.outputs.push_back(Output::Status {
                frame: frame.id,
                radio,
                acked: false,
                tries,
            });
        }
    }
}
