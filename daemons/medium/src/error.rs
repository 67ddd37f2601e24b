// SPDX-License-Identifier: Apache-2.0
//! Why the daemon could not be set up, or ended.

use std::io;
use std::path::PathBuf;

use hoplab_document::DocumentError;

/// The kernel's medium.
pub const DEVICE: &str = "/dev/hoplab-medium";

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document cannot be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Records could not be written, or the run was cut short.
    #[error(transparent)]
    Channel(#[from] hoplab_channel::Error),
    /// A file, a folder or a socket cannot be used.
    #[error("{}: {why}", .path.display())]
    File { path: PathBuf, why: io::Error },
    /// The control socket cannot be opened.
    #[error("control: {}: {why}", .path.display())]
    Control { path: PathBuf, why: io::Error },
    /// The control socket cannot be waited for.
    #[error("control: {0}")]
    Watch(io::Error),
    /// What a person does at the control socket would come at no time that a run could repeat.
    #[error("control: is for real time, and this kernel's time is virtual")]
    VirtualTime,
    /// A call of a netlink socket failed.
    #[error("{call}: {why}")]
    Netlink {
        /// Which one, as `netlink send`.
        call: &'static str,
        why: io::Error,
    },
    /// The kernel did not answer.
    #[error("netlink: the kernel did not answer within 1 s")]
    Silent,
    /// The kernel's `mac80211_hwsim` is not loaded.
    #[error("mac80211_hwsim is not there; load it with 'modprobe mac80211_hwsim'")]
    NoHwsim,
    /// `mac80211_hwsim` refused the registration.
    #[error("registering with mac80211_hwsim failed: {0}; another medium may be registered")]
    Registration(io::Error),
    /// `mac80211_hwsim` answered the registration with something else.
    #[error("registering with mac80211_hwsim: unexpected answer")]
    Answer,
    /// This kernel has no medium of its own.
    #[error("{DEVICE}: {0}; expected a guest's kernel in virtual time; leave out --in-kernel")]
    NoMedium(io::Error),
    /// The kernel's medium could not be given a request.
    #[error(transparent)]
    Request(io::Error),
    /// The kernel's medium has failed or refuses a request, and has said this.
    #[error("{}", .0.as_deref().unwrap_or("the kernel's medium has failed"))]
    Kernel(Option<String>),
}
