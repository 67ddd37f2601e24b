// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many system calls a daemon makes while it serves: what an emulated kernel is slow at.

use std::sync::atomic::Ordering;

use crate::own::{own, COUNTERS};

/// The system calls that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Wait,
    Receive,
    Send,
    Statuses,
    Tun,
}

impl Call {
    pub const ALL: [Call; COUNTERS] = [
        Call::Wait,
        Call::Receive,
        Call::Send,
        Call::Statuses,
        Call::Tun,
    ];

    /// How often it was made since the start, or since [`forget`].
    pub fn made(self) -> u64 {
        own().calls[self as usize].load(Ordering::Relaxed)
    }
}

pub(crate) fn count(call: Call) {
    own().calls[call as usize].fetch_add(1, Ordering::Relaxed);
}

/// Count from now on.
pub fn forget() {
    for made in &own().calls {
        made.store(0, Ordering::Relaxed);
    }
}
