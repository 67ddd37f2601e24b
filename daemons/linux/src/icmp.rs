// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages of ICMP and ICMPv6 (raw(7), RFC 3542).

use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::socket;
use crate::stamped::{self, Received};
use socket2::{Domain, Protocol, Type};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Options of raw sockets (linux/icmp.h, linux/icmpv6.h): bits of the types that do not pass.
const SOL_RAW: i32 = 255;
const ICMP_FILTER: i32 = 1;
const ICMPV6_FILTER: i32 = 1;

/// Sends messages to one address, and takes those of one type from it.
pub struct Socket(socket2::Socket);

impl Socket {
    /// From `own` to `to`; of what comes, messages of type `taken`. `traffic_class` is as
    /// [`udp::Sender`](crate::udp::Sender)'s. Nothing it does waits.
    pub fn open(
        own: IpAddr,
        to: IpAddr,
        traffic_class: Option<u8>,
        taken: u8,
    ) -> Result<Self, Error> {
        let (domain, protocol) = match own {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let made = socket2::Socket::new(domain, Type::RAW.nonblocking(), Some(protocol));
        let socket = trying("ICMP socket (needs CAP_NET_RAW)", made)?;
        trying("filter of ICMP", filter(&socket, own, taken))?;
        trying("time stamps", stamped::want(&socket))?;
        socket::mark(&socket, (own, 0).into(), traffic_class)?;
        let bound = socket.bind(&SocketAddr::from((own, 0)).into());
        trying(format!("address {own}"), bound)?;
        let connected = socket.connect(&SocketAddr::from((to, 0)).into());
        trying(format!("address {to}"), connected)?;
        Ok(Socket(socket))
    }

    /// Sends a message. One that the network refuses is lost: a full queue, no route, an error that
    /// came back.
    pub fn send(&self, message: &[u8]) {
        count(Call::Send);
        let _ = self.0.send(message);
    }

    /// The next message that has come; None if none has, or an error came back.
    pub fn receive(&self, room: &mut [u8]) -> Option<Received> {
        stamped::receive(&self.0, room).unwrap_or(None)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn filter(socket: &socket2::Socket, own: IpAddr, taken: u8) -> std::io::Result<()> {
    if own.is_ipv4() {
        let refused = !(1u32 << (taken % 32));
        return socket::set(socket, SOL_RAW, ICMP_FILTER, &refused);
    }
    let mut refused = [u32::MAX; 8];
    refused[usize::from(taken / 32)] &= !(1 << (taken % 32));
    socket::set(socket, libc::IPPROTO_ICMPV6, ICMPV6_FILTER, &refused)
}
