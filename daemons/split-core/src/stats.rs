// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a station tells of a connection: a row of the table `split`.

use core::fmt;
use core::net::Ipv4Addr;

/// The ends of a connection, in the direction of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    pub source: Ipv4Addr,
    pub source_port: u16,
    pub destination: Ipv4Addr,
    pub destination_port: u16,
}

impl Ends {
    /// Of the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Ends {
            source: self.destination,
            source_port: self.destination_port,
            destination: self.source,
            destination_port: self.source_port,
        }
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tcp={}:{}>{}:{}",
            self.source, self.source_port, self.destination, self.destination_port
        )
    }
}

/// What a station is to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Source,
    Proxy,
    Destination,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Source => "source",
            Role::Proxy => "proxy",
            Role::Destination => "destination",
        }
    }
}

hoplab_base::counters! {
    /// Counts of segments, unless said otherwise, since the connection's beginning.
    Totals {
        /// Of a source: given by TCP; of a proxy: taken from their previous custodian.
        taken,
        /// Passed untouched, since there was no room for them.
        declined,
        /// Sent on, retransmissions too.
        sent,
        /// Sent again.
        retransmitted,
        /// Of those: since the timer ran out, counted a timer.
        timeouts,
        /// The next custodian, or the destination, answered for them.
        lacked,
        /// The end-to-end ACK freed them before any LACK did.
        delivered,
        /// Dropped, since nobody acknowledged them for too long.
        given_up,
        /// Came again though taken already: answered for again, not sent on. Of a source: TCP's own
        /// retransmissions that were not needed.
        absorbed,
        /// Of a source: sent into the network anew, since TCP asked again for what a proxy had
        /// answered for.
        reissued,
        /// LACKs sent, packets.
        lacks_sent,
        /// LACKs received, packets.
        lacks_received,
        /// Of a destination: end-to-end ACKs of its TCP that a later one made needless.
        acks_thinned,
    }
}

/// The state of a connection at a station now.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub connection: Ends,
    pub role: Role,
    pub totals: Totals,
    /// Segments held and not answered for by anybody else, in flight or not.
    pub buffered: usize,
    /// Of those: sent, and neither acknowledged nor taken for lost.
    pub in_flight: usize,
    /// Congestion window, segments. A destination has none: 0.
    pub window: f64,
    /// Slow-start threshold, segments; `None` before the first loss.
    pub ssthresh: Option<f64>,
    /// Smoothed time to the LACK, s; `None` before the first.
    pub rtt_s: Option<f64>,
    /// Timeout, s, with its doubling.
    pub rto_s: f64,
}
