// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects an end of a call to socket, clock and table.

use crate::config::CallEnd;
use crate::error::Error;
use crate::rows;
use hoplab_base::{Duration, Instant};
use hoplab_linux::{kernel, signals, udp, wait_exactly, Interest};
use hoplab_records::exchanges::{self, Table};
use hoplab_traffic_core::{Call, CallSettings, Frame};
use std::os::fd::AsFd;

const NS_PER_MS: f64 = 1e6;
/// Octets of the largest datagram.
const LARGEST: usize = 1 << 16;

/// Sends and takes frames until a signal asks for the last rows.
pub fn call(config: &CallEnd) -> Result<(), Error> {
    let socket = udp::Pair::open(config.own, config.to, config.traffic_class)?;
    let to_date = kernel::real_time().since(kernel::now());
    let settings = CallSettings {
        most_bps: config.most_bps,
        seed: config.seed,
        stop: config.end_ns + to_date,
    };
    let start = config.begin_ns.max(kernel::now());
    let mut core = Call::new(settings, start + to_date);
    let mut room = vec![0; LARGEST];
    while !signals::stopped() {
        let due = Instant(core.next_deadline().since(Instant(to_date.0)).0);
        wait_exactly(&mut [Interest::input(socket.as_fd())], due);
        while let Some(came) = socket.receive(&mut room) {
            core.handle_datagram(came.at, &room[..came.octets.min(LARGEST)]);
        }
        core.handle_time(kernel::now() + to_date);
        while let Some(payload) = core.poll_datagram() {
            socket.send(&payload);
        }
        write(config, &mut core, to_date)?;
    }
    core.finish((config.end_ns + to_date).min(kernel::now() + to_date));
    write(config, &mut core, to_date)
}

/// Writes the rows of frames that have come or are given up.
fn write(config: &CallEnd, core: &mut Call, to_date: Duration) -> Result<(), Error> {
    let due = std::iter::from_fn(|| core.poll_frame());
    let due = due.map(|frame| of_frame(&frame, config, config.rows.epoch_ns + to_date));
    Ok(rows::add::<Table>(&config.rows, due)?)
}

/// A frame of the other end.
fn of_frame<'a>(frame: &Frame, config: &'a CallEnd, epoch: Instant) -> exchanges::Row<'a> {
    let delay = frame.at.since(frame.sent);
    let is_late = !frame.is_whole || delay > config.late_ns;
    exchanges::Row {
        t_s: frame.at.seconds_from(epoch),
        flow: &config.rows.flow,
        number: frame.number.into(),
        sent_s: frame.sent.seconds_from(epoch),
        sent_bytes: frame.octets.into(),
        received_bytes: if frame.is_whole { frame.octets } else { 0 }.into(),
        rtt_ms: None,
        delay_ms: frame.is_whole.then(|| delay.0 as f64 / NS_PER_MS),
        late: Some(u64::from(is_late).into()),
    }
}
