// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the daemon could not be set up, or ended.

use hoplab_document::DocumentError;
use std::fmt;
use std::io;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document cannot be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Something could not be set up.
    #[error(transparent)]
    Linux(#[from] hoplab_linux::Error),
    /// Privileges could not be dropped.
    #[error("{0}; keep_privileges goes on without that")]
    Privileges(hoplab_linux::Error),
    /// A table could not be written.
    #[error("{what}: {why}")]
    Records {
        what: &'static str,
        why: hoplab_records::Error,
    },
    /// The packet filter's queue of this number failed.
    #[error("queue {number} of the packet filter: {}", Refusal(.why))]
    Queue { number: u16, why: io::Error },
    /// Standard output failed.
    #[error("standard output: {0}")]
    Output(io::Error),
}

/// What the packet filter means by an error.
struct Refusal<'a>(&'a io::Error);

const EPERM: i32 = 1;
const EBUSY: i32 = 16;

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.raw_os_error() {
            Some(EPERM) => write!(f, "needs CAP_NET_ADMIN"),
            Some(EBUSY) => write!(f, "another program has it"),
            _ => write!(f, "{}", self.0),
        }
    }
}
