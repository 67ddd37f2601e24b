// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the kernel's own IP layer.

use crate::error::Error;
use hoplab_linux::interface::Configurator;
use hoplab_station::stack::set;
use std::net::Ipv4Addr;

/// Keeps the kernel's own IP layer off the wireless interface, whose address moves to the TUN
/// interface. Routes to all stations lead through TUN. So strict reverse-path filtering discards
/// the frames of the wireless interface, which the daemon handles.
pub fn quiet(net: &Configurator, name: &str, own: Ipv4Addr, prefix: u8) -> Result<(), Error> {
    if let Some(old) = net.ip(name) {
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        if (u32::from(old) ^ u32::from(own)) & mask == 0 {
            net.set_ip(name, Ipv4Addr::UNSPECIFIED, None)?;
        }
    }
    set(&format!("ipv4/conf/{name}/rp_filter"), "1");
    // 8: no answer to any request. The daemon has its own ARP.
    set(&format!("ipv4/conf/{name}/arp_ignore"), "8");
    Ok(())
}
