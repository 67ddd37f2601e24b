// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of a network interface (netdevice(7)).

use crate::error::{trying, Error};
use crate::socket::{self, checked};
use std::mem::zeroed;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

/// A request about the interface `name`.
pub(crate) fn request(name: &str) -> Result<libc::ifreq, Error> {
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last octet stays NUL.
    if name.contains('\0') || name.len() >= request.ifr_name.len() {
        return Err(Error::Name(name.into()));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn netmask(prefix: u8) -> Ipv4Addr {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32)));
    Ipv4Addr::from(mask.unwrap_or(0))
}

/// A socket to read and change settings of interfaces with.
pub struct Configurator(OwnedFd);

impl Configurator {
    pub fn new() -> Result<Self, Error> {
        let socket = socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0);
        Ok(Configurator(trying(
            "socket for interface settings",
            socket,
        )?))
    }

    fn run(&self, code: u64, request: &mut libc::ifreq, what: &str) -> Result<(), Error> {
        // SAFETY: every code used in this file takes a pointer to an ifreq, and this one lives
        // through the call.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), code as _, std::ptr::from_mut(request)) };
        trying(what, checked(result)).map(|_| ())
    }

    pub fn index(&self, name: &str) -> Result<i32, Error> {
        let mut request = request(name)?;
        self.run(
            libc::SIOCGIFINDEX,
            &mut request,
            &format!("interface {name:?}"),
        )?;
        // SAFETY: SIOCGIFINDEX filled this member.
        Ok(unsafe { request.ifr_ifru.ifru_ifindex })
    }

    /// The link-layer address.
    pub fn mac(&self, name: &str) -> Result<[u8; 6], Error> {
        let mut request = request(name)?;
        self.run(
            libc::SIOCGIFHWADDR,
            &mut request,
            &format!("address of {name:?}"),
        )?;
        // SAFETY: SIOCGIFHWADDR filled this member.
        let data = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
        Ok(std::array::from_fn(|i| data[i] as u8))
    }

    /// Octets of the largest packet.
    pub fn mtu(&self, name: &str) -> Result<usize, Error> {
        let mut request = request(name)?;
        self.run(libc::SIOCGIFMTU, &mut request, &format!("MTU of {name:?}"))?;
        // SAFETY: SIOCGIFMTU filled this member.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        Ok(usize::try_from(mtu).unwrap_or(0))
    }

    pub fn set_mtu(&self, name: &str, mtu: u32) -> Result<(), Error> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_mtu = mtu as i32;
        self.run(
            libc::SIOCSIFMTU,
            &mut request,
            &format!("MTU {mtu} of {name:?}"),
        )
    }

    pub fn up(&self, name: &str) -> Result<(), Error> {
        let mut request = request(name)?;
        self.run(
            libc::SIOCGIFFLAGS,
            &mut request,
            &format!("flags of {name:?}"),
        )?;
        // SAFETY: SIOCGIFFLAGS filled this member.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as i16;
        self.run(
            libc::SIOCSIFFLAGS,
            &mut request,
            &format!("bringing up {name:?}"),
        )
    }

    /// The IPv4 address, if it has one.
    pub fn ip(&self, name: &str) -> Option<Ipv4Addr> {
        let mut request = request(name).ok()?;
        self.run(libc::SIOCGIFADDR, &mut request, "").ok()?;
        // SAFETY: SIOCGIFADDR filled this member with a sockaddr_in: port, then address.
        let data = unsafe { request.ifr_ifru.ifru_addr.sa_data };
        let octets: [u8; 4] = std::array::from_fn(|i| data[2 + i] as u8);
        Some(Ipv4Addr::from(octets))
    }

    /// Gives the interface this address and prefix; the unspecified address takes its own away.
    pub fn set_ip(&self, name: &str, ip: Ipv4Addr, prefix: Option<u8>) -> Result<(), Error> {
        self.put(libc::SIOCSIFADDR, name, ip, "address")?;
        match prefix {
            Some(length) => self.put(libc::SIOCSIFNETMASK, name, netmask(length), "netmask"),
            None => Ok(()),
        }
    }

    fn put(&self, code: u64, name: &str, value: Ipv4Addr, what: &str) -> Result<(), Error> {
        let mut request = request(name)?;
        // A sockaddr_in: port, then address.
        let mut sa_data = [0; 14];
        for (to, from) in sa_data[2..6].iter_mut().zip(value.octets()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_addr = libc::sockaddr {
            sa_family: libc::AF_INET as u16,
            sa_data,
        };
        self.run(code, &mut request, &format!("{what} {value} of {name:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_are_refused() {
        assert!(request("fifteen-letters").is_ok());
        let error = request("sixteen--letters").map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("15 characters"), "{error}");
        assert!(request("a\0b").is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no ioctl of sockets")]
    fn the_loopback_interface_is_there() {
        let settings = Configurator::new().unwrap();
        assert_eq!(settings.index("lo").unwrap(), 1);
        assert_eq!(settings.mac("lo").unwrap(), [0; 6]);
        let missing = settings.index("none-such").unwrap_err();
        assert!(missing.to_string().contains("none-such"), "{missing}");
    }

    #[test]
    fn netmasks() {
        assert_eq!(netmask(24), Ipv4Addr::new(255, 255, 255, 0));
        assert_eq!(netmask(0), Ipv4Addr::UNSPECIFIED);
        assert_eq!(netmask(32), Ipv4Addr::BROADCAST);
    }
}
