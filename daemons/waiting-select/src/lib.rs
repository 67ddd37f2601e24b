// SPDX-License-Identifier: Apache-2.0
//! A library to preload into iperf3, so that it waits where it would spin.
//!
//! Until the server says that the test runs, which takes a round trip, iperf3's client asks select
//! again and again whether it may write, is told yes and does not write. Where computing takes no
//! time and only waiting does, a round trip of 100 ms becomes 100 000 turns of that loop. Here, a
//! select that would tell nothing but what the last one did, with nothing written since, waits
//! for input or a millisecond first.
//!
//! The only crate beside `linux` with `unsafe` code: to stand before two functions of the C library
//! it has to have their types, raw pointers and all.

use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, c_void, fd_set, size_t, ssize_t, timeval};

const WAIT_US: libc::suseconds_t = 1000;

static TOLD_TO_WRITE: AtomicBool = AtomicBool::new(false);

type Select =
    unsafe extern "C" fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;
type Write = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;

/// The C library's own function of this name, which ends with NUL.
fn next(name: &'static std::ffi::CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string that lives for ever.
    let symbol = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast::<c_char>()) };
    (!symbol.is_null()).then_some(symbol)
}

fn missing() -> c_int {
    // SAFETY: errno of this thread is always there.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
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
    let Some(symbol) = next(c"select") else {
        return missing();
    };
    // SAFETY: the symbol is select of the C library, whose type this is.
    let real: Select = unsafe { transmute(symbol) };
    // SAFETY: the arguments are the caller's.
    unsafe { waiting_select(real, count, read, write, except, timeout) }
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
    let Some(symbol) = next(c"write") else {
        return missing() as ssize_t;
    };
    // SAFETY: the symbol is write of the C library, whose type this is.
    let real: Write = unsafe { transmute(symbol) };
    // SAFETY: the arguments are the caller's.
    unsafe { real(fd, buffer, length) }
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

    /// What the caller is told: the count, and whether the socket is readable and writable.
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

    #[test]
    fn a_function_that_is_not_there_is_not_called() {
        assert_eq!(next(c"no_such_function_of_any_library"), None);
        assert!(next(c"select").is_some());
        assert_eq!(missing(), -1);
        let error = std::io::Error::last_os_error();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSYS));
    }
}
