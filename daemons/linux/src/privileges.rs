// SPDX-License-Identifier: Apache-2.0
//! Giving up what only setting up needs.

use crate::socket::{checked, told};

const NOBODY: u32 = 65534;

/// `_LINUX_CAPABILITY_VERSION_3` (linux/capability.h): two words of each set.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// Effective, permitted and inheritable.
type Capabilities = [[u32; 3]; 2];

/// Become the user `nobody`, or for a process that is not root's, stay its user without
/// capabilities. A failure leaves the process with privileges: it must not go on.
pub fn drop() -> Result<(), String> {
    // SAFETY: a plain system call.
    if unsafe { libc::geteuid() } == 0 {
        become_nobody()?;
    }
    give_up_capabilities()
}

fn become_nobody() -> Result<(), String> {
    // SAFETY: a list of no groups needs no pointer.
    let groups = unsafe { libc::setgroups(0, std::ptr::null()) };
    told(checked(groups), "dropping privileges: other groups")?;
    // SAFETY: a plain system call.
    let group = unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) };
    told(checked(group), "dropping privileges: group nobody")?;
    // SAFETY: a plain system call.
    let user = unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
    told(checked(user), "dropping privileges: user nobody")?;
    Ok(())
}

fn give_up_capabilities() -> Result<(), String> {
    let header = CapabilityHeader {
        version: CAPABILITY_VERSION,
        pid: 0,
    };
    let none: Capabilities = [[0; 3]; 2];
    // SAFETY: the structures of capset(2) in their version 3, which the kernel only reads.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const none) };
    told(checked(result), "dropping privileges: capset").map(|_| ())
}
