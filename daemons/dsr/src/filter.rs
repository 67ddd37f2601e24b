// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which frames come to which ring of DSR's.

use hoplab_linux::bpf::{self, Instruction};
use hoplab_station::filter::{
    program, tail, unicast_data,
    Step::{self, Do, Must, Never, Refuse, Want, While},
    ADD_X, AT_LEAST, BYTE, EQUAL, EQUAL_X, HALF, LENGTH, RECALL, STORE, SUBTRACT_X, TO_X, WORD,
};
use hoplab_wire::{Mac, ETHERTYPE_IPV4, NO_NEXT_HEADER, PROTOCOL_DSR};
use std::net::Ipv4Addr;

/// The type of the DSR Source Route option (RFC 4728 §6.7).
const SOURCE_ROUTE: u32 = 96;
/// Ethernet, IPv4 and DSR Options headers and the fixed part of a source route, octets.
const SHORTEST_ROUTED: u32 = 14 + 20 + 4 + 4;
/// Addresses after the receiver's that a program looks at in one go. A quiet frame has room for
/// them: with fewer addresses there is TCP's or UDP's header.
const LATER: u32 = 4;
/// Most of them that a quiet frame may have.
const MOST_LATER: u32 = 4 * LATER;

/// Unicast data frames between others than `own`.
fn between_others(own: Mac) -> Vec<Step> {
    let mut steps: Vec<_> = unicast_data().into();
    steps.extend([
        Do(WORD | bpf::BPF_IND, 6), // receiver, last four octets
        Never(EQUAL, tail(own)),
        Do(WORD | bpf::BPF_IND, 12), // transmitter, last four octets
        Never(EQUAL, tail(own)),
    ]);
    steps
}

/// Of a monitor interface: all of [`between_others`].
pub fn others_only(own: Mac) -> Vec<Instruction> {
    program(&between_others(own), false)
}

/// Of a monitor interface: data between others that only teaches routes. It is not urgent while no
/// packet waits for a route. The cache matters when a packet comes, an error or a deadline. All of
/// these wake the daemon, which then first reads what it overheard.
///
/// With `others`, all else of which DSR may learn: replies, errors and other options, and data that
/// could have come straight here. A gratuitous reply answers such data (RFC 4728 §3.4.3).
///
/// Of all frames between others, only what is no IPv4 is kept from both rings. The effect of a
/// frame depends on the cache, on what was heard before and on the time. The kernel knows none of
/// these.
pub fn quiet(own: Mac, address: Ipv4Addr, others: bool) -> Vec<Instruction> {
    const BASE: u32 = 0;
    const VALUE: u32 = 1;
    let own_address = u32::from(address);
    let mut steps = between_others(own);
    steps.extend([
        Do(BYTE | bpf::BPF_IND, 0), // QoS data has two octets more in its header
        Do(bpf::BPF_ALU | bpf::BPF_AND | bpf::BPF_K, 0x80),
        Do(bpf::BPF_ALU | bpf::BPF_RSH | bpf::BPF_K, 6),
        ADD_X,
        Do(STORE, BASE),
        TO_X,
        // Offsets: 24 LLC and SNAP, 32 IPv4, 52 DSR, 56 its first option, 60 addresses.
        LENGTH,
        SUBTRACT_X,
        Want(AT_LEAST, 62),
        Do(HALF | bpf::BPF_IND, 30),
        Must(EQUAL, u32::from(ETHERTYPE_IPV4)),
        Do(BYTE | bpf::BPF_IND, 32), // version 4, 20 octets
        Want(EQUAL, 0x45),
        Do(WORD | bpf::BPF_IND, 48), // IP destination
        Refuse(EQUAL, own_address),
        Do(BYTE | bpf::BPF_IND, 41),
        While(EQUAL, u32::from(PROTOCOL_DSR)),
        Do(BYTE | bpf::BPF_IND, 52), // next header
        Refuse(EQUAL, u32::from(NO_NEXT_HEADER)),
        Do(BYTE | bpf::BPF_IND, 56), // first option
        Want(EQUAL, SOURCE_ROUTE),
        Do(HALF | bpf::BPF_IND, 54), // length of all options, and of this one
        Do(STORE, VALUE),
        Do(BYTE | bpf::BPF_IND, 57),
        Do(bpf::BPF_ALU | bpf::BPF_ADD | bpf::BPF_K, 2),
        Do(RECALL, VALUE),
        Want(EQUAL_X, 0),
        Do(RECALL, BASE),
        Do(HALF | bpf::BPF_IND, 58), // Segments Left: the receiver and those after it
        Do(bpf::BPF_ALU | bpf::BPF_AND | bpf::BPF_K, 0x3f),
        // X becomes BASE + option length - 4 x Segments Left. The addresses after the receiver then
        // begin at X + 62: 60 and the receiver's 4, less the 2 fixed octets in the option length.
        Refuse(AT_LEAST, MOST_LATER + 2),
        Do(bpf::BPF_ALU | bpf::BPF_LSH | bpf::BPF_K, 2),
        Do(STORE, VALUE),
        Do(BYTE | bpf::BPF_IND, 57),
        ADD_X,
        Do(RECALL, VALUE),
        SUBTRACT_X,
        TO_X,
    ]);
    // This station must not be one of those after the receiver. The loop may read octets behind the
    // list and find the address there. Such a frame goes to the other ring, which does no harm.
    for first in (0..MOST_LATER).step_by(LATER as usize) {
        if first > 0 {
            steps.extend([
                Do(bpf::BPF_LD | bpf::BPF_MEM, VALUE), // 4 x Segments Left
                While(AT_LEAST, 4 * (first + 2)),
            ]);
        }
        let end = 62 + 4 * (first + LATER);
        steps.extend([LENGTH, SUBTRACT_X, Want(AT_LEAST, end)]);
        for at in (end - 4 * LATER..end).step_by(4) {
            steps.extend([Do(WORD | bpf::BPF_IND, at), Refuse(EQUAL, own_address)]);
        }
    }
    program(&steps, others)
}

/// Of the wireless interface: data that stations send through this one, with a source route and
/// no other DSR option. With `others`, all other frames.
pub fn passing(own: Mac, address: Ipv4Addr, others: bool) -> Vec<Instruction> {
    let head = u32::from(u16::from_be_bytes([own.0[0], own.0[1]]));
    let steps = [
        LENGTH,
        Want(AT_LEAST, SHORTEST_ROUTED),
        Do(HALF | bpf::BPF_ABS, 0), // receiver
        Want(EQUAL, head),
        Do(WORD | bpf::BPF_ABS, 2),
        Want(EQUAL, tail(own)),
        Do(HALF | bpf::BPF_ABS, 12),
        Want(EQUAL, u32::from(ETHERTYPE_IPV4)),
        Do(BYTE | bpf::BPF_ABS, 14), // version 4, 20 octets
        Want(EQUAL, 0x45),
        Do(BYTE | bpf::BPF_ABS, 23),
        Want(EQUAL, u32::from(PROTOCOL_DSR)),
        Do(WORD | bpf::BPF_ABS, 30), // IP destination
        Refuse(EQUAL, u32::from(address)),
        Do(BYTE | bpf::BPF_ABS, 34), // next header
        Refuse(EQUAL, u32::from(NO_NEXT_HEADER)),
        Do(BYTE | bpf::BPF_ABS, 38), // first option
        Want(EQUAL, SOURCE_ROUTE),
        Do(BYTE | bpf::BPF_ABS, 39), // its length, and that of all options
        Do(bpf::BPF_ALU | bpf::BPF_ADD | bpf::BPF_K, 2),
        TO_X,
        Do(HALF | bpf::BPF_ABS, 36),
        Want(EQUAL_X, 0),
    ];
    program(&steps, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoplab_station::filter::{passes, sent_only};

    const OWN: Mac = Mac([2, 0, 0, 0, 1, 0]);
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    /// Data from 10.0.0.1 to 10.0.0.3 by this station.
    fn routed() -> Vec<u8> {
        let mut frame = [&OWN.0[..], &[2, 0, 0, 0, 0, 0, 8, 0]].concat();
        frame.extend([0x45, 0, 0, 40, 0, 0, 0, 0, 64, PROTOCOL_DSR, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 3]);
        frame.extend([6, 0, 0, 8, 96, 6, 0, 1, 10, 0, 0, 2]);
        frame.extend([0; 20]);
        frame
    }

    #[test]
    fn what_may_wait_is_data_with_a_source_route_alone() {
        let cases: [(&str, usize, u8, bool); 8] = [
            ("as it is", 33, 3, true),
            ("for this station", 33, 2, false),
            ("to another receiver", 4, 9, false),
            ("ARP", 13, 6, false),
            ("with IP options", 14, 0x46, false),
            ("not of DSR", 23, 6, false),
            ("control", 34, NO_NEXT_HEADER, false),
            ("with a second option", 37, 12, false),
        ];
        for (what, at, octet, may_wait) in cases {
            let mut frame = routed();
            frame[at] = octet;
            assert_eq!(
                passes(passing(OWN, ADDRESS, false), &frame),
                may_wait,
                "{what}"
            );
            assert_eq!(
                passes(passing(OWN, ADDRESS, true), &frame),
                !may_wait,
                "{what}"
            );
        }
        for length in 14..SHORTEST_ROUTED as usize {
            let short = &routed()[..length];
            assert!(
                passes(passing(OWN, ADDRESS, true), short),
                "{length} octets"
            );
        }
    }

    const A: Mac = Mac([2, 0, 0, 0, 7, 0]);
    const B: Mac = Mac([2, 0, 0, 0, 8, 0]);

    fn on_air(control: u8, receiver: Mac, transmitter: Mac, packet: &[u8]) -> Vec<u8> {
        let header = [0, 0, 10, 0, 0, 0x80, 0, 0, 0, 0, control, 0, 0, 0];
        let mut frame = [&header[..], &receiver.0, &transmitter.0, &[0; 8]].concat();
        if control & 0x80 != 0 {
            frame.extend([0, 0]);
        }
        frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        [frame, packet.to_vec()].concat()
    }

    /// (quiet, other) of what is overheard.
    fn overheard(frame: &[u8]) -> (bool, bool) {
        let to = |others| passes(quiet(OWN, ADDRESS, others), frame);
        (to(false), to(true))
    }

    /// Data of 10.0.0.1 to 10.0.0.9 by the last octets `route`, with so many segments left.
    fn overheard_on(route: &[u8], left: u8) -> (bool, bool) {
        let option = 2 + 4 * route.len() as u8;
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, PROTOCOL_DSR, 0, 0];
        packet.extend([
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            9,
            6,
            0,
            0,
            option + 2,
            96,
            option,
            0,
            left,
        ]);
        packet.extend(route.iter().flat_map(|last| [10, 0, 0, *last]));
        packet.extend([0; 20]);
        let plain = overheard(&on_air(0x08, B, A, &packet));
        assert_eq!(plain, overheard(&on_air(0x88, B, A, &packet)), "with QoS");
        plain
    }

    #[test]
    fn data_that_only_teaches_routes_is_quiet() {
        let (quiet, other) = ((true, false), (false, true));
        // Somewhere else, or before the receiver, which is the address at the length less `left`.
        assert_eq!(overheard_on(&[3, 4], 2), quiet);
        assert_eq!(overheard_on(&[3, 4], 0), quiet);
        assert_eq!(overheard_on(&[2, 3], 1), quiet);
        assert_eq!(overheard_on(&[2, 3, 4], 0), quiet);
        // After the receiver: the route could be shorter.
        assert_eq!(overheard_on(&[3, 2], 2), other);
        assert_eq!(overheard_on(&[3, 4, 5, 2], 4), other);
        assert_eq!(overheard_on(&[3, 4, 5, 6, 2], 5), other);
        assert_eq!(overheard_on(&[3, 4, 5, 6, 7, 2], 6), other);
        // A long route is looked at as far as it goes.
        let long: Vec<u8> = (11..29).collect();
        for left in 0..=17 {
            assert_eq!(overheard_on(&long, left), quiet, "{left}");
        }
        assert_eq!(overheard_on(&long, 18), other);
        for at in 0..18 {
            let mut own = long.clone();
            own[at] = 2;
            let expected = if at > 1 { other } else { quiet };
            assert_eq!(overheard_on(&own, 17), expected, "{at}");
        }
        let route = routed();
        let cases: [(&str, usize, u8, (bool, bool)); 7] = [
            ("for a neighbour, without a route", 9, 6, quiet),
            ("as it is", 19, 3, quiet),
            ("for this station", 19, 2, other),
            ("control", 20, NO_NEXT_HEADER, other),
            ("with a second option", 23, 12, other),
            ("another option", 24, 3, other),
            ("with IP options", 0, 0x46, other),
        ];
        for (what, at, octet, expected) in cases {
            let mut packet = route[14..].to_vec();
            packet[at] = octet;
            assert_eq!(overheard(&on_air(8, B, A, &packet)), expected, "{what}");
        }
        let mut arp = on_air(8, B, A, &route[14..]);
        arp[41] = 6;
        assert_eq!(overheard(&arp), (false, false));
    }

    #[test]
    fn each_ring_of_the_monitor_interface_has_its_frames() {
        let packet = &routed()[14..];
        // Data, and a beacon.
        let cases = [
            (on_air(8, B, A, packet), true, false),
            (on_air(8, B, OWN, packet), false, true),
            (on_air(8, OWN, A, packet), false, false),
            (on_air(8, Mac::BROADCAST, OWN, packet), false, false),
            (on_air(0x80, B, A, packet), false, false),
        ];
        for (frame, foreign, sent) in cases {
            let (quiet, other) = overheard(&frame);
            assert_eq!(quiet || other, foreign, "{frame:?}");
            assert_eq!(passes(sent_only(OWN), &frame), sent, "{frame:?}");
        }
    }
}
