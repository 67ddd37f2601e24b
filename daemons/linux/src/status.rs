// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What became of frames sent on a wireless interface (`SO_WIFI_STATUS`). The kernel puts each
//! frame into the socket's error queue when it knows whether it was acknowledged.

use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::packet::BATCH;
use crate::socket::{self};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

/// Octets of a sent frame that its status brings back.
const START: usize = 128;
/// Words of room for control messages.
const CONTROL: usize = 16;

/// Asks for the status of each frame sent from now on.
pub fn want_statuses(socket: &OwnedFd) -> Result<(), Error> {
    let wanted = socket::set(socket, libc::SOL_SOCKET, libc::SO_WIFI_STATUS, &1);
    trying("SO_WIFI_STATUS", wanted)
}

/// Buffers for reading many statuses with one system call.
pub struct Statuses {
    frames: Vec<[u8; START]>,
    control: Vec<[u64; CONTROL]>,
}

impl Default for Statuses {
    fn default() -> Self {
        Self::new()
    }
}

impl Statuses {
    pub fn new() -> Self {
        Statuses {
            frames: vec![[0; START]; BATCH],
            control: vec![[0; CONTROL]; BATCH],
        }
    }

    /// The statuses that are there: the start of the frame and whether it was acknowledged.
    pub fn read(&mut self, socket: &OwnedFd) -> Vec<(&[u8], bool)> {
        // SAFETY: all-zero iovec and mmsghdr are valid.
        let (mut parts, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        for i in 0..BATCH {
            parts[i].iov_base = self.frames[i].as_mut_ptr().cast();
            parts[i].iov_len = START;
            messages[i].msg_hdr.msg_iov = &raw mut parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
            messages[i].msg_hdr.msg_control = self.control[i].as_mut_ptr().cast();
            messages[i].msg_hdr.msg_controllen = size_of::<[u64; CONTROL]>();
        }
        count(Call::Statuses);
        // SAFETY: every message points at buffers of the lengths given, alive through the call.
        let got = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as u32,
                (libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) as _,
                null_mut(),
            )
        };
        // An empty queue is an error too (EAGAIN).
        let got = usize::try_from(got).unwrap_or(0);
        let all = messages.iter().zip(&self.frames).take(got);
        all.filter_map(|(message, frame)| {
            let length = (message.msg_len as usize).min(START);
            Some((&frame[..length], acknowledged(&message.msg_hdr)?))
        })
        .collect()
    }
}

/// The control message SCM_WIFI_STATUS, where there is one.
fn acknowledged(message: &libc::msghdr) -> Option<bool> {
    // SAFETY: the kernel filled the control buffer that `message` describes, and these stay
    // inside it.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !at.is_null() {
        // SAFETY: `at` is a header inside the buffer.
        let head = unsafe { &*at };
        if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SO_WIFI_STATUS {
            // SAFETY: the message carries an int behind its header.
            let status = unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(at).cast::<i32>()) };
            return Some(status != 0);
        }
        // SAFETY: as for the first header.
        at = unsafe { libc::CMSG_NXTHDR(message, at) };
    }
    None
}
