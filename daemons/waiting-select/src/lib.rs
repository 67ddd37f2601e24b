// SPDX-License-Identifier: Apache-2.0
//! A library to preload into iperf3, so that it waits where it would spin, and does not ask for what
//! it can know.
//!
//! iperf3's client asks select again and again whether it may write, until the server says that the
//! test runs. That takes a round trip. The answer is yes, and the client does not write. Where
//! computing takes no time and only waiting does, a round trip of 100 ms becomes 100 000 turns of
//! that loop. Here a select that could only repeat the last one's answer, with nothing written
//! since, first waits for input or a millisecond.
//!
//! iperf3's server reads a block of many segments. It asks again after each segment, hears that
//! there is no more for now, and selects. In a guest each of these costs as much as the segment's
//! way through the network. Here, once the kernel has said so, the next read after one that took
//! all there was reports it without asking. What came in between is what the next select is for.
//!
//! To stand before four functions of the C library, this crate has to have their types, raw pointers
//! and all.
//!
//! It is loaded into whatever C library the host has, and so it does without Rust's own library,
//! which would need a newer one.

#![cfg_attr(all(panic = "abort", not(test)), no_std)]

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use libc::{c_int, c_void, fd_set, size_t, ssize_t, timeval};

const WAIT_US: libc::suseconds_t = 1000;

static TOLD_TO_WRITE: AtomicBool = AtomicBool::new(false);
const NONE: c_int = -1;
/// The descriptor whose last read took all there was, if nothing has been selected since.
static EMPTIED: AtomicI32 = AtomicI32::new(NONE);
/// Descriptors, by number, of which the kernel has said after such a read that there is no more for
/// now. One that blocks never says so.
static SAYS_SO: [AtomicBool; libc::FD_SETSIZE] =
    [const { AtomicBool::new(false) }; libc::FD_SETSIZE];

type Select =
    unsafe extern "C" fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;
type Read = unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t;

// What the GNU C library calls these functions itself, in every version that it has had here.
#[link(name = "c")]
extern "C" {
    fn __select(
        count: c_int,
        read: *mut fd_set,
        write: *mut fd_set,
        except: *mut fd_set,
        timeout: *mut timeval,
    ) -> c_int;
    fn __write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t;
    fn __read(fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t;
    fn __close(fd: c_int) -> c_int;
}

#[cfg(all(panic = "abort", not(test)))]
#[panic_handler]
fn end(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it needs nothing.
    unsafe { libc::abort() }
}

fn failed(error: c_int) -> c_int {
    // SAFETY: errno of this thread is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn says_so(fd: c_int) -> Option<&'static AtomicBool> {
    SAYS_SO.get(usize::try_from(fd).ok()?)
}

/// Whether the set names a descriptor below `count`.
///
/// # Safety
/// `set` is null or points to a set.
unsafe fn any(set: *const fd_set, count: c_int) -> bool {
    // SAFETY: FD_ISSET reads the set, which the caller vouches for, for descriptors that it has
    // room for.
    !set.is_null()
        && (0..count.min(libc::FD_SETSIZE as c_int)).any(|fd| unsafe { libc::FD_ISSET(fd, set) })
}

/// As select(2), but see above.
///
/// # Safety
/// As select(2).
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    EMPTIED.store(NONE, Ordering::Relaxed);
    // SAFETY: the arguments are the caller's.
    unsafe { waiting_select(__select, count, read, write, except, timeout) }
}

/// # Safety
/// As select(2), which `real` is.
unsafe fn waiting_select(
    real: Select,
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    // SAFETY: a pointer that is not null points to a set.
    let wanted = (!read.is_null()).then(|| unsafe { *read });
    // SAFETY: the arguments are the caller's.
    let ready = unsafe { real(count, read, write, except, timeout) };
    // SAFETY: the sets are the caller's.
    if ready <= 0 || unsafe { !any(write, count) || any(read, count) } {
        return ready;
    }
    if !TOLD_TO_WRITE.swap(true, Ordering::Relaxed) {
        return ready;
    }
    let Some(mut readable) = wanted else {
        return ready;
    };
    let mut wait = timeval {
        tv_sec: 0,
        tv_usec: WAIT_US,
    };
    // SAFETY: the sets and the time are live locals.
    let more = unsafe {
        real(
            count,
            &raw mut readable,
            null_mut(),
            null_mut(),
            &raw mut wait,
        )
    };
    // After a failure, say of a signal, the set says nothing: none was found readable before.
    if more > 0 {
        // SAFETY: `read` is not null, for the caller wanted to read.
        unsafe { *read = readable };
    }
    ready + more.max(0)
}

/// As write(2).
///
/// # Safety
/// As write(2).
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t {
    TOLD_TO_WRITE.store(false, Ordering::Relaxed);
    // SAFETY: the arguments are the caller's.
    unsafe { __write(fd, buffer, length) }
}

/// As read(2), but see above.
///
/// # Safety
/// As read(2).
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t {
    // SAFETY: the arguments are the caller's.
    unsafe { knowing_read(__read, fd, buffer, length) }
}

/// # Safety
/// As read(2), which `real` is.
unsafe fn knowing_read(real: Read, fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t {
    let emptied = EMPTIED.swap(NONE, Ordering::Relaxed) == fd;
    let Some(says_so) = says_so(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real(fd, buffer, length) };
    };
    if emptied && says_so.load(Ordering::Relaxed) {
        return failed(libc::EAGAIN) as ssize_t;
    }
    // SAFETY: the arguments are the caller's.
    let got = unsafe { real(fd, buffer, length) };
    if got > 0 && got.unsigned_abs() < length {
        EMPTIED.store(fd, Ordering::Relaxed);
    // SAFETY: errno of this thread is always there.
    } else if emptied && got < 0 && unsafe { *libc::__errno_location() } == libc::EAGAIN {
        says_so.store(true, Ordering::Relaxed);
    }
    got
}

/// As close(2).
///
/// # Safety
/// As close(2).
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    if let Some(says_so) = says_so(fd) {
        says_so.store(false, Ordering::Relaxed);
    }
    EMPTIED.store(NONE, Ordering::Relaxed);
    // SAFETY: the argument is the caller's.
    unsafe { __close(fd) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::zeroed;
    use std::sync::atomic::AtomicI32;
    use std::sync::Mutex;

    const SOCKET: c_int = 5;
    /// What the second call, which asks for input alone, answers.
    static SECOND: AtomicI32 = AtomicI32::new(0);
    /// The library has one state, and so has the fake.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// Writable at once, readable never but where the second call says so. A call that fails
    /// leaves the sets as they were (select(2)).
    unsafe extern "C" fn fake(
        _: c_int,
        read: *mut fd_set,
        write: *mut fd_set,
        _: *mut fd_set,
        _: *mut timeval,
    ) -> c_int {
        let second = write.is_null();
        let answer = if second {
            SECOND.load(Ordering::Relaxed)
        } else {
            1
        };
        if answer == 0 || !second {
            // SAFETY: the tests pass live sets.
            unsafe { libc::FD_ZERO(read) };
        }
        answer
    }

    /// What the caller gets: the count, and whether the socket is readable and writable.
    fn told(second: c_int) -> (c_int, bool, bool) {
        SECOND.store(second, Ordering::Relaxed);
        // SAFETY: all-zero sets are valid, and everything lives through the call.
        unsafe {
            let (mut read, mut write): (fd_set, fd_set) = (zeroed(), zeroed());
            libc::FD_SET(SOCKET, &raw mut read);
            libc::FD_SET(SOCKET, &raw mut write);
            let count = waiting_select(
                fake,
                SOCKET + 1,
                &raw mut read,
                &raw mut write,
                null_mut(),
                null_mut(),
            );
            let is_set = |set: *const fd_set| libc::FD_ISSET(SOCKET, set);
            (count, is_set(&raw const read), is_set(&raw const write))
        }
    }

    #[test]
    fn a_second_select_adds_what_it_finds_and_nothing_else() {
        let _alone = ONE_AT_A_TIME.lock();
        TOLD_TO_WRITE.store(true, Ordering::Relaxed);
        assert_eq!(told(1), (2, true, true), "input came");
        assert_eq!(told(0), (1, false, true), "a millisecond passed");
        assert_eq!(told(-1), (1, false, true), "the second call failed");
    }

    #[test]
    fn the_first_time_does_not_wait() {
        let _alone = ONE_AT_A_TIME.lock();
        TOLD_TO_WRITE.store(false, Ordering::Relaxed);
        assert_eq!(told(1), (1, false, true));
        assert_eq!(told(1), (2, true, true));
    }

    /// Answers of the next reads, the last first. An error has errno's sign reversed.
    static ANSWERS: Mutex<Vec<ssize_t>> = Mutex::new(Vec::new());

    unsafe extern "C" fn answer(_: c_int, _: *mut c_void, _: size_t) -> ssize_t {
        let next = ANSWERS.lock().unwrap().pop().expect("no read was due");
        match next {
            error if error < 0 => failed(-error as c_int) as ssize_t,
            got => got,
        }
    }

    /// Read from SOCKET, with these answers of the kernel. Returns what the caller gets, errors as
    /// above.
    fn reads(answers: &[ssize_t], count: usize) -> Vec<ssize_t> {
        *ANSWERS.lock().unwrap() = answers.iter().rev().copied().collect();
        let mut told = Vec::new();
        for _ in 0..count {
            // SAFETY: `answer` does not look at the buffer.
            let got = unsafe { knowing_read(answer, SOCKET, null_mut(), 100) };
            let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            told.push(if got < 0 { -error as ssize_t } else { got });
        }
        assert!(
            ANSWERS.lock().unwrap().is_empty(),
            "every answer was asked for"
        );
        told
    }

    const AGAIN: ssize_t = -(libc::EAGAIN as ssize_t);

    #[test]
    fn a_socket_that_said_once_that_it_is_empty_is_not_asked_again() {
        let _alone = ONE_AT_A_TIME.lock();
        says_so(SOCKET).unwrap().store(false, Ordering::Relaxed);
        EMPTIED.store(NONE, Ordering::Relaxed);
        assert_eq!(reads(&[40, AGAIN], 2), [40, AGAIN], "the kernel says it");
        assert_eq!(reads(&[40], 2), [40, AGAIN], "it is known");
        assert_eq!(
            reads(&[100, 30], 3),
            [100, 30, AGAIN],
            "a full read asks on"
        );
        assert_eq!(reads(&[20], 1), [20]);
        EMPTIED.store(NONE, Ordering::Relaxed); // as select does
        assert_eq!(reads(&[10], 1), [10]);
    }

    #[test]
    fn a_socket_that_blocks_is_always_asked() {
        let _alone = ONE_AT_A_TIME.lock();
        says_so(SOCKET).unwrap().store(false, Ordering::Relaxed);
        EMPTIED.store(NONE, Ordering::Relaxed);
        assert_eq!(reads(&[40, 60, 0], 3), [40, 60, 0]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no __close")]
    fn a_descriptor_forgets_when_it_is_closed() {
        let _alone = ONE_AT_A_TIME.lock();
        let file = std::os::fd::IntoRawFd::into_raw_fd(std::fs::File::open("/dev/null").unwrap());
        says_so(file).unwrap().store(true, Ordering::Relaxed);
        // SAFETY: the descriptor is this test's.
        assert_eq!(unsafe { close(file) }, 0);
        assert!(!says_so(file).unwrap().load(Ordering::Relaxed));
        assert!(says_so(-1).is_none() && says_so(1 << 20).is_none());
    }
}
