// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever is emitted parses to the same; whatever the bytes, no parser panics.

use hoplab_wire::ieee80211::{Control, Frame};
use hoplab_wire::netlink::{Attributes, Batch, Message, Messages};
use hoplab_wire::split::{Lack, Stamp};
use hoplab_wire::tcp::{Flags, TcpOption};
use hoplab_wire::{arp, ethernet, ipv4, radiotap, tcp, Mac};
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

fn mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac)
}

fn option() -> impl Strategy<Value = TcpOption> {
    prop_oneof![
        Just(TcpOption::NoOperation),
        any::<u16>().prop_map(TcpOption::MaximumSegmentSize),
        any::<u8>().prop_map(TcpOption::WindowScale),
        Just(TcpOption::SackPermitted),
        prop::collection::vec(any::<(u32, u32)>(), 0..3).prop_map(TcpOption::Sack),
        any::<(u32, u32)>().prop_map(|(value, echo)| TcpOption::Timestamps { value, echo }),
        (9u8.., prop::collection::vec(any::<u8>(), 0..6))
            .prop_map(|(kind, data)| TcpOption::Other { kind, data }),
    ]
}

proptest! {
    #[test]
    fn tcp_segments(
        (source, destination) in (address(), address()),
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32)>(),
        (flags, window, urgent) in any::<(u8, u16, u16)>(),
        options in prop::collection::vec(option(), 0..2),
        payload in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let header = tcp::Header {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: numbers.0,
            acknowledgement: numbers.1,
            flags: Flags(flags),
            window,
            urgent,
            options,
        };
        let mut out = Vec::new();
        header.emit(&payload, source, destination, &mut out);
        let parsed = tcp::Header::parse(&out, source, destination);
        prop_assert_eq!(parsed, Ok((header, &payload[..])));
    }

    #[test]
    fn ipv4_packets(
        (source, destination) in (address(), address()),
        (tos, ttl, protocol) in any::<(u8, u8, u8)>(),
        (identification, flags_fragment) in any::<(u16, u16)>(),
        words in prop::collection::vec(any::<[u8; 4]>(), 0..10),
        payload in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let header = ipv4::Header {
            tos, identification, flags_fragment, ttl, protocol, source, destination,
            options: words.concat(),
        };
        let mut out = Vec::new();
        header.emit(payload.len(), &mut out);
        out.extend(&payload);
        // Octets behind the total length are the link's padding.
        out.push(0xff);
        prop_assert_eq!(ipv4::View::new(&out).map(|view| view.payload()), Some(&payload[..]));
        prop_assert_eq!(ipv4::Header::parse(&out), Ok((header, &payload[..])));
    }

    #[test]
    fn arp_ethernet_and_control_frames(
        macs in (mac(), mac()),
        ends in (address(), address()),
        request in any::<bool>(),
        number in any::<u16>(),
    ) {
        let operation = if request { arp::Operation::Request } else { arp::Operation::Reply };
        let packet = arp::Packet {
            operation,
            sender_mac: macs.0,
            sender: ends.0,
            target_mac: macs.1,
            target: ends.1,
        };
        prop_assert_eq!(arp::Packet::parse(&packet.emit()), Some(packet));
        let header = ethernet::Header { destination: macs.0, source: macs.1, ethertype: number };
        let mut out = Vec::new();
        header.emit(&mut out);
        prop_assert_eq!(ethernet::Header::parse(&out), Some((header, &[][..])));
        let rts = Control::Rts { receiver: macs.0, transmitter: macs.1 };
        prop_assert_eq!(Control::parse(&rts.emit(number)), Some((rts, number)));
    }

    #[test]
    fn radiotap_headers(
        time_us in any::<Option<u64>>(),
        (flags, rate) in any::<(Option<u8>, Option<u8>)>(),
        channel in any::<Option<(u16, u16)>>(),
        (signal_dbm, noise_dbm) in any::<(Option<i8>, Option<i8>)>(),
        tx_flags in any::<Option<u16>>(),
        (ht, vht) in any::<(Option<(u8, bool, bool)>, Option<(u8, u8, u8, bool)>)>(),
        (ampdu, he) in any::<(Option<(u32, bool)>, Option<(u8, u8, u8, u8, u8)>)>(),
        (uplink, user, offset) in any::<(Option<bool>, Option<u16>, Option<u8>)>(),
        he_mu in any::<Option<(u8, [[u8; 4]; 2], bool)>>(),
        eht in any::<Option<(u8, u8, u8, u8)>>(),
    ) {
        let channel = channel.map(|(mhz, flags)| radiotap::Channel { mhz, flags });
        let ht = ht.map(|(index, is_40_mhz, short_guard)| radiotap::Ht {
            index,
            is_40_mhz,
            short_guard,
        });
        let vht = vht.map(|(mcs, streams, bandwidth, short_guard)| radiotap::Vht {
            mcs: mcs & 0xf,
            streams: streams & 0xf,
            bandwidth,
            short_guard,
        });
        let header = radiotap::Header {
            time_us,
            flags,
            rate,
            channel,
            signal_dbm,
            noise_dbm,
            tx_flags,
            ht,
            ampdu: ampdu.map(|(number, is_last)| radiotap::Ampdu { number, is_last }),
            vht,
            he: he.map(|(format, mcs, streams, bandwidth, guard)| radiotap::He {
                format: format & 3,
                mcs: mcs & 0xf,
                streams: streams & 0xf,
                bandwidth: bandwidth & 0xf,
                guard: guard & 3,
                uplink,
                user: user.map(|user| user & 0x7ff),
                offset: offset.map(|offset| offset & 0x3f),
            }),
            he_mu: he_mu.map(|(bandwidth, units, middle)| radiotap::HeMu {
                bandwidth: bandwidth & 3,
                units,
                middle,
            }),
            eht: eht.map(|(mcs, streams, bandwidth, guard)| radiotap::Eht {
                mcs: mcs & 0xf,
                streams: 1 + (streams & 0xf),
                bandwidth: bandwidth & 7,
                guard: guard & 3,
                unit: (mcs & 0x10 != 0).then_some(streams >> 4),
                punctured: if mcs & 0x10 != 0 { guard >> 3 } else { 0 },
                uplink: guard & 4 != 0,
            }),
            is_null: rate == Some(0),
        };
        let mut out = Vec::new();
        header.emit(&mut out);
        prop_assert_eq!(radiotap::Header::parse(&out), Some((header, &[][..])));
    }

    #[test]
    fn netlink_attributes(
        values in prop::collection::vec((0u16..0x3fff, prop::collection::vec(any::<u8>(), 0..20)), 0..6)
    ) {
        let mut batch = Batch::default();
        batch.begin(20, 0, 1, 1, 7);
        for (kind, value) in &values {
            batch.attribute(*kind, value);
        }
        batch.end();
        let bytes = batch.take();
        let all: Vec<Message<'_>> = Messages::new(&bytes).collect();
        prop_assert_eq!(all.len(), 1);
        let Message::Generic { attributes, .. } = all[0] else { panic!("{all:?}") };
        let found: Vec<(u16, Vec<u8>)> = attributes.map(|(k, v)| (k, v.to_vec())).collect();
        prop_assert_eq!(found, values);
    }

    #[test]
    fn stamps_and_lacks(
        ends in (address(), address()),
        (source_port, destination_port) in any::<(u16, u16)>(),
        (round, transfers) in (any::<u8>(), 0..=Stamp::MOST_TRANSFERS),
        (source_waits, custodian_waits) in any::<(bool, bool)>(),
        (number, acknowledged) in any::<(u32, u32)>(),
        (cumulative, run, bitmap) in (any::<u32>(), 1u16.., 0u32..1 << 31),
        options in prop::collection::vec(any::<u8>(), 0..28),
    ) {
        let custodian = ends.0;
        let stamp = Stamp { round, transfers, source_waits, custodian_waits, custodian, number, acknowledged };
        let mut header = ipv4::Header::new(ends.0, ends.1, 6, 64);
        header.options = options;
        header.options.resize(header.options.len().next_multiple_of(4), 0);
        if stamp.put(&mut header) {
            prop_assert_eq!(Stamp::of(&header), Some(stamp));
        }
        let (source, destination) = ends;
        let lack = Lack {
            source, destination, source_port, destination_port, cumulative, run, bitmap,
        };
        let mut out = Vec::new();
        lack.emit(&mut out);
        prop_assert_eq!(Lack::parse(&out), Ok(lack));
        prop_assert!(lack.covers(cumulative) && lack.covers(lack.largest()));
    }

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = ipv4::Header::parse(&bytes);
        let _ = tcp::Header::parse(&bytes, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
        let _ = radiotap::Header::parse(&bytes);
        let _ = Frame::new(&bytes).and_then(|frame| frame.packet());
        let _ = Control::parse(&bytes);
        let _ = (Stamp::parse(&bytes), Lack::parse(&bytes));
        prop_assert!(Messages::new(&bytes).count() <= bytes.len() / 16 + 1);
        prop_assert!(Attributes::new(&bytes).count() <= bytes.len() / 4);
    }
}
