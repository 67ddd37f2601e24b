// SPDX-License-Identifier: Apache-2.0
//! The distributed coordination function (IEEE 802.11-2020 10.3) of radios on one channel.

mod access;
mod air;
mod counters;
mod exchange;
mod host;
mod lookahead;
mod ns2;
mod places;
mod power;
mod radio;
mod receive;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

pub use counters::{
    AirKind, Audit, Counters, Fate, Histogram, LinkCounters, Outcome, Signals, StateTimes,
};
pub use host::Nic;
pub use places::position;
pub use power::Energy;

use crate::loss::LossRule;
use crate::phy::{Fading, Model, Phy, Propagation, Reception, Standard};
use crate::{Nanos, Stream};
use exchange::{ACK_BYTES, CTS_BYTES};
use places::Places;
use radio::{Heard, Radio, Transmission};

/// The driver's name of a frame.
pub type FrameId = u64;

/// Entries of a frame's rate table, as in mac80211.
pub const MAX_RATES: usize = 4;

/// Channel and MAC parameters that all radios share.
#[derive(Clone, Debug)]
pub struct Params {
    pub seed: u64,
    pub phy: Phy,
    pub propagation: Propagation,
    /// Standard deviation of a link's deviation from the mean path loss, in dB.
    pub shadowing_db: f64,
    pub fading: Fading,
    pub reception: Reception,
    pub rx_threshold_dbm: f64,
    pub cs_threshold_dbm: f64,
    /// Signal to interference (and noise) ratio that a reception by threshold needs, in dB.
    pub capture_db: f64,
    /// Whether a receiver drops a frame for a later one that is stronger by `capture_db`.
    pub capture_later: bool,
    /// Whether interference adds up; otherwise only the strongest interferer counts (ns-2).
    pub cumulative_interference: bool,
    /// Power of the receiver's noise; none leaves noise out of the decision (ns-2).
    pub noise_dbm: Option<f64>,
    pub retry_short: u32,
    pub retry_long: u32,
    /// Retry as often as the kernel's rate table says instead of the retry limits.
    pub kernel_retries: bool,
    pub queue_packets: usize,
    /// Routing frames go before all others in the interface queue.
    pub routing_priority: bool,
    pub nic: Nic,
    pub energy: Energy,
    /// Pre-standard WaveLAN: no acknowledgement, no retry.
    pub no_ack: bool,
    /// Back off even when a frame finds the medium idle (as ns-2.35); the standard lets it go.
    pub always_backoff: bool,
    /// Receive as ns-2.35 does, see `engine/ns2.rs`.
    pub ns2_reception: bool,
    /// Hand unicast frames also to other radios that decoded them.
    pub overhear: bool,
    /// Give an [`Output::Aired`] for every transmission.
    pub trace: bool,
    /// Keep [`Signals`] of every link.
    pub histograms: bool,
}

impl Params {
    /// Mean power below which a signal neither is sensed nor disturbs: the carrier-sense
    /// threshold or, where noise counts, the noise if that is less.
    fn floor_dbm(&self) -> f64 {
        let noise = self.noise_dbm.unwrap_or(f64::INFINITY);
        self.cs_threshold_dbm.min(noise)
    }
}

/// ns-2's 914 MHz WaveLAN at standard DCF: 250 m reception, 550 m carrier sense.
impl Default for Params {
    fn default() -> Self {
        Self {
            seed: 1,
            phy: Phy {
                standard: Standard::Dsss,
                preamble_bits: 144,
                plcp_rate_mbps: 1.0,
                basic_rate_mbps: 1.0,
                slot: 20_000,
                sifs: 10_000,
                cw_min: 31,
                cw_max: 1023,
            },
            propagation: Propagation {
                model: Model::TwoRay,
                tx_power_dbm: 24.5,
                frequency_mhz: 914.0,
                antenna_height_m: 1.5,
                antenna_gain_dbi: 0.0,
            },
            shadowing_db: 0.0,
            fading: Fading::None,
            reception: Reception::Threshold,
            rx_threshold_dbm: -64.37,
            cs_threshold_dbm: -78.07,
            capture_db: 10.0,
            capture_later: false,
            cumulative_interference: true,
            noise_dbm: None,
            retry_short: 7,
            retry_long: 4,
            kernel_retries: false,
            queue_packets: 50,
            routing_priority: false,
            nic: Nic::default(),
            energy: Energy::default(),
            no_ack: false,
            always_backoff: false,
            ns2_reception: false,
            overhear: false,
            trace: false,
            histograms: false,
        }
    }
}

/// A radio's name and way: (time, x in m, y in m), linear between, at rest before and after. Two
/// points at one time are a jump.
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

/// What kind of frame a host sends; loss models leave beacons alone, and lists of losses count
/// data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Data,
    Management,
    Beacon,
}

/// A frame as its host hands it over.
#[derive(Clone, Debug)]
pub struct Frame {
    pub id: FrameId,
    pub to: To,
    /// MAC header to FCS.
    pub bytes: usize,
    /// Rate in Mbit/s, tries at it, RTS first; one to [`MAX_RATES`] entries.
    pub rates: Vec<(f64, u32, bool)>,
    pub class: Class,
    /// A routing protocol's own frame.
    pub routing: bool,
}

/// A transmission that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aired {
    /// When it began.
    pub at: Nanos,
    /// When it ended or broke off.
    pub until: Nanos,
    pub from: usize,
    pub to: To,
    pub kind: AirKind,
    /// The host's frame that it carried.
    pub frame: Option<FrameId>,
    pub bytes: usize,
    pub rate_mbps: f64,
    /// 1 at the first try.
    pub attempt: u32,
    /// The duration field: time that the medium stays reserved after the end.
    pub reserve: Nanos,
    /// At the receiver; of a broadcast delivered where at least one received it.
    pub fate: Fate,
    /// There; none where nobody sensed it.
    pub signal_dbm: Option<f64>,
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
    /// The sender is done with `frame`; `tries` per entry of its rate table. Where it is `kept`,
    /// deliveries of it may follow until it is [`Output::Released`].
    Status {
        frame: FrameId,
        radio: usize,
        outcome: Outcome,
        tries: [u32; MAX_RATES],
        kept: bool,
    },
    /// Nothing more will be said of a frame that was kept.
    Released { frame: FrameId },
    /// Something was on the air (with [`Params::trace`]); comes before the frame's status.
    Aired(Aired),
    /// The radio's battery is empty; it is off for good.
    Exhausted { radio: usize, at: Nanos },
}

/// Kinds of events, in the order in which they are handled at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End,
    Power(bool),
    Empty(u64),
    Measure,
    Respond,
    Served(u64),
    Timeout(u64),
    Access(u64),
}

/// The channel and its radios.
pub struct Medium {
    params: Params,
    radios: Vec<Radio>,
    places: Places,
    air: Vec<Option<Transmission>>,
    events: BinaryHeap<Reverse<(Nanos, Event, usize, u64)>>,
    sequence: u64,
    handled: u64,
    now: Nanos,
    outputs: VecDeque<Output>,
    losses: Vec<(LossRule, Stream)>,
    audit: Audit,
    /// Receivers that still hold a frame, and whether its sender is done with it.
    holding: BTreeMap<FrameId, (u32, bool)>,
    // Worked out once.
    difs: Nanos,
    eifs: Nanos,
    ack_time: Nanos,
    cts_time: Nanos,
    capture_ratio: f64,
    noise_mw: f64,
    // Memory that is used again.
    /// Free places in `air`; the lowest is taken first.
    free: BinaryHeap<Reverse<usize>>,
    near: Vec<Heard>,
    spare: Vec<Vec<Heard>>,
    decoded: Vec<(usize, f64, Fate, f64)>,
}

impl Medium {
    pub fn new(params: Params, stations: Vec<Station>, losses: Vec<LossRule>) -> Self {
        let losses = losses.into_iter().enumerate();
        let losses = losses
            .map(|(i, rule)| (rule, Stream::new(params.seed, &format!("medium/loss/{i}"))))
            .collect();
        let phy = &params.phy;
        let basic = phy.basic_rate_mbps;
        let radios = stations.iter();
        let mut medium = Self {
            difs: phy.difs(),
            eifs: phy.eifs(),
            ack_time: phy.duration(ACK_BYTES, basic),
            cts_time: phy.duration(CTS_BYTES, basic),
            capture_ratio: 10f64.powf(params.capture_db / 10.0),
            noise_mw: params.noise_dbm.map_or(0.0, |dbm| 10f64.powf(dbm / 10.0)),
            radios: radios
                .map(|station| Radio::new(&station.name, params.seed, phy.cw_min))
                .collect(),
            places: Places::new(&params, stations),
            params,
            air: Vec::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            handled: 0,
            now: 0,
            outputs: VecDeque::new(),
            losses,
            audit: Audit::default(),
            holding: BTreeMap::new(),
            free: BinaryHeap::new(),
            near: Vec::new(),
            spare: Vec::new(),
            decoded: Vec::new(),
        };
        for radio in 0..medium.radios.len() {
            medium.drain(radio);
        }
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
            self.handled += 1;
            match event {
                Event::End => self.end(index),
                Event::Power(up) => self.set_power(index, up),
                Event::Empty(generation) => self.empty(index, generation),
                Event::Measure => self.measure_from_now(),
                Event::Respond => self.respond(index),
                Event::Served(serving) => self.served(index, serving),
                Event::Timeout(generation) => self.timeout(index, generation),
                Event::Access(generation) => self.access(index, generation),
            }
        }
        self.now = self.now.max(now);
    }

    /// Forget at `at` what was counted until then: counters, links, energy and batteries, and
    /// the numbers of data frames. The audit stays.
    pub fn schedule_measure(&mut self, at: Nanos) {
        self.push(at, Event::Measure, 0);
    }

    /// Frames by what became of them, since the start.
    pub fn audit(&self) -> Audit {
        let open = |radio| self.queue_len(radio) as u64;
        Audit {
            open: (0..self.radios.len()).map(open).sum(),
            ..self.audit
        }
    }

    /// Events handled so far.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    pub fn link(&self, from: usize, to: usize) -> LinkCounters {
        let link = self.radios[from].link(to);
        link.map_or(LinkCounters::default(), |link| link.counters)
    }

    /// Links of data frames that `from` sent: (to, counters, histograms), in order of `to`.
    pub fn links(
        &self,
        from: usize,
    ) -> impl Iterator<Item = (usize, &LinkCounters, Option<&Signals>)> {
        let links = self.radios[from].links.iter();
        links
            .filter(|link| link.counters.frames > 0)
            .map(|link| (link.to, &link.counters, link.signals.as_ref()))
    }

    /// Place of a radio at `at`, exact by its waypoints.
    pub fn position(&self, radio: usize, at: Nanos) -> (f64, f64) {
        self.places.position(radio, at)
    }

    fn push(&mut self, at: Nanos, event: Event, index: usize) {
        self.sequence += 1;
        self.events.push(Reverse((at, event, index, self.sequence)));
    }
}
