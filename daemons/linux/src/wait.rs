// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The places where a daemon waits: for others, or for a time.

use crate::calls::{count, Call};
use crate::kernel;
use hoplab_base::{Duration, Instant};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A descriptor to wait for.
#[repr(transparent)]
pub struct Interest<'fd> {
    poll: libc::pollfd,
    open: PhantomData<BorrowedFd<'fd>>,
}

/// What was found at a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// It can be read from.
    pub input: bool,
    /// It takes output.
    pub output: bool,
    /// It has an error, or for a socket, something in its error queue.
    pub error: bool,
}

impl Found {
    pub fn any(self) -> bool {
        self.input || self.output || self.error
    }
}

impl<'fd> Interest<'fd> {
    fn new(fd: i32, events: libc::c_short) -> Self {
        Interest {
            poll: libc::pollfd {
                fd,
                events,
                revents: 0,
            },
            open: PhantomData,
        }
    }

    /// Nothing is waited for, and nothing will be found.
    pub fn none() -> Self {
        // poll(2) passes over a negative descriptor.
        Self::new(-1, 0)
    }

    /// Waits for input, and for errors.
    pub fn input(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd.as_raw_fd(), libc::POLLIN)
    }

    /// Waits until output is taken, and for errors.
    pub fn output(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd.as_raw_fd(), libc::POLLOUT)
    }

    /// Waits for errors alone.
    pub fn error(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd.as_raw_fd(), 0)
    }

    /// What the last [`wait`] found.
    pub fn found(&self) -> Found {
        let set = |bits| self.poll.revents & bits != 0;
        Found {
            input: set(libc::POLLIN | libc::POLLHUP),
            output: set(libc::POLLOUT),
            error: set(libc::POLLERR | libc::POLLNVAL),
        }
    }
}

/// Waits until CLOCK_MONOTONIC is `time`, or a signal comes. It is as exact as the process's timer
/// slack allows (prctl(2)). A lab's children have it at a nanosecond.
pub fn sleep_until(time: Instant) {
    const NS: u64 = 1_000_000_000;
    let time = libc::timespec {
        tv_sec: i64::try_from(time.0 / NS).unwrap_or(i64::MAX),
        tv_nsec: (time.0 % NS) as i64,
    };
    count(Call::Wait);
    // SAFETY: the time is a live local; nothing is written back with TIMER_ABSTIME.
    unsafe {
        libc::syscall(
            libc::SYS_clock_nanosleep,
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut::<libc::timespec>(),
        )
    };
}

/// Waits until there is something at one of the descriptors, a signal comes or `longest` has
/// passed; returns how much of that was left. The system call itself writes it back, which saves
/// reading the clock. Signals that are blocked elsewhere are let in here.
pub fn wait(interests: &mut [Interest<'_>], longest: Duration) -> Duration {
    const NS: u64 = 1_000_000_000;
    let mut time = libc::timespec {
        tv_sec: (longest.0 / NS) as i64,
        tv_nsec: (longest.0 % NS) as i64,
    };
    let no_signals: u64 = 0;
    count(Call::Wait);
    // SAFETY: `Interest` has the layout of pollfd, and pointer and length describe the slice. The
    // raw call takes a signal mask of 8 octets and writes to `time`, both live locals.
    let found = unsafe {
        libc::syscall(
            libc::SYS_ppoll,
            interests.as_mut_ptr().cast::<libc::pollfd>(),
            interests.len(),
            &raw mut time,
            &raw const no_signals,
            size_of::<u64>(),
        )
    };
    if found < 0 {
        // Interrupted: what the fields hold is of an earlier call.
        interests.iter_mut().for_each(|i| i.poll.revents = 0);
    }
    if found == 0 {
        return Duration::ZERO;
    }
    Duration(time.tv_sec as u64 * NS + time.tv_nsec as u64)
}

/// Waits until there is something at one of the descriptors, a signal comes or CLOCK_MONOTONIC is
/// `due`. It may also end earlier. poll(2) ends late by up to a thousandth of its wait (fs/select.c,
/// select_estimate_accuracy). So the last part is a sleep, in which signals are not let in.
pub fn wait_exactly(interests: &mut [Interest<'_>], due: Instant) {
    const ASLEEP: Duration = Duration::from_millis(2);
    const LATE: u64 = 500;
    let rest = due.since(kernel::now());
    if rest < ASLEEP {
        sleep_until(due);
    } else {
        wait(interests, rest - Duration(rest.0 / LATE));
    }
}
