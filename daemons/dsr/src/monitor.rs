// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The monitor interface of DSR's daemon.

use crate::error::Error;
use crate::filter;
use hoplab_linux::bpf::Instruction;
use hoplab_linux::interface::Configurator;
use hoplab_linux::netlink::Netlink;
use hoplab_linux::packet::{self, Receives};
use hoplab_linux::{kernel, Ring, Room};
use hoplab_station::filter::sent_only;
use hoplab_station::nl80211;
use hoplab_wire::Mac;
use std::net::Ipv4Addr;

/// The rings of the monitor interface.
#[derive(Default)]
pub struct Monitor {
    /// Keeps the interface alive.
    _owner: Option<Netlink>,
    /// Frames of others: the first ring is to be read soon, the second waits for any wake-up.
    pub foreign: Option<Ring>,
    pub quiet: Option<Ring>,
    /// This station's own, with their statuses.
    pub sent: Option<Ring>,
}

/// Whose monitor interface it is, and what for.
pub struct Wanted {
    /// Of the wireless interface.
    pub index: i32,
    pub own: Mac,
    pub address: Ipv4Addr,
    /// The signals of frames are of use. The wireless interface does not report them, so the daemon
    /// reads all frames here.
    pub signals: bool,
    /// How many statuses can be outstanding.
    pub outstanding: usize,
    /// Whether data between others may wait.
    pub quiet: bool,
}

impl Monitor {
    /// A monitor interface on the radio of the interface with this index.
    pub fn open(net: &Configurator, wanted: &Wanted) -> Result<Self, Error> {
        let name = format!("mon{}", wanted.index);
        let owner = nl80211::monitor(wanted.index, &name)?;
        net.up(&name)?;
        let index = net.index(&name)?;
        let ring = |program: Option<Vec<Instruction>>, room| -> Result<Ring, Error> {
            let socket = packet::open(index, Receives::All)?;
            if let Some(mut program) = program {
                packet::filter(&socket, &mut program)?;
            }
            Ok(Ring::new(socket, room)?)
        };
        let (own, address) = (wanted.own, wanted.address);
        let others = match (wanted.signals, wanted.quiet) {
            (true, _) => None,
            (false, true) => Some(filter::quiet(own, address, true)),
            (false, false) => Some(filter::others_only(own)),
        };
        let quiet = (wanted.quiet && !wanted.signals).then(|| filter::quiet(own, address, false));
        // System calls are dear in User-Mode Linux, where the radios are mac80211_hwsim's. Another
        // driver may report only the statuses that a socket asked for. The ring must have room for
        // each status, as a lost one would look like a broken link.
        let few = wanted.outstanding <= Room::STARTS.frames() / 2;
        let statuses = (few && !kernel::clock_is_cheap()).then(|| sent_only(own));
        Ok(Monitor {
            _owner: Some(owner),
            foreign: Some(ring(others, Room::FRAMES)?),
            quiet: quiet
                .map(|program| ring(Some(program), Room::FRAMES))
                .transpose()?,
            sent: statuses
                .map(|program| ring(Some(program), Room::STARTS))
                .transpose()?,
        })
    }
}
