// SPDX-License-Identifier: Apache-2.0
//! Frames of a monitor interface: radiotap header, IEEE 802.11 header, LLC/SNAP, packet.

use crate::error::Error;
use crate::{filter, nl80211};
use hoplab_linux::interface::Configurator;
use hoplab_linux::netlink::Netlink;
use hoplab_linux::packet::{self, Receives};
use hoplab_linux::{kernel, Ring, Room};
use hoplab_wire::ieee80211::Frame;
use hoplab_wire::{radiotap, Mac, ETHERTYPE_IPV4};

/// What the monitor interface tells.
#[derive(Default)]
pub struct Monitor {
    /// Keeps the interface alive.
    _owner: Option<Netlink>,
    /// Frames of others.
    pub foreign: Option<Ring>,
    /// This station's own, with their statuses.
    pub sent: Option<Ring>,
}

impl Monitor {
    /// A monitor interface on the radio of the interface with this index. Frames for this station
    /// are of use only for their signals, which the interface itself does not tell; `wanted` says
    /// whether these are, and how many statuses can be outstanding.
    pub fn open(
        net: &Configurator,
        index: i32,
        own: Mac,
        wanted: (bool, usize),
    ) -> Result<Self, Error> {
        let (signals, outstanding) = wanted;
        let name = format!("mon{index}");
        let owner = nl80211::monitor(index, &name)?;
        net.up(&name)?;
        let index = net.index(&name)?;
        let socket = packet::open(index, Receives::All)?;
        if !signals {
            packet::filter(&socket, &mut filter::others_only(own))?;
        }
        // Where calls are dear (User-Mode Linux) radios are mac80211_hwsim's. Another driver may tell
        // only the statuses that a socket asked for.
        let few = outstanding <= Room::STARTS.slots() / 2;
        let sent = match few && !kernel::clock_is_cheap() {
            false => None,
            true => {
                let socket = packet::open(index, Receives::All)?;
                packet::filter(&socket, &mut filter::sent_only(own))?;
                Some(Ring::new(socket, Room::STARTS)?)
            }
        };
        Ok(Monitor {
            _owner: Some(owner),
            foreign: Some(Ring::new(socket, Room::FRAMES)?),
            sent,
        })
    }
}

/// A data frame heard on the air.
pub struct Heard<'a> {
    pub source: Mac,
    pub destination: Mac,
    pub packet: &'a [u8],
    pub signal_dbm: Option<i16>,
    /// Of a frame that this radio sent: nobody acknowledged it.
    pub failed: bool,
    /// Sequence control field and whether the Retry bit is set, to tell repetitions.
    pub sequence: u16,
    pub retry: bool,
}

/// An IBSS data frame with an IPv4 packet; `None` for anything else.
pub fn parse(bytes: &[u8]) -> Option<Heard<'_>> {
    let (radiotap, bytes) = radiotap::Header::parse(bytes)?;
    let frame = Frame::new(bytes)?;
    match frame.packet()? {
        (ETHERTYPE_IPV4, packet) if frame.is_direct() => Some(Heard {
            destination: frame.receiver()?,
            source: frame.transmitter()?,
            packet,
            signal_dbm: radiotap.signal_dbm.map(i16::from),
            failed: radiotap.tx_flags.unwrap_or(0) & radiotap::TX_FAILED != 0,
            sequence: frame.sequence_control()?,
            retry: frame.is_retry(),
        }),
        _ => None,
    }
}
