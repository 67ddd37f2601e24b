// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Mersenne Twister (Matsumoto, Nishimura 1998), as Python's `random.Random(seed).random()` draws
//! from it: runs of Hoplab's first versions repeat with the same gaps and sizes.

use alloc::vec::Vec;
use sha2::{Digest, Sha512};

const N: usize = 624;
const M: usize = 397;

#[derive(Clone, Debug)]
pub(crate) struct Twister {
    words: [u32; N],
    next: usize,
}

impl Twister {
    /// The generator that a whole number seeds.
    pub(crate) fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        match high {
            0 => Self::of_words(&[low]),
            _ => Self::of_words(&[low, high]),
        }
    }

    /// The generator that a text seeds: by the number whose octets, the highest first, are those of
    /// the text and its SHA-512.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut octets = text.as_bytes().to_vec();
        octets.extend_from_slice(&Sha512::digest(text));
        let word = |part: &[u8]| {
            part.iter()
                .fold(0, |word, octet| word << 8 | u32::from(*octet))
        };
        let words: Vec<u32> = octets.rchunks(4).map(word).collect();
        Self::of_words(&words)
    }

    /// init_by_array of a number's 32-bit words, the least first.
    fn of_words(key: &[u32]) -> Self {
        let mut words = [0u32; N];
        words[0] = 19_650_218;
        for i in 1..N {
            words[i] = mixed(words[i - 1], 1_812_433_253).wrapping_add(i as u32);
        }
        let mut i = 1;
        for k in 0..N.max(key.len()) {
            let j = k % key.len();
            words[i] = (words[i] ^ mixed(words[i - 1], 1_664_525))
                .wrapping_add(key[j])
                .wrapping_add(j as u32);
            i = following(&mut words, i);
        }
        for _ in 1..N {
            words[i] = (words[i] ^ mixed(words[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
            i = following(&mut words, i);
        }
        words[0] = 1 << 31;
        Twister { words, next: N }
    }

    /// Uniform in [0, 1), of 53 bits.
    pub(crate) fn unit(&mut self) -> f64 {
        let (high, low) = (self.bits() >> 5, self.bits() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    fn bits(&mut self) -> u32 {
        if self.next == N {
            self.twist();
        }
        let mut y = self.words[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn twist(&mut self) {
        for k in 0..N {
            let y = (self.words[k] & 0x8000_0000) | (self.words[(k + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[k] = self.words[(k + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }
}

fn mixed(word: u32, factor: u32) -> u32 {
    (word ^ (word >> 30)).wrapping_mul(factor)
}

/// The place after `i`: past the end it is 1, and the first word becomes the last.
fn following(words: &mut [u32; N], i: usize) -> usize {
    if i + 1 < N {
        return i + 1;
    }
    words[0] = words[N - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Python: `r = random.Random(SEED); [r.random() for _ in range(3)]`, and the 1000th.
    #[test]
    fn it_draws_what_python_draws() {
        let drawn = |seed| {
            let mut twister = Twister::new(seed);
            let first: [f64; 3] = core::array::from_fn(|_| twister.unit());
            (first, (3..1000).map(|_| twister.unit()).last().unwrap())
        };
        assert_eq!(
            drawn(1),
            (
                [0.13436424411240122, 0.8474337369372327, 0.763774618976614],
                0.7062615472551386
            )
        );
        assert_eq!(
            drawn(0x123456789abcdef),
            (
                [0.8966868918276133, 0.39320805130548475, 0.8628102057466185],
                0.8841210119433661
            )
        );
    }

    #[test]
    fn a_text_seeds_it_as_it_does_pythons() {
        let drawn = |text| {
            let mut twister = Twister::of_text(text);
            core::array::from_fn::<f64, 2, _>(|_| twister.unit())
        };
        assert_eq!(drawn("7/think"), [0.5765375423951612, 0.07953928657533549]);
        assert_eq!(drawn("a"), [0.2720295377534757, 0.06733663088629693]);
    }
}
