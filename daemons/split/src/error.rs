// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the daemon could not be set up, or ended.

use hoplab_document::DocumentError;
use std::fmt;
use std::io;

/// What failed.
#[derive(Debug)]
pub enum Error {
    /// The document cannot be used.
    Document(DocumentError),
    /// Something could not be set up.
    Linux(hoplab_linux::Error),
    /// Privileges could not be dropped.
    Privileges(hoplab_linux::Error),
    /// A table could not be written.
    Records {
        what: &'static str,
        why: hoplab_records::Error,
    },
    /// The packet filter's queue of this number failed.
    Queue { number: u16, why: io::Error },
    /// Standard output failed.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Document(why) => write!(f, "{why}"),
            Error::Linux(why) => write!(f, "{why}"),
            Error::Privileges(why) => write!(f, "{why}; keep_privileges goes on without that"),
            Error::Records { what, why } => write!(f, "{what}: {why}"),
            Error::Queue { number, why } => {
                write!(f, "queue {number} of the packet filter: {}", Refusal(why))
            }
            Error::Output(why) => write!(f, "standard output: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<DocumentError> for Error {
    fn from(why: DocumentError) -> Self {
        Error::Document(why)
    }
}

impl From<hoplab_linux::Error> for Error {
    fn from(why: hoplab_linux::Error) -> Self {
        Error::Linux(why)
    }
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
