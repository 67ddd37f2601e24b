// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is written of a station's part in Split-TCP. A full disk must not stop forwarding: the
//! first failure is kept until the end.

use crate::Error;
use hoplab_base::{Duration, Instant};
use hoplab_records::{events, split, Integer, Writer};
use hoplab_split_core::{Config, Ends, Event, Role, Row};
use std::collections::BTreeMap;
use std::path::Path;

fn events_failed(why: hoplab_records::Error) -> Error {
    Error::Records {
        what: "events",
        why,
    }
}

fn split_failed(why: hoplab_records::Error) -> Error {
    Error::Records {
        what: "table split",
        why,
    }
}

/// The table `events`.
pub struct Events {
    out: Writer<events::Table>,
    node: String,
    epoch: Instant,
    written: Result<(), hoplab_records::Error>,
}

impl Events {
    /// To the end of the file.
    pub fn append(path: &Path, node: &str, epoch: Instant) -> Result<Self, Error> {
        Ok(Events {
            out: Writer::append(path).map_err(events_failed)?,
            node: node.into(),
            epoch,
            written: Ok(()),
        })
    }

    pub fn write(&mut self, now: Instant, event: &Event) {
        let written = self.out.write(&events::Row {
            t_s: now.seconds_from(self.epoch),
            node: &self.node,
            source: "split",
            kind: event.kind(),
            detail: &event.to_string(),
        });
        if self.written.is_ok() {
            self.written = written;
        }
    }

    /// Gives the rows to those who follow the run.
    pub fn flush(&mut self) {
        let flushed = self.out.flush();
        if self.written.is_ok() {
            self.written = flushed;
        }
    }

    pub fn finish(mut self) -> Result<(), Error> {
        self.flush();
        self.written.map_err(events_failed)
    }
}

/// The table `split`. It gets rows of connections that have changed, at the first occasion after
/// each sampling time. So a station where nothing happens need not wake up. At the end it gets all
/// of them.
pub struct Samples {
    out: Option<Writer<split::Table>>,
    node: String,
    epoch: Instant,
    interval: Duration,
    end: Option<Instant>,
    next: Instant,
    last: BTreeMap<(Ends, Role), Row>,
    written: Result<(), hoplab_records::Error>,
}

impl Samples {
    /// Without a file nothing is written; without an end, rows are written until [`finish`].
    ///
    /// [`finish`]: Samples::finish
    pub fn append(
        path: Option<&Path>,
        node: &str,
        epoch: Instant,
        interval: Duration,
        end: Option<Instant>,
    ) -> Result<Self, Error> {
        let out = path.map(Writer::append).transpose();
        Ok(Samples {
            out: out.map_err(split_failed)?,
            node: node.into(),
            epoch,
            interval,
            end,
            next: epoch + interval,
            last: BTreeMap::new(),
            written: Ok(()),
        })
    }

    /// When the last rows must be written, if that is still to come.
    pub fn due(&self) -> Option<Instant> {
        self.end.filter(|_| self.out.is_some())
    }

    /// Whether it is time to [`write`](Samples::write).
    pub fn wanted(&self, now: Instant) -> bool {
        self.out.is_some() && (now >= self.next || self.end.is_some_and(|end| now >= end))
    }

    pub fn write(&mut self, now: Instant, rows: &[Row], config: &Config) {
        if !self.wanted(now) {
            return;
        }
        let passed = now.since(self.epoch).0 / self.interval.0.max(1);
        self.next = self.epoch + Duration((passed + 1) * self.interval.0.max(1));
        let over = self.end.is_some_and(|end| now >= end);
        self.put(self.end.filter(|_| over).unwrap_or(now), rows, config, over);
        if over {
            self.close();
        } else if let Some(out) = &mut self.out {
            // For those who follow the run.
            let flushed = out.flush();
            if self.written.is_ok() {
                self.written = flushed;
            }
        }
    }

    /// The last rows, if they have not been written.
    pub fn finish(mut self, now: Instant, rows: &[Row], config: &Config) -> Result<(), Error> {
        self.put(now, rows, config, true);
        self.close();
        self.written.map_err(split_failed)
    }

    fn put(&mut self, at: Instant, rows: &[Row], config: &Config, all: bool) {
        let Some(out) = &mut self.out else {
            return;
        };
        for row in rows {
            let key = (row.connection, row.role);
            if !all && self.last.get(&key) == Some(row) {
                continue;
            }
            let name = config.name(&row.connection);
            let t_s = at.seconds_from(self.epoch);
            let written = out.write(&record(row, &self.node, &name, t_s));
            if self.written.is_ok() {
                self.written = written;
            }
            self.last.insert(key, row.clone());
        }
    }

    fn close(&mut self) {
        if let Some(mut out) = self.out.take() {
            let flushed = out.flush();
            if self.written.is_ok() {
                self.written = flushed;
            }
        }
    }
}

fn record<'a>(row: &Row, node: &'a str, flow: &'a str, t_s: f64) -> split::Row<'a> {
    let t = &row.totals;
    split::Row {
        t_s,
        node,
        flow,
        role: row.role.as_str(),
        taken: t.taken.into(),
        declined: t.declined.into(),
        sent: t.sent.into(),
        retransmitted: t.retransmitted.into(),
        timeouts: t.timeouts.into(),
        lacked: t.lacked.into(),
        delivered: t.delivered.into(),
        given_up: t.given_up.into(),
        absorbed: t.absorbed.into(),
        reissued: t.reissued.into(),
        lacks_sent: t.lacks_sent.into(),
        lacks_received: t.lacks_received.into(),
        acks_thinned: t.acks_thinned.into(),
        buffered: Integer::from(row.buffered),
        in_flight: Integer::from(row.in_flight),
        window: row.window,
        ssthresh: row.ssthresh,
        rtt_ms: row.rtt_s.map(|s| s * 1e3),
        rto_ms: row.rto_s * 1e3,
    }
}
