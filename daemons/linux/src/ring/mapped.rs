// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A packet socket's receive ring (TPACKET_V2, packet_mmap.rst): the kernel writes frames into
//! shared memory, and reading them takes no system call.

use super::Room;
use crate::error::{trying, Error};
use crate::packet::FRAME;
use crate::socket;
use hoplab_base::Instant;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{fence, Ordering};

const PACKET_RX_RING: i32 = 5;
const PACKET_VERSION: i32 = 10;
const SLOTS_PER_BLOCK: usize = 16;
const _: () = assert!(FRAME + 256 <= Room::FRAMES.slot);

impl Room {
    const fn blocks(self) -> usize {
        self.frames / SLOTS_PER_BLOCK
    }

    const fn block_octets(self) -> usize {
        self.slot * SLOTS_PER_BLOCK
    }
}

/// A packet socket and its ring.
pub struct Ring {
    fd: OwnedFd,
    memory: Blocks,
    room: Room,
    next: usize,
}

impl Ring {
    /// A ring on an open packet socket that no one reads otherwise.
    pub fn new(fd: OwnedFd, room: Room) -> Result<Self, Error> {
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        let set = socket::set(&fd, libc::SOL_PACKET, PACKET_VERSION, &version);
        trying("TPACKET_V2", set)?;
        let request = libc::tpacket_req {
            tp_block_size: room.block_octets() as u32,
            tp_block_nr: room.blocks() as u32,
            tp_frame_size: room.slot as u32,
            tp_frame_nr: room.frames as u32,
        };
        let set = socket::set(&fd, libc::SOL_PACKET, PACKET_RX_RING, &request);
        trying("receive ring", set)?;
        let memory = trying("mapping the receive ring", Blocks::of(&fd, room))?;
        Ok(Ring {
            fd,
            memory,
            room,
            next: 0,
        })
    }

    /// A ring on an open packet socket of a monitor interface, whose filter lets nothing through but
    /// unicast frames between others.
    pub fn foreign(fd: OwnedFd, room: Room) -> Result<Self, Error> {
        Self::new(fd, room)
    }

    /// DSR's packets that come to the interface with this index are for this ring. IP looks at them
    /// all the same.
    pub fn serving_dsr(self, _: i32) -> Self {
        self
    }

    /// The header of the next frame, where the kernel has handed one over.
    fn next(&self) -> Option<NonNull<libc::tpacket2_hdr>> {
        let block = self.memory.block(self.next / SLOTS_PER_BLOCK);
        // SAFETY: the slot lies in its block, whose start and slots are aligned for the header
        // (packet_mmap.rst).
        let header = unsafe { block.add(self.next % SLOTS_PER_BLOCK * self.room.slot) }.cast();
        let header: NonNull<libc::tpacket2_hdr> = header;
        // SAFETY: as above; the kernel writes this word too, so it is volatile.
        let status = unsafe { (&raw const (*header.as_ptr()).tp_status).read_volatile() };
        fence(Ordering::Acquire);
        (status & libc::TP_STATUS_USER != 0).then_some(header)
    }

    /// When the next frame came, by [`real_time`](crate::kernel::real_time); `None` where none
    /// waits.
    pub fn stamp(&self) -> Option<Instant> {
        let header = self.next()?.as_ptr();
        // SAFETY: the slot is ours until its status is given back.
        let (seconds, nanoseconds) = unsafe { ((*header).tp_sec, (*header).tp_nsec) };
        Some(Instant(
            u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds),
        ))
    }

    /// Hands the next frame to `take`; false if there was none.
    pub fn read_one(&mut self, take: impl FnOnce(&[u8])) -> bool {
        let Some(header) = self.next().map(NonNull::as_ptr) else {
            return false;
        };
        let slot = self.room.slot;
        // SAFETY: the slot is ours until its status is given back.
        let (at, len) = unsafe {
            let at = usize::from((*header).tp_mac).clamp(size_of::<libc::tpacket2_hdr>(), slot);
            (at, ((*header).tp_snaplen as usize).min(slot - at))
        };
        // SAFETY: at + len does not exceed the slot, and the kernel leaves it alone.
        take(unsafe { std::slice::from_raw_parts(header.cast::<u8>().add(at), len) });
        fence(Ordering::Release);
        // SAFETY: as for the first access.
        unsafe { (&raw mut (*header).tp_status).write_volatile(libc::TP_STATUS_KERNEL) };
        self.next = (self.next + 1) % self.room.frames;
        true
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The mapping of the blocks, one behind the other.
struct Blocks {
    start: NonNull<u8>,
    room: Room,
}

impl Blocks {
    fn of(fd: &OwnedFd, room: Room) -> io::Result<Self> {
        // SAFETY: a fresh shared mapping of the ring that the kernel has just made; the result is
        // checked.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                room.block_octets() * room.blocks(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        let start = (start != libc::MAP_FAILED).then(|| NonNull::new(start.cast()));
        let start = start.flatten().ok_or_else(io::Error::last_os_error)?;
        Ok(Blocks { start, room })
    }

    /// The block of this number, which is below the room's.
    fn block(&self, number: usize) -> NonNull<u8> {
        assert!(number < self.room.blocks());
        // SAFETY: the mapping has that many blocks.
        unsafe { self.start.add(number * self.room.block_octets()) }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let octets = self.room.block_octets() * self.room.blocks();
        // SAFETY: the mapping made in `of`, which nothing refers to any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), octets) };
    }
}
