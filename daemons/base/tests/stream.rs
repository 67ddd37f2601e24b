// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The derivation of streams is fixed: another one would change every run's outcome.

use hoplab_base::{Duration, Stream};

/// Worked out apart from this code: xoshiro256** over the SHA-256 of "1/dsr/n0".
#[test]
fn a_stream_follows_from_seed_and_name() {
    let mut stream = Stream::new(1, "dsr/n0");
    let first: [u64; 4] = std::array::from_fn(|_| stream.bits());
    let expected = [
        0x9e46_e198_f5d3_c116,
        0x6d4e_6d6d_b0ef_e73f,
        0x13a6_0211_d2e6_267c,
        0x5759_8ae2_45cd_ff8d,
    ];
    assert_eq!(first, expected);
}

#[test]
fn seed_and_name_both_count() {
    let first = |seed, name| Stream::new(seed, name).bits();
    assert_ne!(first(1, "n0"), first(2, "n0"));
    assert_ne!(first(1, "n0"), first(1, "n1"));
    // The separator keeps 1 and "1/a" from being 11 and "a".
    assert_ne!(first(1, "1/a"), first(11, "a"));
}

#[test]
fn draws_stay_within_their_bounds() {
    let mut stream = Stream::new(7, "bounds");
    let longest = Duration(2);
    let mut seen = [false; 3];
    for _ in 0..1000 {
        assert!(stream.below(5) < 5);
        assert!((0.0..1.0).contains(&stream.unit()));
        seen[stream.up_to(longest).0 as usize] = true;
    }
    assert_eq!(seen, [true; 3], "both ends of 0..=2 are drawn");
    assert_eq!(stream.up_to(Duration::ZERO), Duration::ZERO);
    assert!(stream.up_to(Duration::MAX) < Duration::MAX);
}

/// Mean and variance of 100 000 draws, within five standard errors.
#[test]
fn normal_and_gamma_have_their_moments() {
    let mut stream = Stream::new(7, "moments");
    let mut moments = |mut draw: Box<dyn FnMut(&mut Stream) -> f64>| {
        let n = 100_000;
        let all: Vec<f64> = (0..n).map(|_| draw(&mut stream)).collect();
        let mean = all.iter().sum::<f64>() / f64::from(n);
        let square = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        (mean, square / f64::from(n))
    };
    let (mean, variance) = moments(Box::new(Stream::gaussian));
    assert!(mean.abs() < 0.016 && (variance - 1.0).abs() < 0.023);
    // Gamma(k, 1): mean k, variance k, fourth central moment 3k^2 + 6k.
    for k in [0.5f64, 3.0] {
        let (mean, variance) = moments(Box::new(move |s| s.gamma(k)));
        let error = 5.0 / 100_000f64.sqrt();
        assert!((mean - k).abs() < error * k.sqrt(), "{mean}");
        let spread = (2.0 * k * k + 6.0 * k).sqrt();
        assert!((variance - k).abs() < error * spread, "{variance}");
    }
}

#[test]
fn a_stream_that_is_seeded_anew_follows_from_its_past_and_the_seed() {
    let after = |drawn: usize, seed: u64| {
        let mut stream = Stream::new(1, "name");
        for _ in 0..drawn {
            stream.bits();
        }
        stream.reseed(seed);
        stream.bits()
    };
    assert_eq!(after(3, 2), after(3, 2));
    assert_ne!(after(3, 2), after(3, 1));
    assert_ne!(after(3, 2), after(4, 2));
    assert_ne!(after(0, 2), Stream::new(2, "name").bits());
}
