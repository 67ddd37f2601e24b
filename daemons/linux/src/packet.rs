// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packet sockets (packet(7)): whole frames of one interface.

use crate::bpf::Instruction;
use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::socket::{self, checked};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

/// Most frames moved by one system call.
pub const BATCH: usize = 32;
/// Longest frame: 2304 octets of 802.11 payload, its headers, and a radiotap header.
pub const FRAME: usize = 2560;
const PACKET_IGNORE_OUTGOING: i32 = 23;
const BUFFER_BYTES: i32 = 4 << 20;

/// What a packet socket receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receives {
    /// All protocols, without the host's own frames.
    All,
    /// Nothing: it serves to send.
    Nothing,
}

/// A packet socket on the interface with this index; nothing it does waits.
pub fn open(index: i32, receives: Receives) -> Result<OwnedFd, Error> {
    // Protocol 0: nothing is received before bind() names the interface.
    let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0);
    let socket = trying("packet socket (needs CAP_NET_RAW)", socket)?;
    let ignore = socket::set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1);
    trying("PACKET_IGNORE_OUTGOING", ignore)?;
    // Works only with CAP_NET_ADMIN; the default size serves otherwise.
    let _ = socket::set(
        &socket,
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        &BUFFER_BYTES,
    );
    // SAFETY: an all-zero sockaddr_ll is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    if receives == Receives::All {
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    }
    address.sll_ifindex = index;
    trying("binding the packet socket", socket::bind(&socket, &address))?;
    Ok(socket)
}

/// Puts the interface into promiscuous mode as long as the socket lives.
pub fn promiscuous(socket: &OwnedFd, index: i32) -> Result<(), Error> {
    let request = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let membership = libc::PACKET_ADD_MEMBERSHIP;
    trying(
        "promiscuous mode",
        socket::set(socket, libc::SOL_PACKET, membership, &request),
    )
}

/// Lets only frames through that the program accepts.
pub fn filter(socket: &OwnedFd, program: &mut [Instruction]) -> Result<(), Error> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| Error::Filter(program.len()))?,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: pointer and length describe a sock_fprog, which points at as many live instructions
    // as it says; the kernel copies them.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as u32,
        )
    };
    trying("socket filter", checked(result)).map(|_| ())
}

/// Sends frames in their order, [`BATCH`] with one system call. Returns how many were taken, and
/// why the next one was not.
pub fn send<F: AsRef<[u8]>>(socket: &OwnedFd, frames: &[F]) -> (usize, Option<io::Error>) {
    let mut taken = 0;
    while taken < frames.len() {
        let rest = &frames[taken..];
        // A call that took some and not all has kept the reason to itself: the next one tells it.
        match send_some(socket, &rest[..rest.len().min(BATCH)]) {
            Ok(0) => break,
            Ok(some) => taken += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (taken, Some(error)),
        }
    }
    (taken, None)
}

fn send_some<F: AsRef<[u8]>>(socket: &OwnedFd, frames: &[F]) -> io::Result<usize> {
    // SAFETY: all-zero iovec and mmsghdr are valid.
    let (mut parts, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (zeroed(), zeroed()) };
    for ((part, message), frame) in parts.iter_mut().zip(&mut messages).zip(frames) {
        let frame = frame.as_ref();
        part.iov_base = frame.as_ptr().cast_mut().cast();
        part.iov_len = frame.len();
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
    }
    count(Call::Send);
    let length = frames.len().min(BATCH) as u32;
    // SAFETY: the first `length` messages each point at one part, which points at a frame that
    // lives through the call; the kernel only reads frames.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), length, 0) };
    checked(sent).map(|sent| sent as usize)
}
