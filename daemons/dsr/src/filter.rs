// SPDX-License-Identifier: Apache-2.0
//! Which frames come to which ring: classic BPF programs, each a list of conditions.

use hoplab_linux::bpf::{self, Instruction};
use hoplab_wire::{Mac, ETHERTYPE_IPV4, NO_NEXT_HEADER, PROTOCOL_DSR};
use std::net::Ipv4Addr;

/// Octets that the kernel is to hand over of a frame that passes: all.
const ALL: u32 = 0xffff;
/// The type of the DSR Source Route option (RFC 4728 §6.7).
const SOURCE_ROUTE: u32 = 96;
/// Ethernet, IPv4 and DSR Options headers and the fixed part of a source route, octets.
const SHORTEST_ROUTED: u32 = 14 + 20 + 4 + 4;

/// One instruction, or a condition on what the last one left.
enum Step {
    Do(u32, u32),
    Want(u32, u32),
    Refuse(u32, u32),
}
use Step::{Do, Refuse, Want};

const BYTE: u32 = bpf::BPF_LD | bpf::BPF_B;
const HALF: u32 = bpf::BPF_LD | bpf::BPF_H;
const WORD: u32 = bpf::BPF_LD | bpf::BPF_W;
const EQUAL: u32 = bpf::BPF_JMP | bpf::BPF_JEQ | bpf::BPF_K;
const EQUAL_X: u32 = bpf::BPF_JMP | bpf::BPF_JEQ | bpf::BPF_X;
const AT_LEAST: u32 = bpf::BPF_JMP | bpf::BPF_JGE | bpf::BPF_K;
const ANY_OF: u32 = bpf::BPF_JMP | bpf::BPF_JSET | bpf::BPF_K;
const TO_X: Step = Do(bpf::BPF_MISC | bpf::BPF_TAX, 0);

/// Frames for which all conditions hold pass, or with `others`, all the other ones. A load from
/// beyond the end refuses a frame either way.
fn program(steps: &[Step], others: bool) -> Vec<Instruction> {
    let (pass, fail) = if others { (0, ALL) } else { (ALL, 0) };
    let instruction = |code: u32, jt: usize, jf: usize, k: u32| Instruction {
        code: code as u16,
        jt: jt as u8,
        jf: jf as u8,
        k,
    };
    let mut all = Vec::with_capacity(steps.len() + 2);
    for (i, step) in steps.iter().enumerate() {
        // The last instruction is where failed conditions lead.
        let away = steps.len() - i;
        all.push(match *step {
            Do(code, k) => instruction(code, 0, 0, k),
            Want(code, k) => instruction(code, 0, away, k),
            Refuse(code, k) => instruction(code, away, 0, k),
        });
    }
    all.push(instruction(bpf::BPF_RET | bpf::BPF_K, 0, 0, pass));
    all.push(instruction(bpf::BPF_RET | bpf::BPF_K, 0, 0, fail));
    all
}

fn tail(mac: Mac) -> u32 {
    u32::from_be_bytes([mac.0[2], mac.0[3], mac.0[4], mac.0[5]])
}

/// To where a unicast data frame begins behind its radiotap header.
fn unicast_data() -> [Step; 7] {
    [
        Do(BYTE | bpf::BPF_ABS, 2), // radiotap length, always below 256
        TO_X,
        Do(BYTE | bpf::BPF_IND, 0), // frame control
        Do(bpf::BPF_ALU | bpf::BPF_AND | bpf::BPF_K, 0x0c),
        Want(EQUAL, 0x08), // data
        Do(BYTE | bpf::BPF_IND, 4),
        Refuse(ANY_OF, 1), // group address
    ]
}

/// Of a monitor interface: unicast data frames between others than `own`.
pub fn others_only(own: Mac) -> Vec<Instruction> {
    let mut steps: Vec<_> = unicast_data().into();
    steps.extend([
        Do(WORD | bpf::BPF_IND, 6), // receiver, last four octets
        Refuse(EQUAL, tail(own)),
        Do(WORD | bpf::BPF_IND, 12), // transmitter, last four octets
        Refuse(EQUAL, tail(own)),
    ]);
    program(&steps, false)
}

/// Of a monitor interface: unicast data frames that `own` has sent, with their status.
pub fn sent_only(own: Mac) -> Vec<Instruction> {
    let mut steps: Vec<_> = unicast_data().into();
    steps.extend([
        Do(WORD | bpf::BPF_IND, 12), // transmitter, last four octets
        Want(EQUAL, tail(own)),
    ]);
    program(&steps, false)
}

/// Of the wireless interface: data that stations send through this one, with a source route and
/// no other DSR option. With `others`, all other frames.
pub fn passing(own: Mac, address: Ipv4Addr, others: bool) -> Vec<Instruction> {
    let head = u32::from(u16::from_be_bytes([own.0[0], own.0[1]]));
    let steps = [
        Do(WORD | bpf::BPF_LEN, 0),
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
    use hoplab_linux::packet;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    const OWN: Mac = Mac([2, 0, 0, 0, 1, 0]);
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    /// Whether the kernel lets the frame through; it filters any socket.
    fn passes(mut program: Vec<Instruction>, frame: &[u8]) -> bool {
        let (near, far) = UnixDatagram::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let fd = OwnedFd::from(far.try_clone().unwrap());
        packet::filter(&fd, &mut program).unwrap();
        // A datagram that is filtered out is an error (EPERM) here.
        let _ = near.send(frame);
        far.recv(&mut [0; 256]).is_ok()
    }

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

    #[test]
    fn each_ring_of_the_monitor_interface_has_its_frames() {
        let (a, b) = (Mac([2, 0, 0, 0, 7, 0]), Mac([2, 0, 0, 0, 8, 0]));
        let frame = |control: u8, receiver: Mac, transmitter: Mac| {
            let header = [0, 0, 10, 0, 0, 0x80, 0, 0, 0, 0, control, 0, 0, 0];
            [&header[..], &receiver.0, &transmitter.0, &[0; 20]].concat()
        };
        // Data, and a beacon.
        let cases = [
            (frame(8, b, a), true, false),
            (frame(8, b, OWN), false, true),
            (frame(8, OWN, a), false, false),
            (frame(8, Mac::BROADCAST, OWN), false, false),
            (frame(0x80, b, a), false, false),
        ];
        for (frame, foreign, sent) in cases {
            assert_eq!(passes(others_only(OWN), &frame), foreign, "{frame:?}");
            assert_eq!(passes(sent_only(OWN), &frame), sent, "{frame:?}");
        }
    }
}
