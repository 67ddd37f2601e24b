// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why records were not written.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What failed.
#[derive(Debug)]
pub enum Error {
    /// A table could not be written.
    Records(hoplab_records::Error),
    /// The capture of the air could not be written.
    Capture(io::Error),
    /// A file or a folder cannot be used.
    File { path: PathBuf, why: io::Error },
    /// The run was cut short.
    Stopped(Early),
}

/// How far a run had come that was cut short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Early {
    pub reached_s: f64,
    pub duration_s: f64,
}

impl fmt::Display for Early {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:.3} s of {} s", self.reached_s, self.duration_s)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Records(why) => write!(f, "{why}"),
            Error::Capture(why) => write!(f, "capture of the air: {why}"),
            Error::File { path, why } => write!(f, "{}: {why}", path.display()),
            Error::Stopped(early) => write!(f, "stopped {early}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<hoplab_records::Error> for Error {
    fn from(why: hoplab_records::Error) -> Self {
        Error::Records(why)
    }
}
