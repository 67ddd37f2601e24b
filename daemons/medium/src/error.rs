// SPDX-License-Identifier: Apache-2.0
//! Why the daemon could not be set up, or ended.

use std::fmt;
use std::io;
use std::path::PathBuf;

use hoplab_document::DocumentError;

use crate::in_kernel::DEVICE;

/// What failed.
#[derive(Debug)]
pub enum Error {
    /// The document cannot be used.
    Document(DocumentError),
    /// Records could not be written, or the run was cut short.
    Channel(hoplab_channel::Error),
    /// A file, a folder or a socket cannot be used.
    File { path: PathBuf, why: io::Error },
    /// The control socket cannot be opened.
    Control { path: PathBuf, why: io::Error },
    /// The control socket cannot be waited for.
    Watch(io::Error),
    /// What a person does at the control socket would come at no time that a run could repeat.
    VirtualTime,
    /// A call of a netlink socket failed.
    Netlink {
        /// Which one, as `netlink send`.
        call: &'static str,
        why: io::Error,
    },
    /// The kernel did not answer.
    Silent,
    /// The kernel's `mac80211_hwsim` is not loaded.
    NoHwsim,
    /// `mac80211_hwsim` refused the registration.
    Registration(io::Error),
    /// `mac80211_hwsim` answered the registration with something else.
    Answer,
    /// This kernel has no medium of its own.
    NoMedium(io::Error),
    /// The kernel's medium could not be given a request.
    Request(io::Error),
    /// The kernel's medium has failed or refuses a request, and has said this.
    Kernel(Option<String>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Document(why) => write!(f, "{why}"),
            Error::Channel(why) => write!(f, "{why}"),
            Error::File { path, why } => write!(f, "{}: {why}", path.display()),
            Error::Control { path, why } => write!(f, "control: {}: {why}", path.display()),
            Error::Watch(why) => write!(f, "control: {why}"),
            Error::VirtualTime => {
                write!(
                    f,
                    "control: is for real time, and this kernel's time is virtual"
                )
            }
            Error::Netlink { call, why } => write!(f, "{call}: {why}"),
            Error::Silent => write!(f, "netlink: the kernel did not answer within 1 s"),
            Error::NoHwsim => write!(
                f,
                "mac80211_hwsim is not there; load it with 'modprobe mac80211_hwsim'"
            ),
            Error::Registration(why) => write!(
                f,
                "registering with mac80211_hwsim failed: {why}; another medium may be registered"
            ),
            Error::Answer => write!(f, "registering with mac80211_hwsim: unexpected answer"),
            Error::NoMedium(why) => write!(
                f,
                "{DEVICE}: {why}; expected a guest's kernel in virtual time; leave out --in-kernel"
            ),
            Error::Request(why) => write!(f, "{why}"),
            Error::Kernel(Some(why)) => write!(f, "{why}"),
            Error::Kernel(None) => write!(f, "the kernel's medium has failed"),
        }
    }
}

impl std::error::Error for Error {}

impl From<DocumentError> for Error {
    fn from(why: DocumentError) -> Self {
        Error::Document(why)
    }
}

impl From<hoplab_channel::Error> for Error {
    fn from(why: hoplab_channel::Error) -> Self {
        Error::Channel(why)
    }
}
