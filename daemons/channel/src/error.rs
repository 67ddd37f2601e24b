// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why records were not written.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A table could not be written.
    #[error(transparent)]
    Records(#[from] hoplab_records::Error),
    /// The capture of the air could not be written.
    #[error("capture of the air: {0}")]
    Capture(io::Error),
    /// A file or a folder cannot be used.
    #[error("{}: {why}", .path.display())]
    File { path: PathBuf, why: io::Error },
    /// The run was cut short.
    #[error("stopped {0}")]
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
