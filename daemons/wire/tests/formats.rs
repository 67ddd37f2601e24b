// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each format against octets written out by hand, both ways.

use hoplab_wire::ieee80211::{on_air, Bitmap, Control, Frame, Kind, Together};
use hoplab_wire::netlink::{family_id, Attributes, Batch, Message, Messages};
use hoplab_wire::nfqueue::{self, Hook, Queued};
use hoplab_wire::sounding::{self, Announced, Announcement, Poll, Report};
use hoplab_wire::split::{Lack, Stamp};
use hoplab_wire::tcp::{Flags, TcpOption};
use hoplab_wire::trigger::{Acknowledged, Asks, BlockAcks, BufferStatus, Of, Trigger, User};
use hoplab_wire::{arp, ethernet, ipv4, radiotap, tcp, udp, Mac, ParseError};
use std::net::Ipv4Addr;

const A: Mac = Mac([2, 0, 0, 0, 0, 1]);
const B: Mac = Mac([2, 0, 0, 0, 0, 2]);
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

#[test]
fn addresses_print_as_usual() {
    assert_eq!(A.to_string(), "02:00:00:00:00:01");
    assert!(Mac::BROADCAST.is_group() && !A.is_group());
}

#[test]
fn an_ethernet_header() {
    let bytes = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45];
    let (header, payload) = ethernet::Header::parse(&bytes).unwrap();
    let expected = ethernet::Header {
        destination: B,
        source: A,
        ethertype: 0x0800,
    };
    assert_eq!((header, payload), (expected, &[0x45][..]));
    let mut out = Vec::new();
    header.emit(&mut out);
    assert_eq!(out, bytes[..14]);
    assert_eq!(ethernet::Header::parse(&bytes[..13]), None);
}

#[test]
fn an_arp_request() {
    let bytes = [
        0, 1, 8, 0, 6, 4, 0, 1, // Ethernet, IPv4, request
        2, 0, 0, 0, 0, 1, 10, 0, 0, 1, // from
        0, 0, 0, 0, 0, 0, 10, 0, 0, 2, // who has
    ];
    let packet = arp::Packet {
        operation: arp::Operation::Request,
        sender_mac: A,
        sender: HERE,
        target_mac: Mac([0; 6]),
        target: THERE,
    };
    assert_eq!(arp::Packet::parse(&bytes), Some(packet));
    assert_eq!(packet.emit(), bytes);
    let mut other = bytes;
    other[7] = 3;
    assert_eq!(arp::Packet::parse(&other), None, "a reverse request");
}

/// The example of RFC 1071's arithmetic that many texts use; checksum b861.
#[test]
fn an_ipv4_header() {
    let bytes = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];
    let packet = [&bytes[..], &[7; 95]].concat();
    let (header, payload) = ipv4::Header::parse(&packet).unwrap();
    assert_eq!(payload, [7; 95]);
    assert_eq!(header.source, Ipv4Addr::new(192, 168, 0, 1));
    assert_eq!((header.protocol, header.ttl), (17, 64));
    assert!(header.dont_fragment() && !header.is_fragment());
    let mut out = Vec::new();
    header.emit(95, &mut out);
    assert_eq!(out, bytes);
    let view = ipv4::View::new(&packet).unwrap();
    assert_eq!((view.protocol(), view.payload()), (17, &[7; 95][..]));
    assert_eq!(view.destination(), header.destination);
    // A capture may cut a packet: the view takes what there is, the parser does not.
    let cut = &packet[..30];
    assert_eq!(ipv4::View::new(cut).unwrap().payload(), [7; 10]);
    assert_eq!(ipv4::Header::parse(cut), Err(ParseError::Truncated));
}

#[test]
fn udp_ports() {
    let bytes = [0x13, 0x89, 0x10, 0xd1, 0, 8, 0, 0];
    assert_eq!(udp::ports(&bytes), Some((5001, 4305)));
    assert_eq!(udp::ports(&bytes[..7]), None);
}

/// A SYN with the options that Linux sends; the checksum was worked out apart from this code.
#[test]
fn a_tcp_segment() {
    let bytes = [
        0x4e, 0x21, 0x14, 0x51, // ports 20001, 5201
        0x01, 0x02, 0x03, 0x04, // sequence
        0x00, 0x00, 0x00, 0x00, // acknowledgement
        0xa0, 0x02, 0xfa, 0xf0, // 10 words, SYN, window 64240
        0xd2, 0x8d, 0x00, 0x00, // checksum, urgent
        0x02, 0x04, 0x05, 0xb4, // maximum segment size 1460
        0x04, 0x02, // SACK permitted
        0x08, 0x0a, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, // timestamps
        0x01, // no operation
        0x03, 0x03, 0x07, // window scale 7
    ];
    let header = tcp::Header {
        source_port: 20001,
        destination_port: 5201,
        sequence: 0x0102_0304,
        acknowledgement: 0,
        flags: Flags::SYN,
        window: 64240,
        urgent: 0,
        options: vec![
            TcpOption::MaximumSegmentSize(1460),
            TcpOption::SackPermitted,
            TcpOption::Timestamps { value: 7, echo: 0 },
            TcpOption::NoOperation,
            TcpOption::WindowScale(7),
        ],
    };
    let mut out = Vec::new();
    header.emit(&[], HERE, THERE, &mut out);
    assert_eq!(out, bytes);
    let parsed = tcp::Header::parse(&bytes, HERE, THERE);
    assert_eq!(parsed, Ok((header, &[][..])));
    let elsewhere = tcp::Header::parse(&bytes, HERE, HERE);
    assert_eq!(elsewhere, Err(ParseError::BadChecksum));
    assert!(Flags::SYN.and(Flags::ACK).has(Flags::ACK));
}

#[test]
fn selective_acknowledgements() {
    let header = tcp::Header {
        source_port: 1,
        destination_port: 2,
        sequence: 3,
        acknowledgement: 4,
        flags: Flags::ACK,
        window: 5,
        urgent: 0,
        options: vec![
            TcpOption::NoOperation,
            TcpOption::NoOperation,
            TcpOption::Sack(vec![(0x10, 0x20), (0x30, 0x40)]),
        ],
    };
    let mut out = Vec::new();
    header.emit(b"odd", HERE, THERE, &mut out);
    let option = [
        1, 1, 5, 18, 0, 0, 0, 0x10, 0, 0, 0, 0x20, 0, 0, 0, 0x30, 0, 0, 0, 0x40,
    ];
    assert_eq!(out[20..40], option);
    let parsed = tcp::Header::parse(&out, HERE, THERE);
    assert_eq!(parsed, Ok((header, &b"odd"[..])));
}

/// A data frame of an IBSS from A to B that was sent before, with an IPv4 packet.
fn data() -> Vec<u8> {
    let mut frame = vec![0x08, 0x08, 0x2c, 0x00];
    frame.extend(B.0);
    frame.extend(A.0);
    frame.extend([2, 0, 0, 0, 0, 9]);
    frame.extend([0x50, 0x01]);
    frame.extend([0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00]);
    frame.extend([0x45, 0x00]);
    frame
}

#[test]
fn a_data_frame() {
    let bytes = data();
    let frame = Frame::new(&bytes).unwrap();
    assert_eq!(frame.kind(), Kind::Data);
    assert_eq!(frame.receiver(), Some(B));
    assert_eq!(frame.transmitter(), Some(A));
    assert_eq!(frame.sequence_control(), Some(0x0150));
    assert_eq!(frame.duration_us(), 44);
    assert!(frame.is_retry() && frame.is_direct() && !frame.is_protected());
    assert_eq!(frame.packet(), Some((0x0800, &[0x45, 0][..])));
    assert_eq!(Frame::new(&bytes[..23]), None);
}

#[test]
fn optional_fields_move_the_body() {
    let moved = |control: [u8; 2], more: usize| {
        let mut bytes = data();
        bytes[..2].copy_from_slice(&control);
        bytes.splice(24..24, vec![0; more]);
        Frame::new(&bytes).and_then(|frame| Some(frame.packet()?.0))
    };
    assert_eq!(moved([0x88, 0], 2), Some(0x0800), "QoS control");
    assert_eq!(moved([0x08, 3], 6), Some(0x0800), "four addresses");
    assert_eq!(moved([0x88, 3], 8), Some(0x0800), "both");
    assert_eq!(moved([0x08, 0x40], 0), None, "encrypted");
    assert_eq!(moved([0x48, 0], 0), None, "a null function has no body");
}

#[test]
fn control_frames() {
    let rts = Control::Rts {
        receiver: B,
        transmitter: A,
    };
    let bytes = [0xb4, 0, 0x10, 0x01, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    assert_eq!(rts.emit(0x0110), bytes);
    assert_eq!(Control::parse(&bytes), Some((rts, 0x0110)));
    let ack = Control::Ack { receiver: B };
    let bytes = [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 2];
    assert_eq!(ack.emit(0), bytes);
    assert_eq!(Control::parse(&bytes), Some((ack, 0)));
    let cts = Control::Cts { receiver: B };
    assert_eq!(cts.emit(0)[0], 0xc4);
    assert_eq!(Control::parse(&data()), None);
}

/// As Linux has them (`struct ieee80211_bar`), and 802.11ax-2021 table 9-30a the longer bitmap.
#[test]
fn block_acks() {
    let of = Together {
        receiver: B,
        transmitter: A,
        tid: 5,
        sequence: 0xabc,
    };
    let request = Control::BlockAckRequest(of);
    let begin = [0x84, 0, 7, 0, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    let bytes = [&begin[..], &[0x04, 0x50, 0xc0, 0xab]].concat();
    assert_eq!(request.emit(7), bytes);
    assert_eq!(Control::parse(&bytes), Some((request, 7)));
    // With its FCS 24 octets beside the bitmap; 802.11be-2024 9.3.1.8.2 for the longest.
    for (octets, kind) in [(8, 0xc0), (32, 0xc4), (64, 0xc8), (128, 0xca)] {
        let words: Vec<u64> = (9..9 + octets as u64 / 8).collect();
        let bitmap = Bitmap::new(&words, octets).expect("a bitmap");
        assert_eq!(bitmap.words(), words);
        let ack = Control::BlockAck(of, bitmap);
        let bytes = ack.emit(0);
        assert_eq!(bytes.len(), 20 + octets);
        assert_eq!((bytes[18], bytes[20]), (kind, 9));
        assert_eq!(Control::parse(&bytes), Some((ack, 0)));
        assert_eq!(Control::parse(&bytes[..bytes.len() - 1]), None);
    }
    assert_eq!(Bitmap::new(&[1], 16), None);
    // A policy and a fragment number say nothing in a request.
    let mut other = request.emit(7);
    (other[16], other[18]) = (0x05, 0xc6);
    assert_eq!(Control::parse(&other), Some((request, 7)));
    other[16] = 0x02;
    assert_eq!(Control::parse(&other), None);
}

/// 802.11ax-2021 9.3.1.22. Both stations have 106 tones of 20 MHz (units 53 and 54).
#[test]
fn triggers() {
    let user = |receiver, association, unit, of| User {
        receiver,
        association,
        unit,
        is_secondary: false,
        mcs: 3,
        streams: 1,
        first_stream: 0,
        of,
    };
    let trigger = |asks, users: Vec<User>| Trigger {
        transmitter: A,
        asks,
        length: 0x123,
        carrier_sense: asks == Asks::Frames,
        bandwidth: 0,
        guard: 1,
        trainings: 0,
        power_dbm: 16,
        users,
    };
    let frames = |receiver, number, unit| user(receiver, number, unit, Of::Category(2));
    let basic = trigger(Asks::Frames, vec![frames(B, 1, 53), frames(A, 2, 54)]);
    let begin = [
        0x24, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1,
    ];
    // Type 0, length, carrier sense; 1.6 us; 36 for 16 dBm; reserved ones.
    let common = [0x30, 0x12, 0x12, 0x40, 0x02, 0x00, 0xc0, 0x7f];
    // AID12 and unit; LDPC, MCS 3; one stream; the greatest power. One TID, of video.
    let first = [0x01, 0xa0, 0x76, 0x00, 0x7f, 0x84];
    let second = [0x02, 0xc0, 0x76, 0x00, 0x7f, 0x84];
    let bytes = [&begin[..], &common, &first, &second].concat();
    assert_eq!(basic.emit(7), bytes);
    // With its FCS as the medium counts them: 28 and 6 for each.
    assert_eq!(bytes.len() + 4, 28 + 2 * 6);
    // To one alone it is addressed to him. A BlockAckReq of TID 5 follows.
    let of = Of::Agreement {
        tid: 5,
        sequence: 0xabc,
    };
    let asks = trigger(Asks::BlockAcks, vec![user(B, 1, 53, of)]).emit(7);
    assert_eq!(asks[4..10], B.0);
    assert_eq!(asks[16..19], [0x32, 0x12, 0x10]);
    assert_eq!(
        asks[24..],
        [0x01, 0xa0, 0x76, 0x00, 0x7f, 0x04, 0x50, 0xc0, 0xab]
    );
    assert_eq!(asks.len() + 4, 28 + 9);
}

/// IEEE 802.11-2020 9.3.1.20 and 9.3.1.21, 802.11ax-2021 9.3.1.19.
#[test]
fn announcements_of_null_data_packets() {
    let station = |receiver, association| Announced {
        receiver,
        association,
        columns: 2,
    };
    let announcement = |kind, stations| Announcement {
        kind,
        transmitter: A,
        token: 5,
        bandwidth: 2,
        stations,
    };
    let vht = announcement(sounding::Kind::Vht, vec![station(B, 1), station(A, 2)]).emit(7);
    let begin = [
        0x54, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1,
    ];
    // Token; AID12, several users, two columns.
    assert_eq!(vht, [&begin[..], &[20, 1, 0x30, 2, 0x30]].concat());
    assert_eq!(vht.len() + 4, 21 + 2 * 2);
    // To one alone it is addressed to him. AID11; up to unit 36; grouping 4, finest codebook.
    let he = announcement(sounding::Kind::He, vec![station(B, 1)]).emit(7);
    assert_eq!(he[4..10], B.0);
    let info: u32 = 1 | 36 << 18 | 2 << 25 | 1 << 27 | 1 << 28 | 1 << 29;
    assert_eq!(he[16..], [&[22][..], &info.to_le_bytes()].concat());
    assert_eq!(he.len() + 4, 21 + 4);
    let poll = Poll {
        receiver: B,
        transmitter: A,
    };
    let polls = poll.emit(7);
    assert_eq!((polls.len() + 4, polls[0], polls[16]), (21, 0x44, 0xff));
}

/// IEEE 802.11-2020 9.4.1.48, 802.11ax-2021 9.4.1.64: one column of four rows, on 80 MHz.
#[test]
fn reports_on_the_channel() {
    let report = |kind| Report {
        kind,
        receiver: A,
        transmitter: B,
        token: 5,
        bandwidth: 2,
        columns: 1,
        rows: 4,
        octets: 100,
    };
    let vht = report(sounding::Kind::Vht).emit(7);
    assert_eq!((vht.len(), vht[0]), (100, 0xe0));
    assert_eq!((&vht[4..10], &vht[16..22]), (&A.0[..], &A.0[..]));
    // Rows, width; codebook, several users; first segment, token.
    assert_eq!(vht[24..29], [21, 0, 0x98, 0x8c, 0x14]);
    let he = report(sounding::Kind::He).emit(7);
    let control: u64 = 3 << 3 | 2 << 6 | 1 << 9 | 1 << 10 | 1 << 15 | 36 << 23 | 5 << 30;
    assert_eq!(he[24..26], [30, 0]);
    assert_eq!(he[26..31], control.to_le_bytes()[..5]);
    assert!(he[31..].iter().all(|octet| *octet == 0));
}

/// 802.11ax-2021 9.3.1.22.6, and 9.2.4.6a.4 for the answer.
#[test]
fn a_poll_of_queues() {
    let told = BufferStatus {
        receiver: A,
        transmitter: B,
        tid: 4,
        category: 2,
        octets: 5000,
    };
    let begin = [
        0xc8, 0x81, 7, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1,
    ];
    // Sequence; TID without acknowledgement, size unknown; 20 units of 256 of video, and in all.
    let info: u32 = 1 << 2 | 2 << 6 | 1 << 8 | 20 << 10 | 20 << 18;
    let control = (0x3 | 3 << 2 | info << 6).to_le_bytes();
    let expected = [&begin[..], &[0, 0, 0x34, 255], &control].concat();
    assert_eq!(told.emit(7), expected);
    assert_eq!(expected.len() + 4, 34);
    let most = BufferStatus {
        octets: usize::MAX,
        ..told
    };
    assert_eq!(most.emit(7)[29], 254);
}

/// 802.11ax-2021 9.3.1.8.6.
#[test]
fn a_block_ack_to_several() {
    let user = |association, octets| Acknowledged {
        association,
        tid: 5,
        sequence: 0xabc,
        bitmap: Bitmap::new(&[9, 8, 7, 6], octets).expect("a bitmap"),
    };
    let ack = BlockAcks {
        transmitter: A,
        users: vec![user(1, 8), user(2, 32)],
    };
    let begin = [
        0x94, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x16, 0,
    ];
    let first = [0x01, 0x50, 0xc0, 0xab, 9, 0, 0, 0, 0, 0, 0, 0];
    let second = [0x02, 0x50, 0xc4, 0xab, 9, 0, 0, 0, 0, 0, 0, 0, 8];
    let bytes = ack.emit(7);
    assert!(bytes.starts_with(&[&begin[..], &first, &second].concat()));
    assert_eq!(bytes.len() + 4, 22 + (4 + 8) + (4 + 32));
}

/// A data frame of a mesh (IEEE 802.11-2020 9.2.4.8.3). Its mesh control field has as many further
/// addresses as its flags say, and stands before what it carries.
#[test]
fn a_mesh_s_data() {
    let body = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], b"packet"].concat();
    for (flags, further) in [(0, 0), (1, 6), (2, 12)] {
        let begin = [&[0x88, 3, 0, 0][..], &B.0, &A.0, &B.0, &[0, 0], &A.0].concat();
        let control = [&[0, 1, flags, 31, 1, 0, 0, 0][..], &vec![7; further]].concat();
        let bytes = [begin, control, body.clone()].concat();
        let frame = Frame::new(&bytes).unwrap();
        assert_eq!(frame.packet(), Some((0x0800, &b"packet"[..])));
        // Without the bit of QoS that says so there is none.
        let mut plain = bytes.clone();
        plain[31] = 0;
        assert_eq!(Frame::new(&plain).unwrap().packet(), None);
    }
    let action = |category, code| {
        let begin = [&[0xd0, 0, 0, 0][..], &B.0, &A.0, &A.0, &[0, 0]].concat();
        Frame::new(&[&begin[..], &[category, code]].concat())
            .unwrap()
            .is_path_selection()
    };
    assert!(action(13, 1) && !action(13, 0) && !action(15, 1));
}

#[test]
fn retry_bit_and_duration_are_the_radios() {
    let aired = on_air(&data(), false, 0x0102);
    assert_eq!(aired, Some([0x08, 0x00, 0x02, 0x01]));
    assert_eq!(on_air(&data(), true, 44), data().first_chunk().copied());
    assert_eq!(on_air(&[1, 2], true, 3), None);
    // Of a PS-Poll it is the station's identifier.
    let poll = [0xa4, 0x10, 0x01, 0xc0, 2, 0, 0, 0, 0, 2];
    assert_eq!(on_air(&poll, false, 44), poll.first_chunk().copied());
}

#[test]
fn kinds_of_frames() {
    let kind = |first: u8| {
        let mut bytes = data();
        bytes[0] = first;
        Frame::new(&bytes).map(|frame| frame.kind())
    };
    assert_eq!(kind(0x80), Some(Kind::Beacon));
    assert_eq!(kind(0xc0), Some(Kind::Deauthentication));
    assert_eq!(kind(0x40), Some(Kind::Management));
    assert_eq!(kind(0xd4), Some(Kind::Control));
    assert_eq!(kind(0x0c), Some(Kind::Extension));
}

#[test]
fn a_radiotap_header() {
    // Time, flags, rate, channel, signal, noise.
    let bytes = [
        0, 0, 24, 0, 0x6f, 0, 0, 0, // version, length, present
        1, 0, 0, 0, 0, 0, 0, 0, // 1 us
        2, 22, // short preamble, 11 Mbit/s
        0x6c, 0x09, 0xa0, 0x00, // 2412 MHz, CCK at 2 GHz
        0xc4, 0xa1, // -60, -95 dBm
    ];
    let header = radiotap::Header {
        time_us: Some(1),
        flags: Some(radiotap::SHORT_PREAMBLE),
        rate: Some(22),
        channel: Some(radiotap::Channel {
            mhz: 2412,
            flags: radiotap::CHANNEL_CCK | radiotap::CHANNEL_2_GHZ,
        }),
        signal_dbm: Some(-60),
        noise_dbm: Some(-95),
        ..radiotap::Header::default()
    };
    let mut out = Vec::new();
    header.emit(&mut out);
    assert_eq!(out, bytes);
    let packet = [&bytes[..], &[9]].concat();
    assert_eq!(radiotap::Header::parse(&packet), Some((header, &[9][..])));
}

#[test]
fn radiotap_of_a_frame_that_failed() {
    let bytes = [0, 0, 10, 0, 0, 0x80, 0, 0, 0x01, 0x00];
    let (header, _) = radiotap::Header::parse(&bytes).unwrap();
    assert_eq!(header.tx_flags, Some(radiotap::TX_FAILED));
}

#[test]
fn radiotap_of_ht_and_vht() {
    // MCS 15, 40 MHz, short guard interval; mixed format, BCC and no STBC are known too.
    let bytes = [0, 0, 11, 0, 0, 0, 0x08, 0, 0x3f, 0x05, 15];
    let ht = radiotap::Header {
        ht: Some(radiotap::Ht {
            index: 15,
            is_40_mhz: true,
            short_guard: true,
        }),
        ..radiotap::Header::default()
    };
    let mut out = Vec::new();
    ht.emit(&mut out);
    assert_eq!(out, bytes);
    // Guard interval (long) and bandwidth (4 is 80 MHz) are known; MCS 9, two streams.
    let bytes = [
        0, 0, 20, 0, 0, 0, 0x20, 0, 0x44, 0, 0, 4, 0x92, 0, 0, 0, 0, 0, 0, 0,
    ];
    let vht = radiotap::Header {
        vht: Some(radiotap::Vht {
            mcs: 9,
            streams: 2,
            bandwidth: 4,
            short_guard: false,
        }),
        ..radiotap::Header::default()
    };
    let mut out = Vec::new();
    vht.emit(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn radiotap_of_an_ampdu_and_he() {
    // The seventh A-MPDU, of which this is the last frame.
    let bytes = [0, 0, 16, 0, 0, 0, 0x10, 0, 7, 0, 0, 0, 0x0c, 0, 0, 0];
    let ampdu = radiotap::Header {
        ampdu: Some(radiotap::Ampdu {
            number: 7,
            is_last: true,
        }),
        ..radiotap::Header::default()
    };
    let mut out = Vec::new();
    ampdu.emit(&mut out);
    assert_eq!(out, bytes);
    // To one user: MCS 11, LDPC and 160 MHz are known, and a guard interval of 1.6 us; two streams.
    let bytes = [
        0, 0, 20, 0, 0, 0, 0x80, 0, 0xa0, 0x40, 0x02, 0, 0, 0x2b, 0, 0, 0x13, 0, 2, 0,
    ];
    let he = radiotap::Header {
        he: Some(radiotap::He {
            format: 0,
            mcs: 11,
            streams: 2,
            bandwidth: 3,
            guard: 1,
            uplink: None,
            user: None,
            offset: None,
        }),
        ..radiotap::Header::default()
    };
    let mut out = Vec::new();
    he.emit(&mut out);
    assert_eq!(out, bytes);
    assert_eq!(
        radiotap::Header::parse(&bytes).map(|parsed| parsed.0),
        Some(he)
    );
}

/// Two users on 80 MHz have 484 tones each: the second has association 5.
#[test]
fn radiotap_of_users_beside_each_other() {
    let bytes = [
        0, 0, 32, 0, 0, 0, 0x80, 0x01, // HE, HE-MU
        0xb2, 0x48, 0x02, 0x41, 0, 0x27, 0x50, 0, 0x08, 0, 1, 0, // MCS 7, 484 tones
        0x00, 0x13, 0x06, 0, 200, 114, 0, 0, 114, 200, 0,
        0, // the second in the second content
    ];
    let header = radiotap::Header {
        he: Some(radiotap::He {
            format: 2,
            mcs: 7,
            streams: 1,
            bandwidth: 8,
            guard: 0,
            uplink: Some(false),
            user: Some(5),
            offset: Some(1),
        }),
        he_mu: Some(radiotap::HeMu {
            bandwidth: 2,
            units: [[200, 114, 0, 0], [114, 200, 0, 0]],
            middle: false,
        }),
        ..radiotap::Header::default()
    };
    let mut out = Vec::new();
    header.emit(&mut out);
    assert_eq!(out, bytes);
    let parsed = radiotap::Header::parse(&bytes).map(|parsed| parsed.0);
    assert_eq!(parsed, Some(header));
}

/// 320 MHz, a guard interval of 3.2 us, MCS 13 and two streams, behind a signal level.
#[test]
fn radiotap_of_eht() {
    let mut bytes = vec![0, 0, 76, 0, 0x20, 0, 0, 0x10, 0xd8, 0, 0, 0];
    let words = [
        12 << 16 | 33,
        4 << 15 | 0x3,
        0x40,
        0xc0,
        44 << 16 | 34,
        0x4,
        2 << 7,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1 << 24 | 13 << 20 | 1 << 19 | 0x96u32,
    ];
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let eht = radiotap::Header {
        signal_dbm: Some(-40),
        eht: Some(radiotap::Eht {
            mcs: 13,
            streams: 2,
            bandwidth: 4,
            guard: 2,
            unit: None,
            punctured: 0,
            uplink: false,
        }),
        ..radiotap::Header::default()
    };
    let mut out = Vec::new();
    eht.emit(&mut out);
    assert_eq!(out, bytes);
    // 3 x 996 tones, as the lowest 80 MHz are punctured: U-SIG, its mask, what is known of EHT, data 1.
    let punctured = radiotap::Header {
        eht: eht.eht.map(|whole| radiotap::Eht {
            unit: Some(14),
            punctured: 9,
            ..whole
        }),
        ..eht
    };
    let mut of_pattern = bytes.clone();
    for (word, value) in [
        (2, 9 << 9 | 1 << 6),
        (3, 0x3ec0),
        (5, 1 << 22 | 0x4),
        (7, 14u32),
    ] {
        of_pattern[12 + 4 * word..][..4].copy_from_slice(&value.to_le_bytes());
    }
    let mut out = Vec::new();
    punctured.emit(&mut out);
    assert_eq!(out, of_pattern);
    let found = radiotap::Header::parse(&of_pattern).map(|parsed| parsed.0);
    assert_eq!(found, Some(punctured));
    // An answer to a trigger on twice 996 tones: U-SIG, its type, what is known of EHT, and data 1.
    let on_unit = radiotap::Header {
        eht: eht.eht.map(|whole| radiotap::Eht {
            unit: Some(6),
            uplink: true,
            ..whole
        }),
        ..eht
    };
    let mut of_unit = bytes.clone();
    for (word, value) in [
        (1, 1 << 18 | 4 << 15 | 0x7),
        (2, 0),
        (5, 1 << 22 | 0x4),
        (7, 6u32),
    ] {
        of_unit[12 + 4 * word..][..4].copy_from_slice(&value.to_le_bytes());
    }
    let mut out = Vec::new();
    on_unit.emit(&mut out);
    assert_eq!(out, of_unit);
    let parsed = |bytes: &[u8]| radiotap::Header::parse(bytes).map(|parsed| parsed.0);
    assert_eq!(parsed(&bytes), Some(eht));
    // A TLV that is longer than the header, and fields between that nobody knows.
    let without = radiotap::Header { eht: None, ..eht };
    bytes[30] = 49;
    assert_eq!(parsed(&bytes), Some(without));
    bytes[30] = 44;
    bytes[7] |= 0x01;
    assert_eq!(parsed(&bytes), Some(without));
}

/// As mac80211 sends it: a second word of fields, and alignment between flags and channel.
#[test]
fn a_radiotap_header_of_two_words() {
    let mut bytes = vec![0, 0, 0, 0];
    bytes.extend((1u32 << 31 | 1 << 5 | 1 << 3 | 1 << 1).to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend([0x10, 0]); // flags, then one octet to align the channel
    bytes.extend([0x6c, 0x09, 0x40, 0x01, 0xd8]);
    bytes[2] = bytes.len() as u8;
    let (header, frame) = radiotap::Header::parse(&bytes).unwrap();
    assert_eq!((header.signal_dbm, header.flags), (Some(-40), Some(0x10)));
    assert_eq!(header.channel.map(|channel| channel.mhz), Some(2412));
    assert!(frame.is_empty());
    // Fewer fields than it promises.
    bytes.pop();
    bytes[2] -= 1;
    assert_eq!(radiotap::Header::parse(&bytes), None);
}

#[test]
fn a_netlink_request() {
    let mut batch = Batch::default();
    batch.get_family(b"nl80211\0");
    let mut expected = Vec::new();
    expected.extend(32u32.to_ne_bytes());
    expected.extend(16u16.to_ne_bytes());
    expected.extend(1u16.to_ne_bytes());
    expected.extend([0; 8]);
    expected.extend([3, 1, 0, 0]);
    expected.extend(12u16.to_ne_bytes());
    expected.extend(2u16.to_ne_bytes());
    expected.extend(b"nl80211\0");
    assert_eq!(batch.take(), expected);
    assert!(batch.is_empty());
}

#[test]
fn a_verdict_and_a_queued_packet() {
    let mut batch = Batch::default();
    nfqueue::decide(&mut batch, 0x0102, 7, true);
    let mut expected = Vec::new();
    expected.extend(32u32.to_ne_bytes());
    expected.extend(0x0301u16.to_ne_bytes());
    expected.extend(1u16.to_ne_bytes());
    expected.extend([0; 8]);
    expected.extend([0, 0, 1, 2]);
    expected.extend(12u16.to_ne_bytes());
    expected.extend(2u16.to_ne_bytes());
    expected.extend([0, 0, 0, 1, 0, 0, 0, 7]);
    assert_eq!(batch.take(), expected);

    let mut message = |kind, hook| {
        batch.begin_with(kind, 0, 0, [2, 0, 1, 2]);
        batch.attribute(1, &[0, 0, 0, 9, 8, 0, hook]);
        batch.attribute(10, b"packet");
        batch.end();
        batch.take()
    };
    let queued = |bytes: &[u8]| {
        let message = Messages::new(bytes).next()?;
        Queued::of(&message).map(|queued| (queued.id, queued.hook, queued.packet.to_vec()))
    };
    for (number, hook) in [(1, Hook::Input), (2, Hook::Forward), (3, Hook::Output)] {
        let expected = Some((9, hook, b"packet".to_vec()));
        assert_eq!(queued(&message(0x0300, number)), expected);
    }
    assert_eq!(queued(&message(0x0300, 0)).unwrap().1, Hook::Other);
    // A message of another kind, and one without its header.
    assert_eq!(queued(&message(0x0302, 1)), None);
    batch.begin_with(0x0300, 0, 0, [2, 0, 1, 2]);
    batch.attribute(10, b"packet");
    batch.end();
    assert_eq!(queued(&batch.take()), None);
}

#[test]
fn netlink_messages_of_one_datagram() {
    let mut batch = Batch::default();
    batch.begin(16, 0, 1, 2, 5);
    batch.attribute(2, b"abc");
    batch.attribute(1, &30u16.to_ne_bytes());
    batch.end();
    let mut datagram = batch.take();
    // An error, and the request with sequence 9, whose attribute 1 is 7.
    datagram.extend(48u32.to_ne_bytes());
    datagram.extend(2u16.to_ne_bytes());
    datagram.extend([0; 10]);
    datagram.extend((-19i32).to_ne_bytes());
    datagram.extend([0; 8]);
    datagram.extend(9u32.to_ne_bytes());
    datagram.extend([0; 8]);
    datagram.extend([8, 0, 1, 0, 7, 0, 0, 0]);
    assert_eq!(family_id(&datagram), Some(30));
    let all: Vec<Message<'_>> = Messages::new(&datagram).collect();
    let [Message::Generic {
        sequence: 5,
        command: 1,
        attributes,
        ..
    }, Message::Ack {
        code: -19,
        sequence: 9,
        request,
    }] = all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(attributes.find(2), Some(&b"abc"[..]));
    assert_eq!(attributes.u16(1), Some(30));
    assert_eq!(attributes.u32(1), None, "too short");
    assert_eq!(attributes.find(3), None);
    assert_eq!(request.u32(1), Some(7));
}

#[test]
fn lengths_that_cannot_be_end_a_datagram() {
    let mut datagram = vec![0; 16];
    datagram[0] = 15;
    let all: Vec<_> = Messages::new(&datagram).collect();
    assert_eq!(all, [Message::Malformed]);
    let short = [3, 0, 1, 0, 9, 9];
    assert_eq!(Attributes::new(&short).count(), 0);
    let long = [9, 0, 1, 0, 9, 9];
    assert_eq!(Attributes::new(&long).find(1), None);
}

#[test]
fn a_stamp_is_an_ip_option() {
    let stamp = Stamp {
        round: 2,
        transfers: 3,
        source_waits: true,
        custodian_waits: false,
        custodian: Ipv4Addr::new(10, 0, 0, 4),
        number: 0x0102_0304,
        acknowledged: 0x0506_0708,
    };
    let octets = [158, 16, 2, 0x83, 10, 0, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut out = Vec::new();
    stamp.emit(&mut out);
    assert_eq!(out, octets);
    assert_eq!(Stamp::parse(&octets), Some(stamp));
    let mut waits = octets;
    waits[3] = 0x43;
    let waits = Stamp::parse(&waits).unwrap();
    assert!(waits.custodian_waits && !waits.source_waits);

    let mut header = ipv4::Header::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 6, 64);
    header.options = vec![1, 7, 3, 0];
    assert_eq!(Stamp::of(&header), None);
    assert!(stamp.put(&mut header));
    assert_eq!(header.options, [&octets[..], &[1, 7, 3, 0]].concat());
    let again = Stamp { number: 9, ..stamp };
    assert!(again.put(&mut header));
    assert_eq!(
        (Stamp::of(&header), header.options.len()),
        (Some(again), 20)
    );
    assert_eq!(Stamp::take(&mut header), Some(again));
    assert_eq!((Stamp::take(&mut header), header.options.len()), (None, 4));
    // An option of that type and another length is somebody else's.
    header.options = vec![158, 4, 0, 0];
    assert_eq!((Stamp::of(&header), stamp.put(&mut header)), (None, false));
    header.options = vec![1; 28];
    assert!(!stamp.put(&mut header));
}

#[test]
fn a_lack_covers_its_run_and_its_bits() {
    let lack = Lack {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 9),
        source_port: 20001,
        destination_port: 5201,
        cumulative: 100,
        run: 3,
        bitmap: 0x4000_0001,
    };
    let mut out = Vec::new();
    lack.emit(&mut out);
    let octets = [
        1, 0, 0, 0, 10, 0, 0, 1, 10, 0, 0, 9, 0x4e, 0x21, 0x14, 0x51, 0, 0, 0, 100, 0, 3, 0, 0,
        0x40, 0, 0, 1,
    ];
    assert_eq!((&out[..2], &out[4..]), (&octets[..2], &octets[4..]));
    assert_eq!(ipv4::checksum(&out), 0);
    assert_eq!(Lack::parse(&out), Ok(lack));
    let covered: Vec<u32> = (90..140).filter(|n| lack.covers(*n)).collect();
    assert_eq!(covered, [98, 99, 100, 102, 132]);
    assert_eq!(lack.largest(), 132);
    let plain = Lack { bitmap: 0, ..lack };
    assert_eq!(plain.largest(), 100);
    let round_zero = Lack {
        cumulative: 1,
        ..lack
    };
    assert!(round_zero.covers(u32::MAX) && !round_zero.covers(u32::MAX - 1));
    assert_eq!(Lack::parse(&out[..27]), Err(ParseError::Truncated));
    out[10] ^= 1;
    assert_eq!(Lack::parse(&out), Err(ParseError::BadChecksum));
    let empty = Lack { run: 0, ..lack };
    let mut out = Vec::new();
    empty.emit(&mut out);
    assert_eq!(Lack::parse(&out), Err(ParseError::Unexpected));
}
