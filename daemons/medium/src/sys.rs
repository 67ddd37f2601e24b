// SPDX-License-Identifier: Apache-2.0
//! The few system calls that need `unsafe`: netlink socket, ppoll, clock, signals.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Whether SIGTERM or SIGINT has come.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Note SIGTERM and SIGINT; both stay blocked except while waiting in [`Netlink::wait`].
pub fn catch_signals() {
    // SAFETY: the handler only stores to an atomic; the sets are initialised by sigemptyset.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        libc::sigemptyset(&mut action.sa_mask);
        let mut blocked: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut blocked);
        for signal in [libc::SIGTERM, libc::SIGINT] {
            libc::sigaction(signal, &action, std::ptr::null_mut());
            libc::sigaddset(&mut blocked, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &blocked, std::ptr::null_mut());
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
pub fn monotonic() -> u64 {
    // SAFETY: clock_gettime fills the structure it is given.
    let time = unsafe {
        let mut time: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A generic netlink socket.
pub struct Netlink(OwnedFd);

impl Netlink {
    pub fn open() -> io::Result<Self> {
        // SAFETY: plain socket calls; the descriptor is owned from here on.
        unsafe {
            let fd = libc::socket(
                libc::AF_NETLINK,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                libc::NETLINK_GENERIC,
            );
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let socket = Self(OwnedFd::from_raw_fd(fd));
            // hwsim sends without waiting, so what does not fit the buffer is lost.
            let size: libc::c_int = 64 << 20;
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                std::ptr::from_ref(&size).cast(),
                mem::size_of_val(&size) as u32,
            );
            let mut address: libc::sockaddr_nl = mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            let length = mem::size_of_val(&address) as u32;
            if libc::bind(fd, std::ptr::from_ref(&address).cast(), length) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(socket)
        }
    }

    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and length are those of a live slice.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Receive one datagram; `None` when there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the pointer and length are those of a live slice.
        let got = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                0,
            )
        };
        if got >= 0 {
            return Ok(Some(got as usize));
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::WouldBlock {
            return Ok(None);
        }
        Err(error)
    }

    /// Wait for input, a signal or `timeout` ns; returns (input is there, ns that remained).
    ///
    /// The raw system call writes the remaining time back, which saves reading the clock.
    pub fn wait(&self, timeout: u64) -> (bool, u64) {
        // SAFETY: all pointers are to live locals; the empty mask lets signals in while waiting.
        unsafe {
            let mut poll = libc::pollfd {
                fd: self.0.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let mut time = libc::timespec {
                tv_sec: (timeout / 1_000_000_000) as i64,
                tv_nsec: (timeout % 1_000_000_000) as i64,
            };
            let mask: u64 = 0;
            let ready = libc::syscall(
                libc::SYS_ppoll,
                &mut poll,
                1,
                &mut time,
                std::ptr::from_ref(&mask),
                mem::size_of_val(&mask),
            );
            let left = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            (ready > 0, if ready == 0 { 0 } else { left })
        }
    }
}
