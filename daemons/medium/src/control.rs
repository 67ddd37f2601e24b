// SPDX-License-Identifier: Apache-2.0
//! Changes while the network is in use: a datagram each ([`hoplab_channel::request`]).
//!
//! A sender with an address of its own gets an answer: `ok`, or why not. Only the daemon's own user
//! can write to the socket; what comes is a stranger's nevertheless. A datagram longer than any
//! request is refused. Of a flood only so many are taken at a time that frames still get through.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};

use hoplab_channel::request::LONGEST;
pub use hoplab_channel::request::{change, Refusal};
use hoplab_channel::Change;

use crate::error::Error;

/// Datagrams that are taken before the frames that have come meanwhile.
const AT_ONCE: usize = 32;

/// Where changes come from.
pub trait Changes {
    /// To wait for what comes next.
    fn descriptor(&self) -> Result<OwnedFd, Error>;

    /// What has come, each part of it answered.
    fn receive(&mut self) -> Received;
}

/// What came of a source of changes.
#[derive(Default)]
pub struct Received {
    /// In the order in which they came.
    pub changes: Vec<Change>,
    /// Whether something else is to be waited for: another [`descriptor`](Changes::descriptor).
    pub another: bool,
    /// Whether the medium must end.
    pub end: bool,
}

/// The socket; its file goes with it.
pub struct Control {
    socket: UnixDatagram,
    path: PathBuf,
    names: Vec<String>,
}

impl Control {
    pub fn open(path: &Path, names: Vec<String>) -> Result<Self, Error> {
        let failed = |why: io::Error| Error::Control {
            path: path.into(),
            why,
        };
        let socket = UnixDatagram::bind(path).map_err(failed)?;
        let control = Self {
            socket,
            path: path.to_owned(),
            names,
        };
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        control.socket.set_nonblocking(true).map_err(failed)?;
        Ok(control)
    }

    /// Have what has come done, each request by one call, whose reason is the answer where it is not.
    pub fn take<E: fmt::Display>(&mut self, mut done: impl FnMut(&[u8]) -> Result<(), E>) {
        let mut bytes = [0; LONGEST + 1];
        for _ in 0..AT_ONCE {
            let Ok((length, from)) = self.socket.recv_from(&mut bytes) else {
                break;
            };
            match done(&bytes[..length]) {
                Ok(()) => self.answer(&from, "ok"),
                Err(reason) => self.answer(&from, &reason.to_string()),
            }
        }
    }

    /// A sender that does not take the answer goes without.
    fn answer(&self, to: &SocketAddr, text: &str) {
        if !to.is_unnamed() {
            let _ = self.socket.send_to_addr(text.as_bytes(), to);
        }
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Changes for Control {
    fn descriptor(&self) -> Result<OwnedFd, Error> {
        let socket = self.socket.try_clone();
        socket.map(Into::into).map_err(Error::Watch)
    }

    fn receive(&mut self) -> Received {
        let mut changes = Vec::new();
        let names = self.names.clone();
        self.take(|bytes| change(bytes, &names).map(|change| changes.push(change)));
        Received {
            changes,
            ..Received::default()
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
