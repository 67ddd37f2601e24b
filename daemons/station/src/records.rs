// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the daemon writes: events as they come, and the counters once.

use crate::error::Error;
use hoplab_base::Instant;
use hoplab_records::{events, routing, Writer};
use std::fmt::Display;
use std::path::Path;

fn failed(what: &'static str) -> impl Fn(hoplab_records::Error) -> Error {
    move |why| Error::Records { what, why }
}

/// The table `events`. A full disk must not stop forwarding, so the first failure waits here until
/// the end.
pub struct Events {
    out: Writer<events::Table>,
    node: String,
    epoch: Instant,
    written: Result<(), hoplab_records::Error>,
    /// Rows wait in the buffer.
    waiting: bool,
}

impl Events {
    pub fn append(path: &Path, node: &str, epoch: Instant) -> Result<Self, Error> {
        Ok(Events {
            out: Writer::append(path).map_err(failed("events"))?,
            node: node.into(),
            epoch,
            written: Ok(()),
            waiting: false,
        })
    }

    /// An occurrence at `now`, by the part `source` of the station.
    pub fn write(&mut self, now: Instant, source: &str, kind: &str, event: &impl Display) {
        let detail = &event.to_string();
        let written = self.out.write(&events::Row {
            t_s: now.seconds_from(self.epoch),
            node: &self.node,
            source,
            kind,
            detail,
        });
        self.keep(written);
        self.waiting = true;
    }

    /// Give the rows to those who follow the run.
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.waiting) {
            let flushed = self.out.flush();
            self.keep(flushed);
        }
    }

    fn keep(&mut self, written: Result<(), hoplab_records::Error>) {
        if self.written.is_ok() {
            self.written = written;
        }
    }

    pub fn finish(mut self) -> Result<(), Error> {
        let flushed = self.out.flush();
        self.written.and(flushed).map_err(failed("events"))
    }
}

/// The table `routing`, written when the measured time is over. The run is taken down after that,
/// and those frames do not count.
pub struct Counters {
    out: Option<Writer<routing::Table>>,
    node: String,
    end: Option<Instant>,
    written: Result<(), hoplab_records::Error>,
}

impl Counters {
    /// Without a file, nothing is written; without an end, at the daemon's end.
    pub fn create(path: Option<&Path>, node: &str, end: Option<Instant>) -> Result<Self, Error> {
        let out = path.map(Writer::create).transpose();
        Ok(Counters {
            out: out.map_err(failed("counters"))?,
            node: node.into(),
            end,
            written: Ok(()),
        })
    }

    /// When the measured time is over, if that is still to come.
    pub fn due(&self) -> Option<Instant> {
        self.end.filter(|_| self.out.is_some())
    }

    /// Writes the counters, the first time.
    pub fn write(&mut self, counters: &[(&'static str, u64)]) {
        if let Some(mut out) = self.out.take() {
            let rows = counters.iter().map(|(counter, value)| routing::Row {
                node: &self.node,
                counter,
                value: (*value).into(),
            });
            let mut rows = rows;
            let written = rows.try_for_each(|row| out.write(&row));
            self.written = written.and_then(|()| out.flush());
        }
    }

    pub fn finish(self) -> Result<(), Error> {
        self.written.map_err(failed("counters"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_end_of_the_measured_time() {
        let path = std::env::temp_dir().join(format!("dsr-counters-{}", std::process::id()));
        let end = Some(Instant(5));
        let mut counters = Counters::create(Some(&path), "n0", end).unwrap();
        assert_eq!(counters.due(), end);
        counters.write(&[("forwarded", 7)]);
        assert_eq!(counters.due(), None);
        // At the daemon's end, a second later, the count is another.
        counters.write(&[("forwarded", 9)]);
        counters.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let row = "{\"node\":\"n0\",\"counter\":\"forwarded\",\"value\":7}\n";
        assert_eq!(text, row);
    }
}
