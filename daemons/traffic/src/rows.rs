// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rows of a flow, for those who follow the run too.

use crate::config::Rows;
use hoplab_base::Instant;
use hoplab_records::{exchanges, udp, Error, Table, Writer};
use hoplab_traffic_core::{End, Exchange, Row, Summary};

/// Digits of a millisecond: nanoseconds.
const MS_DIGITS: f64 = 1e6;
const NS_PER_MS: f64 = 1e6;

/// Adds rows to the end of a flow's file. A guest's file system hands over what was written when the
/// file is closed.
pub fn add<'a, T: Table>(
    config: &Rows,
    rows: impl IntoIterator<Item = T::Row<'a>>,
) -> Result<(), Error> {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    let mut out = Writer::<T>::append(&config.table)?;
    rows.try_for_each(|row| out.write(&row))?;
    out.flush()
}

/// What came of a flow of UDP by a time. `epoch` is the date of time 0.
pub fn of_datagrams<'a>(row: &Row, flow: &'a str, epoch: Instant) -> udp::Row<'a> {
    let ms = |value: f64| (value * MS_DIGITS).round() / MS_DIGITS;
    let delay = |of: fn(&Summary) -> f64| row.delays.as_ref().map(of).map(ms);
    udp::Row {
        t_s: row.at.seconds_from(epoch),
        flow,
        received: row.received.into(),
        delivered_bytes: row.octets.into(),
        lost: Some(row.lost.into()),
        latency_ms_mean: delay(|found| found.mean_ms),
        latency_ms_p50: delay(|found| found.p50_ms),
        latency_ms_p95: delay(|found| found.p95_ms),
        latency_ms_p99: delay(|found| found.p99_ms),
        jitter_ms: row.jitter_ms.map(ms),
    }
}

/// An echo, or a transaction.
pub fn of_exchange<'a>(done: &Exchange, config: &'a Rows) -> exchanges::Row<'a> {
    let (rtt_ms, octets) = match done.end {
        End::Answered { rtt, octets } => (Some(rtt.0 as f64 / NS_PER_MS), octets),
        End::GivenUp { .. } => (None, 0),
    };
    exchanges::Row {
        t_s: done.at().seconds_from(config.epoch_ns),
        flow: &config.flow,
        number: done.number.into(),
        sent_s: done.sent.seconds_from(config.epoch_ns),
        sent_bytes: done.octets.into(),
        received_bytes: octets.into(),
        rtt_ms,
        delay_ms: None,
        late: None,
    }
}
