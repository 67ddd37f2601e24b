// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the shells of Split-TCP share, `hoplab-split` here and `hoplab-dsr`: records, and messages
//! for a person.
#![forbid(unsafe_code)]

mod error;
mod records;
mod told;

pub use error::Error;
pub use records::{Events, Samples};
pub use told::told;
