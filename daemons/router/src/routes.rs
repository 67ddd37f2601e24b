// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Routes and neighbours in the kernel's tables (rtnetlink(7)).

use hoplab_linux::netlink::{Inbox, Netlink};
use hoplab_linux::say;
use hoplab_routing_core::Hop;
use hoplab_station::Error;
use hoplab_wire::netlink::{Batch, Message, Messages};
use std::net::Ipv4Addr;

const NEW_ROUTE: u16 = 24;
const DELETE_ROUTE: u16 = 25;
const NEW_NEIGHBOUR: u16 = 28;
const CREATE: u16 = 0x400;
const REPLACE: u16 = 0x100;
const INET: u8 = 2;
const MAIN_TABLE: u8 = 254;
/// Who made the route, in `ip route`: a number without a name of its own.
const MAKER: u8 = 187;
const SCOPE_LINK: u8 = 253;
const UNICAST: u8 = 1;
/// The next hop is a neighbour, whatever other routes say.
const ON_LINK: u32 = 4;
const ROUTE_DESTINATION: u16 = 1;
const ROUTE_INTERFACE: u16 = 4;
const ROUTE_GATEWAY: u16 = 5;
const ROUTE_SOURCE: u16 = 7;
/// As if ARP had just answered.
const REACHABLE: u16 = 2;
const NEIGHBOUR_ADDRESS: u16 = 1;
const NEIGHBOUR_MAC: u16 = 2;
/// The route was gone already.
const NO_SUCH_ROUTE: i32 = -3;

/// The kernel's tables, as far as they are of this daemon.
pub struct Routes {
    netlink: Netlink,
    inbox: Inbox,
    batch: Batch,
    /// Of the wireless interface.
    index: u32,
    own: Ipv4Addr,
    /// A refusal has been reported; more of them say nothing new.
    reported: bool,
}

impl Routes {
    pub fn open(index: i32, own: Ipv4Addr) -> Result<Self, Error> {
        Ok(Routes {
            netlink: Netlink::open_routes().map_err(Error::Routes)?,
            inbox: Inbox::new(),
            batch: Batch::default(),
            index: index.unsigned_abs(),
            own,
            reported: false,
        })
    }

    /// Packets for `destination` go to the neighbour `next_hop`, in place of an earlier route.
    pub fn install(&mut self, destination: Ipv4Addr, next_hop: Ipv4Addr) {
        let near = destination == next_hop;
        let (scope, flags) = if near { (SCOPE_LINK, 0) } else { (0, ON_LINK) };
        self.route(NEW_ROUTE, CREATE | REPLACE, scope, flags, destination);
        if !near {
            self.batch.attribute(ROUTE_GATEWAY, &next_hop.octets());
        }
        self.batch.attribute(ROUTE_SOURCE, &self.own.octets());
        self.batch.end();
    }

    pub fn remove(&mut self, destination: Ipv4Addr) {
        self.route(DELETE_ROUTE, 0, 255, 0, destination);
        self.batch.end();
    }

    fn route(&mut self, kind: u16, flags: u16, scope: u8, how: u32, destination: Ipv4Addr) {
        self.batch.begin_with(kind, flags, 0, [INET, 32, 0, 0]);
        self.batch.head(&[MAIN_TABLE, MAKER, scope, UNICAST]);
        self.batch.head(&how.to_ne_bytes());
        self.batch
            .attribute(ROUTE_DESTINATION, &destination.octets());
        self.batch
            .attribute(ROUTE_INTERFACE, &self.index.to_ne_bytes());
    }

    /// The kernel need not ask for the neighbour's link-layer address.
    pub fn neighbour(&mut self, hop: Hop) {
        self.batch
            .begin_with(NEW_NEIGHBOUR, CREATE | REPLACE, 0, [INET, 0, 0, 0]);
        self.batch.head(&self.index.to_ne_bytes());
        self.batch.head(&REACHABLE.to_ne_bytes());
        self.batch.head(&[0, 0]);
        self.batch
            .attribute(NEIGHBOUR_ADDRESS, &hop.address.octets());
        self.batch.attribute(NEIGHBOUR_MAC, &hop.mac.0);
        self.batch.end();
    }

    /// Gives the kernel what has gathered.
    pub fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let sent = self.netlink.send(&self.batch.take());
        // The kernel has done it, and only refusals have an answer.
        let heard = sent.and_then(|()| self.netlink.receive(&mut self.inbox, false));
        let refused = heard.err().or_else(|| self.refusal());
        if let Some(why) = refused.filter(|_| !self.reported) {
            self.reported = true;
            say::warning(&format!("routes: the kernel refuses one: {why}"));
        }
    }

    fn refusal(&self) -> Option<std::io::Error> {
        let datagrams = self.inbox.datagrams().flatten();
        let mut messages = datagrams.flat_map(Messages::new);
        messages.find_map(|message| match message {
            Message::Ack { code, .. } if code < 0 && code != NO_SUCH_ROUTE => {
                Some(std::io::Error::from_raw_os_error(code.saturating_neg()))
            }
            _ => None,
        })
    }
}
