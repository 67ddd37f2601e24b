// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects the ends of a UDP flow to sockets, clock and table.

use crate::config::{Gaps, UdpReceive, UdpSend};
use crate::error::Error;
use crate::rows::{self, of_datagrams};
use hoplab_base::{Duration, Instant};
use hoplab_linux::{kernel, signals, sleep_until, udp};
use hoplab_records::udp::Table;
use hoplab_traffic_core::{Grid, Pace, Receiver, Sender, Spacing, HEADER_LEN};

const BITS: f64 = 8.0;

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
    let mut pace = Pace::new(spacing(config), now);
    if let Some(pauses) = config.pauses {
        pace = pace.pausing(pauses, config.seed);
    }
    let mut core = Sender::new(pace, config.packets, octets, to_date);
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
    crate::stay();
    Ok(())
}

fn spacing(config: &UdpSend) -> Spacing {
    let Some(rate_bps) = config.rate_bps else {
        return Spacing::Saturating;
    };
    let interval_s = config.packet_bytes as f64 * BITS / rate_bps;
    let seed = config.seed;
    match config.spacing {
        Gaps::Even => Spacing::Even { interval_s },
        Gaps::Random => Spacing::Random { interval_s, seed },
        Gaps::Poisson => Spacing::Poisson { interval_s, seed },
    }
}

/// Counts until a signal asks for the last row.
pub fn receive(config: &UdpReceive) -> Result<(), Error> {
    let socket = udp::Receiver::open(config.own, config.interval_ns)?;
    let to_date = to_date();
    let epoch = config.rows.epoch_ns + to_date;
    let mut core = Receiver::new(Grid {
        origin: epoch,
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
        write(config, &mut core, epoch)?;
    }
    core.finish(kernel::real_time());
    write(config, &mut core, epoch)
}

/// Writes the rows that are due.
fn write(config: &UdpReceive, core: &mut Receiver, epoch: Instant) -> Result<(), Error> {
    let due = std::iter::from_fn(|| core.poll_row());
    let due = due.map(|row| of_datagrams(&row, &config.rows.flow, epoch));
    Ok(rows::add::<Table>(&config.rows, due)?)
}
