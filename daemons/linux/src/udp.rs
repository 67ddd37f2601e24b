// SPDX-License-Identifier: Apache-2.0 OR MIT
//! UDP as a flow's ends need it: a sender that waits for room in its buffer, a receiver that tells
//! when a datagram came.

use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::socket::{self, checked};
use hoplab_base::{Duration, Instant};
use std::io;
use std::mem::zeroed;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};

const NS: u64 = 1_000_000_000;
/// Room for the time stamp: a header and a timespec.
const STAMP_OCTETS: usize = 64;

/// Sends datagrams to one address.
pub struct Sender(UdpSocket);

impl Sender {
    /// From `own` to `to`. `traffic_class` is IP's octet with the code point in it (RFC 2474), None
    /// leaves the kernel's; `buffer` is for octets on their way, None likewise.
    pub fn open(
        own: SocketAddr,
        to: SocketAddr,
        traffic_class: Option<u8>,
        buffer: Option<u32>,
    ) -> Result<Self, Error> {
        let socket = trying(format!("address {own}"), UdpSocket::bind(own))?;
        let socket = OwnedFd::from(socket);
        if let Some(class) = traffic_class {
            let (level, name) = match own {
                SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            let set = socket::set(&socket, level, name, &i32::from(class));
            trying(format!("traffic class {class}"), set)?;
        }
        if let Some(octets) = buffer {
            let value = i32::try_from(octets).unwrap_or(i32::MAX);
            let set = socket::set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &value);
            trying(format!("buffer of {octets} octets"), set)?;
        }
        let socket = UdpSocket::from(socket);
        trying(format!("address {to}"), socket.connect(to))?;
        Ok(Sender(socket))
    }

    /// Sends a datagram, after waiting for room in the socket's buffer. One that the network refuses
    /// is lost: a full queue, no route, an error that came back.
    pub fn send(&self, datagram: &[u8]) {
        count(Call::Send);
        let _ = self.0.send(datagram);
    }
}

/// Receives datagrams.
pub struct Receiver(UdpSocket);

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its payload's octets, of which the room has the first.
    pub octets: usize,
    /// CLOCK_REALTIME when the kernel got it.
    pub at: Instant,
}

impl Receiver {
    /// At `own`; [`receive`](Receiver::receive) waits no longer than `patience`, as far as the
    /// kernel's ticks go.
    pub fn open(own: SocketAddr, patience: Duration) -> Result<Self, Error> {
        let socket = trying(format!("address {own}"), UdpSocket::bind(own))?;
        let socket = OwnedFd::from(socket);
        let stamped = socket::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1);
        trying("time stamps", stamped)?;
        let limit = libc::timeval {
            tv_sec: (patience.0 / NS) as i64,
            // No time at all would mean for ever.
            tv_usec: ((patience.0 % NS) / 1000).max(1) as i64,
        };
        let limited = socket::set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &limit);
        trying("longest wait", limited)?;
        Ok(Receiver(UdpSocket::from(socket)))
    }

    /// Where it receives, with the port that the kernel chose.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Waits for the next datagram; None if none came in time, or a signal did.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<Option<Received>> {
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
        // SAFETY: the message points at one part, which describes `room`, and at the stamp's room;
        // both live through the call.
        let got = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, libc::MSG_TRUNC) };
        match checked(got as i64) {
            Ok(octets) => Ok(Some(Received {
                octets: octets as usize,
                at: stamped(&message).unwrap_or_else(crate::kernel::real_time),
            })),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }
}

/// Control messages lie on the boundaries of a size_t (cmsg(3)).
#[repr(C, align(8))]
struct Stamp([u8; STAMP_OCTETS]);

/// The time in a message that recvmsg(2) filled.
fn stamped(message: &libc::msghdr) -> Option<Instant> {
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
