// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A station of Split-TCP at every place, fed with time, segments, stamps, ACKs and LACKs whose
//! numbers are arbitrary but near each other. It does not panic, after a timeout no deadline is in
//! the past, and what it sends is a packet that fits.
#![no_main]

use hoplab_split_core::{Config, Connection, Duration, Ends, Instant, Output, Place, Split};
use hoplab_wire::ipv4::Header as Ipv4Header;
use hoplab_wire::split::{Lack, Stamp, PROTOCOL_LACK};
use hoplab_wire::tcp::{Flags, Header, TcpOption};
use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;

/// The longest payload.
const ZEROS: [u8; 255] = [0; 255];

fn address(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n % 4)
}

fn packet(ip: &Ipv4Header, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ip.emit(body.len(), &mut out);
    out.extend_from_slice(body);
    out
}

/// A segment of the connection, or of its way back.
fn segment(op: &[u8; 10]) -> Vec<u8> {
    let [kind, flags, at, ack, length, round, transfers, custodian, number, block] = *op;
    let (from, to) = if kind & 8 == 0 { (0, 3) } else { (3, 0) };
    let near = |n: u8| 1000u32.wrapping_add(u32::from(n) * 100).wrapping_sub(5000);
    let mut ip = Ipv4Header::new(address(from), address(to), 6, 60);
    let stamp = Stamp {
        round,
        transfers: transfers & Stamp::MOST_TRANSFERS,
        source_waits: kind & 16 != 0,
        custodian_waits: kind & 32 != 0,
        custodian: address(custodian),
        number: u32::from(number),
        acknowledged: near(ack),
    };
    if kind & 64 != 0 {
        assert!(stamp.put(&mut ip));
    }
    let options = match kind & 128 {
        0 => vec![],
        _ => vec![TcpOption::Sack(vec![(near(block), near(at))])],
    };
    let tcp = Header {
        source_port: u16::from(from),
        destination_port: u16::from(to),
        sequence: near(at),
        acknowledgement: near(ack),
        flags: Flags(flags),
        window: 1,
        urgent: 0,
        options,
    };
    let mut body = Vec::new();
    tcp.emit(
        &ZEROS[..usize::from(length)],
        ip.source,
        ip.destination,
        &mut body,
    );
    packet(&ip, &body)
}

fn lack(op: &[u8; 10]) -> Vec<u8> {
    let mut body = Vec::new();
    Lack {
        source: address(0),
        destination: address(3),
        source_port: 0,
        destination_port: 3,
        cumulative: u32::from(op[1]),
        run: u16::from(op[2]).max(1),
        bitmap: u32::from_be_bytes([op[3] & 0x7f, op[4], op[5], op[6]]),
    }
    .emit(&mut body);
    packet(
        &Ipv4Header::new(address(op[7]), address(1), PROTOCOL_LACK, 9),
        &body,
    )
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let connection = Connection {
        name: None,
        source: None,
        source_port: None,
        destination: None,
        destination_port: None,
        every_hops: None,
        proxies: vec![address(1)],
        buffer_packets: usize::from(first & 7) + 1,
        window: usize::from(first >> 3 & 3) + 1,
        ack_every: usize::from(first >> 5) + 1,
    };
    let config = Config {
        connection: vec![connection],
        ..Config::default()
    };
    let mut split: Split<u8> = Split::new(address(1), config);
    let ends = Ends {
        source: address(0),
        source_port: 0,
        destination: address(3),
        destination_port: 3,
    };
    let mut now = Instant(0);
    for op in rest
        .chunks_exact(10)
        .filter_map(|op| op.first_chunk::<10>())
    {
        let place = match op[0] & 3 {
            0 => Place::Leaving,
            1 | 2 => Place::Passing { hops: op[9] },
            _ => Place::Arriving,
        };
        match op[0] & 7 {
            4 => drop(split.handle_packet(now, Place::Arriving, &lack(op), 1)),
            5 => split.handle_loss(now, &ends, u32::from(op[1])),
            6 => split.handle_drop(now, &segment(op)),
            _ => drop(split.handle_packet(now, place, &segment(op), 1)),
        }
        while let Some(output) = split.poll_output() {
            if let Output::Send { packet, .. } = output {
                assert!(packet.len() <= 1500 && Ipv4Header::parse(&packet).is_ok());
            }
        }
        now = now + Duration::from_millis(u64::from(op[9]) * 8);
        split.handle_timeout(now);
        assert!(split.next_deadline().is_none_or(|at| at > now));
    }
    // Each beginning of an input is an input of its own: its end is the place to look.
    for row in split.rows() {
        assert!(row.in_flight <= row.buffered && row.window >= 0.0);
    }
});
