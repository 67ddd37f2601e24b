// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Split-TCP (Kopparty, Krishnamurthy, Faloutsos, Tripathi 2002) at packet level, as a pure state
//! machine. Packets and a time go in; packets, events and the next deadline come out.
//!
//! Some stations of a route are *proxies* of a connection. A proxy takes a segment that passes, and
//! acknowledges it to its previous *custodian* (a proxy or the source) by a local acknowledgement,
//! a LACK. It is responsible for the segment until the next custodian's LACK or the end-to-end ACK
//! says that it need not be. Each custodian sends under a congestion window of its own. The
//! source's kernel keeps everything until the end-to-end ACK, and nobody forges one for it.
//!
//! Segments keep their octets and their numbers, so no proxy depends on another one. Any station
//! that a segment meets may take it, and a proxy that dies loses nothing that the source's TCP
//! would not send again. What a segment has to carry for that, and the LACK, are formats of
//! [`hoplab_wire::split`].
//!
//! The driving contract stands on [`Split`]. `no_std` makes purity a compile error rather than a
//! promise.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod answers;
mod config;
mod custody;
mod event;
mod flow;
mod node;
mod packet;
mod segment;
mod stats;
mod thinner;
mod window;

pub use config::{Config, Connection, Tuning};
pub use event::{Event, Kind};
pub use hoplab_base::{Duration, Instant};
pub use node::{hops_by_ttl, Split};
pub use packet::{Output, Place, Verdict};
pub use stats::{Ends, Role, Row, Totals};
