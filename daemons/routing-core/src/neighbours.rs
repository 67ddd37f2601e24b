// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stations whose frames come here, with their link-layer addresses.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;
use hoplab_base::{Duration, Instant};
use hoplab_wire::Mac;

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Neighbour {
    mac: Mac,
    heard: Instant,
    /// From when on the kernel takes frames for it.
    usable: Instant,
}

/// All of them. When it is full, the one leaves that was silent longest.
#[derive(Clone, Debug)]
pub struct Neighbours {
    by_address: BTreeMap<Ipv4Addr, Neighbour>,
    by_mac: BTreeMap<Mac, Ipv4Addr>,
    most: usize,
    /// mac80211 forgets an IBSS neighbour that was silent for so long.
    silence: Duration,
    /// How long it takes until it knows a new one.
    settling: Duration,
}

impl Neighbours {
    /// Room for `most`. One that was silent for `silence` is new again, and of use `settling` later.
    pub fn new(most: usize, silence: Duration, settling: Duration) -> Self {
        Neighbours {
            by_address: BTreeMap::new(),
            by_mac: BTreeMap::new(),
            most: most.max(1),
            silence,
            settling,
        }
    }

    /// A frame came from it, or an acknowledgement. True where the address or the neighbour is new.
    pub fn heard(&mut self, now: Instant, address: Ipv4Addr, mac: Mac) -> bool {
        let silence = self.silence;
        if let Some(known) = self.by_address.get_mut(&address) {
            if known.mac == mac && now.since(known.heard) < silence {
                known.heard = now;
                return false;
            }
        }
        if let Some(old) = self.by_address.remove(&address) {
            self.by_mac.remove(&old.mac);
        }
        if let Some(other) = self.by_mac.get(&mac).copied() {
            self.by_address.remove(&other);
        }
        if self.by_address.len() >= self.most {
            let silent = self.by_address.iter().min_by_key(|(_, one)| one.heard);
            if let Some((&address, &one)) = silent {
                self.by_address.remove(&address);
                self.by_mac.remove(&one.mac);
            }
        }
        let neighbour = Neighbour {
            mac,
            heard: now,
            usable: now + self.settling,
        };
        self.by_address.insert(address, neighbour);
        self.by_mac.insert(mac, address);
        true
    }

    /// A frame of a known neighbour passed, in either direction.
    pub fn seen(&mut self, now: Instant, mac: Mac) {
        let address = self.by_mac.get(&mac);
        if let Some(known) = address.and_then(|a| self.by_address.get_mut(a)) {
            known.heard = known.heard.max(now);
        }
    }

    pub fn mac(&self, address: Ipv4Addr) -> Option<Mac> {
        self.by_address.get(&address).map(|one| one.mac)
    }

    pub fn address(&self, mac: Mac) -> Option<Ipv4Addr> {
        self.by_mac.get(&mac).copied()
    }

    /// From when on frames reach it, as far as the kernel is concerned.
    pub fn usable(&self, address: Ipv4Addr) -> Instant {
        self.by_address
            .get(&address)
            .map_or(Instant::ZERO, |one| one.usable)
    }

    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ip(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, last)
    }

    const fn mac(last: u8) -> Mac {
        Mac([2, 0, 0, 0, 0, last])
    }

    #[test]
    fn a_neighbour_is_new_after_silence_and_with_another_address() {
        let mut all = Neighbours::new(2, Duration(100), Duration(1));
        assert!(all.heard(Instant(0), ip(1), mac(1)));
        assert_eq!(all.usable(ip(1)), Instant(1));
        assert!(!all.heard(Instant(99), ip(1), mac(1)));
        all.seen(Instant(150), mac(1));
        assert!(!all.heard(Instant(240), ip(1), mac(1)));
        assert!(all.heard(Instant(340), ip(1), mac(1)));
        // One address for both of its halves, always.
        assert!(all.heard(Instant(341), ip(2), mac(1)));
        assert_eq!((all.mac(ip(1)), all.address(mac(1))), (None, Some(ip(2))));
        assert!(all.heard(Instant(342), ip(2), mac(3)));
        assert_eq!((all.address(mac(1)), all.mac(ip(2))), (None, Some(mac(3))));
    }

    #[test]
    fn the_silent_one_makes_room() {
        let mut all = Neighbours::new(2, Duration(100), Duration(1));
        for (at, last) in [(0, 1), (1, 2), (2, 3)] {
            all.heard(Instant(at), ip(last), mac(last));
        }
        assert_eq!(all.len(), 2);
        assert_eq!((all.mac(ip(1)), all.address(mac(1))), (None, None));
        assert_eq!(all.mac(ip(3)), Some(mac(3)));
    }
}
