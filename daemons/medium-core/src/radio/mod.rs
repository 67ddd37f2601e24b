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
pub use host::{Arrived, Cost, Host, Limits, Nic, Queued, Service};
pub use links::Links;
pub use power::{Activity, Energy, Joules, Power};
pub use transceiver::{Arriving, Hearing, Reception, Transceiver};

use alloc::format;

use hoplab_base::Stream;

use crate::{Counters, Params};

pub struct Radio {
    pub power: Power,
    pub access: Access,
    pub exchange: Exchange,
    pub transceiver: Transceiver,
    pub host: Host,
    pub limits: Limits,
    pub links: Links,
    pub counters: Counters,
    /// Of what its card misreads in levels.
    pub levels: Stream,
}

impl Radio {
    pub fn new(name: &str, params: &Params) -> Self {
        let stream = |purpose| Stream::new(params.seed, &format!("medium/{purpose}/{name}"));
        Self {
            power: Power::new(),
            access: Access::new(stream("backoff"), params.phy.cw_min),
            exchange: Exchange::default(),
            transceiver: Transceiver::new(stream("fading"), stream("errors")),
            host: Host::default(),
            limits: Limits::new(params, params.nic),
            links: Links::default(),
            counters: Counters::default(),
            levels: stream("levels"),
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
