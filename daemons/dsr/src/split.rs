// SPDX-License-Identifier: Apache-2.0
//! The station's part in Split-TCP, as far as it is not the protocol core's: which connections, and
//! the rows of table `split`. These are taken when the daemon is awake anyway.

use crate::config::Config;
use hoplab_base::{Duration, Instant};
use hoplab_dsr_core::Dsr;
use hoplab_split::{told, Connections, Samples};

pub struct Splitting {
    connections: Connections,
    samples: Samples,
}

impl Splitting {
    /// Nothing where no file names connections.
    pub fn of(config: &Config, end: Option<Instant>) -> Result<Option<Self>, String> {
        let Some(file) = &config.split else {
            return Ok(None);
        };
        let samples = Samples::append(
            config.split_table.as_deref(),
            &config.name,
            Instant(config.epoch_ns),
            Duration::from_secs_f64(config.split_interval_s),
            end,
        )?;
        let connections = Connections::read(file)?;
        Ok(Some(Splitting {
            connections,
            samples,
        }))
    }

    pub fn begin(&self, core: &mut Dsr) {
        core.split_connections(self.connections.config.clone());
    }

    /// When the last rows must be written, if that is still to come.
    pub fn due(&self) -> Option<Instant> {
        self.samples.due()
    }

    /// Before anything else happens at `now`: the rows are those of the time since the last wake-up.
    pub fn sample(&mut self, now: Instant, core: &Dsr) {
        if self.samples.wanted(now) {
            self.samples
                .write(now, &core.split_rows(), &self.connections);
        }
    }

    pub fn told(&self, core: &Dsr) -> String {
        told(&core.split_rows(), &self.connections)
    }

    pub fn finish(self, now: Instant, core: &Dsr) -> Result<(), String> {
        self.samples
            .finish(now, &core.split_rows(), &self.connections)
    }
}
