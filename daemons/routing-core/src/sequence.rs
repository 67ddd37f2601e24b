// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sequence numbers of 32 and of 16 bits, which roll over.

/// A number that says which of two pieces of news is fresher. The comparison is that of signed
/// subtraction (RFC 3561 §6.1), so it holds across the roll-over. It is no total order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence(pub u32);

impl Sequence {
    pub fn is_newer_than(self, other: Sequence) -> bool {
        (self.0.wrapping_sub(other.0) as i32) > 0
    }

    pub fn next(self) -> Sequence {
        Sequence(self.0.wrapping_add(1))
    }

    /// The fresher of both.
    pub fn newest(self, other: Sequence) -> Sequence {
        match other.is_newer_than(self) {
            true => other,
            false => self,
        }
    }
}

/// The same in 16 bits (RFC 3626 §19). Of two numbers that are half of all apart, neither is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence16(pub u16);

impl Sequence16 {
    pub fn is_newer_than(self, other: Sequence16) -> bool {
        (self.0.wrapping_sub(other.0) as i16) > 0
    }

    pub fn next(self) -> Sequence16 {
        Sequence16(self.0.wrapping_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_newer_across_the_roll_over() {
        let last = Sequence(u32::MAX);
        assert_eq!(last.next(), Sequence(0));
        assert!(Sequence(0).is_newer_than(last));
        assert!(!last.is_newer_than(Sequence(0)));
        assert!(!last.is_newer_than(last));
        assert_eq!(last.newest(Sequence(3)), Sequence(3));
        assert_eq!(Sequence(3).newest(last), Sequence(3));
        // Half of all numbers are newer.
        assert!(Sequence(0x7fff_ffff).is_newer_than(Sequence(0)));
        assert!(!Sequence(0x8000_0001).is_newer_than(Sequence(0)));
    }

    #[test]
    fn sixteen_bits_roll_over_too() {
        let last = Sequence16(u16::MAX);
        assert_eq!(last.next(), Sequence16(0));
        assert!(Sequence16(0).is_newer_than(last) && !last.is_newer_than(Sequence16(0)));
        assert!(Sequence16(0x7fff).is_newer_than(Sequence16(0)));
        assert!(!Sequence16(0x8000).is_newer_than(Sequence16(0)));
    }
}
