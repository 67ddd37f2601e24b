// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Powers of links that are given, wherever their ends are.

use alloc::collections::BTreeMap;

use crate::RadioId;

pub struct RssiMatrix {
    default_dbm: f64,
    links: BTreeMap<(RadioId, RadioId), f64>,
}

impl RssiMatrix {
    /// Every link has this power.
    pub fn new(default_dbm: f64) -> Self {
        Self {
            default_dbm,
            links: BTreeMap::new(),
        }
    }

    pub fn set(&mut self, from: RadioId, to: RadioId, dbm: f64) {
        self.links.insert((from, to), dbm);
    }

    pub fn dbm(&self, from: RadioId, to: RadioId) -> f64 {
        let link = self.links.get(&(from, to));
        link.copied().unwrap_or(self.default_dbm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_its_own_power_one_way() {
        let mut matrix = RssiMatrix::new(-90.0);
        let [a, b] = [0, 1].map(RadioId::new);
        matrix.set(a, b, -50.0);
        assert_eq!((matrix.dbm(a, b), matrix.dbm(b, a)), (-50.0, -90.0));
    }
}
