// SPDX-License-Identifier: Apache-2.0
//! A library to preload into a program, so that each TCP socket that it opens is one of Multipath
//! TCP (RFC 8684).
//!
//! A program asks for MPTCP by the protocol of socket(2). Linux has no setting that does it for a
//! program which does not ask. This library stands before that function of the C library.
//!
//! As `waiting-select` it does without Rust's own library, which would need a newer C library.

#![cfg_attr(all(panic = "abort", not(test)), no_std)]

use libc::{c_int, c_long};

#[link(name = "c")]
extern "C" {}

#[cfg(all(panic = "abort", not(test)))]
#[panic_handler]
fn end(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it needs nothing.
    unsafe { libc::abort() }
}

/// What the kernel is asked for instead of `protocol`: MPTCP for TCP over either version of IP.
fn asked(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let of_ip = domain == libc::AF_INET || domain == libc::AF_INET6;
    let stream = kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) == libc::SOCK_STREAM;
    let tcp = protocol == 0 || protocol == libc::IPPROTO_TCP;
    if of_ip && stream && tcp {
        libc::IPPROTO_MPTCP
    } else {
        protocol
    }
}

/// As socket(2), but see above.
#[cfg_attr(not(test), no_mangle)]
pub extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let protocol = asked(domain, kind, protocol);
    let arguments = [domain, kind, protocol].map(c_long::from);
    // SAFETY: the call takes three numbers, and no memory. It sets errno as socket(2) does.
    let made = unsafe { libc::syscall(libc::SYS_socket, arguments[0], arguments[1], arguments[2]) };
    // A descriptor, or -1.
    made as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tcp_socket_is_one_of_mptcp() {
        for domain in [libc::AF_INET, libc::AF_INET6] {
            for flags in [0, libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC] {
                for protocol in [0, libc::IPPROTO_TCP] {
                    let found = asked(domain, libc::SOCK_STREAM | flags, protocol);
                    assert_eq!(found, libc::IPPROTO_MPTCP);
                }
            }
        }
    }

    #[test]
    fn any_other_socket_is_what_the_program_asks_for() {
        for (domain, kind, protocol) in [
            (libc::AF_INET, libc::SOCK_DGRAM, 0),
            (libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_TCP),
            (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP),
            (libc::AF_UNIX, libc::SOCK_STREAM, 0),
        ] {
            assert_eq!(asked(domain, kind, protocol), protocol);
        }
    }
}
