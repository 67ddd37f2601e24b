// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which frames of the wireless interface come to which socket.

use hoplab_linux::bpf::{self, Instruction};
use hoplab_station::filter::{
    program, tail,
    Step::{Do, Must, Never, Want},
    ANY_OF, BYTE, EQUAL, HALF, WORD,
};
use hoplab_wire::{Mac, ETHERTYPE_IPV4, PROTOCOL_UDP};

/// The protocol's messages. With `others`, the other IPv4 packets that came to `own` alone: data.
pub fn messages(own: Mac, port: u16, others: bool) -> Vec<Instruction> {
    let mut steps = vec![
        Do(HALF | bpf::BPF_ABS, 12),
        Must(EQUAL, u32::from(ETHERTYPE_IPV4)),
    ];
    if others {
        steps.extend([
            Do(BYTE | bpf::BPF_ABS, 0),
            Never(ANY_OF, 1),
            Do(WORD | bpf::BPF_ABS, 2),
            Must(EQUAL, tail(own)),
        ]);
    }
    steps.extend([
        Do(BYTE | bpf::BPF_ABS, 14), // version 4, 20 octets
        Want(EQUAL, 0x45),
        Do(BYTE | bpf::BPF_ABS, 23),
        Want(EQUAL, u32::from(PROTOCOL_UDP)),
        Do(HALF | bpf::BPF_ABS, 20), // a fragment other than the first has no ports
        Do(bpf::BPF_ALU | bpf::BPF_AND | bpf::BPF_K, 0x1fff),
        Want(EQUAL, 0),
        Do(HALF | bpf::BPF_ABS, 36),
        Want(EQUAL, u32::from(port)),
    ]);
    program(&steps, others)
}

/// Nothing: the kernel knows that somebody receives here, and the packet socket does.
pub fn nothing() -> Vec<Instruction> {
    vec![Instruction {
        code: (bpf::BPF_RET | bpf::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: 0,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoplab_station::filter::passes;

    const OWN: Mac = Mac([2, 0, 0, 0, 1, 0]);

    #[test]
    fn messages_and_data_come_apart() {
        let mut message = [&OWN.0[..], &[2, 0, 0, 0, 0, 0, 8, 0]].concat();
        message.extend([0x45, 0, 0, 30, 0, 0, 0, 0, 1, 17, 0, 0]);
        message.extend([10, 0, 0, 2, 10, 0, 0, 1, 2, 142, 2, 142, 0, 10, 0, 0, 4, 0]);
        let with = |changes: &[(usize, u8)]| {
            let mut frame = message.clone();
            changes.iter().for_each(|(at, octet)| frame[*at] = *octet);
            let to = |others| passes(messages(OWN, 654, others), &frame);
            (to(false), to(true))
        };
        let (is_message, is_data, neither) = ((true, false), (false, true), (false, false));
        assert_eq!(with(&[]), is_message);
        assert_eq!(with(&[(37, 9)]), is_data);
        assert_eq!(with(&[(23, 6)]), is_data);
        assert_eq!(with(&[(21, 3)]), is_data);
        assert_eq!(with(&[(0, 255), (37, 9)]), neither);
        assert_eq!(with(&[(5, 9), (37, 9)]), neither);
        assert_eq!(with(&[(13, 6)]), neither);
        // To all: a message alone.
        assert_eq!(with(&[(0, 255)]), is_message);
        assert!(!passes(nothing(), &message));
    }
}
