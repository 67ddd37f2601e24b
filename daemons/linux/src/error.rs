// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can fail in setting up.

use std::io;

/// The longest name of an interface, octets (IFNAMSIZ less the NUL).
const LONGEST_NAME: usize = libc::IFNAMSIZ - 1;

/// Why something could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused.
    #[error("{what}: {why}")]
    Refused {
        /// What was tried, and to what.
        what: String,
        why: io::Error,
    },
    /// No interface can have this name.
    #[error("interface {0:?}: expected a name of at most {LONGEST_NAME} characters, no NUL")]
    Name(String),
    /// A program of so many instructions is longer than a socket takes.
    #[error("socket filter: {0} instructions; expected at most {most}", most = u16::MAX)]
    Filter(usize),
    /// The daemon at this control socket does not answer.
    #[error("control socket {control:?}: {why} (is the daemon running here?)")]
    Silent { control: String, why: io::Error },
}

/// `result`, whose error says what was tried.
pub(crate) fn trying<T>(what: impl Into<String>, result: io::Result<T>) -> Result<T, Error> {
    result.map_err(|why| Error::Refused {
        what: what.into(),
        why,
    })
}
