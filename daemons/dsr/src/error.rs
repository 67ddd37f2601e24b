// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the daemon could not be set up, or ended.

use std::io;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something could not be set up.
    #[error(transparent)]
    Linux(#[from] hoplab_linux::Error),
    /// Of what all routing daemons do.
    #[error(transparent)]
    Station(#[from] hoplab_station::Error),
    /// The kernel module elfn does not answer.
    #[error(
        "elfn: {0}; load the kernel's module elfn, which \
         'make -C kernel-modules install' builds, or leave elfn out"
    )]
    Elfn(io::Error),
    /// The station's part in Split-TCP failed.
    #[error(transparent)]
    Split(#[from] hoplab_split::Error),
}
