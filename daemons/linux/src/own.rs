// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each process has once. A program in the guest's kernel shares its statics with all others of
//! its kind, so there the kernel keeps this for each process.

use std::sync::atomic::AtomicU64;

/// Counters of a process: one for each kind of system call that is counted.
pub(crate) const COUNTERS: usize = 5;

/// A process's own; all zeros at its start.
#[repr(C)]
pub(crate) struct Own {
    pub(crate) calls: [AtomicU64; COUNTERS],
}

#[cfg(not(feature = "in-kernel"))]
pub(crate) fn own() -> &'static Own {
    static OWN: Own = Own {
        calls: [const { AtomicU64::new(0) }; COUNTERS],
    };
    &OWN
}

#[cfg(feature = "in-kernel")]
pub(crate) fn own() -> &'static Own {
    const _: () = assert!(size_of::<Own>() <= hoplab_abi::OWN_OCTETS);
    // SAFETY: the kernel's room is that large, aligned for 64-bit words, zero at first, and lives as
    // long as the process runs this program.
    unsafe { &*hoplab_abi::hoplab_resident_own().cast() }
}
