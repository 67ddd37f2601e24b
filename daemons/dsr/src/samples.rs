// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rows of table `split`, taken when the daemon is awake anyway, and what a person reads of them.

use crate::config::Config;
use crate::error::Error;
use hoplab_base::Instant;
use hoplab_dsr_split::Splitting;
use hoplab_split::{told, Samples};
use hoplab_split_core as split_core;

pub struct SplitSamples {
    config: split_core::Config,
    samples: Samples,
}

impl SplitSamples {
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
        let config = config.split();
        Ok(Some(SplitSamples { config, samples }))
    }

    /// When the last rows must be written, if that is still to come.
    pub fn due(&self) -> Option<Instant> {
        self.samples.due()
    }

    /// Comes before anything else happens at `now`: the rows show the state since the last wake-up.
    pub fn sample(&mut self, now: Instant, layer: &Splitting) {
        if self.samples.wanted(now) {
            self.samples.write(now, &layer.rows(), &self.config);
        }
    }

    pub fn told(&self, layer: &Splitting) -> String {
        told(&layer.rows(), &self.config)
    }

    pub fn finish(self, now: Instant, layer: &Splitting) -> Result<(), Error> {
        self.samples.finish(now, &layer.rows(), &self.config)?;
        Ok(())
    }
}
