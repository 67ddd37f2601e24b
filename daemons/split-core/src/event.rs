// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happened and why, for the structured log.

use crate::stats::{Ends, Role};
use core::fmt;
use hoplab_base::Duration;

/// One occurrence at one station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub connection: Ends,
    pub role: Role,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first segment of the connection was taken.
    Begin,
    /// No LACK came for the oldest segment in flight; the window is 1.
    Timeout { sequence: u32, rto: Duration },
    /// Later segments were acknowledged, `sequence` was not; the window is halved.
    FastRetransmit { sequence: u32, window: usize },
    /// The buffer is full, or the stamped segment would be too long: from now on segments pass
    /// untouched. Reported once until one is taken again.
    Decline { sequence: u32, buffered: usize },
    /// The source's TCP asked again for a segment that a proxy had answered for: it is sent into
    /// the network anew.
    Reissue { sequence: u32, round: u8 },
    /// Nobody acknowledged the segment for too long: it is dropped. The source's TCP has it.
    GiveUp { sequence: u32 },
}

impl Event {
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Begin => "begin",
            Kind::Timeout { .. } => "timeout",
            Kind::FastRetransmit { .. } => "fast-retransmit",
            Kind::Decline { .. } => "decline",
            Kind::Reissue { .. } => "reissue",
            Kind::GiveUp { .. } => "give-up",
        }
    }
}

/// The detail of the table `events`: `key=value`.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} role={}", self.connection, self.role.as_str())?;
        match &self.kind {
            Kind::Begin => Ok(()),
            Kind::Timeout { sequence, rto } => {
                write!(f, " seq={sequence} rto_ms={:.0}", rto.as_secs_f64() * 1e3)
            }
            Kind::FastRetransmit { sequence, window } => {
                write!(f, " seq={sequence} window={window}")
            }
            Kind::Decline { sequence, buffered } => {
                write!(f, " seq={sequence} buffered={buffered}")
            }
            Kind::Reissue { sequence, round } => write!(f, " seq={sequence} round={round}"),
            Kind::GiveUp { sequence } => write!(f, " seq={sequence}"),
        }
    }
}
