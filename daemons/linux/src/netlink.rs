// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A netlink socket that takes many datagrams with one call.

use crate::calls::{count, Call};
use crate::socket::{self, checked};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::null_mut;

use hoplab_base::Duration;

/// [`Netlink::receive`] waits no longer.
pub const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Datagrams that one call can bring.
const DATAGRAMS: usize = 16;
/// The kernel cuts its dumps at this size. The largest message of hwsim is shorter: a frame of 2352
/// octets with its attributes, or an error that repeats one.
const DATAGRAM_BYTES: usize = 8192;
/// Room for what hwsim sends while the daemon does other work.
const BUFFER_BYTES: i32 = 64 << 20;

/// Room for what one [`Netlink::receive`] brings.
pub struct Inbox {
    bytes: Vec<u8>,
    /// Length of each datagram; none if it did not fit.
    lengths: Vec<Option<usize>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Inbox {
    pub fn new() -> Self {
        Self {
            bytes: vec![0; DATAGRAMS * DATAGRAM_BYTES],
            lengths: Vec::with_capacity(DATAGRAMS),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    pub fn clear(&mut self) {
        self.lengths.clear();
    }

    /// The datagrams; none for one that was cut off.
    pub fn datagrams(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let rooms = self.bytes.chunks(DATAGRAM_BYTES);
        let lengths = self.lengths.iter();
        rooms
            .zip(lengths)
            .map(|(room, length)| length.and_then(|length| room.get(..length)))
    }
}

/// Whether the socket's buffer was full: datagrams are lost, later ones are not.
pub fn is_overrun(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// A netlink socket.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// Of the generic families.
    pub fn open() -> io::Result<Self> {
        Self::of(libc::NETLINK_GENERIC)
    }

    /// Of routes and neighbours (rtnetlink(7)).
    pub fn open_routes() -> io::Result<Self> {
        Self::of(libc::NETLINK_ROUTE)
    }

    /// Of the packet filter (nfnetlink).
    pub fn open_netfilter() -> io::Result<Self> {
        Self::of(libc::NETLINK_NETFILTER)
    }

    fn of(protocol: i32) -> io::Result<Self> {
        let socket = socket::open(libc::AF_NETLINK, libc::SOCK_RAW, protocol)?;
        let longest = libc::timeval {
            tv_sec: (LONGEST_WAIT / Duration::from_secs(1)) as i64,
            tv_usec: 0,
        };
        socket::set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &longest)?;
        // SAFETY: an all-zero sockaddr_nl is valid.
        let mut address: libc::sockaddr_nl = unsafe { zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        socket::bind(&socket, &address)?;
        Ok(Self(socket))
    }

    /// Makes the kernel's buffers as large as they get. Without the privilege (CAP_NET_ADMIN) they
    /// stay as they are, and an overrun tells.
    pub fn enlarge_buffers(&self) {
        for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
            let _ = socket::set(&self.0, libc::SOL_SOCKET, option, &BUFFER_BYTES);
        }
    }

    /// One or several messages as one datagram.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        count(Call::Send);
        // SAFETY: pointer and length are those of a live slice.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        checked(sent as i64).map(|_| ())
    }

    /// Receive what is there, up to a limit; with `wait`, until something is, a signal comes or
    /// [`LONGEST_WAIT`] has passed.
    pub fn receive(&self, inbox: &mut Inbox, wait: bool) -> io::Result<()> {
        count(Call::Receive);
        let how = if wait {
            libc::MSG_WAITFORONE
        } else {
            libc::MSG_DONTWAIT
        };
        inbox.lengths.clear();
        let mut rooms: Vec<libc::iovec> = inbox
            .bytes
            .chunks_mut(DATAGRAM_BYTES)
            .map(|room| libc::iovec {
                iov_base: room.as_mut_ptr().cast(),
                iov_len: room.len(),
            })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = Vec::with_capacity(rooms.len());
        for room in &mut rooms {
            // SAFETY: an all-zero mmsghdr is valid.
            let mut header: libc::mmsghdr = unsafe { zeroed() };
            header.msg_hdr.msg_iov = room;
            header.msg_hdr.msg_iovlen = 1;
            headers.push(header);
        }
        // SAFETY: each header points at one live iovec, which points at its own part of `bytes`;
        // none of them moves before the call has returned.
        let got = unsafe {
            libc::recvmmsg(
                self.0.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as u32,
                how as _,
                null_mut(),
            )
        };
        let got = match checked(got) {
            Ok(got) => got as usize,
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
                    _ => Err(error),
                }
            }
        };
        for header in headers.iter().take(got) {
            let whole = header.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
            inbox.lengths.push(whole.then_some(header.msg_len as usize));
        }
        Ok(())
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
