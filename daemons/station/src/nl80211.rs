// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One nl80211 request: a monitor interface beside the wireless one. An IBSS interface of mac80211
//! gets no frames for others, promiscuous or not. So overhearing needs an interface of its own.

use crate::error::Error;
use hoplab_linux::netlink::{Inbox, Netlink, LONGEST_WAIT};
use hoplab_wire::netlink::{family_id, Batch, Message, Messages, FLAG_ACK};
use std::io;

const NEW_INTERFACE: u8 = 7;
const IFINDEX: u16 = 3;
const IFNAME: u16 = 4;
const IFTYPE: u16 = 5;
const SOCKET_OWNER: u16 = 204;
const MONITOR: u32 = 6;

/// Creates monitor interface `name` on the radio of interface `index`. The kernel removes it
/// when the returned socket closes, however the process ends.
pub fn monitor(index: i32, name: &str) -> Result<Netlink, Error> {
    let fail = |why| Error::Monitor {
        name: name.into(),
        why,
    };
    let netlink = Netlink::open().map_err(fail)?;
    let mut batch = Batch::default();
    batch.get_family(b"nl80211\0");
    let family = answer(&netlink, &mut batch, family_id).map_err(fail)?;
    batch.begin(family, FLAG_ACK, NEW_INTERFACE, 1, 0);
    batch.attribute(IFINDEX, &index.to_ne_bytes());
    batch.attribute(IFNAME, &[name.as_bytes(), &[0]].concat());
    batch.attribute(IFTYPE, &MONITOR.to_ne_bytes());
    batch.attribute(SOCKET_OWNER, &[]);
    batch.end();
    answer(&netlink, &mut batch, acknowledged).map_err(fail)?;
    Ok(netlink)
}

fn acknowledged(datagram: &[u8]) -> Option<()> {
    Messages::new(datagram).find_map(|message| match message {
        Message::Ack { code: 0, .. } => Some(()),
        _ => None,
    })
}

fn refusal(datagram: &[u8]) -> Option<io::Error> {
    Messages::new(datagram).find_map(|message| match message {
        Message::Ack { code, .. } if code < 0 => {
            Some(io::Error::from_raw_os_error(code.saturating_neg()))
        }
        _ => None,
    })
}

/// Sends a request and waits for what `wanted` finds in the answers.
pub fn answer<T>(
    netlink: &Netlink,
    batch: &mut Batch,
    wanted: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<T> {
    netlink.send(&batch.take())?;
    let mut inbox = Inbox::new();
    loop {
        netlink.receive(&mut inbox, true)?;
        if inbox.is_empty() {
            let wait = LONGEST_WAIT.as_secs_f64();
            let message = format!("the kernel did not answer within {wait} s");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        for datagram in inbox.datagrams().flatten() {
            if let Some(error) = refusal(datagram) {
                return Err(error);
            }
            if let Some(found) = wanted(datagram) {
                return Ok(found);
            }
        }
    }
}
