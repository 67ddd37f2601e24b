// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The queue of a packet socket, for a program in the guest's kernel
//! (kernel-modules/guest/c/resident.c).

use super::Room;
use crate::error::{trying, Error};
use hoplab_base::Instant;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// A packet socket and its queue.
pub struct Ring {
    fd: OwnedFd,
    frames: NonNull<u8>,
    room: Room,
}

impl Ring {
    /// A ring on an open packet socket that no one reads otherwise.
    pub fn new(fd: OwnedFd, room: Room) -> Result<Self, Error> {
        Self::of(fd, room, false)
    }

    /// A ring on an open packet socket of a monitor interface, whose filter lets nothing through but
    /// unicast frames between others.
    pub fn foreign(fd: OwnedFd, room: Room) -> Result<Self, Error> {
        Self::of(fd, room, true)
    }

    /// DSR's packets that come to the interface with this index, which is the socket's, are for this
    /// ring: IP need not look at them.
    pub fn serving_dsr(self, index: i32) -> Self {
        // SAFETY: the queue is the socket's, which lives as long as its descriptor.
        unsafe { hoplab_abi::hoplab_resident_serves_dsr(self.frames.as_ptr(), index) };
        self
    }

    fn of(fd: OwnedFd, room: Room, foreign: bool) -> Result<Self, Error> {
        let most = room.frames as u32;
        let frames = hoplab_abi::hoplab_resident_frames(fd.as_raw_fd(), most, foreign);
        let frames = NonNull::new(frames).ok_or(io::ErrorKind::NotFound.into());
        let frames = trying("the queue of a packet socket", frames)?;
        Ok(Ring { fd, frames, room })
    }

    fn next(&self) -> Option<(&[u8], Instant)> {
        let (mut length, mut stamp) = (0, 0);
        // SAFETY: the queue is the socket's, which lives as long as its descriptor.
        let frame = unsafe {
            hoplab_abi::hoplab_resident_frame(self.frames.as_ptr(), &mut length, &mut stamp)
        };
        let frame = NonNull::new(frame)?;
        let length = (length as usize).min(self.room.slot);
        // SAFETY: the frame has so many octets, and stays until `read_one` gives it back.
        let frame = unsafe { std::slice::from_raw_parts(frame.as_ptr(), length) };
        Some((frame, Instant(stamp)))
    }

    /// When the next frame came, by [`real_time`](crate::kernel::real_time); `None` where none
    /// waits.
    pub fn stamp(&self) -> Option<Instant> {
        self.next().map(|(_, stamp)| stamp)
    }

    /// Hands the next frame to `take`; false if there was none.
    pub fn read_one(&mut self, take: impl FnOnce(&[u8])) -> bool {
        let Some((frame, _)) = self.next() else {
            return false;
        };
        take(frame);
        // SAFETY: as in `next`; `take` has returned its frame.
        unsafe { hoplab_abi::hoplab_resident_taken(self.frames.as_ptr()) };
        true
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
