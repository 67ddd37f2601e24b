// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the end of a flow could not be set up, or ended.

use hoplab_document::DocumentError;
use std::fmt;
use std::io;

/// What failed.
#[derive(Debug)]
pub enum Error {
    /// The document cannot be used.
    Document(DocumentError),
    /// A socket could not be set up.
    Linux(hoplab_linux::Error),
    /// Rows could not be written.
    Records(hoplab_records::Error),
    /// Nothing more can be received.
    Receive(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Document(why) => write!(f, "{why}"),
            Error::Linux(why) => write!(f, "{why}"),
            Error::Records(why) => write!(f, "table udp: {why}"),
            Error::Receive(why) => write!(f, "receiving: {why}"),
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

impl From<hoplab_records::Error> for Error {
    fn from(why: hoplab_records::Error) -> Self {
        Error::Records(why)
    }
}
