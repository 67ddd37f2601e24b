// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which frames come to which socket: classic BPF programs, each a list of conditions.

use hoplab_linux::bpf::{self, Instruction};
use hoplab_linux::packet;
use hoplab_wire::Mac;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;

/// Octets that the kernel is to hand over of a frame that passes: all.
const ALL: u32 = 0xffff;

/// One instruction, or a condition on the value that the last one left.
pub enum Step {
    Do(u32, u32),
    /// Neither ring gets a frame for which this does not hold, or holds.
    Must(u32, u32),
    Never(u32, u32),
    /// The other ring gets a frame for which this does not hold.
    Want(u32, u32),
}
use Step::{Do, Must, Never, Want};

pub const BYTE: u32 = bpf::BPF_LD | bpf::BPF_B;
pub const HALF: u32 = bpf::BPF_LD | bpf::BPF_H;
pub const WORD: u32 = bpf::BPF_LD | bpf::BPF_W;
pub const EQUAL: u32 = bpf::BPF_JMP | bpf::BPF_JEQ | bpf::BPF_K;
pub const ANY_OF: u32 = bpf::BPF_JMP | bpf::BPF_JSET | bpf::BPF_K;
pub const TO_X: Step = Do(bpf::BPF_MISC | bpf::BPF_TAX, 0);

/// Frames for which all conditions hold pass. With `others`, the frames pass that fail a `Want`
/// instead. A load from beyond the end refuses a frame either way.
pub fn program(steps: &[Step], others: bool) -> Vec<Instruction> {
    let (pass, fail) = if others { (0, ALL) } else { (ALL, 0) };
    let instruction = |code: u32, jt: usize, jf: usize, k: u32| Instruction {
        code: code as u16,
        jt: jt as u8,
        jf: jf as u8,
        k,
    };
    let mut all = Vec::with_capacity(steps.len() + 3);
    for (i, step) in steps.iter().enumerate() {
        // Where to go on: the last three instructions. A jump counts those that it skips.
        let passes = steps.len() - i - 1;
        let (fails, nobody) = (passes + 1, passes + 2);
        all.push(match *step {
            Do(code, k) => instruction(code, 0, 0, k),
            Must(code, k) => instruction(code, 0, nobody, k),
            Never(code, k) => instruction(code, nobody, 0, k),
            Want(code, k) => instruction(code, 0, fails, k),
        });
    }
    for length in [pass, fail, 0] {
        all.push(instruction(bpf::BPF_RET | bpf::BPF_K, 0, 0, length));
    }
    all
}

/// The last four octets, which one load can compare.
pub fn tail(mac: Mac) -> u32 {
    u32::from_be_bytes([mac.0[2], mac.0[3], mac.0[4], mac.0[5]])
}

/// To where a unicast data frame begins behind its radiotap header.
pub fn unicast_data() -> [Step; 7] {
    [
        Do(BYTE | bpf::BPF_ABS, 2), // radiotap length, always below 256
        TO_X,
        Do(BYTE | bpf::BPF_IND, 0), // frame control
        Do(bpf::BPF_ALU | bpf::BPF_AND | bpf::BPF_K, 0x0c),
        Must(EQUAL, 0x08), // data
        Do(BYTE | bpf::BPF_IND, 4),
        Never(ANY_OF, 1), // group address
    ]
}

/// Of a monitor interface: unicast data frames between others than `own`.
pub fn between_others(own: Mac) -> Vec<Instruction> {
    let mut steps: Vec<_> = unicast_data().into();
    steps.extend([
        Do(WORD | bpf::BPF_IND, 6), // receiver, last four octets
        Never(EQUAL, tail(own)),
        Do(WORD | bpf::BPF_IND, 12), // transmitter, last four octets
        Never(EQUAL, tail(own)),
    ]);
    program(&steps, false)
}

/// Of a monitor interface: unicast data frames that `own` has sent and nobody acknowledged. A sent
/// frame has its TX flags at octet 10 of mac80211's radiotap header.
pub fn failed_only(own: Mac, others: bool) -> Vec<Instruction> {
    let mut steps: Vec<_> = unicast_data().into();
    steps.extend([
        Do(WORD | bpf::BPF_IND, 12), // transmitter, last four octets
        Must(EQUAL, tail(own)),
        Do(BYTE | bpf::BPF_ABS, 10), // TX flags, in the order of little octets
        Want(ANY_OF, 1),
    ]);
    program(&steps, others)
}

/// For tests: whether the kernel lets the frame through, which filters any socket.
///
/// # Panics
/// Where the kernel refuses the program, or a pair of sockets.
pub fn passes(mut program: Vec<Instruction>, frame: &[u8]) -> bool {
    let (near, far) = UnixDatagram::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    let fd = OwnedFd::from(far.try_clone().unwrap());
    packet::filter(&fd, &mut program).unwrap();
    // A datagram that is filtered out is an error (EPERM) here.
    let _ = near.send(frame);
    far.recv(&mut [0; 256]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Mac = Mac([2, 0, 0, 0, 1, 0]);
    const A: Mac = Mac([2, 0, 0, 0, 7, 0]);
    const B: Mac = Mac([2, 0, 0, 0, 8, 0]);

    #[test]
    fn only_data_between_others_is_overheard() {
        // Data, QoS data, and a beacon.
        let cases = [
            (0x08, B, A, true),
            (0x88, B, A, true),
            (0x08, B, OWN, false),
            (0x08, OWN, A, false),
            (0x08, Mac::BROADCAST, A, false),
            (0x80, B, A, false),
        ];
        for (control, receiver, transmitter, heard) in cases {
            let header = [0, 0, 10, 0, 0, 0x80, 0, 0, 0, 0, control, 0, 0, 0];
            let frame = [&header[..], &receiver.0, &transmitter.0, &[0; 40]].concat();
            assert_eq!(passes(between_others(OWN), &frame), heard, "{frame:?}");
        }
    }
}
