// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames of a monitor interface: radiotap header, IEEE 802.11 header, LLC/SNAP, packet.

use hoplab_wire::ieee80211::Frame;
use hoplab_wire::{radiotap, Mac, ETHERTYPE_IPV4};

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
