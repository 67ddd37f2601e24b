// SPDX-License-Identifier: Apache-2.0
//! A library to preload into iperf3, so that it waits where it would spin.
//!
//! Until the server says that the test runs, which takes a round trip, iperf3's client asks select
//! again and again whether it may write, is told yes and does not write. Where computing takes no
//! time and only waiting does, a round trip of 100 ms becomes 100 000 turns of that loop. Here, a
//! select that would report nothing but what the last one did, with nothing written since, waits
//! for input or a millisecond first.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, c_void, fd_set, size_t, ssize_t, timeval};

const WAIT_US: libc::suseconds_t = 1000;

static TOLD_TO_WRITE: AtomicBool = AtomicBool::new(false);

type Select =
    unsafe extern "C" fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;
type Write = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;

/// The C library's own function of this name.
unsafe fn next(name: &[u8]) -> *mut c_void {
    // SAFETY: the caller passes a string that ends with NUL.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast::<c_char>()) }
}

fn any(set: *mut fd_set, count: c_int) -> bool {
    // SAFETY: FD_ISSET reads the caller's set, which is valid for descriptors below FD_SETSIZE.
    !set.is_null() && (0..count).any(|fd| unsafe { libc::FD_ISSET(fd, set) })
}

/// As select(2), but see above.
///
/// # Safety
/// As select(2).
#[no_mangle]
pub unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    // SAFETY: the symbol is select of the C library, whose type this is; the pointers are the
    // caller's, checked for null before they are read.
    unsafe {
        let real: Select = mem::transmute(next(b"select\0"));
        let wanted = (!read.is_null()).then(|| *read);
        let ready = real(count, read, write, except, timeout);
        if ready <= 0 || !any(write, count) || any(read, count) {
            return ready;
        }
        if !TOLD_TO_WRITE.swap(true, Ordering::Relaxed) {
            return ready;
        }
        let Some(wanted) = wanted else { return ready };
        *read = wanted;
        let mut wait = timeval {
            tv_sec: 0,
            tv_usec: WAIT_US,
        };
        ready
            + real(
                count,
                read,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &mut wait,
            )
            .max(0)
    }
}

/// As write(2).
///
/// # Safety
/// As write(2).
#[no_mangle]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t {
    TOLD_TO_WRITE.store(false, Ordering::Relaxed);
    // SAFETY: the symbol is write of the C library, whose type this is.
    unsafe {
        let real: Write = mem::transmute(next(b"write\0"));
        real(fd, buffer, length)
    }
}
