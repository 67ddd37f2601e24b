// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the daemons need of Linux and std does not offer. All `unsafe` of the daemons is in this
//! crate, and every block says why it is sound; no function here can be called wrongly.
//!
//! The functions check their results and name what failed.

/// Classic BPF programs, for [`packet::filter`] (filter.rst).
pub mod bpf {
    pub use libc::sock_filter as Instruction;
    pub use libc::{
        BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JGE, BPF_JMP,
        BPF_JSET, BPF_K, BPF_LD, BPF_LDX, BPF_LEN, BPF_LSH, BPF_MEM, BPF_MISC, BPF_RET, BPF_RSH,
        BPF_ST, BPF_SUB, BPF_TAX, BPF_W, BPF_X,
    };
}
pub mod calls;
mod clock;
pub mod control;
mod error;
pub mod icmp;
pub mod interface;
pub mod kernel;
pub mod netlink;
mod own;
pub mod packet;
pub mod privileges;
pub mod raw;
pub mod resident;
mod ring;
pub mod say;
pub mod signals;
mod socket;
mod stamped;
mod status;
pub mod tcp;
pub mod tun;
pub mod udp;
mod wait;

pub use clock::Clock;
pub use error::Error;
pub use ring::{Ring, Room};
pub use stamped::Received;
pub use status::{want_statuses, Statuses};
pub use wait::{sleep_until, wait, wait_exactly, Found, Interest};
