// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects the ends of a UDP flow to sockets, clock and table.

use crate::config::{UdpReceive, UdpSend};
use crate::error::Error;
use hoplab_base::{Duration, Instant};
use hoplab_linux::udp;
use hoplab_linux::{kernel, signals, sleep_until};
use hoplab_records::{udp as table, Writer};
use hoplab_traffic_core::{Grid, Receiver, Row, Sender, Spacing, HEADER_LEN};

const BITS: f64 = 8.0;
/// Digits of a millisecond: nanoseconds.
const MS_DIGITS: f64 = 1e6;

/// What turns CLOCK_MONOTONIC into CLOCK_REALTIME.
fn to_date() -> Duration {
    kernel::real_time().since(kernel::now())
}

/// Sends until it is killed, or stays when all has been sent.
pub fn send(config: &UdpSend) -> Result<(), Error> {
    let socket = udp::Sender::open(
        config.own,
        config.to,
        config.traffic_class,
        config.buffer_bytes,
    )?;
    let to_date = to_date();
    let mut now = kernel::now();
    let octets = config.packet_bytes;
    let mut core = Sender::new(spacing(config), config.packets, octets, now, to_date);
    while let Some(due) = core.next_deadline() {
        if due > now {
            sleep_until(due);
            now = kernel::now();
        }
        if let Some(datagram) = core.poll_datagram(now) {
            socket.send(datagram);
            now = kernel::now();
        }
    }
    loop {
        sleep_until(Instant::MAX);
    }
}

fn spacing(config: &UdpSend) -> Spacing {
    let Some(rate_bps) = config.rate_bps else {
        return Spacing::Saturating;
    };
    let interval_s = config.packet_bytes as f64 * BITS / rate_bps;
    match config.seed {
        None => Spacing::Even { interval_s },
        Some(seed) => Spacing::Random { interval_s, seed },
    }
}

/// Counts until a signal asks for the last row.
pub fn receive(config: &UdpReceive) -> Result<(), Error> {
    signals::catch();
    let socket = udp::Receiver::open(config.own, config.interval_ns)?;
    let to_date = to_date();
    let mut rows = Rows {
        out: Writer::append(&config.table)?,
        flow: &config.flow,
        epoch: config.epoch_ns + to_date,
    };
    let mut core = Receiver::new(Grid {
        origin: rows.epoch,
        interval: config.interval_ns,
        begin: config.begin_ns.max(kernel::now()) + to_date,
        end: config.end_ns + to_date,
    });
    let mut payload = [0; HEADER_LEN];
    while !signals::stopped() {
        match socket.receive(&mut payload).map_err(Error::Receive)? {
            Some(came) => {
                let held = came.octets.min(HEADER_LEN);
                core.handle_datagram(came.at, &payload[..held], came.octets);
            }
            None => core.handle_time(kernel::real_time()),
        }
        rows.write(&mut core)?;
    }
    core.finish(kernel::real_time());
    rows.write(&mut core)
}

struct Rows<'a> {
    out: Writer<table::Table>,
    flow: &'a str,
    /// The date of time 0.
    epoch: Instant,
}

impl Rows<'_> {
    /// Writes the rows that are due, for those who follow the run too.
    fn write(&mut self, core: &mut Receiver) -> Result<(), Error> {
        let mut any = false;
        while let Some(row) = core.poll_row() {
            self.out.write(&record(&row, self.flow, self.epoch))?;
            any = true;
        }
        if any {
            self.out.flush()?;
        }
        Ok(())
    }
}

fn record<'a>(row: &Row, flow: &'a str, epoch: Instant) -> table::Row<'a> {
    let ms = |value: f64| (value * MS_DIGITS).round() / MS_DIGITS;
    let delay = |of: fn(&hoplab_traffic_core::Summary) -> f64| row.delays.as_ref().map(of).map(ms);
    table::Row {
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
