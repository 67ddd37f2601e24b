// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often LDPC's codewords are lost in white Gaussian noise. The table comes from a simulation
//! of the code itself (`examples/codewords.rs`), since no formula gives it. Codewords have 1944
//! bits, as most of a longer frame's have, and belief propagation has 12 iterations.
//!
//! Frames of a few hundred octets have shorter codewords, which need some tenths of a dB more; that is
//! not modelled.

use crate::rate::Scheme;

/// Bits of a codeword.
const WORD: f64 = 1944.0;
const STEP_DB: f64 = 0.25;

/// For each MCS the ratio in dB at the first entry. After it comes the share of codewords that is
/// lost there and at each further quarter of a dB.
const LOST: [(f64, &[f64]); 14] = [
    // MCS 0
    (
        -2.00,
        &[
            9.646e-1, 8.596e-1, 5.435e-1, 2.379e-1, 8.839e-2, 2.036e-2, 4.000e-3,
        ],
    ),
    // MCS 1
    (
        1.00,
        &[
            9.615e-1, 8.242e-1, 5.319e-1, 2.804e-1, 8.139e-2, 2.002e-2, 5.200e-3, 1.000e-3,
        ],
    ),
    // MCS 2
    (
        3.75,
        &[9.554e-1, 7.812e-1, 3.891e-1, 1.156e-1, 2.010e-2, 2.650e-3],
    ),
    // MCS 3
    (
        6.50,
        &[
            9.375e-1, 7.444e-1, 4.710e-1, 2.483e-1, 8.475e-2, 2.265e-2, 8.050e-3, 1.900e-3,
        ],
    ),
    // MCS 4
    (
        9.75,
        &[
            9.804e-1, 8.451e-1, 5.376e-1, 2.357e-1, 5.433e-2, 1.100e-2, 1.300e-3,
        ],
    ),
    // MCS 5
    (
        13.75,
        &[
            9.091e-1, 6.742e-1, 4.005e-1, 1.451e-1, 4.763e-2, 1.105e-2, 1.900e-3,
        ],
    ),
    // MCS 6
    (
        15.00,
        &[
            9.868e-1, 8.596e-1, 6.276e-1, 3.021e-1, 9.509e-2, 2.281e-2, 4.250e-3,
        ],
    ),
    // MCS 7
    (
        16.50,
        &[
            9.709e-1, 8.523e-1, 5.917e-1, 3.074e-1, 1.015e-1, 2.509e-2, 4.800e-3,
        ],
    ),
    // MCS 8
    (
        20.00,
        &[
            9.868e-1, 8.982e-1, 6.536e-1, 3.886e-1, 1.856e-1, 6.318e-2, 1.370e-2, 3.350e-3,
        ],
    ),
    // MCS 9
    (
        22.00,
        &[
            8.824e-1, 7.026e-1, 4.392e-1, 1.951e-1, 6.690e-2, 1.839e-2, 4.250e-3,
        ],
    ),
    // MCS 10
    (
        25.25,
        &[
            9.009e-1, 6.608e-1, 4.360e-1, 1.985e-1, 7.322e-2, 2.804e-2, 6.600e-3, 1.850e-3,
        ],
    ),
    // MCS 11
    (
        27.25,
        &[
            9.317e-1, 7.264e-1, 4.637e-1, 2.591e-1, 1.150e-1, 4.044e-2, 1.015e-2, 3.200e-3,
        ],
    ),
    // MCS 12
    (
        30.25,
        &[
            8.876e-1, 7.463e-1, 4.405e-1, 2.467e-1, 1.003e-1, 3.956e-2, 1.265e-2, 3.550e-3,
            1.250e-3,
        ],
    ),
    // MCS 13
    (
        32.25,
        &[
            9.868e-1, 9.375e-1, 8.043e-1, 5.693e-1, 3.191e-1, 1.527e-1, 6.018e-2, 2.325e-2,
            6.000e-3, 1.750e-3,
        ],
    ),
];

/// Probability per data bit such that a codeword's bits are all right as often as the codeword.
pub(crate) fn bit_error_rate(scheme: Scheme, sinr: f64) -> f64 {
    let (_, code) = scheme.constellation();
    let (data, coded) = code.ratio();
    let bits = WORD * f64::from(data) / f64::from(coded);
    -libm::expm1(libm::log1p(-lost(scheme.mcs, 10.0 * libm::log10(sinr))) / bits)
}

/// Share of codewords that is lost. Between entries and beyond the last it follows straight lines
/// of its logarithm. Before the first one it reaches all within a step.
fn lost(mcs: u8, db: f64) -> f64 {
    let (first, shares) = LOST[usize::from(mcs)];
    let place = (db - first) / STEP_DB;
    if place <= -1.0 {
        return 1.0;
    }
    if place < 0.0 {
        return 1.0 + (place + 1.0) * (shares[0] - 1.0);
    }
    let low = (place as usize).min(shares.len() - 2);
    let slope = libm::log(shares[low + 1] / shares[low]);
    shares[low] * libm::exp((place - low as f64) * slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Guard, Rate, Width};

    /// Ratio in dB at which half of the frames of 1458 octets come through, of MCS 0 to 11. It is
    /// read off the tables of ns-3.37's TableBasedErrorRateModel, which are of link simulations by
    /// others.
    const NS3_DB: [f64; 12] = [
        -0.94, 2.07, 4.57, 7.55, 10.61, 14.78, 16.15, 17.65, 21.29, 23.09, 26.38, 28.43,
    ];

    #[test]
    fn half_of_the_frames_come_through_where_link_simulations_say() {
        for (mcs, expected) in (0..12).zip(NS3_DB) {
            let rate = Rate::he(mcs, 1, Width::Mhz20, Guard::Ns800).expect("an HE rate");
            let scheme = rate.scheme().expect("a scheme");
            let success = |db: f64| {
                let wrong = bit_error_rate(scheme, libm::pow(10.0, db / 10.0));
                libm::exp(1458.0 * 8.0 * libm::log1p(-wrong))
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
            let off = low - expected;
            assert!(off.abs() < 0.2, "MCS {mcs}: {low} dB, {off:+.2}");
        }
    }

    #[test]
    fn a_codeword_is_lost_the_less_the_better_it_is_heard() {
        for mcs in 0..12 {
            let shares: [f64; 400] =
                core::array::from_fn(|step| lost(mcs, step as f64 / 8.0 - 10.0));
            assert!(shares.is_sorted_by(|a, b| a >= b), "MCS {mcs}");
            assert_eq!(shares[0], 1.0);
            assert!(shares[399] < 1e-9);
        }
    }
}
