// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the end of a flow could not be set up, or ended.

use hoplab_document::DocumentError;
use std::io;
use std::path::PathBuf;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document cannot be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A socket could not be set up.
    #[error(transparent)]
    Linux(#[from] hoplab_linux::Error),
    /// Rows could not be written.
    #[error("rows: {0}")]
    Records(#[from] hoplab_records::Error),
    /// The time of a transfer's last octet could not be written.
    #[error("{path}: cannot be used: {why}")]
    Report { path: PathBuf, why: io::Error },
    /// Nothing more can be received.
    #[error("receiving: {0}")]
    Receive(io::Error),
    /// A request could not be sent, or its response not be received.
    #[error("request: {0}")]
    Request(io::Error),
    /// Nothing more can be sent.
    #[error("sending: {0}")]
    Send(io::Error),
    /// A response is awaited no more.
    #[error("the responder has closed the connection")]
    Closed,
    /// The kernel does not run it.
    #[error("in the kernel: {0}")]
    Resident(io::Error),
}
