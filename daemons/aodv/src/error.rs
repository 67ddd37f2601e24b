// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the daemon could not be set up, or ended.

use hoplab_document::DocumentError;
use std::io;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document cannot be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Something could not be set up.
    #[error(transparent)]
    Linux(#[from] hoplab_linux::Error),
    /// Of what all routing daemons do.
    #[error(transparent)]
    Station(#[from] hoplab_station::Error),
    /// Privileges could not be dropped.
    #[error("{0}; keep_privileges goes on without that")]
    Privileges(hoplab_linux::Error),
    /// The port of AODV is taken.
    #[error("UDP port 654: {0}; expected no other AODV daemon here, and CAP_NET_BIND_SERVICE")]
    Port(io::Error),
    /// The kernel's routes cannot be changed.
    #[error("routes: {0}")]
    Routes(io::Error),
    /// The kernel did not run the daemon, or not to its end.
    #[error("in the guest's kernel: {0}")]
    Resident(io::Error),
    /// Standard output failed.
    #[error("standard output: {0}")]
    Output(io::Error),
}
