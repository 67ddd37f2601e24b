// SPDX-License-Identifier: Apache-2.0
//! The station's part in Split-TCP, as far as it is not the protocol core's: which connections, and
//! the rows of table `split`. These are taken when the daemon is awake anyway.

use crate::config::Config;
use crate::error::Error;
use hoplab_base::Instant;
use hoplab_dsr_core::Dsr;
use hoplab_split::{told, Samples};
use hoplab_split_core as split_core;

pub struct Splitting {
    config: split_core::Config,
    samples: Samples,
}

impl Splitting {
    /// Nothing where the document names no connection.
    pub fn of(config: &Config) -> Result<Option<Self>, Error> {
        if config.connection.is_empty() {
            return Ok(None);
        }
        let samples = Samples::append(
            config.split_table.as_deref(),
            &config.name,
            config.epoch_ns,
            config.split_interval_ns,
            config.end_ns,
        )?;
        let config = split_core::Config {
            connection: config.connection.clone(),
            tuning: split_core::Tuning::default(),
        };
        Ok(Some(Splitting { config, samples }))
    }

    pub fn begin(&self, core: &mut Dsr) {
        core.split_connections(self.config.clone());
    }

    /// When the last rows must be written, if that is still to come.
    pub fn due(&self) -> Option<Instant> {
        self.samples.due()
    }

    /// Before anything else happens at `now`: the rows are those of the time since the last wake-up.
    pub fn sample(&mut self, now: Instant, core: &Dsr) {
        if self.samples.wanted(now) {
            self.samples.write(now, &core.split_rows(), &self.config);
        }
    }

    pub fn told(&self, core: &Dsr) -> String {
        told(&core.split_rows(), &self.config)
    }

    pub fn finish(self, now: Instant, core: &Dsr) -> Result<(), Error> {
        self.samples.finish(now, &core.split_rows(), &self.config)?;
        Ok(())
    }
}
