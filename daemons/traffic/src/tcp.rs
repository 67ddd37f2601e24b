// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transfers by TCP: to their stop, or of so many packets.

use crate::config::{Awaited, Counted, TcpReceive, TcpSend};
use crate::error::Error;
use crate::stay;
use hoplab_linux::kernel;
use hoplab_linux::tcp::{Connection, Options, Outcome, Whole};
use hoplab_records::file;
use std::io::Write;

/// Sends, and stays connected.
pub fn send(config: &TcpSend) -> Result<(), Error> {
    let options = Options {
        traffic_class: config.traffic_class,
        mss: config.mss,
        multipath: config.multipath,
        congestion_control: Some(&config.congestion_control),
        no_delay: config.counted.is_some(),
    };
    match &config.counted {
        Some(counted) => send_counted(config, counted, &options),
        None => send_on(config, &options),
    }
}

/// iperf3's way: blocks as large, and whenever the socket has room.
fn send_on(config: &TcpSend, options: &Options) -> Result<(), Error> {
    if let Some(mut connection) = Connection::connect(config.own, config.to, options)? {
        connection.send(u64::MAX).map(drop).map_err(Error::Send)?;
    }
    Ok(())
}

/// A packet of the scenario is a packet on the wire. It does not wait for more data, and nothing is
/// added to it while it waits for the window.
fn send_counted(config: &TcpSend, counted: &Counted, options: &Options) -> Result<(), Error> {
    let connection = Whole::connect(config.own, config.to, options)?;
    let packet = vec![0; counted.packet_bytes];
    let is_short = config
        .mss
        .is_some_and(|mss| counted.packet_bytes < mss as usize);
    for _ in 0..counted.packets {
        connection.send(&packet, is_short).map_err(Error::Send)?;
    }
    stay();
    Ok(())
}

/// Receives one transfer, and stays. Of one that ends, writes when its last octet had come.
pub fn receive(config: &TcpReceive) -> Result<(), Error> {
    let Some(mut connection) =
        Connection::accept(config.own, config.traffic_class, config.multipath)?
    else {
        return Ok(());
    };
    let awaited = config.counted.as_ref();
    let octets = awaited.map_or(u64::MAX, |awaited| awaited.octets);
    // Why a connection ended too early its sender says.
    let came = connection.take(octets).unwrap_or(Outcome::Closed);
    if let (Some(awaited), Outcome::Done) = (awaited, came) {
        report(awaited)?;
    }
    stay();
    Ok(())
}

fn report(awaited: &Awaited) -> Result<(), Error> {
    let text = format!("{{\"end_ns\": {}}}", kernel::now().0);
    let written = file::create(&awaited.report).and_then(|mut out| out.write_all(text.as_bytes()));
    written.map_err(|why| Error::Report {
        path: awaited.report.clone(),
        why,
    })
}
