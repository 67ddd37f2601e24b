// SPDX-License-Identifier: Apache-2.0
//! Frames of a monitor interface: radiotap header, IEEE 802.11 header, LLC/SNAP, packet.

use hoplab_linux::bpf::{self, Instruction};
use hoplab_wire::ieee80211::Frame;
use hoplab_wire::{radiotap, Mac, ETHERTYPE_IPV4};

/// A data frame heard on the air.
pub struct Heard<'a> {
    pub source: Mac,
    pub destination: Mac,
    pub packet: &'a [u8],
    pub signal_dbm: Option<i16>,
    /// Sequence control field and whether the Retry bit is set, to tell repetitions.
    pub sequence: u16,
    pub retry: bool,
}

/// An IBSS data frame with an IPv4 packet; `None` for anything else.
pub fn parse(bytes: &[u8]) -> Option<Heard<'_>> {
    let (radiotap, bytes) = radiotap::Header::parse(bytes)?;
    let frame = Frame::new(bytes)?;
    match frame.packet()? {
        (ETHERTYPE_IPV4, packet) if frame.is_direct() => Some(Heard {
            destination: frame.receiver()?,
            source: frame.transmitter()?,
            packet,
            signal_dbm: radiotap.signal_dbm.map(i16::from),
            sequence: frame.sequence_control()?,
            retry: frame.is_retry(),
        }),
        _ => None,
    }
}

/// A BPF program that passes unicast data frames between others than `own`.
pub fn others_only(own: Mac) -> Vec<Instruction> {
    let tail = u32::from_be_bytes([own.0[2], own.0[3], own.0[4], own.0[5]]);
    let op = |code: u32, jt: u8, jf: u8, k: u32| Instruction {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let (byte, word) = (bpf::BPF_LD | bpf::BPF_B, bpf::BPF_LD | bpf::BPF_W);
    let (equal, set) = (
        bpf::BPF_JMP | bpf::BPF_JEQ | bpf::BPF_K,
        bpf::BPF_JMP | bpf::BPF_JSET | bpf::BPF_K,
    );
    vec![
        op(byte | bpf::BPF_ABS, 0, 0, 2), // radiotap length, always below 256
        op(bpf::BPF_MISC | bpf::BPF_TAX, 0, 0, 0),
        op(byte | bpf::BPF_IND, 0, 0, 0), // frame control
        op(bpf::BPF_ALU | bpf::BPF_AND | bpf::BPF_K, 0, 0, 0x0c),
        op(equal, 0, 7, 0x08), // data
        op(byte | bpf::BPF_IND, 0, 0, 4),
        op(set, 5, 0, 1),                 // group address
        op(word | bpf::BPF_IND, 0, 0, 6), // receiver, last four octets
        op(equal, 3, 0, tail),
        op(word | bpf::BPF_IND, 0, 0, 12), // transmitter, last four octets
        op(equal, 1, 0, tail),
        op(bpf::BPF_RET | bpf::BPF_K, 0, 0, 0xffff),
        op(bpf::BPF_RET | bpf::BPF_K, 0, 0, 0),
    ]
}
