// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the daemon could not be set up, or ended.

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something could not be set up.
    #[error(transparent)]
    Linux(#[from] hoplab_linux::Error),
    /// Of what all routing daemons do.
    #[error(transparent)]
    Station(#[from] hoplab_station::Error),
    /// The station's part in Split-TCP failed.
    #[error(transparent)]
    Split(#[from] hoplab_split::Error),
}
