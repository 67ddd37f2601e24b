// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The monitor interface of DSR's daemon, by which it overhears.

use crate::error::Error;
use hoplab_linux::interface::Configurator;
use hoplab_linux::netlink::Netlink;
use hoplab_linux::packet::{self, Receives};
use hoplab_linux::{Ring, Room};
use hoplab_station::filter::between_others;
use hoplab_station::nl80211;
use hoplab_wire::Mac;

pub struct Monitor {
    /// Keeps the interface alive.
    _owner: Netlink,
    /// Frames of others, or all: their signals.
    pub foreign: Ring,
}

impl Monitor {
    /// A monitor interface on the radio of the wireless interface `index`, whose address is `own`.
    /// With `signals` it brings all frames, as the wireless interface reports no signal.
    pub fn open(net: &Configurator, index: i32, own: Mac, signals: bool) -> Result<Self, Error> {
        let name = format!("mon{index}");
        let owner = nl80211::monitor(index, &name)?;
        net.up(&name)?;
        let socket = packet::open(net.index(&name)?, Receives::All)?;
        let foreign = if signals {
            Ring::new(socket, Room::FRAMES)?
        } else {
            packet::filter(&socket, &mut between_others(own))?;
            Ring::foreign(socket, Room::FRAMES)?
        };
        Ok(Monitor {
            _owner: owner,
            foreign,
        })
    }
}
