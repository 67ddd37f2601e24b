// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where resource units are, as frames and captures name them (IEEE 802.11ax-2021 27.3.2.2). The
//! users of a PPDU have units of one size, one beside the other from the lowest frequency on.

use hoplab_medium_core::{Plan, Punctured, Unit, Width};

/// 0 to 3 are 20, 40, 80 and 160 MHz.
pub fn bandwidth(width: Width) -> u8 {
    match width {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 2,
        // 320 MHz have EHT alone.
        Width::Mhz160 | Width::Mhz320 => 3,
    }
}

/// A trigger's RU Allocation of this unit of the channel, and whether it is in the second 80 MHz
/// (9.3.1.22.1). Without a unit it is the whole channel.
pub fn allocation(unit: Option<Unit>, width: Width, number: usize) -> (u8, bool) {
    // The last is of EHT, whose triggers nobody writes.
    const FIRST: [usize; 8] = [0, 37, 53, 61, 65, 67, 68, 69];
    const WHOLE: [u8; 4] = [61, 65, 67, 68];
    let Some(unit) = unit else {
        return (WHOLE[usize::from(bandwidth(width))], false);
    };
    let plan = Plan {
        width: Width::Mhz80,
        is_eht: false,
        punctured: Punctured::NONE,
    };
    let on_80 = unit.fit(plan).max(1);
    (
        (FIRST[unit as usize] + number % on_80) as u8,
        number >= on_80,
    )
}

/// The allocation of each 20 MHz in both contents of HE-SIG-B, which have them by turns, where all
/// units have this size (table 27-26). The user of a unit of more than 20 MHz is in one content.
pub fn contents(unit: Unit, width: Width) -> [[u8; 4]; 2] {
    let (used, unused, channels) = match unit {
        Unit::Tones26 => (0, 0, 1),
        Unit::Tones52 => (112, 0, 1),
        Unit::Tones106 => (96, 0, 1),
        Unit::Tones242 => (192, 0, 1),
        Unit::Tones484 => (200, 114, 2),
        Unit::Tones996 => (208, 115, 4),
        // The whole channel, which has no user beside it.
        Unit::Tones1992 | Unit::Tones3984 => (208, 115, 8),
    };
    let mut contents = [[0; 4]; 2];
    for channel in 0..usize::from(width.mhz() / Width::Mhz20.mhz()).min(8) {
        let is_users = channels == 1 || channel % channels == channel / channels % 2;
        contents[channel % 2][channel / 2] = if is_users { used } else { unused };
    }
    contents
}

/// Radiotap's number of the multiple resource unit that is left of a punctured channel, where one is.
pub fn left(width: Width, punctured: Punctured) -> Option<u8> {
    match (width, punctured.count()) {
        (Width::Mhz80, 1) => Some(10),
        (Width::Mhz160, 2) => Some(11),
        (Width::Mhz160, 1) => Some(12),
        (Width::Mhz320, 6) => Some(13),
        (Width::Mhz320, 4) => Some(14),
        (Width::Mhz320, 2) => Some(15),
        _ => None,
    }
}

/// The row of this pattern in 802.11be-2024 table 36-30: U-SIG's Punctured Channel Information of a
/// PPDU to one user. 0 for none.
pub fn pattern(width: Width, punctured: Punctured) -> u8 {
    /// Of the patterns of an end of 320 MHz with 40 MHz beside, the lowest end first.
    const LOWEST_END: u16 = 13;
    const HIGHEST_END: u16 = 19;
    let bits = punctured.0;
    let first = bits.trailing_zeros() as u16;
    let row = match (width, punctured.count()) {
        (Width::Mhz80 | Width::Mhz160, 1) => 1 + first,
        (Width::Mhz160, 2) => 9 + first / 2,
        (Width::Mhz320, 2) => 1 + first / 2,
        (Width::Mhz320, 4) => 9 + first / 4,
        (Width::Mhz320, 6) if bits & 0xf == 0xf => {
            let beside = (bits & !0xf).trailing_zeros() as u16;
            LOWEST_END + beside / 2 - 2
        }
        (Width::Mhz320, 6) => HIGHEST_END + first / 2,
        _ => 0,
    };
    row as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use Unit::{Tones106, Tones1992, Tones242, Tones26, Tones484, Tones52, Tones996};
    use Width::{Mhz160, Mhz20, Mhz320, Mhz40, Mhz80};

    /// By the mapping of B7 to B1 in 9.3.1.22.1.
    #[test]
    fn units_have_their_numbers_in_triggers() {
        for (unit, width, number, expected) in [
            (Some(Tones26), Mhz20, 8, (8, false)),
            (Some(Tones26), Mhz80, 36, (36, false)),
            (Some(Tones52), Mhz20, 3, (40, false)),
            (Some(Tones106), Mhz40, 3, (56, false)),
            (Some(Tones242), Mhz80, 3, (64, false)),
            (Some(Tones484), Mhz80, 1, (66, false)),
            (Some(Tones996), Mhz160, 1, (67, true)),
            (Some(Tones52), Mhz160, 17, (38, true)),
            (Some(Tones1992), Mhz160, 0, (68, false)),
            (None, Mhz40, 0, (65, false)),
            (None, Mhz160, 0, (68, false)),
        ] {
            assert_eq!(allocation(unit, width, number), expected);
        }
    }

    /// Rows of table 36-30, and radiotap's sizes.
    #[test]
    fn punctured_channels_have_their_rows_and_sizes() {
        for (width, bits, row, size) in [
            (Mhz80, 0, 0, None),
            (Mhz80, 0x1, 1, Some(10)),
            (Mhz80, 0x8, 4, Some(10)),
            (Mhz160, 0x80, 8, Some(12)),
            (Mhz160, 0x03, 9, Some(11)),
            (Mhz160, 0xc0, 12, Some(11)),
            (Mhz320, 0x0003, 1, Some(15)),
            (Mhz320, 0xc000, 8, Some(15)),
            (Mhz320, 0x000f, 9, Some(14)),
            (Mhz320, 0xf000, 12, Some(14)),
            (Mhz320, 0x003f, 13, Some(13)),
            (Mhz320, 0xc00f, 18, Some(13)),
            (Mhz320, 0xf003, 19, Some(13)),
            (Mhz320, 0xfc00, 24, Some(13)),
        ] {
            let punctured = Punctured(bits);
            let found = (pattern(width, punctured), left(width, punctured));
            assert_eq!(found, (row, size), "{width:?} {bits:#x}");
        }
    }

    #[test]
    fn contents_have_the_allocations_by_turns() {
        assert_eq!(contents(Tones106, Mhz20), [[96, 0, 0, 0], [0; 4]]);
        let each = contents(Tones242, Mhz80);
        assert_eq!(each, [[192, 192, 0, 0]; 2]);
        let halves = contents(Tones484, Mhz80);
        assert_eq!(halves, [[200, 114, 0, 0], [114, 200, 0, 0]]);
        let both = contents(Tones996, Mhz160);
        assert_eq!(both, [[208, 115, 115, 115], [115, 115, 208, 115]]);
    }
}
