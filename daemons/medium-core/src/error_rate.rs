// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bit error rates over the signal to interference and noise ratio, in white Gaussian noise.
//!
//! The formulas, and so the numbers, are those with which ns-3's error models are validated. Pei
//! and Henderson (2010) did so in "Validation of OFDM error rate model in ns-3" and "Validation of
//! ns-3 802.11b PHY model". `sinr` is the ratio of powers in the channel's bandwidth.
//!
//! Several streams do not disturb each other. The sending antennas share the power, and all
//! receiving antennas collect each stream. Both effects cancel: each stream has the ratio of a
//! single one.

use core::f64::consts::{PI, SQRT_2};

use crate::rate::Code;
use crate::{ldpc, Modulation, Rate};

/// Bandwidth of a DSSS channel, in MHz, in which its noise is counted.
const DSSS_MHZ: f64 = 22.0;

/// Probability that a bit at `rate` spoils its frame. For OFDM it is the rate after the
/// convolutional decoder. For CCK, all bits of a code word together are right as often as the word.
pub fn bit_error_rate(rate: Rate, sinr: f64) -> f64 {
    let wrong = match rate.modulation() {
        Modulation::Dsss => dsss(rate, sinr * DSSS_MHZ),
        Modulation::Ofdm => {
            let (points, code) = constellation(rate);
            decoded(uncoded(points, sinr), code)
        }
        Modulation::Ht(scheme) | Modulation::Vht(scheme) => {
            let (bits, code) = scheme.constellation();
            decoded(uncoded(1 << bits, sinr), code)
        }
        Modulation::He(scheme) | Modulation::Eht(scheme) => ldpc::bit_error_rate(scheme, sinr),
    };
    // A bound may exceed 1/2, but no decoder is worse than guessing.
    wrong.clamp(0.0, 0.5)
}

/// `energy` is that of a microsecond over the noise's density.
fn dsss(rate: Rate, energy: f64) -> f64 {
    match rate {
        Rate::DSSS_1 => 0.5 * libm::exp(-energy),
        Rate::DSSS_2 => dqpsk(energy / 2.0),
        // 4 bits a code word at 1.375 Mword/s.
        Rate::CCK_5_5 => per_bit(biorthogonal(energy / 1.375 / 2.0), 4.0),
        // 8 bits a code word: two independent halves, each with half of its energy.
        _ => per_bit(biorthogonal(energy / 1.375 / 2.0 / 2.0), 4.0),
    }
}

/// Points and convolutional code of an OFDM rate (17.3.2.3, table 17-4).
fn constellation(rate: Rate) -> (u32, Code) {
    match rate {
        Rate::OFDM_6 => (2, Code::Half),
        Rate::OFDM_9 => (2, Code::ThreeQuarters),
        Rate::OFDM_12 => (4, Code::Half),
        Rate::OFDM_18 => (4, Code::ThreeQuarters),
        Rate::OFDM_24 => (16, Code::Half),
        Rate::OFDM_36 => (16, Code::ThreeQuarters),
        Rate::OFDM_48 => (64, Code::TwoThirds),
        _ => (64, Code::ThreeQuarters),
    }
}

fn per_bit(word: f64, bits: f64) -> f64 {
    // 1 - (1 - word)^(1 / bits), without loss of digits for a tiny `word`.
    -libm::expm1(libm::log1p(-word) / bits)
}

/// Differential QPSK at `x` = Eb/N0 (Ferrari, Corazza 2004, tight approximation).
fn dqpsk(x: f64) -> f64 {
    (SQRT_2 + 1.0) / libm::sqrt(8.0 * PI * SQRT_2) / libm::sqrt(x) * libm::exp(-(2.0 - SQRT_2) * x)
}

/// Symbol error rate of 16 biorthogonal signals in noise. `e` is half the symbol's Es/N0 of Proakis
/// (Digital Communications, 4th ed., 5.2-34), with sqrt(2 Es/N0) = 2 sqrt(e).
fn biorthogonal(e: f64) -> f64 {
    const STEPS: usize = 200;
    let start = -libm::sqrt(2.0 * e);
    // Beyond 8 standard deviations nothing is left.
    let (low, high) = (start.max(-8.0), 8.0);
    let width = (high - low) / STEPS as f64;
    let value = |v: f64| {
        let within = libm::erf((v + libm::sqrt(2.0 * e)) / SQRT_2);
        // 16 biorthogonal signals are 8 axes with two signs. The right axis must beat 7 others.
        libm::pow(within.max(0.0), 7.0) * libm::exp(-v * v / 2.0)
    };
    // Simpson's rule; `STEPS` is even.
    let mut sum = value(low) + value(high);
    for step in 1..STEPS {
        let weight = if step % 2 == 1 { 4.0 } else { 2.0 };
        sum += weight * value(low + width * step as f64);
    }
    1.0 - sum * width / 3.0 / libm::sqrt(2.0 * PI)
}

/// Gray-coded BPSK, QPSK, 16-QAM, 64-QAM, 256-QAM without code.
fn uncoded(points: u32, sinr: f64) -> f64 {
    let tail = |factor: f64, over: f64| factor * 0.5 * libm::erfc(libm::sqrt(sinr / over));
    match points {
        2 => tail(1.0, 1.0),
        4 => tail(1.0, 2.0),
        16 => tail(0.75, 10.0),
        64 => tail(7.0 / 12.0, 42.0),
        _ => tail(15.0 / 32.0, 170.0),
    }
}

/// Union bound on hard-decision Viterbi decoding of the (133, 171) code. The weight spectra of rate
/// 1/2 are of Frenger, Orten, Ottosson 1999, those of 2/3, 3/4 and 5/6 of Haccoun, Begin 1989.
fn decoded(p: f64, code: Code) -> f64 {
    // Data bits of a puncturing period, free distance, step to the next distance, and bit errors at
    // each distance. The code of rate 1/2 has even distances only.
    let (b, first, step, weights): (f64, i32, i32, &[f64]) = match code {
        Code::Half => (
            1.0,
            10,
            2,
            &[
                36.0,
                211.0,
                1404.0,
                11633.0,
                77433.0,
                502690.0,
                3322763.0,
                21292910.0,
                134365911.0,
            ],
        ),
        Code::TwoThirds => (
            2.0,
            6,
            1,
            &[
                3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117019.0, 498860.0, 2103891.0, 8784123.0,
            ],
        ),
        Code::ThreeQuarters => (
            3.0,
            5,
            1,
            &[
                42.0,
                201.0,
                1492.0,
                10469.0,
                62935.0,
                379644.0,
                2253373.0,
                13073811.0,
                75152755.0,
                428005675.0,
            ],
        ),
        Code::FiveSixths => (
            5.0,
            4,
            1,
            &[
                92.0,
                528.0,
                8694.0,
                79453.0,
                792114.0,
                7375573.0,
                67884974.0,
                610875423.0,
                5427275376.0,
                47664215639.0,
            ],
        ),
    };
    // Two paths of distance n are confused with a probability of at most d^n / 2 (Bhattacharyya).
    let d = libm::sqrt(4.0 * p * (1.0 - p));
    let mut power = libm::pow(d, f64::from(first));
    let ratio = libm::pow(d, f64::from(step));
    let mut sum = 0.0;
    for weight in weights {
        sum += weight * power;
        power *= ratio;
    }
    sum / (2.0 * b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Width;

    fn success(rate: f64, snr_db: f64, bytes: f64) -> f64 {
        let rate = Rate::from_mbps(rate).expect("a rate of the standard");
        let wrong = bit_error_rate(rate, libm::pow(10.0, snr_db / 10.0));
        libm::exp(bytes * 8.0 * libm::log1p(-wrong))
    }

    /// Values with which ns-3 checks its DSSS model: 1078 bytes, noise -93.5523 dB.
    #[test]
    fn dsss_agrees_with_the_validation_of_ns3() {
        let points = [
            (1.0, -98.0, 0.202),
            (1.0, -97.0, 0.813),
            (1.0, -96.0, 0.984),
            (2.0, -94.0, 0.036),
            (2.0, -93.0, 0.519),
            (2.0, -92.0, 0.915),
            (5.5, -91.0, 0.132),
            (5.5, -90.0, 0.744),
            (5.5, -89.0, 0.974),
            (11.0, -88.0, 0.128),
            (11.0, -87.0, 0.739),
            (11.0, -86.0, 0.973),
        ];
        for (rate, dbw, expected) in points {
            let found = success(rate, dbw + 93.5522786, 1078.0);
            assert!((found - expected).abs() < 0.005, "{rate} at {dbw}: {found}");
        }
    }

    /// Values with which ns-3 checks its OFDM (NIST) model: 2000 bytes.
    #[test]
    fn ofdm_agrees_with_the_validation_of_ns3() {
        let points = [
            (6.0, 3.0, 0.020),
            (6.0, 4.0, 0.885),
            (9.0, 6.0, 0.097),
            (9.0, 7.0, 0.918),
            (12.0, 6.0, 0.0174),
            (12.0, 7.0, 0.881),
            (18.0, 9.5, 0.623),
            (18.0, 10.5, 0.985),
            (24.0, 13.0, 0.495),
            (24.0, 14.0, 0.974),
            (36.0, 15.5, 0.012),
            (36.0, 16.5, 0.818),
            (48.0, 21.0, 0.649),
            (48.0, 22.0, 0.983),
            (54.0, 22.0, 0.410),
            (54.0, 23.0, 0.958),
        ];
        for (rate, snr_db, expected) in points {
            let found = success(rate, snr_db, 2000.0);
            assert!(
                (found - expected).abs() < 0.001,
                "{rate} at {snr_db}: {found}"
            );
        }
    }
    /// Ratio in dB at which half of the frames of 2000 bytes come through.
    fn half_db(rate: Option<Rate>) -> f64 {
        let rate = rate.expect("a rate");
        let success = |db: f64| {
            let wrong = bit_error_rate(rate, libm::pow(10.0, db / 10.0));
            libm::exp(16000.0 * libm::log1p(-wrong))
        };
        let (mut low, mut high) = (-10.0, 50.0);
        while high - low > 1e-6 {
            let middle = (low + high) / 2.0;
            *(if success(middle) < 0.5 {
                &mut low
            } else {
                &mut high
            }) = middle;
        }
        low
    }

    /// What modulation and code OFDM has too goes wrong as often; each further MCS needs more.
    #[test]
    fn ht_and_vht_need_what_their_modulation_and_code_need() {
        for index in 0..7 {
            let rate = Rate::ht(index, Width::Mhz20, true).expect("an HT rate");
            for sinr in [1.0, 10.0, 100.0] {
                let like = bit_error_rate(rate.reference(), sinr);
                assert_eq!(bit_error_rate(rate, sinr), like, "{rate}");
            }
        }
        let needs: [f64; 10] =
            core::array::from_fn(|mcs| half_db(Rate::vht(mcs as u8, 2, Width::Mhz80, false)));
        assert!(needs.is_sorted(), "{needs:?}");
        // At equal power the squared distance of 256-QAM's points is 21/85 of 64-QAM's, 6.07 dB
        // less. A little less than that counts, as a wrong point has a smaller part of its bits
        // wrong.
        let more = needs[8] - needs[6];
        assert!((5.7..6.07).contains(&more), "{needs:?}");
    }
}
