// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the end of a flow could not be set up, or ended.

use hoplab_document::DocumentError;
use std::io;

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
    #[error("table udp: {0}")]
    Records(#[from] hoplab_records::Error),
    /// Nothing more can be received.
    #[error("receiving: {0}")]
    Receive(io::Error),
}
