// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why there is no engine.

use std::path::PathBuf;

use hoplab_document::DocumentError;

use crate::engine::OUT;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document cannot be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The document has this path outside of the run's folder.
    #[error("{}: expected a path below {OUT}", .0.display())]
    Path(PathBuf),
    /// Records could not be begun.
    #[error(transparent)]
    Channel(#[from] hoplab_channel::Error),
}
