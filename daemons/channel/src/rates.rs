// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rates as `mac80211_hwsim` names them: indexes of its own table, or of HT's and VHT's.

use hoplab_medium_core::{Attempts, Guard, Rate, Width};
use serde::Deserialize;

/// hwsim's rate table: DSSS/CCK, then OFDM; in the 5 GHz band only OFDM.
const RATES: [Rate; 12] = Rate::LEGACY;
const FIRST_OFDM: usize = 4;

/// Flags of a row (`mac80211_hwsim.h`): RTS before the frame.
pub const RC_USE_RTS_CTS: u16 = 1;
/// An index of HT's rates, not of those before.
pub const RC_HT: u16 = 1 << 3;
pub const RC_40_MHZ: u16 = 1 << 5;
pub const RC_SHORT_GUARD: u16 = 1 << 7;
/// MCS and streams of VHT.
pub const RC_VHT: u16 = 1 << 8;
pub const RC_80_MHZ: u16 = 1 << 9;
pub const RC_160_MHZ: u16 = 1 << 10;

/// A row of the rate table that the kernel gives with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateEntry {
    pub index: u8,
    pub tries: u8,
    pub flags: u16,
}

/// Rates of data frames where the kernel's rate control does not know them: of HE, EHT, and of VHT
/// on 160 MHz. One that is fixed, or from the lowest on those among which the medium chooses.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Named")]
pub struct DataRate(pub Vec<Rate>);

/// It, as a document has it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Named {
    Vht(Parts),
    He(Parts),
    Eht(Parts),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    mcs: u8,
    streams: u8,
    width_mhz: u16,
    guard_ns: u16,
    /// Whether `mcs` is the highest one, and the medium chooses.
    #[serde(default)]
    ideal: bool,
}

impl TryFrom<Named> for DataRate {
    type Error = &'static str;

    fn try_from(named: Named) -> Result<Self, Self::Error> {
        let (Named::Vht(parts) | Named::He(parts) | Named::Eht(parts)) = named;
        let streams = parts.streams;
        let width = Width::try_from(parts.width_mhz)?;
        let guard = match parts.guard_ns {
            400 => Guard::Ns400,
            800 => Guard::Ns800,
            1600 => Guard::Ns1600,
            3200 => Guard::Ns3200,
            _ => return Err("expected a guard interval of 400, 800, 1600 or 3200 ns"),
        };
        let rate = |mcs| match (named, guard) {
            (Named::Vht(_), Guard::Ns400) => Rate::vht(mcs, streams, width, true),
            (Named::Vht(_), Guard::Ns800) => Rate::vht(mcs, streams, width, false),
            (Named::Vht(_), _) => None,
            (Named::He(_), guard) => Rate::he(mcs, streams, width, guard),
            (Named::Eht(_), guard) => Rate::eht(mcs, streams, width, guard),
        };
        let highest = rate(parts.mcs).ok_or("expected a rate that the standard's tables have")?;
        // The standard leaves some out.
        let lower = (0..parts.mcs).filter(|_| parts.ideal).filter_map(rate);
        Ok(Self(lower.chain([highest]).collect()))
    }
}

/// A frame's rates for the engine; empty if one of them is not modelled.
pub fn attempts(entries: &[RateEntry], frequency_mhz: u32) -> Vec<Attempts> {
    let first = first_rate(frequency_mhz);
    let rates = entries.iter().map(|entry| {
        Some(Attempts {
            rate: rate_of(entry, first)?,
            tries: entry.tries.into(),
            rts: entry.flags & RC_USE_RTS_CTS != 0,
        })
    });
    rates.collect::<Option<_>>().unwrap_or_default()
}

/// The index that a receiver's kernel learns for a frame at this rate. The table of hwsim is all
/// that it takes, so an HT or VHT frame came at its non-HT reference rate.
pub fn received_index(rate: Rate, frequency_mhz: u32) -> u32 {
    let like = rate.reference();
    let index = RATES.iter().position(|rate| *rate == like);
    index.unwrap_or(0).saturating_sub(first_rate(frequency_mhz)) as u32
}

fn first_rate(frequency_mhz: u32) -> usize {
    if frequency_mhz > 4000 {
        FIRST_OFDM
    } else {
        0
    }
}

/// The rate of a row of the kernel's table, as it is counted from `first` on; none if it is not
/// modelled.
fn rate_of(entry: &RateEntry, first: usize) -> Option<Rate> {
    let has = |flag| entry.flags & flag != 0;
    let width = match (has(RC_40_MHZ), has(RC_80_MHZ)) {
        _ if has(RC_160_MHZ) => Width::Mhz160,
        (_, true) => Width::Mhz80,
        (true, false) => Width::Mhz40,
        (false, false) => Width::Mhz20,
    };
    let short_guard = has(RC_SHORT_GUARD);
    if has(RC_VHT) {
        let (mcs, streams) = (entry.index & 0xf, (entry.index >> 4) + 1);
        return Rate::vht(mcs, streams, width, short_guard);
    }
    if has(RC_HT) {
        return Rate::ht(entry.index, width, short_guard);
    }
    RATES.get(usize::from(entry.index) + first).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the kernel's `mac80211_hwsim.h`: MCS 8, 40 MHz 32, short guard interval 128, VHT
    /// 256, 80 MHz 512, 160 MHz 1024. The index of VHT has the streams less one above its four
    /// bits.
    #[test]
    fn rates_are_read_by_index_and_flags() {
        let found = |index, flags, frequency_mhz| {
            let entry = RateEntry {
                index,
                tries: 1,
                flags,
            };
            rate_of(&entry, first_rate(frequency_mhz))
        };
        assert_eq!(found(0, 0, 2412), Some(Rate::DSSS_1));
        assert_eq!(found(0, 0, 5180), Some(Rate::OFDM_6));
        assert_eq!(found(12, 0, 2412), None);
        assert_eq!(found(7, 8, 5180), Rate::ht(7, Width::Mhz20, false));
        assert_eq!(
            found(15, 8 | 32 | 128, 2412),
            Rate::ht(15, Width::Mhz40, true)
        );
        assert_eq!(found(16, 8, 5180), None);
        let vht = Rate::vht(9, 2, Width::Mhz80, true);
        assert_eq!(found(0x19, 256 | 512 | 128, 5180), vht);
        assert!(vht.is_some());
        assert_eq!(found(0x09, 256, 5180), None);
        let widest = Rate::vht(8, 1, Width::Mhz160, false);
        assert_eq!(found(0x08, 256 | 1024, 5180), widest);
        assert!(widest.is_some());
    }
    fn named(text: &str) -> Option<Rate> {
        let found = serde_json::from_str::<DataRate>(text).ok()?.0;
        assert_eq!(found.len(), 1);
        found.first().copied()
    }

    #[test]
    fn a_rate_of_data_is_one_of_the_standard() {
        let he = |guard_ns| {
            named(&format!(
                r#"{{"he": {{"mcs": 11, "streams": 2, "width_mhz": 160, "guard_ns": {guard_ns}}}}}"#
            ))
        };
        assert_eq!(he(1600), Rate::he(11, 2, Width::Mhz160, Guard::Ns1600));
        assert!(he(1600).is_some());
        assert_eq!(he(400), None);
        let vht = r#"{"vht": {"mcs": 8, "streams": 1, "width_mhz": 160, "guard_ns": 400}}"#;
        assert_eq!(named(vht), Rate::vht(8, 1, Width::Mhz160, true));
        assert_eq!(named(&vht.replace("160", "100")), None);
        let ideal = vht.replace("400", r#"400, "ideal": true"#);
        let rates = serde_json::from_str::<DataRate>(&ideal).unwrap().0;
        let of_mcs = |mcs| Rate::vht(mcs, 1, Width::Mhz160, true).unwrap();
        assert_eq!(rates, (0..=8).map(of_mcs).collect::<Vec<_>>());
    }
}
