// SPDX-License-Identifier: Apache-2.0
//! Named random streams: adding a consumer does not disturb the others.

use sha2::{Digest, Sha256};

/// xoshiro256** (Blackman, Vigna 2018), seeded with SHA-256 of `"<seed>/<name>"`.
#[derive(Clone, Debug)]
pub struct Stream([u64; 4]);

impl Stream {
    pub fn new(seed: u64, name: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_string());
        hash.update("/");
        hash.update(name);
        let bytes = hash.finalize();
        let mut state = [0u64; 4];
        for (word, chunk) in state.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes"));
        }
        Self(state)
    }

    fn next(&mut self) -> u64 {
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
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal with mean 0 and variance 1 (Box, Muller 1958).
    pub fn gaussian(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
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
