// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HE's low-density parity-check code: how many symbols it fills, and how often its codewords are
//! lost.

mod errors;

pub(crate) use errors::bit_error_rate;

use crate::rate::Scheme;

/// Parts of a symbol to which the last one is filled (802.11ax-2021 27.3.12.1).
const PARTS: u64 = 4;
/// Bits of the code's three lengths (IEEE 802.11-2020 table 19-15).
const SHORT: u64 = 648;
const MIDDLE: u64 = 1296;
const LONG: u64 = 1944;

/// Symbols of so many bits, service bits included (802.11ax-2021 27.3.12.5.2 and 27.3.12.5.4, for one
/// user without space-time block code).
pub(crate) fn symbols(bits: u64, scheme: Scheme) -> u64 {
    let symbol = scheme.he_symbol();
    let [coded, data, coded_short, data_short] = [
        symbol.coded,
        symbol.data,
        symbol.coded_short,
        symbol.data_short,
    ]
    .map(u64::from);
    let symbols = bits.div_ceil(data);
    let excess = bits % data;
    // How many of its parts the last symbol is filled to.
    let parts = match excess {
        0 => PARTS,
        _ => excess.div_ceil(data_short).min(PARTS),
    };
    let (last_data, last_coded) = if parts == PARTS {
        (data, coded)
    } else {
        (parts * data_short, parts * coded_short)
    };
    let payload = (symbols - 1) * data + last_data;
    let available = (symbols - 1) * coded + last_coded;
    // A further part makes a further symbol where the last one is full.
    symbols + u64::from(parts == PARTS && needs_more(payload, available, scheme))
}

/// Whether a further part of a symbol is sent, because too much of the codewords would be left out
/// (19.3.11.7.5, steps b to d).
fn needs_more(payload: u64, available: u64, scheme: Scheme) -> bool {
    let (numerator, denominator) = scheme.constellation().1.ratio();
    let (numerator, denominator) = (u64::from(numerator), u64::from(denominator));
    let parity = denominator - numerator;
    // Whether the bits hold the payload and the check bits of a codeword so long.
    let holds =
        |check_bits: u64| available * denominator >= payload * denominator + check_bits * parity;
    let (words, length) = if available <= SHORT {
        (1, if holds(912) { MIDDLE } else { SHORT })
    } else if available <= MIDDLE {
        (1, if holds(1464) { LONG } else { MIDDLE })
    } else if available <= LONG {
        (1, LONG)
    } else if available <= 2 * MIDDLE {
        (2, if holds(2916) { LONG } else { MIDDLE })
    } else {
        ((payload * denominator).div_ceil(LONG * numerator), LONG)
    };
    let whole = words * length;
    let shortened = (whole * numerator / denominator).saturating_sub(payload);
    let punctured = whole.saturating_sub(available + shortened);
    let exceeds = |tenths: u64| 10 * punctured * denominator > tenths * whole * parity;
    (exceeds(1) && 10 * shortened * parity < 12 * punctured * numerator) || exceeds(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Guard, Rate, Width};

    fn of(bits: u64, mcs: u8, streams: u8, width: Width) -> u64 {
        let rate = Rate::he(mcs, streams, width, Guard::Ns800).expect("an HE rate");
        symbols(bits, rate.scheme().expect("a scheme"))
    }

    /// MCS 0 on 20 MHz: 117 data bits a symbol, 30 of them in each part but the last.
    #[test]
    fn a_frame_fills_whole_symbols() {
        // A BPSK symbol's 117 bits make one codeword of 648, of which 207 are shortened. Of 234
        // coded bits 207 would be left out, far beyond three tenths of its check bits.
        assert_eq!(of(117, 0, 1, Width::Mhz20), 2);
        // A part that is not the last has room after it.
        assert_eq!(of(90, 0, 1, Width::Mhz20), 1);
        assert_eq!(of(118, 0, 1, Width::Mhz20), 2);
    }

    /// Of a long frame the code's lengths fit so well that no further symbol is sent.
    #[test]
    fn long_frames_last_as_their_bits() {
        for (mcs, width, data) in [
            (0, Width::Mhz20, 117),
            (11, Width::Mhz20, 1950),
            (11, Width::Mhz80, 8166),
            (11, Width::Mhz160, 16333),
        ] {
            let mut further = 0;
            for bits in (1_000_000..1_000_000 + 4 * data).step_by(97) {
                further += of(bits, mcs, 1, width) - bits.div_ceil(data);
            }
            assert_eq!(further, 0, "MCS {mcs}");
        }
    }
}
