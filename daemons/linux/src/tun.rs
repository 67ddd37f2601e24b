// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A TUN interface (tuntap.rst): IP packets of the local stack.

use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::interface::request;
use crate::socket::checked;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The interface, which lives as long as this.
pub struct Tun(File);

impl Tun {
    pub fn create(name: &str) -> Result<Self, Error> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun");
        let file = trying(
            "/dev/net/tun (needs the tun driver and CAP_NET_ADMIN)",
            file,
        )?;
        let mut request = request(name)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        // SAFETY: TUNSETIFF takes a pointer to an ifreq, which lives through the call.
        let result =
            unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        trying(format!("creating {name:?}"), checked(result))?;
        Ok(Tun(file))
    }

    /// The next packet; `WouldBlock` when there is none.
    pub fn receive(&mut self, packet: &mut [u8]) -> io::Result<usize> {
        count(Call::Tun);
        self.0.read(packet)
    }

    pub fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        count(Call::Tun);
        self.0.write(packet).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
