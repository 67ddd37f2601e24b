// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole IP packets into the kernel's routing (raw(7), IP_HDRINCL), whatever their source.

use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::socket::{self, checked};
use std::io;
use std::mem::zeroed;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Most packets moved by one system call.
const BATCH: usize = 32;
const BUFFER_BYTES: i32 = 4 << 20;

/// Sends packets that bear a mark, by which packet filters know them.
pub struct Sender(OwnedFd);

impl Sender {
    /// Nothing it does waits.
    pub fn open(mark: u32) -> Result<Self, Error> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
        let socket = socket::open(libc::AF_INET, kind, libc::IPPROTO_RAW);
        let socket = trying("raw socket (needs CAP_NET_RAW)", socket)?;
        let marked = socket::set(
            &socket,
            libc::SOL_SOCKET,
            libc::SO_MARK,
            &i32::from_ne_bytes(mark.to_ne_bytes()),
        );
        trying("mark of the raw socket (needs CAP_NET_ADMIN)", marked)?;
        // As large as it gets; what does not fit is lost as in any queue.
        let _ = socket::set(
            &socket,
            libc::SOL_SOCKET,
            libc::SO_SNDBUFFORCE,
            &BUFFER_BYTES,
        );
        Ok(Sender(socket))
    }

    /// Sends each packet to its address. One that the kernel refuses (no route, no room) is lost as
    /// any packet may be; returns how many were.
    pub fn send<P: AsRef<[u8]>>(&self, packets: &[(Ipv4Addr, P)]) -> usize {
        let mut lost = 0;
        let mut rest = packets;
        while !rest.is_empty() {
            match self.send_some(&rest[..rest.len().min(BATCH)]) {
                Ok(some) if some > 0 => rest = &rest[some..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The first one of them.
                Ok(_) | Err(_) => {
                    lost += 1;
                    rest = &rest[1..];
                }
            }
        }
        lost
    }

    fn send_some<P: AsRef<[u8]>>(&self, packets: &[(Ipv4Addr, P)]) -> io::Result<usize> {
        // SAFETY: all-zero sockaddr_in, iovec and mmsghdr are valid.
        let (mut addresses, mut parts, mut messages): (
            [libc::sockaddr_in; BATCH],
            [libc::iovec; BATCH],
            [libc::mmsghdr; BATCH],
        ) = unsafe { (zeroed(), zeroed(), zeroed()) };
        let rooms = addresses.iter_mut().zip(&mut parts).zip(&mut messages);
        for (((address, part), message), (destination, packet)) in rooms.zip(packets) {
            address.sin_family = libc::AF_INET as u16;
            address.sin_addr.s_addr = u32::from_ne_bytes(destination.octets());
            let packet = packet.as_ref();
            part.iov_base = packet.as_ptr().cast_mut().cast();
            part.iov_len = packet.len();
            message.msg_hdr.msg_name = std::ptr::from_mut(address).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_in>() as u32;
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        count(Call::Send);
        let length = packets.len().min(BATCH) as u32;
        // SAFETY: the first `length` messages each point at one address and one part. The part
        // points at a packet that lives through the call, and the kernel only reads them.
        let sent = unsafe { libc::sendmmsg(self.0.as_raw_fd(), messages.as_mut_ptr(), length, 0) };
        checked(sent).map(|sent| sent as usize)
    }
}
