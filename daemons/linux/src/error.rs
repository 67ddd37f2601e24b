// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can fail in setting up.

use std::fmt;
use std::io;

/// The longest name of an interface, octets (IFNAMSIZ less the NUL).
const LONGEST_NAME: usize = libc::IFNAMSIZ - 1;

/// Why something could not be set up.
#[derive(Debug)]
pub enum Error {
    /// The kernel refused.
    Refused {
        /// What was tried, and to what.
        what: String,
        why: io::Error,
    },
    /// No interface can have this name.
    Name(String),
    /// A program of so many instructions is longer than a socket takes.
    Filter(usize),
    /// The daemon at this control socket does not answer.
    Silent { control: String, why: io::Error },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused { what, why } => write!(f, "{what}: {why}"),
            Error::Name(name) => write!(
                f,
                "interface {name:?}: expected a name of at most {LONGEST_NAME} characters, no NUL"
            ),
            Error::Filter(length) => write!(
                f,
                "socket filter: {length} instructions; expected at most {}",
                u16::MAX
            ),
            Error::Silent { control, why } => write!(
                f,
                "control socket {control:?}: {why} (is the daemon running here?)"
            ),
        }
    }
}

impl std::error::Error for Error {}

/// `result`, whose error says what was tried.
pub(crate) fn trying<T>(what: impl Into<String>, result: io::Result<T>) -> Result<T, Error> {
    result.map_err(|why| Error::Refused {
        what: what.into(),
        why,
    })
}
