// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Named random streams: each entity draws from its own, so that adding a consumer does not
//! disturb the others.
//!
//! A stream follows from the scenario's seed and the entity's name alone. Its generator is
//! xoshiro256** (Blackman, Vigna 2018). Its first state is the SHA-256 of `SEED/NAME`, read as four
//! little-endian 64-bit words. The seed is in decimal, the name in UTF-8: `1/dsr/n0`.

use crate::Duration;
use core::fmt::{self, Write};
use sha2::{Digest, Sha256};

/// A random stream.
#[derive(Clone, Debug)]
pub struct Stream([u64; 4]);

struct Hash(Sha256);

impl Hash {
    /// The state of a generator that begins.
    fn state(self) -> [u64; 4] {
        let digest = self.0.finalize();
        let mut state = [0u64; 4];
        for (word, octets) in state.iter_mut().zip(digest.chunks_exact(8)) {
            *word = octets
                .iter()
                .rev()
                .fold(0, |value, octet| value << 8 | u64::from(*octet));
        }
        state
    }
}

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

impl Stream {
    /// The stream of the entity `name` in the scenario with this seed.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut hash = Hash(Sha256::new());
        // `Hash` takes whatever is written.
        let _ = write!(hash, "{seed}/{name}");
        Self(hash.state())
    }

    /// From now on it is another stream, which follows from this one and a seed. Its state is the
    /// SHA-256 of `SEED/STATE`, where the state is a list of decimal numbers in brackets.
    pub fn reseed(&mut self, seed: u64) {
        let mut hash = Hash(Sha256::new());
        let _ = write!(hash, "{seed}/{:?}", self.0);
        self.0 = hash.state();
    }

    /// Uniform over all 64-bit numbers.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in 0..bound; the bias of the multiplication is below bound / 2^64.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u32
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform from zero to `longest`, both included. Zero draws nothing.
    pub fn up_to(&mut self, longest: Duration) -> Duration {
        if longest.is_zero() {
            return Duration::ZERO;
        }
        Duration(((u128::from(self.bits()) * (u128::from(longest.0) + 1)) >> 64) as u64)
    }

    /// Normal with mean 0 and variance 1 (Box, Muller 1958).
    pub fn gaussian(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.unit())
    }

    /// Gamma with shape `k` and scale 1 (Marsaglia, Tsang 2000).
    pub fn gamma(&mut self, k: f64) -> f64 {
        if k < 1.0 {
            return self.gamma(k + 1.0) * libm::pow(1.0 - self.unit(), 1.0 / k);
        }
        let d = k - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.gaussian();
            let v = 1.0 + c * x;
            if v > 0.0 {
                let v = v * v * v;
                if libm::log(1.0 - self.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                    return d * v;
                }
            }
        }
    }
}
