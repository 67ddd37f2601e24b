// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 48-bit link-layer address of IEEE 802 networks.

use core::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    pub const BROADCAST: Mac = Mac([0xff; 6]);

    /// True for group addresses (broadcast included).
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, octet) in self.0.iter().enumerate() {
            write!(f, "{}{octet:02x}", if i == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}
