// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A packet socket whose frames are read without a system call, each with the time at which it
//! came. A process has a ring in memory that it shares with the kernel. In the kernel the socket's
//! own queue is at hand.

/// What a ring holds; what finds no room is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    frames: usize,
    /// Octets for each: a frame and what the kernel puts before it.
    slot: usize,
}

impl Room {
    /// 128 frames of any length.
    pub const FRAMES: Room = Room {
        frames: 128,
        slot: 4096,
    };
    /// 64 frames of any length.
    pub const FEW: Room = Room {
        frames: 64,
        slot: 4096,
    };
    /// The starts of 64 frames, at least 128 octets of each.
    pub const STARTS: Room = Room {
        frames: 64,
        slot: 256,
    };

    /// Frames that it holds.
    pub const fn frames(self) -> usize {
        self.frames
    }
}

#[cfg(not(feature = "in-kernel"))]
mod mapped;
#[cfg(feature = "in-kernel")]
mod queued;

#[cfg(not(feature = "in-kernel"))]
pub use mapped::Ring;
#[cfg(feature = "in-kernel")]
pub use queued::Ring;

impl Ring {
    /// Hands every waiting frame to `take`; false if there was none.
    pub fn read(&mut self, mut take: impl FnMut(&[u8])) -> bool {
        let mut any = false;
        while self.read_one(&mut take) {
            any = true;
        }
        any
    }
}
