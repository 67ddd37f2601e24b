// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the engine counts, per radio and per link, and the audit of frames.

use alloc::boxed::Box;

use hoplab_base::Duration;

use crate::{Dbm, RadioId};

/// Kind of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirKind {
    Data,
    Ack,
    Rts,
    Cts,
    Beacon,
    /// To a group address; never acknowledged.
    Broadcast,
    BlockAckRequest,
    BlockAck,
    /// Asks several stations for their frames, or what waits at them. Or calls one to a link.
    Trigger,
    /// Tells what waits at a station (802.11ax-2021 26.5.5).
    BufferStatus,
    /// Of the channel to stations, before they get streams of their own.
    Sounding,
}

impl AirKind {
    pub const ALL: [Self; 11] = [
        Self::Data,
        Self::Ack,
        Self::Rts,
        Self::Cts,
        Self::Beacon,
        Self::Broadcast,
        Self::BlockAckRequest,
        Self::BlockAck,
        Self::Trigger,
        Self::BufferStatus,
        Self::Sounding,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Rts => "rts",
            Self::Cts => "cts",
            Self::Beacon => "beacon",
            Self::Broadcast => "broadcast",
            Self::BlockAckRequest => "block-ack-request",
            Self::BlockAck => "block-ack",
            Self::Trigger => "trigger",
            Self::BufferStatus => "buffer-status",
            Self::Sounding => "sounding",
        }
    }
}

/// Fate of one transmission at one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    /// Spoiled by interference.
    Collided,
    /// Below the power that the receiver needs, or too noisy.
    Weak,
    /// The receiver was busy with another frame, which survived.
    CaptureLost,
    /// Taken by a loss model.
    ErrorModel,
    /// The receiver was transmitting, or its single radio was on another link.
    Deaf,
    /// The receiver was off, or the sender went off in the middle.
    Off,
    /// Addressed to no radio, or to all with none in range.
    Nobody,
}

impl Fate {
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Collided => "collided",
            Self::Weak => "weak",
            Self::CaptureLost => "capture-lost",
            Self::ErrorModel => "error-model",
            Self::Deaf => "deaf",
            Self::Off => "off",
            Self::Nobody => "nobody",
        }
    }
}

/// Why a frame's sender is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Acked,
    /// Sent; no acknowledgement belongs to it.
    Sent,
    RetryLimit,
    QueueFull,
    /// The radio was off or went off.
    Off,
    /// No usable rate.
    Refused,
}

impl Outcome {
    /// Whether the host learns of success.
    pub fn succeeded(self) -> bool {
        matches!(self, Self::Acked | Self::Sent)
    }
}

/// Time spent in each state of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateTimes {
    pub tx: Duration,
    /// The channel is sensed busy: own and overheard frames, and collisions.
    pub rx: Duration,
    pub idle: Duration,
    /// Switched off.
    pub sleep: Duration,
}

/// Counts and times of one radio since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub tx_frames: u64,
    pub tx_bytes: u64,
    pub rx_frames: u64,
    pub rx_bytes: u64,
    pub retries: u64,
    pub retry_limit: u64,
    pub queue_full: u64,
    /// Received, and acknowledged, but lost because the host's receive buffer was full.
    pub rx_overrun: u64,
    /// Time on the air by [`AirKind`].
    pub airtime: [Duration; AirKind::ALL.len()],
    pub times: StateTimes,
}

impl Counters {
    /// Those of another radio too.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        self.tx_frames += other.tx_frames;
        self.tx_bytes += other.tx_bytes;
        self.rx_frames += other.rx_frames;
        self.rx_bytes += other.rx_bytes;
        self.retries += other.retries;
        self.retry_limit += other.retry_limit;
        self.queue_full += other.queue_full;
        self.rx_overrun += other.rx_overrun;
        for (own, others) in self.airtime.iter_mut().zip(other.airtime) {
            *own += others;
        }
        self.times.tx += other.times.tx;
        self.times.rx += other.times.rx;
        self.times.idle += other.times.idle;
        self.times.sleep += other.times.sleep;
        self
    }

    /// Time in which the channel was busy, own transmissions included.
    pub fn busy_time(&self) -> Duration {
        self.times.tx + self.times.rx
    }
}

/// Counts of the data frames, retries included, from one radio to another since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkCounters {
    pub frames: u64,
    pub bytes: u64,
    pub delivered: u64,
    pub collided: u64,
    pub weak: u64,
    pub capture_lost: u64,
    pub error_model: u64,
    pub deaf: u64,
    pub off: u64,
    /// Of all frames, for [`mean_dbm`](Self::mean_dbm).
    signal_sum_dbm: f64,
}

impl LinkCounters {
    /// Mean level at the receiver; no number where there are no frames.
    pub fn mean_dbm(&self) -> Dbm {
        Dbm(self.signal_sum_dbm / self.frames as f64)
    }

    pub(crate) fn count(&mut self, fate: Fate, bytes: usize, dbm: Dbm) {
        self.frames += 1;
        self.signal_sum_dbm += dbm.0;
        match fate {
            Fate::Delivered => {
                self.delivered += 1;
                self.bytes += bytes as u64;
            }
            Fate::Collided => self.collided += 1,
            Fate::Weak | Fate::Nobody => self.weak += 1,
            Fate::CaptureLost => self.capture_lost += 1,
            Fate::ErrorModel => self.error_model += 1,
            Fate::Deaf => self.deaf += 1,
            Fate::Off => self.off += 1,
        }
    }
}

/// Frames of the hosts by what became of them, since the start; all that were handed over are
/// `open` or have exactly one outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub accepted: u64,
    pub acked: u64,
    pub sent: u64,
    pub retry_limit: u64,
    pub queue_full: u64,
    pub off: u64,
    pub refused: u64,
    /// Queued or in service now.
    pub open: u64,
}

impl Audit {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Acked => self.acked += 1,
            Outcome::Sent => self.sent += 1,
            Outcome::RetryLimit => self.retry_limit += 1,
            Outcome::QueueFull => self.queue_full += 1,
            Outcome::Off => self.off += 1,
            Outcome::Refused => self.refused += 1,
        }
    }

    /// Frames that have an outcome.
    pub fn finished(&self) -> u64 {
        self.acked + self.sent + self.retry_limit + self.queue_full + self.off + self.refused
    }

    /// Whether no frame was invented or lost.
    pub fn holds(&self) -> bool {
        self.accepted == self.finished() + self.open
    }
}

/// Counts in bins of 1 dB.
#[derive(Clone, Debug)]
pub struct Histogram(Box<[u32; Histogram::BINS]>);

impl Default for Histogram {
    fn default() -> Self {
        Self(Box::new([0; Self::BINS]))
    }
}

impl Histogram {
    const BINS: usize = 160;
    const LOWEST_DBM: i32 = -130;

    pub(crate) fn add(&mut self, dbm: Dbm) {
        let bin = (libm::floor(dbm.0) as i32 - Self::LOWEST_DBM).clamp(0, Self::BINS as i32 - 1);
        self.0[bin as usize] += 1;
    }

    /// The bins that are not empty.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        let bins = self.0.iter().zip(Self::LOWEST_DBM..);
        let filled = bins.filter(|(count, _)| **count > 0);
        filled.map(|(count, dbm)| Bin { dbm, count: *count })
    }
}

/// How often a power was at least `dbm` and less than 1 dB above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    pub dbm: i32,
    pub count: u32,
}

/// A link's histograms: power of the frames, and of noise plus interference while they lasted.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    pub signal: Histogram,
    pub noise: Histogram,
}

/// What is known of the data frames from one radio to another.
#[derive(Clone, Copy, Debug)]
pub struct LinkView<'a> {
    pub to: RadioId,
    pub counters: &'a LinkCounters,
    pub signals: &'a Signals,
}
