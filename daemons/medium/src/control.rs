// SPDX-License-Identifier: Apache-2.0
//! Changes by hand while the network is in use, in real time: a datagram each, as JSON.
//!
//! ```json
//! {"do": "move", "station": "n1", "x_m": 120.0, "y_m": 40.0}
//! {"do": "power", "station": "n1", "up": false}
//! {"do": "loss", "src": "n0", "dst": "n1", "rate": 0.1}
//! ```
//!
//! Who has an address of its own is answered: `ok`, or why not. Only the daemon's own user can
//! write to the socket; what comes is a stranger's nevertheless. A datagram that is longer than
//! any request is refused, and of a flood so many are taken at a time that frames still get through.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};

use hoplab_channel::Change;
use hoplab_medium_core::{LinkId, Position, RadioId};
use serde::Deserialize;

use crate::error::Error;

const LONGEST: usize = 512;
/// Datagrams that are taken before the frames that have come meanwhile.
const AT_ONCE: usize = 32;
const FARTHEST_M: f64 = 1e6;

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Move { station: String, x_m: f64, y_m: f64 },
    Power { station: String, up: bool },
    Loss { src: String, dst: String, rate: f64 },
}

/// Why a request is not followed.
#[derive(Debug)]
pub enum Refusal {
    /// The datagram is longer than any request.
    Long,
    /// The datagram is no request.
    Malformed(serde_json::Error),
    /// No station has this name.
    Station(String),
    /// A value is out of its range.
    Range {
        key: &'static str,
        value: f64,
        low: f64,
        high: f64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Long => write!(f, "a request has at most {LONGEST} bytes"),
            Refusal::Malformed(why) => write!(f, "{why}"),
            Refusal::Station(name) => write!(f, "{name:?}: no station of this name has a radio"),
            Refusal::Range {
                key,
                value,
                low,
                high,
            } => write!(f, "{key}: {value} is not in {low} to {high}"),
        }
    }
}

impl std::error::Error for Refusal {}

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
    /// Whether the medium shall end.
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

    /// Whoever does not take the answer goes without.
    fn answer(&self, to: &SocketAddr, text: &str) {
        if !to.is_unnamed() {
            let _ = self.socket.send_to_addr(text.as_bytes(), to);
        }
    }
}

impl Changes for Control {
    fn descriptor(&self) -> Result<OwnedFd, Error> {
        let socket = self.socket.try_clone();
        socket.map(Into::into).map_err(Error::Watch)
    }

    fn receive(&mut self) -> Received {
        let mut changes = Vec::new();
        let mut bytes = [0; LONGEST + 1];
        for _ in 0..AT_ONCE {
            let Ok((length, from)) = self.socket.recv_from(&mut bytes) else {
                break;
            };
            match change(&bytes[..length], &self.names) {
                Ok(change) => {
                    changes.push(change);
                    self.answer(&from, "ok");
                }
                Err(reason) => self.answer(&from, &reason.to_string()),
            }
        }
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

/// What a request asks for, where stations have these names.
pub fn change(bytes: &[u8], names: &[String]) -> Result<Change, Refusal> {
    if bytes.len() > LONGEST {
        return Err(Refusal::Long);
    }
    let request: Request = serde_json::from_slice(bytes).map_err(Refusal::Malformed)?;
    let radio = |name: &str| {
        let found = names.iter().position(|known| known == name);
        found
            .map(RadioId::new)
            .ok_or_else(|| Refusal::Station(name.into()))
    };
    let within = |value: f64, key, low, high| {
        let holds = (low..=high).contains(&value);
        holds.then_some(value).ok_or(Refusal::Range {
            key,
            value,
            low,
            high,
        })
    };
    Ok(match request {
        Request::Move { station, x_m, y_m } => Change::Put {
            radio: radio(&station)?,
            place: Position::new(
                within(x_m, "x_m", -FARTHEST_M, FARTHEST_M)?,
                within(y_m, "y_m", -FARTHEST_M, FARTHEST_M)?,
            ),
        },
        Request::Power { station, up } => Change::Power {
            radio: radio(&station)?,
            up,
        },
        Request::Loss { src, dst, rate } => Change::Lose {
            link: LinkId {
                from: radio(&src)?,
                to: radio(&dst)?,
            },
            rate: within(rate, "rate", 0.0, 1.0)?,
        },
    })
}
