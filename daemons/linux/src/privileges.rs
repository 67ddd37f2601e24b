// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Giving up what only setting up needs.

use crate::error::{trying, Error};
use crate::socket::checked;

const NOBODY: u32 = 65534;

/// `_LINUX_CAPABILITY_VERSION_3` (linux/capability.h): two words of each set.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

const CAP_NET_ADMIN: u32 = 12;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// Effective, permitted and inheritable.
type Capabilities = [[u32; 3]; 2];

/// Become the user `nobody`, or for a process that is not root's, stay its user without
/// capabilities. A failure leaves the process with privileges: it must not go on.
pub fn drop() -> Result<(), Error> {
    become_nobody()?;
    keep_capabilities(0)
}

/// The same, but for CAP_NET_ADMIN: the packet filter asks it of each message (nfnetlink_rcv).
pub fn drop_but_net_admin() -> Result<(), Error> {
    // As a system call, which in the guest's kernel is the guest's.
    // SAFETY: takes numbers only. A change of user would take all capabilities away.
    let kept = unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_KEEPCAPS, 1, 0, 0, 0) };
    trying("dropping privileges: PR_SET_KEEPCAPS", checked(kept))?;
    become_nobody()?;
    keep_capabilities(1 << CAP_NET_ADMIN)
}

fn become_nobody() -> Result<(), Error> {
    // SAFETY: a plain system call.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    // SAFETY: a list of no groups needs no pointer.
    let groups = unsafe { libc::setgroups(0, std::ptr::null()) };
    trying("dropping privileges: other groups", checked(groups))?;
    // SAFETY: a plain system call.
    let group = unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) };
    trying("dropping privileges: group nobody", checked(group))?;
    // SAFETY: a plain system call.
    let user = unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
    trying("dropping privileges: user nobody", checked(user))?;
    Ok(())
}

fn keep_capabilities(low: u32) -> Result<(), Error> {
    let header = CapabilityHeader {
        version: CAPABILITY_VERSION,
        pid: 0,
    };
    let kept: Capabilities = [[low, low, 0], [0; 3]];
    // SAFETY: the structures of capset(2) in their version 3, which the kernel only reads.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const kept) };
    trying("dropping privileges: capset", checked(result)).map(|_| ())
}
