// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hosts' frames while the medium has them.

use std::sync::Arc;

use crate::carried::Carried;
use crate::dot11::Header;

/// A host's frame for as long as a host or a record may ask for it. Its octets stand here alone,
/// and what they say was read when it came.
pub struct Held {
    /// Shared with the capture, which has a frame longer than its host.
    pub bytes: Arc<[u8]>,
    pub header: Option<Header>,
    /// The packet in it, where frames are recorded.
    pub carried: Option<Carried>,
}
