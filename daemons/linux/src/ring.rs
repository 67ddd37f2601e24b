// SPDX-License-Identifier: Apache-2.0
//! A packet socket's receive ring (TPACKET_V2, packet_mmap.rst): the kernel writes frames into
//! shared memory, and reading them takes no system call.

use crate::error::{trying, Error};
use crate::packet::FRAME;
use crate::socket::{self};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{fence, Ordering};

const PACKET_RX_RING: i32 = 5;
const PACKET_VERSION: i32 = 10;
/// Holds the longest frame behind the kernel's headers.
const SLOT: usize = 4096;
const _: () = assert!(FRAME + 256 <= SLOT);
const SLOTS_PER_BLOCK: usize = 16;
const BLOCKS: usize = 8;
const SLOTS: usize = SLOTS_PER_BLOCK * BLOCKS;

/// A packet socket and its ring.
pub struct Ring {
    fd: OwnedFd,
    memory: NonNull<u8>,
    next: usize,
}

impl Ring {
    /// A ring on an open packet socket that no one reads otherwise.
    pub fn new(fd: OwnedFd) -> Result<Self, Error> {
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        let set = socket::set(&fd, libc::SOL_PACKET, PACKET_VERSION, &version);
        trying("TPACKET_V2", set)?;
        let request = libc::tpacket_req {
            tp_block_size: (SLOT * SLOTS_PER_BLOCK) as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        let set = socket::set(&fd, libc::SOL_PACKET, PACKET_RX_RING, &request);
        trying("receive ring", set)?;
        // SAFETY: a fresh shared mapping of the ring that the kernel has just made; the result is
        // checked.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SLOT * SLOTS,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        let memory = (memory != libc::MAP_FAILED)
            .then(|| NonNull::new(memory.cast()))
            .flatten();
        let Some(memory) = memory else {
            return trying(
                "mapping the receive ring",
                Err(std::io::Error::last_os_error()),
            );
        };
        Ok(Ring {
            fd,
            memory,
            next: 0,
        })
    }

    /// Hands every waiting frame to `take`; false if there was none.
    pub fn read(&mut self, mut take: impl FnMut(&[u8])) -> bool {
        let mut any = false;
        loop {
            // SAFETY: `next` is below SLOTS, so the slot lies in the mapping, whose start and
            // slots are aligned for the header (packet_mmap.rst).
            let header: *mut libc::tpacket2_hdr =
                unsafe { self.memory.as_ptr().add(self.next * SLOT).cast() };
            // SAFETY: as above; the kernel writes this word too, hence volatile.
            let status = unsafe { (&raw const (*header).tp_status).read_volatile() };
            if status & libc::TP_STATUS_USER == 0 {
                return any;
            }
            any = true;
            fence(Ordering::Acquire);
            // SAFETY: the slot is ours until its status is given back.
            let (at, len) = unsafe {
                let at = usize::from((*header).tp_mac).clamp(size_of::<libc::tpacket2_hdr>(), SLOT);
                (at, ((*header).tp_snaplen as usize).min(SLOT - at))
            };
            // SAFETY: at + len does not exceed the slot, and the kernel leaves it alone.
            take(unsafe { std::slice::from_raw_parts(header.cast::<u8>().add(at), len) });
            fence(Ordering::Release);
            // SAFETY: as for the first access.
            unsafe { (&raw mut (*header).tp_status).write_volatile(libc::TP_STATUS_KERNEL) };
            self.next = (self.next + 1) % SLOTS;
        }
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, which nothing refers to any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), SLOT * SLOTS) };
    }
}
