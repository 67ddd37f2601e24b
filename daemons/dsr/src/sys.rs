// SPDX-License-Identifier: Apache-2.0
//! The system calls that std does not offer: all `unsafe` of the daemon is in this file, in
//! `ring.rs` and in `netlink.rs`. Every function checks its result and names what failed.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Most frames moved by one system call.
pub const BATCH: usize = 32;
/// Octets of a sent frame that its report brings back.
const REPORT: usize = 128;
/// Longest frame: 2304 octets of 802.11 payload, its headers, and a radiotap header.
pub const FRAME: usize = 2560;

static STOP: AtomicBool = AtomicBool::new(false);
static CALLS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// The system calls of the forwarding path.
#[derive(Clone, Copy)]
pub enum Call {
    Wait,
    Send,
    Reports,
    Tun,
}

pub fn count(call: Call) {
    CALLS[call as usize].fetch_add(1, Ordering::Relaxed);
}

/// How often each was made since the start, by the counter's name.
pub fn calls() -> [(&'static str, u64); 4] {
    let names = ["calls_wait", "calls_send", "calls_reports", "calls_tun"];
    std::array::from_fn(|i| (names[i], CALLS[i].load(Ordering::Relaxed)))
}

fn check(result: i64, what: &str) -> Result<i64, String> {
    if result < 0 {
        return Err(format!("{what}: {}", io::Error::last_os_error()));
    }
    Ok(result)
}

fn owned(fd: i32, what: &str) -> Result<OwnedFd, String> {
    check(fd.into(), what)?;
    // SAFETY: the call that made `fd` succeeded and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn request(name: &str) -> Result<libc::ifreq, String> {
    let text = CString::new(name).map_err(|_| format!("interface {name:?}: a NUL in the name"))?;
    let bytes = text.as_bytes_with_nul();
    // SAFETY: an all-zero ifreq is valid.
    let mut req: libc::ifreq = unsafe { zeroed() };
    if bytes.len() > req.ifr_name.len() {
        return Err(format!("interface {name:?}: longer than 15 characters"));
    }
    for (to, from) in req.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    Ok(req)
}

fn ioctl(fd: RawFd, code: u64, req: &mut libc::ifreq, what: &str) -> Result<(), String> {
    // SAFETY: every code used here takes a pointer to an ifreq that lives through the call.
    check(
        unsafe { libc::ioctl(fd, code as _, req as *mut _) }.into(),
        what,
    )
    .map(|_| ())
}

/// A socket to configure interfaces with.
pub struct Configurator(OwnedFd);

impl Configurator {
    pub fn new() -> Result<Self, String> {
        // SAFETY: plain system call.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        Ok(Configurator(owned(fd, "socket for interface settings")?))
    }

    fn run(&self, code: u64, req: &mut libc::ifreq, what: &str) -> Result<(), String> {
        ioctl(self.0.as_raw_fd(), code, req, what)
    }

    pub fn index(&self, name: &str) -> Result<i32, String> {
        let mut req = request(name)?;
        self.run(libc::SIOCGIFINDEX, &mut req, &format!("interface {name:?}"))?;
        // SAFETY: SIOCGIFINDEX filled this member.
        Ok(unsafe { req.ifr_ifru.ifru_ifindex })
    }

    pub fn mac(&self, name: &str) -> Result<[u8; 6], String> {
        let mut req = request(name)?;
        self.run(
            libc::SIOCGIFHWADDR,
            &mut req,
            &format!("address of {name:?}"),
        )?;
        // SAFETY: SIOCGIFHWADDR filled this member.
        let data = unsafe { req.ifr_ifru.ifru_hwaddr.sa_data };
        Ok(std::array::from_fn(|i| data[i] as u8))
    }

    pub fn mtu(&self, name: &str) -> Result<usize, String> {
        let mut req = request(name)?;
        self.run(libc::SIOCGIFMTU, &mut req, &format!("MTU of {name:?}"))?;
        // SAFETY: SIOCGIFMTU filled this member.
        Ok(unsafe { req.ifr_ifru.ifru_mtu } as usize)
    }

    pub fn set_mtu(&self, name: &str, mtu: u32) -> Result<(), String> {
        let mut req = request(name)?;
        req.ifr_ifru.ifru_mtu = mtu as i32;
        self.run(
            libc::SIOCSIFMTU,
            &mut req,
            &format!("MTU {mtu} of {name:?}"),
        )
    }

    pub fn up(&self, name: &str) -> Result<(), String> {
        let mut req = request(name)?;
        self.run(libc::SIOCGIFFLAGS, &mut req, &format!("flags of {name:?}"))?;
        // SAFETY: SIOCGIFFLAGS filled this member.
        let flags = unsafe { req.ifr_ifru.ifru_flags };
        req.ifr_ifru.ifru_flags = flags | libc::IFF_UP as i16;
        self.run(
            libc::SIOCSIFFLAGS,
            &mut req,
            &format!("bringing up {name:?}"),
        )
    }

    /// The interface's IPv4 address, if it has one.
    pub fn ip(&self, name: &str) -> Option<Ipv4Addr> {
        let mut req = request(name).ok()?;
        self.run(libc::SIOCGIFADDR, &mut req, "").ok()?;
        // SAFETY: SIOCGIFADDR filled this member with a sockaddr_in.
        let data = unsafe { req.ifr_ifru.ifru_addr.sa_data };
        Some(Ipv4Addr::new(
            data[2] as u8,
            data[3] as u8,
            data[4] as u8,
            data[5] as u8,
        ))
    }

    pub fn set_ip(&self, name: &str, ip: Ipv4Addr, prefix: Option<u8>) -> Result<(), String> {
        let put = |code, value: Ipv4Addr, what: &str| {
            let mut req = request(name)?;
            let mut data = [0; 14];
            for (to, from) in data[2..6].iter_mut().zip(value.octets()) {
                *to = from as libc::c_char;
            }
            let sa_family = libc::AF_INET as u16;
            req.ifr_ifru.ifru_addr = libc::sockaddr {
                sa_family,
                sa_data: data,
            };
            self.run(code, &mut req, &format!("{what} {value} of {name:?}"))
        };
        put(libc::SIOCSIFADDR, ip, "address")?;
        if let Some(len) = prefix {
            let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
            put(libc::SIOCSIFNETMASK, Ipv4Addr::from(mask), "netmask")?;
        }
        Ok(())
    }
}

/// Creates the TUN interface; it lives as long as the descriptor.
pub fn open_tun(name: &str) -> Result<OwnedFd, String> {
    let path = c"/dev/net/tun";
    // SAFETY: `path` is NUL-terminated.
    let fd = unsafe {
        libc::open(
            path.as_ptr(),
            libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK,
        )
    };
    let fd = owned(fd, "/dev/net/tun (needs the tun driver and CAP_NET_ADMIN)")?;
    let mut req = request(name)?;
    req.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    ioctl(
        fd.as_raw_fd(),
        libc::TUNSETIFF,
        &mut req,
        &format!("creating {name:?}"),
    )?;
    Ok(fd)
}

/// What a packet socket receives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Receives {
    /// All protocols, without the host's own frames.
    All,
    /// Nothing: it serves to send.
    Nothing,
}

/// A packet socket on one interface.
pub fn packet_socket(index: i32, receives: Receives) -> Result<OwnedFd, String> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // Protocol 0: nothing is received before bind() names the interface.
    // SAFETY: plain system call.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    let fd = owned(fd, "packet socket (needs CAP_NET_RAW)")?;
    const PACKET_IGNORE_OUTGOING: i32 = 23;
    option(
        &fd,
        libc::SOL_PACKET,
        PACKET_IGNORE_OUTGOING,
        &1i32,
        "PACKET_IGNORE_OUTGOING",
    )?;
    let size = 4 << 20;
    // Works only with CAP_NET_ADMIN; the default size serves otherwise.
    let _ = option(
        &fd,
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        &size,
        "SO_RCVBUFFORCE",
    );
    // SAFETY: an all-zero sockaddr_ll is valid.
    let mut to: libc::sockaddr_ll = unsafe { zeroed() };
    to.sll_family = libc::AF_PACKET as u16;
    if receives == Receives::All {
        to.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    }
    to.sll_ifindex = index;
    let len = size_of::<libc::sockaddr_ll>() as u32;
    // SAFETY: the pointer and the length describe `to`.
    let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const to).cast(), len) };
    check(result.into(), "binding the packet socket")?;
    Ok(fd)
}

pub fn option<T>(fd: &OwnedFd, level: i32, name: i32, value: &T, what: &str) -> Result<(), String> {
    let len = size_of::<T>() as u32;
    // SAFETY: the pointer and the length describe `value`.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            len,
        )
    };
    check(result.into(), what).map(|_| ())
}

/// Asks for a report on each frame sent (`SO_WIFI_STATUS`), read by [`Batch::reports`].
pub fn want_reports(fd: &OwnedFd) -> Result<(), String> {
    option(
        fd,
        libc::SOL_SOCKET,
        libc::SO_WIFI_STATUS,
        &1i32,
        "SO_WIFI_STATUS",
    )
}

/// Puts the interface into promiscuous mode as long as the socket lives.
pub fn promiscuous(fd: &OwnedFd, index: i32) -> Result<(), String> {
    let request = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    option(
        fd,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        &request,
        "promiscuous mode",
    )
}

/// Lets only frames through that the classic BPF program accepts.
pub fn filter(fd: &OwnedFd, program: &mut [libc::sock_filter]) -> Result<(), String> {
    let prog = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    option(
        fd,
        libc::SOL_SOCKET,
        libc::SO_ATTACH_FILTER,
        &prog,
        "socket filter",
    )
}

/// Buffers for reading many reports with one system call.
pub struct Batch {
    frames: Vec<[u8; REPORT]>,
    control: Vec<[u64; 16]>,
}

impl Batch {
    pub fn new() -> Self {
        Batch {
            frames: vec![[0; REPORT]; BATCH],
            control: vec![[0; 16]; BATCH],
        }
    }

    /// Reports from the error queue: the start of the frame and whether it was acknowledged.
    pub fn reports(&mut self, fd: &OwnedFd) -> Vec<(&[u8], bool)> {
        // SAFETY: all-zero iovec and mmsghdr are valid.
        let (mut iov, mut msgs): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        for i in 0..BATCH {
            iov[i].iov_base = self.frames[i].as_mut_ptr().cast();
            iov[i].iov_len = REPORT;
            msgs[i].msg_hdr.msg_iov = &raw mut iov[i];
            msgs[i].msg_hdr.msg_iovlen = 1;
            msgs[i].msg_hdr.msg_control = self.control[i].as_mut_ptr().cast();
            msgs[i].msg_hdr.msg_controllen = size_of::<[u64; 16]>();
        }
        count(Call::Reports);
        // SAFETY: every header points to buffers of the lengths given, alive through the call.
        let got = unsafe {
            let none = std::ptr::null_mut();
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            libc::recvmmsg(
                fd.as_raw_fd(),
                msgs.as_mut_ptr(),
                BATCH as u32,
                flags as _,
                none,
            )
        };
        let got = usize::try_from(got).unwrap_or(0);
        let all = msgs.iter().zip(&self.frames).take(got);
        all.filter_map(|(msg, frame)| {
            let len = (msg.msg_len as usize).min(REPORT);
            Some((&frame[..len], wifi_status(&msg.msg_hdr)?))
        })
        .collect()
    }
}

fn wifi_status(msg: &libc::msghdr) -> Option<bool> {
    // SAFETY: the kernel filled the control buffer that `msg` describes; CMSG_* stay inside it,
    // and SCM_WIFI_STATUS carries an int.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(msg);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SO_WIFI_STATUS {
                return Some(std::ptr::read_unaligned(libc::CMSG_DATA(at).cast::<i32>()) != 0);
            }
            at = libc::CMSG_NXTHDR(msg, at);
        }
    }
    None
}

/// Sends frames with one system call per [`BATCH`]; returns how many were taken.
pub fn send(fd: &OwnedFd, frames: &[Vec<u8>]) -> usize {
    let mut sent = 0;
    for chunk in frames.chunks(BATCH) {
        // SAFETY: all-zero iovec and mmsghdr are valid.
        let (mut iov, mut msgs): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        for (i, frame) in chunk.iter().enumerate() {
            iov[i].iov_base = frame.as_ptr().cast_mut().cast();
            iov[i].iov_len = frame.len();
            msgs[i].msg_hdr.msg_iov = &raw mut iov[i];
            msgs[i].msg_hdr.msg_iovlen = 1;
        }
        count(Call::Send);
        // SAFETY: the kernel only reads the frames, which live through the call.
        let done =
            unsafe { libc::sendmmsg(fd.as_raw_fd(), msgs.as_mut_ptr(), chunk.len() as u32, 0) };
        let done = usize::try_from(done).unwrap_or(0);
        sent += done;
        if done < chunk.len() {
            break;
        }
    }
    sent
}

pub fn clock() -> u64 {
    // SAFETY: an all-zero timespec is valid and the pointer is good.
    unsafe {
        let mut t: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t);
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }
}

/// Waits for one of the descriptors, at most `timeout_ns`; returns the time that was left. The
/// system call itself writes it back, so the caller's clock advances without another call.
/// SIGTERM and SIGINT are let in only here.
pub fn wait(fds: &mut [libc::pollfd], timeout_ns: u64) -> u64 {
    let mut t = libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as i64,
        tv_nsec: (timeout_ns % 1_000_000_000) as i64,
    };
    let mask: u64 = 0;
    count(Call::Wait);
    // SAFETY: pointers and lengths are right; the raw call takes an 8-octet signal mask.
    let result = unsafe {
        let (p, n) = (fds.as_mut_ptr(), fds.len());
        libc::syscall(
            libc::SYS_ppoll,
            p,
            n,
            &raw mut t,
            &raw const mask,
            size_of::<u64>(),
        )
    };
    if result < 0 {
        fds.iter_mut().for_each(|f| f.revents = 0);
    }
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

extern "C" fn on_signal(_: i32) {
    STOP.store(true, Ordering::Relaxed);
}

/// Blocks SIGTERM and SIGINT outside [`wait`], ignores SIGPIPE.
pub fn catch_signals() {
    // SAFETY: the handler only stores to an atomic; the sets are initialised before use.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGTERM, libc::SIGINT] {
            libc::signal(signal, on_signal as *const () as usize);
            libc::sigaddset(&raw mut set, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Becomes the user `nobody`; false when that is not possible (not root, or no such mapping).
pub fn drop_privileges() -> bool {
    const NOBODY: u32 = 65534;
    // SAFETY: plain system calls; a process of one thread.
    unsafe {
        libc::geteuid() == 0
            && libc::setgroups(0, std::ptr::null()) == 0
            && libc::setgid(NOBODY) == 0
            && libc::setuid(NOBODY) == 0
    }
}
