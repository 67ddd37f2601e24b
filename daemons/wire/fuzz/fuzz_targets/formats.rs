// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arbitrary bytes as every packet and frame: no panic, and what parses is emitted again to
//! something that parses the same.
#![no_main]

use hoplab_wire::ieee80211::{Control, Frame};
use hoplab_wire::split::{Lack, Stamp, LACK_LEN};
use hoplab_wire::{arp, ethernet, ipv4, radiotap, tcp, udp};
use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;

/// TCP's checksum almost never fits arbitrary bytes: it is mended first.
fn tcp_segment(bytes: &[u8]) {
    let (here, there) = (Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST);
    let mut bytes = bytes.to_vec();
    let Some(sum) = bytes.get_mut(16..18) else {
        return;
    };
    sum.fill(0);
    let length = (bytes.len() as u32).to_be_bytes();
    let pseudo = [&here.octets()[..], &there.octets(), &length, &[0, 0, 0, 6]];
    let sum = ipv4::checksum(&[&pseudo.concat()[..], &bytes].concat());
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    if let Ok((header, payload)) = tcp::Header::parse(&bytes, here, there) {
        let mut out = Vec::new();
        header.emit(payload, here, there, &mut out);
        assert_eq!(tcp::Header::parse(&out, here, there), Ok((header, payload)));
    }
}

/// Likewise a LACK's.
fn lack(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let Some(sum) = bytes.get_mut(2..4) else {
        return;
    };
    sum.fill(0);
    let sum = ipv4::checksum(&bytes[..bytes.len().min(LACK_LEN)]);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    if let Ok(lack) = Lack::parse(&bytes) {
        let mut out = Vec::new();
        lack.emit(&mut out);
        assert_eq!(Lack::parse(&out), Ok(lack));
        assert!(lack.covers(lack.cumulative) && lack.covers(lack.largest()));
    }
}

fn stamp(mut header: ipv4::Header) {
    let found = Stamp::of(&header);
    let stamp = found.unwrap_or(Stamp {
        round: 1,
        transfers: 2,
        source_waits: false,
        custodian_waits: false,
        custodian: header.source,
        number: 3,
        acknowledged: 4,
    });
    if stamp.put(&mut header) {
        assert_eq!(Stamp::of(&header), Some(stamp));
    } else {
        assert_eq!(found, None);
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok((header, payload)) = ipv4::Header::parse(bytes) {
        stamp(header.clone());
        let mut out = Vec::new();
        header.emit(payload.len(), &mut out);
        out.extend(payload);
        assert_eq!(ipv4::Header::parse(&out), Ok((header, payload)));
        assert_eq!(
            ipv4::View::new(bytes).map(|view| view.payload()),
            Some(payload)
        );
    }
    tcp_segment(bytes);
    lack(bytes);
    if let Some((header, frame)) = radiotap::Header::parse(bytes) {
        let mut out = Vec::new();
        header.emit(&mut out);
        assert_eq!(radiotap::Header::parse(&out), Some((header, &[][..])));
        let _ = Frame::new(frame).and_then(|frame| frame.packet());
    }
    if let Some(frame) = Frame::new(bytes) {
        let _ = (frame.receiver(), frame.transmitter(), frame.packet());
    }
    if let Some((control, duration_us)) = Control::parse(bytes) {
        let out = control.emit(duration_us);
        assert_eq!(Control::parse(&out), Some((control, duration_us)));
    }
    if let Some(packet) = arp::Packet::parse(bytes) {
        assert!(bytes.starts_with(&packet.emit()));
    }
    let _ = (ethernet::Header::parse(bytes), udp::ports(bytes));
});
