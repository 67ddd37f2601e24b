// SPDX-License-Identifier: Apache-2.0
//! The state of a radio, by responsibility. Each part knows its own fields and nothing of the
//! others or of the channel; what concerns several is [`crate::Medium`]'s.

mod access;
mod exchange;
mod host;
mod links;
mod power;
mod transceiver;

pub use access::{Access, Due};
pub use exchange::{Exchange, Response, ResponseKind, RetryLimits};
pub use host::{Arrived, Host, Limits, Nic, Queued};
pub use links::Links;
pub use power::{Activity, Energy, Joules, Power};
pub use transceiver::{Arriving, Hearing, Reception, Transceiver};

use alloc::format;

use hoplab_base::Stream;

use crate::Counters;

pub struct Radio {
    pub power: Power,
    pub access: Access,
    pub exchange: Exchange,
    pub transceiver: Transceiver,
    pub host: Host,
    pub links: Links,
    pub counters: Counters,
}

impl Radio {
    pub fn new(name: &str, seed: u64, cw_min: u32) -> Self {
        let stream = |purpose| Stream::new(seed, &format!("medium/{purpose}/{name}"));
        Self {
            power: Power::new(),
            access: Access::new(stream("backoff"), cw_min),
            exchange: Exchange::default(),
            transceiver: Transceiver::new(stream("fading"), stream("errors")),
            host: Host::default(),
            links: Links::default(),
            counters: Counters::default(),
        }
    }

    pub fn activity(&self) -> Activity {
        if self.transceiver.is_sending() {
            Activity::Sending
        } else if self.transceiver.senses() {
            Activity::Sensing
        } else {
            Activity::Quiet
        }
    }

    /// Whether it may count slots: on, with a quiet channel, nothing to answer and no answer due.
    pub fn may_count(&self) -> bool {
        self.power.is_up()
            && self.activity() == Activity::Quiet
            && self.exchange.awaited().is_none()
            && self.exchange.response().is_none()
    }
}
