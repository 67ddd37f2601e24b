// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can fail at every routing daemon.

use hoplab_document::DocumentError;
use std::io;

/// Why something could not be set up, or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document cannot be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Something could not be set up.
    #[error(transparent)]
    Linux(#[from] hoplab_linux::Error),
    /// Privileges could not be dropped.
    #[error("{0}; keep_privileges goes on without that")]
    Privileges(hoplab_linux::Error),
    /// No monitor interface of this name could be made.
    #[error("creating monitor interface {name:?}: {why}")]
    Monitor { name: String, why: io::Error },
    /// The protocol's port is taken.
    #[error(
        "UDP port {port}: {why}; expected no other such daemon here, and CAP_NET_BIND_SERVICE"
    )]
    Port { port: u16, why: io::Error },
    /// The kernel's routes cannot be changed.
    #[error("routes: {0}")]
    Routes(io::Error),
    /// The kernel module elfn does not answer.
    #[error(
        "elfn: {0}; load the kernel's module elfn, which \
         'make -C kernel-modules install' builds, or leave elfn out"
    )]
    Elfn(io::Error),
    /// A table could not be written.
    #[error("{what}: {why}")]
    Records {
        what: &'static str,
        why: hoplab_records::Error,
    },
    /// The kernel did not run the daemon, or not to its end.
    #[error("in the guest's kernel: {0}")]
    Resident(io::Error),
    /// Standard output failed.
    #[error("standard output: {0}")]
    Output(io::Error),
}
