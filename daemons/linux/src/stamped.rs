// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets with the date at which the kernel got them (socket(7), SO_TIMESTAMPNS).

use crate::calls::{count, Call};
use crate::kernel;
use crate::socket::{self, checked};
use hoplab_base::Instant;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};

const NS: u64 = 1_000_000_000;
/// Room for the time stamp: a header and a timespec.
const STAMP_OCTETS: usize = 64;

/// A packet that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its octets, of which the room has the first.
    pub octets: usize,
    /// CLOCK_REALTIME when the kernel got it.
    pub at: Instant,
}

/// Has the kernel stamp what comes to the socket.
pub(crate) fn want(socket: &impl AsFd) -> io::Result<()> {
    socket::set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)
}

/// The next packet; None if none came in time, or a signal did.
pub(crate) fn receive(socket: &impl AsFd, room: &mut [u8]) -> io::Result<Option<Received>> {
    count(Call::Receive);
    let mut part = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    let mut stamp = Stamp([0; STAMP_OCTETS]);
    // SAFETY: an all-zero msghdr is valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = stamp.0.as_mut_ptr().cast();
    message.msg_controllen = STAMP_OCTETS;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the message points at one part, which describes `room`, and at the stamp's room; both
    // live through the call.
    let got = unsafe { libc::syscall(libc::SYS_recvmsg, fd, &raw mut message, libc::MSG_TRUNC) };
    match checked(got) {
        Ok(octets) => Ok(Some(Received {
            octets: octets as usize,
            at: date(&message).unwrap_or_else(kernel::real_time),
        })),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}

/// Control messages lie on the boundaries of a size_t (cmsg(3)).
#[repr(C, align(8))]
struct Stamp([u8; STAMP_OCTETS]);

/// The time in a message that recvmsg(2) filled.
fn date(message: &libc::msghdr) -> Option<Instant> {
    // SAFETY: the kernel set the length of the control messages, whose room still lives.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref()? };
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: a message of this type holds a timespec, not necessarily aligned.
    let time = unsafe {
        libc::CMSG_DATA(header)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    Some(Instant(time.tv_sec as u64 * NS + time.tv_nsec as u64))
}
