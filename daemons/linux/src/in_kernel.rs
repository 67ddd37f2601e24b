// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the kernel offers to a program that runs in it and not in a process's own memory
//! (`kernel-modules/guest/medium/hoplab_resident.c`). System calls go by the C library's names, which
//! the link leads to the kernel.

/// Of `hoplab_resident_own`.
pub(crate) const OWN_OCTETS: usize = 64;

unsafe extern "C" {
    /// The process's own room of [`OWN_OCTETS`], zero at first.
    pub(crate) fn hoplab_resident_own() -> *mut u8;
    /// Whether a signal has come that ends a wait.
    pub(crate) safe fn hoplab_resident_stopped() -> bool;
    /// Where block `block` of the receive ring at socket `fd` is; null if there is none.
    pub(crate) safe fn hoplab_resident_ring(fd: i32, block: u32) -> *mut u8;
}
