// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every socket here is made with.

use crate::error::{trying, Error};
use socket2::SockRef;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// The result of a system call that is negative on failure.
pub fn checked(result: impl Into<i64>) -> io::Result<i64> {
    match result.into() {
        failed if failed < 0 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// A socket that a program started from this process does not inherit.
pub fn open(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call.
    let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    checked(fd)?;
    // SAFETY: the call that made `fd` succeeded, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Types that setsockopt(2) takes as they are: plain data of the C interface.
///
/// # Safety
/// For types without padding and without references that the kernel would keep.
pub unsafe trait Value {}

// SAFETY: an integer is plain data.
unsafe impl Value for i32 {}
// SAFETY: an integer is plain data.
unsafe impl Value for u32 {}
// SAFETY: integers without padding.
unsafe impl Value for [u32; 8] {}
// SAFETY: two 64-bit integers.
unsafe impl Value for libc::timeval {}
// SAFETY: integers and octets without padding (packet(7)).
unsafe impl Value for libc::packet_mreq {}
// SAFETY: four 32-bit integers.
unsafe impl Value for libc::tpacket_req {}

pub fn set<T: Value>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: pointer and length describe `value`, which is plain data.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    checked(result).map(|_| ())
}

/// Gives packets from `own` this traffic class: IP's octet with the code point in it (RFC 2474). None
/// leaves the kernel's.
pub fn mark(socket: &impl AsFd, own: SocketAddr, class: Option<u8>) -> Result<(), Error> {
    let Some(class) = class else {
        return Ok(());
    };
    let socket = SockRef::from(socket);
    let set = match own {
        SocketAddr::V4(_) => socket.set_tos(class.into()),
        SocketAddr::V6(_) => socket.set_tclass_v6(class.into()),
    };
    trying(format!("traffic class {class}"), set)
}

/// Socket addresses of the C interface.
///
/// # Safety
/// For types that bind(2) takes for their family.
pub unsafe trait Address {}

// SAFETY: the address of AF_NETLINK (netlink(7)).
unsafe impl Address for libc::sockaddr_nl {}
// SAFETY: the address of AF_PACKET (packet(7)).
unsafe impl Address for libc::sockaddr_ll {}

pub fn bind<T: Address>(socket: &OwnedFd, address: &T) -> io::Result<()> {
    // SAFETY: pointer and length describe `address`.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            std::ptr::from_ref(address).cast(),
            size_of::<T>() as u32,
        )
    };
    checked(result).map(|_| ())
}
