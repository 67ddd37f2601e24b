// SPDX-License-Identifier: Apache-2.0 OR MIT
//! UDP as a flow's ends need it: a sender that waits for room in its buffer, a receiver that tells
//! when a datagram came.

use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::socket;
use crate::stamped::{self, Received};
use hoplab_base::Duration;
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

const NS: u64 = 1_000_000_000;

/// Sends datagrams to one address.
pub struct Sender {
    socket: UdpSocket,
    to: SocketAddr,
    /// The kernel knew a route to it once.
    connected: Cell<bool>,
}

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
        socket::mark(&socket, own, traffic_class)?;
        if let Some(octets) = buffer {
            let value = i32::try_from(octets).unwrap_or(i32::MAX);
            let set = socket::set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &value);
            trying(format!("buffer of {octets} octets"), set)?;
        }
        let connected = match socket.connect(to) {
            Err(error) if no_route(&error) => false,
            tried => trying(format!("address {to}"), tried).map(|()| true)?,
        };
        Ok(Sender {
            socket,
            to,
            connected: Cell::new(connected),
        })
    }

    /// Sends a datagram, after waiting for room in the socket's buffer. One that the network refuses
    /// is lost: a full queue, no route, an error that came back.
    pub fn send(&self, datagram: &[u8]) {
        if !self.connected.get() {
            self.connected.set(self.socket.connect(self.to).is_ok());
        }
        // Without an address, sending fails at once.
        count(Call::Send);
        let _ = self.socket.send(datagram);
    }
}

/// Sends datagrams to one address, and takes what comes from there.
pub struct Pair(Sender);

impl Pair {
    /// From `own` to `to`; `traffic_class` as of [`Sender::open`].
    pub fn open(own: SocketAddr, to: SocketAddr, traffic_class: Option<u8>) -> Result<Self, Error> {
        let sender = Sender::open(own, to, traffic_class, None)?;
        let socket = &sender.socket;
        trying("time stamps", stamped::want(socket))?;
        trying("a socket that does not wait", socket.set_nonblocking(true))?;
        Ok(Pair(sender))
    }

    /// Sends a datagram. One for which there is no room is lost, as one that the network refuses.
    pub fn send(&self, datagram: &[u8]) {
        self.0.send(datagram);
    }

    /// What has come; None of nothing. That the other end has no socket yet is nothing too.
    pub fn receive(&self, room: &mut [u8]) -> Option<Received> {
        stamped::receive(&self.0.socket, room).ok().flatten()
    }
}

/// There may be one later.
fn no_route(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable
    )
}

impl AsFd for Pair {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.socket.as_fd()
    }
}

/// Receives datagrams.
pub struct Receiver(UdpSocket);

impl Receiver {
    /// At `own`; [`receive`](Receiver::receive) waits no longer than `patience`, as far as the
    /// kernel's ticks go.
    pub fn open(own: SocketAddr, patience: Duration) -> Result<Self, Error> {
        let socket = trying(format!("address {own}"), UdpSocket::bind(own))?;
        trying("time stamps", stamped::want(&socket))?;
        let limit = libc::timeval {
            tv_sec: (patience.0 / NS) as i64,
            // No time at all would mean forever.
            tv_usec: ((patience.0 % NS) / 1000).max(1) as i64,
        };
        let limited = socket::set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &limit);
        trying("longest wait", limited)?;
        Ok(Receiver(socket))
    }

    /// Where it receives, with the port that the kernel chose.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Waits for the next datagram; None if none came in time, or a signal did.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<Option<Received>> {
        stamped::receive(&self.0, room)
    }
}
