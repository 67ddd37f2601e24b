// SPDX-License-Identifier: Apache-2.0
//! The few system calls that need `unsafe`: netlink socket, ppoll, clock, signals.

use std::cell::Cell;
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

/// Note SIGTERM and SIGINT, which interrupt a wait; one that comes just before a wait is seen when
/// that ends, so no wait may be longer than [`LONGEST_WAIT`].
pub fn catch_signals() {
    // SAFETY: the handler only stores to an atomic; the set is initialised by sigemptyset.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        libc::sigemptyset(&mut action.sa_mask);
        for signal in [libc::SIGTERM, libc::SIGINT] {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
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

/// System calls made so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    pub wait: u64,
    pub receive: u64,
    pub send: u64,
}

/// A generic netlink socket.
pub struct Netlink {
    socket: OwnedFd,
    calls: Cell<Calls>,
}

/// In ns.
pub const LONGEST_WAIT: u64 = 1_000_000_000;

/// Datagrams that one call can bring.
const DATAGRAMS: usize = 16;
/// hwsim's largest message is a frame of 2352 bytes and its attributes; an error repeats one.
const DATAGRAM_BYTES: usize = 8192;

/// Room for what one [`Netlink::receive`] brings.
#[derive(Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Length of each datagram; none if it did not fit.
    lengths: Vec<Option<usize>>,
}

impl Inbox {
    pub fn new() -> Self {
        Self {
            bytes: vec![0; DATAGRAMS * DATAGRAM_BYTES],
            lengths: Vec::with_capacity(DATAGRAMS),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    pub fn clear(&mut self) {
        self.lengths.clear();
    }

    /// The datagrams; none for one that was cut off.
    pub fn datagrams(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let rooms = self.bytes.chunks(DATAGRAM_BYTES);
        let lengths = self.lengths.iter();
        rooms
            .zip(lengths)
            .map(|(room, length)| length.and_then(|length| room.get(..length)))
    }
}

impl Netlink {
    pub fn open() -> io::Result<Self> {
        // SAFETY: plain socket calls; the descriptor is owned from here on.
        unsafe {
            let fd = libc::socket(
                libc::AF_NETLINK,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                libc::NETLINK_GENERIC,
            );
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let socket = Self {
                socket: OwnedFd::from_raw_fd(fd),
                calls: Cell::default(),
            };
            // hwsim sends without waiting, so what does not fit the buffer is lost.
            let size: libc::c_int = 64 << 20;
            for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
                libc::setsockopt(
                    fd,
                    libc::SOL_SOCKET,
                    option,
                    std::ptr::from_ref(&size).cast(),
                    mem::size_of_val(&size) as u32,
                );
            }
            let longest = libc::timeval {
                tv_sec: (LONGEST_WAIT / 1_000_000_000) as i64,
                tv_usec: 0,
            };
            let set = libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                std::ptr::from_ref(&longest).cast(),
                mem::size_of_val(&longest) as u32,
            );
            if set < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut address: libc::sockaddr_nl = mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            let length = mem::size_of_val(&address) as u32;
            if libc::bind(fd, std::ptr::from_ref(&address).cast(), length) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(socket)
        }
    }

    pub fn calls(&self) -> Calls {
        self.calls.get()
    }

    /// Count from now on.
    pub fn forget_calls(&self) {
        self.calls.set(Calls::default());
    }

    fn count(&self, add: impl Fn(&mut Calls)) {
        let mut calls = self.calls.get();
        add(&mut calls);
        self.calls.set(calls);
    }

    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.count(|calls| calls.send += 1);
        // SAFETY: the pointer and length are those of a live slice.
        let sent = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                0,
            )
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Receive what is there, up to a limit; with `wait`, until something is, a signal comes or
    /// [`LONGEST_WAIT`] has passed.
    pub fn receive(&self, inbox: &mut Inbox, wait: bool) -> io::Result<()> {
        self.count(|calls| calls.receive += 1);
        let how = if wait {
            libc::MSG_WAITFORONE
        } else {
            libc::MSG_DONTWAIT
        };
        inbox.lengths.clear();
        let mut rooms: Vec<libc::iovec> = inbox
            .bytes
            .chunks_mut(DATAGRAM_BYTES)
            .map(|room| libc::iovec {
                iov_base: room.as_mut_ptr().cast(),
                iov_len: room.len(),
            })
            .collect();
        // SAFETY: each header points at one live iovec, which points at its own part of `bytes`;
        // none of them moves before the call has returned.
        let (got, headers) = unsafe {
            let mut headers: Vec<libc::mmsghdr> = Vec::with_capacity(rooms.len());
            for room in &mut rooms {
                let mut header: libc::mmsghdr = mem::zeroed();
                header.msg_hdr.msg_iov = room;
                header.msg_hdr.msg_iovlen = 1;
                headers.push(header);
            }
            let got = libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as u32,
                how,
                std::ptr::null_mut(),
            );
            (got, headers)
        };
        if got < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            };
        }
        for header in headers.iter().take(got as usize) {
            let whole = header.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
            inbox.lengths.push(whole.then_some(header.msg_len as usize));
        }
        Ok(())
    }

    /// Wait for input, a signal or `timeout` ns; returns (input is there, ns that remained).
    ///
    /// The raw system call writes the remaining time back, which saves reading the clock.
    pub fn wait(&self, timeout: u64) -> (bool, u64) {
        self.count(|calls| calls.wait += 1);
        // SAFETY: all pointers are to live locals; a null mask leaves the signals as they are.
        unsafe {
            let mut poll = libc::pollfd {
                fd: self.socket.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let mut time = libc::timespec {
                tv_sec: (timeout / 1_000_000_000) as i64,
                tv_nsec: (timeout % 1_000_000_000) as i64,
            };
            let ready = libc::syscall(
                libc::SYS_ppoll,
                &mut poll,
                1,
                &mut time,
                std::ptr::null::<u64>(),
                mem::size_of::<u64>(),
            );
            let left = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            (ready > 0, if ready == 0 { 0 } else { left })
        }
    }
}
