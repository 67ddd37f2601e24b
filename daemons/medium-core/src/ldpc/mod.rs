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

/// How full the symbols of a user's bits are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Filled {
    symbols: u64,
    /// How many of its parts the last symbol is filled to.
    parts: u64,
}

/// Symbols of the bits of all users of a PPDU, each with its service bits included (802.11ax-2021
/// 27.3.12.5.2 and 27.3.12.5.4, without space-time block code). Each user's are filled as far as those
/// of the user with most.
pub(crate) fn symbols(mut users: impl Iterator<Item = (u64, Scheme)> + Clone) -> u64 {
    let most = users.clone().map(|(bits, scheme)| filled(bits, scheme));
    let Some(most) = most.max() else { return 0 };
    let needs = |(_, scheme): (u64, Scheme)| {
        let (payload, available) = capacity(most, scheme);
        needs_more(payload, available, scheme)
    };
    // A further part makes a further symbol where the last one is full.
    most.symbols + u64::from(most.parts == PARTS && users.any(needs))
}

fn filled(bits: u64, scheme: Scheme) -> Filled {
    let symbol = scheme.he_symbol();
    let (data, short) = (u64::from(symbol.data), u64::from(symbol.data_short));
    let excess = bits % data;
    Filled {
        symbols: bits.div_ceil(data),
        parts: match excess {
            0 => PARTS,
            _ => excess.div_ceil(short).min(PARTS),
        },
    }
}

/// Data bits and coded bits of symbols that are filled so far.
fn capacity(filled: Filled, scheme: Scheme) -> (u64, u64) {
    let symbol = scheme.he_symbol();
    let [coded, data, coded_short, data_short] = [
        symbol.coded,
        symbol.data,
        symbol.coded_short,
        symbol.data_short,
    ]
    .map(u64::from);
    let whole = filled.symbols - 1;
    let (last_data, last_coded) = match filled.parts {
        PARTS => (data, coded),
        parts => (parts * data_short, parts * coded_short),
    };
    (whole * data + last_data, whole * coded + last_coded)
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
        symbols(core::iter::once((bits, rate.scheme().expect("a scheme"))))
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

    /// The user with most symbols decides for all, and a further one of any is one of all.
    #[test]
    fn users_beside_each_other_fill_the_same_symbols() {
        let scheme = |mcs| {
            let rate = Rate::he(mcs, 1, Width::Mhz20, Guard::Ns800).expect("an HE rate");
            rate.scheme().expect("a scheme")
        };
        let together = |users: &[(u64, u8)]| {
            let users = users.iter().map(|(bits, mcs)| (*bits, scheme(*mcs)));
            symbols(users)
        };
        // 117 bits fill a symbol of MCS 0, which needs a further one; 1950 of MCS 11 are one too.
        assert_eq!(together(&[(30, 0), (30, 11)]), 1);
        assert_eq!(together(&[(117, 0), (30, 11)]), 2);
        assert_eq!(
            together(&[(10, 0), (3000, 11)]),
            of(3000, 11, 1, Width::Mhz20)
        );
        assert_eq!(symbols([].into_iter()), 0);
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
