// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests and responses in turn. Both ends draw the same sizes from the same seed.

use crate::draw::{Draw, Draws};
use hoplab_base::Duration;

/// The sizes of one transaction, octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub request: u64,
    pub response: u64,
}

/// The sizes of a flow's transactions, one after the other, without end.
#[derive(Clone, Debug)]
pub struct Turns {
    request: Draws,
    response: Draws,
}

impl Turns {
    /// Those of a flow's seed.
    pub fn new(request: Draw, response: Draw, seed: u64) -> Self {
        Turns {
            request: Draws::new(request, seed, "request"),
            response: Draws::new(response, seed, "response"),
        }
    }
}

impl Iterator for Turns {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        Some(Turn {
            request: self.request.octets(),
            response: self.response.octets(),
        })
    }
}

/// The times from a response to the next request.
#[derive(Clone, Debug)]
pub struct Thinking(Draws);

impl Thinking {
    /// Those of a flow's seed; `think` is in seconds.
    pub fn new(think: Draw, seed: u64) -> Self {
        Thinking(Draws::new(think, seed, "think"))
    }

    /// The next one.
    pub fn time(&mut self) -> Duration {
        self.0.time()
    }
}
