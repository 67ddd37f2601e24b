// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of things, so that none is taken for another.

use core::fmt;

/// A radio, by its place in the list of stations that [`Medium::new`](crate::Medium) got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct RadioId(u32);

impl RadioId {
    /// The radio at this place in the list.
    pub const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for RadioId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As its number, so that what holds it stays short.
impl fmt::Debug for RadioId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A radio's signal at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId {
    pub from: RadioId,
    pub to: RadioId,
}

/// Radios of one medium hear each other, on whatever channel; 0 is everybody's first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumId(pub i32);

/// The centre of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Mhz(pub u32);
