// SPDX-License-Identifier: Apache-2.0
//! What the shells of Split-TCP share, `hoplab-split` here and `hoplab-dsr`: the file of
//! connections, records, and what a person is told.
#![forbid(unsafe_code)]

mod file;
mod records;
mod told;

pub use file::{help, Connections};
pub use records::{Events, Samples};
pub use told::told;
