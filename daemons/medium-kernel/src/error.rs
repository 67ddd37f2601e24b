// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why there is no engine.

use std::path::PathBuf;

use hoplab_document::DocumentError;

/// Where the document has the run's folder, in the guest. The kernel is a program of the host that
/// runs in the guest's own folder, and to it this is a name there.
pub const OUT: &str = "/out";

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
