// SPDX-License-Identifier: Apache-2.0
//! One nl80211 request: a monitor interface beside the wireless one. mac80211 gives an IBSS
//! interface no frames for others, promiscuous or not, so overhearing needs its own interface.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const GENL_CONTROLLER: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const NL80211_CMD_NEW_INTERFACE: u8 = 7;
const NL80211_ATTR_IFINDEX: u16 = 3;
const NL80211_ATTR_IFNAME: u16 = 4;
const NL80211_ATTR_IFTYPE: u16 = 5;
const NL80211_ATTR_SOCKET_OWNER: u16 = 204;
const NL80211_IFTYPE_MONITOR: u32 = 6;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const NLMSG_ERROR: u16 = 2;
const HEADER: usize = 20;

fn attribute(out: &mut Vec<u8>, kind: u16, data: &[u8]) {
    out.extend_from_slice(&((4 + data.len()) as u16).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn message(family: u16, command: u8, attributes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&((HEADER + attributes.len()) as u32).to_ne_bytes());
    out.extend_from_slice(&family.to_ne_bytes());
    out.extend_from_slice(&NLM_F_REQUEST_ACK.to_ne_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&[command, 1, 0, 0]);
    out.extend_from_slice(attributes);
    out
}

/// Sends `request` and reads until its acknowledgement; returns the answers before it.
fn exchange(fd: &OwnedFd, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut answers = Vec::new();
    let mut buffer = [0u8; 16384];
    // SAFETY: pointer and length describe `request`.
    let sent = unsafe { libc::send(fd.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    loop {
        // SAFETY: pointer and length describe `buffer`.
        let got =
            unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        let mut rest = &buffer[..got];
        while rest.len() >= 16 {
            let len = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            if len < 16 || len > rest.len() {
                break;
            }
            if u16::from_ne_bytes([rest[4], rest[5]]) == NLMSG_ERROR && len >= HEADER {
                let code = i32::from_ne_bytes([rest[16], rest[17], rest[18], rest[19]]);
                return if code == 0 {
                    Ok(answers)
                } else {
                    Err(io::Error::from_raw_os_error(-code))
                };
            }
            answers.extend_from_slice(&rest[..len]);
            rest = &rest[len.next_multiple_of(4).min(rest.len())..];
        }
    }
}

fn family_id(answer: &[u8]) -> Option<u16> {
    let mut rest = answer.get(HEADER..)?;
    while rest.len() >= 4 {
        let len = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let kind = u16::from_ne_bytes([rest[2], rest[3]]);
        if kind == CTRL_ATTR_FAMILY_ID && len >= 6 {
            return Some(u16::from_ne_bytes([rest[4], rest[5]]));
        }
        rest = rest.get(len.max(4).next_multiple_of(4)..)?;
    }
    None
}

/// Creates monitor interface `name` on the radio of interface `index`. The kernel removes it
/// when the returned socket closes, however the process ends.
pub fn monitor(index: i32, name: &str) -> Result<OwnedFd, String> {
    let fail = |e: io::Error| format!("creating monitor interface {name:?}: {e}");
    // SAFETY: plain system call; the descriptor is checked before it is owned.
    let fd = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_GENERIC);
        if fd < 0 {
            return Err(fail(io::Error::last_os_error()));
        }
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: an all-zero sockaddr_nl is valid; pointer and length describe it.
    let bound = unsafe {
        let mut to: libc::sockaddr_nl = zeroed();
        to.nl_family = libc::AF_NETLINK as u16;
        let len = size_of::<libc::sockaddr_nl>() as u32;
        libc::bind(fd.as_raw_fd(), (&raw const to).cast(), len)
    };
    if bound < 0 {
        return Err(fail(io::Error::last_os_error()));
    }
    let mut attributes = Vec::new();
    attribute(&mut attributes, CTRL_ATTR_FAMILY_NAME, b"nl80211\0");
    let answer = exchange(
        &fd,
        &message(GENL_CONTROLLER, CTRL_CMD_GETFAMILY, &attributes),
    );
    let answer = answer.map_err(fail)?;
    let family = family_id(&answer).ok_or_else(|| fail(io::ErrorKind::Unsupported.into()))?;
    let mut attributes = Vec::new();
    attribute(&mut attributes, NL80211_ATTR_IFINDEX, &index.to_ne_bytes());
    let text = [name.as_bytes(), &[0]].concat();
    attribute(&mut attributes, NL80211_ATTR_IFNAME, &text);
    attribute(
        &mut attributes,
        NL80211_ATTR_IFTYPE,
        &NL80211_IFTYPE_MONITOR.to_ne_bytes(),
    );
    attribute(&mut attributes, NL80211_ATTR_SOCKET_OWNER, &[]);
    exchange(
        &fd,
        &message(family, NL80211_CMD_NEW_INTERFACE, &attributes),
    )
    .map_err(fail)?;
    Ok(fd)
}
