// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SIGTERM and SIGINT: the request to write what is left and end.

#[cfg(feature = "in-kernel")]
pub use of_kernel::{catch, catch_in_wait, stopped};
#[cfg(not(feature = "in-kernel"))]
pub use of_process::{catch, catch_in_wait, stopped};

#[cfg(not(feature = "in-kernel"))]
mod of_process {
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicBool, Ordering};

    static STOP: AtomicBool = AtomicBool::new(false);
    const ENDING: [libc::c_int; 2] = [libc::SIGTERM, libc::SIGINT];

    extern "C" fn on_signal(_: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }

    /// Whether one has come.
    pub fn stopped() -> bool {
        STOP.load(Ordering::Relaxed)
    }

    /// Note them; they interrupt a system call that waits. One that comes just before such a call
    /// is seen when the call ends, so none may wait for long.
    pub fn catch() {
        // SAFETY: all-zero sigaction is valid: no flags, an empty mask. Without SA_RESTART a
        // waiting call returns.
        let mut action: libc::sigaction = unsafe { zeroed() };
        action.sa_sigaction = on_signal as *const () as usize;
        for signal in ENDING {
            // SAFETY: the handler has the type that goes without SA_SIGINFO and only stores to an
            // atomic, which is safe in a handler (signal-safety(7)).
            unsafe { libc::sigaction(signal, &raw const action, null_mut()) };
        }
    }

    /// Note them, and let them in only in [`crate::wait`], which they end: none is seen late,
    /// however long that waits. SIGPIPE is ignored.
    pub fn catch_in_wait() {
        catch();
        // SAFETY: sigemptyset initialises the set before it is used; all pointers are to a live
        // local.
        unsafe {
            let mut set: libc::sigset_t = zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in ENDING {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, null_mut());
        }
        // SAFETY: SIG_IGN is a valid disposition of SIGPIPE.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
}

/// The process that started the program in the kernel has done so already, if there is one.
#[cfg(feature = "in-kernel")]
mod of_kernel {
    /// Whether one has come. The process's handler runs when the program in the kernel has ended.
    pub fn stopped() -> bool {
        hoplab_abi::hoplab_resident_stopped()
    }

    /// Note them, in all waiting calls.
    pub fn catch() {
        hoplab_abi::hoplab_resident_catch(false);
    }

    /// Note them, and let them in only in [`crate::wait`].
    pub fn catch_in_wait() {
        hoplab_abi::hoplab_resident_catch(true);
    }
}
