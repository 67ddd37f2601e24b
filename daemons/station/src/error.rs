// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can fail here.

use std::io;

/// Why something could not be set up, or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No monitor interface of this name could be made.
    #[error("creating monitor interface {name:?}: {why}")]
    Monitor { name: String, why: io::Error },
    /// A table could not be written.
    #[error("{what}: {why}")]
    Records {
        what: &'static str,
        why: hoplab_records::Error,
    },
}
