// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clock, and what kind of kernel this is.

use hoplab_base::Instant;

/// CLOCK_MONOTONIC.
pub fn now() -> Instant {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME, which packet rings stamp frames with.
pub fn real_time() -> Instant {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> Instant {
    // SAFETY: an all-zero timespec is valid.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live timespec; both clocks are on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Instant(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Whether time stands still while programs compute (User-Mode Linux, `time-travel=inf-cpu`):
/// whatever a program does is then done at once.
pub fn in_virtual_time() -> bool {
    let arguments = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
    arguments
        .split_whitespace()
        .any(|word| word.starts_with("time-travel"))
}

/// Whether [`now`] is free (vdso(7)). In User-Mode Linux it is a system call, or moves time on.
pub fn clock_is_cheap() -> bool {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    !info.contains("User Mode Linux")
}
