// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why there is no engine.

use std::fmt;
use std::path::PathBuf;

use hoplab_document::DocumentError;

use crate::engine::OUT;

/// What failed.
#[derive(Debug)]
pub enum Error {
    /// The document cannot be used.
    Document(DocumentError),
    /// The document has this path outside of the run's folder.
    Path(PathBuf),
    /// Records could not be begun.
    Channel(hoplab_channel::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Document(why) => write!(f, "{why}"),
            Error::Path(path) => write!(f, "{}: expected a path below {OUT}", path.display()),
            Error::Channel(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<DocumentError> for Error {
    fn from(why: DocumentError) -> Self {
        Error::Document(why)
    }
}

impl From<hoplab_channel::Error> for Error {
    fn from(why: hoplab_channel::Error) -> Self {
        Error::Channel(why)
    }
}
