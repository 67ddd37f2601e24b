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
    /// No monitor interface of this name could be made.
    Monitor { name: String, why: io::Error },
    /// The kernel module elfn does not answer.
    Elfn(io::Error),
    /// A table could not be written.
    Records {
        what: &'static str,
        why: hoplab_records::Error,
    },
    /// The station's part in Split-TCP failed.
    Split(hoplab_split::Error),
    /// The kernel did not run the daemon, or not to its end.
    Resident(io::Error),
    /// Standard output failed.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Document(why) => write!(f, "{why}"),
            Error::Linux(why) => write!(f, "{why}"),
            Error::Privileges(why) => write!(f, "{why}; keep_privileges goes on without that"),
            Error::Monitor { name, why } => write!(f, "creating monitor interface {name:?}: {why}"),
            Error::Elfn(why) => write!(
                f,
                "elfn: {why}; load the kernel's module elfn, which \
                 'make -C kernel-modules install' builds, or leave elfn out"
            ),
            Error::Records { what, why } => write!(f, "{what}: {why}"),
            Error::Split(why) => write!(f, "{why}"),
            Error::Resident(why) => write!(f, "in the guest's kernel: {why}"),
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

impl From<hoplab_split::Error> for Error {
    fn from(why: hoplab_split::Error) -> Self {
        Error::Split(why)
    }
}
