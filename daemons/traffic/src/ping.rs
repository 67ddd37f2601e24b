// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects a pinging end to socket, clock and table. The other end's kernel replies.

use crate::config::Ping;
use crate::error::Error;
use crate::rows::{self, of_exchange};
use crate::stay;
use hoplab_linux::icmp::Socket;
use hoplab_linux::{kernel, signals, wait_exactly, Interest};
use hoplab_records::exchanges::Table;
use hoplab_traffic_core::{Echoes, Moment, Pinger, Version};
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Octets of the largest packet of IP.
const LARGEST: usize = 1 << 16;

/// Sends echoes until all are answered or given up. Then stays, unless their number is limited.
pub fn ping(config: &Ping) -> Result<(), Error> {
    let version = match config.own {
        SocketAddr::V4(_) => Version::V4,
        SocketAddr::V6(_) => Version::V6,
    };
    let (own, to) = (config.own.ip(), config.to.ip());
    let socket = Socket::open(own, to, config.traffic_class, version.reply())?;
    let echoes = Echoes {
        version,
        identifier: config.identifier,
        packets: config.packets,
        octets: config.packet_bytes,
        interval: config.interval_ns,
        timeout: config.timeout_ns,
        stop: config.end_ns,
    };
    let mut core = Pinger::new(echoes, kernel::now());
    let mut room = vec![0; LARGEST];
    while let Some(due) = core.next_deadline().filter(|_| !signals::stopped()) {
        wait_exactly(&mut [Interest::input(socket.as_fd())], due);
        take(&socket, &mut room, &mut core);
        let moment = moment();
        core.handle_time(moment.now);
        if let Some(echo) = core.poll_echo(moment) {
            socket.send(&echo);
        }
        write(config, &mut core)?;
    }
    if config.packets.is_none() {
        stay();
    }
    take(&socket, &mut room, &mut core);
    core.finish(kernel::now());
    write(config, &mut core)
}

fn moment() -> Moment {
    Moment {
        now: kernel::now(),
        date: kernel::real_time(),
    }
}

/// Takes all replies that have come.
fn take(socket: &Socket, room: &mut [u8], core: &mut Pinger) {
    while let Some(came) = socket.receive(room) {
        core.handle_reply(came.at, &room[..came.octets.min(LARGEST)]);
    }
}

/// Writes the rows that are due.
fn write(config: &Ping, core: &mut Pinger) -> Result<(), Error> {
    let due = std::iter::from_fn(|| core.poll_row());
    let due = due.map(|done| of_exchange(&done, &config.rows));
    Ok(rows::add::<Table>(&config.rows, due)?)
}
