// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records: one JSON object a line, one file a table. The tables and their rows are made from
//! `hoplab/model/records/schema.toml` when this crate is compiled. So a column that is misspelt,
//! left out or of another type does not compile:
//!
//! ```
//! use hoplab_records::{routing, Integer};
//! let row = routing::Row { node: "n0", counter: "forwarded", value: Integer(7) };
//! # let _ = row;
//! ```
//! ```compile_fail,E0560
//! # use hoplab_records::{routing, Integer};
//! let row = routing::Row { node: "n0", counter: "forwarded", value: Integer(7), vlaue: 1 };
//! ```
//! ```compile_fail,E0063
//! # use hoplab_records::{routing, Integer};
//! let row = routing::Row { node: "n0", value: Integer(7) };
//! ```
//! ```compile_fail,E0308
//! # use hoplab_records::{routing, Integer};
//! let row = routing::Row { node: "n0", counter: "forwarded", value: 7.5 };
//! ```
#![forbid(unsafe_code)]

mod check;
mod error;
pub mod file;
mod writer;

pub use check::Wrong;
pub use error::Error;
pub use writer::Writer;

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// A table of the schema.
pub trait Table {
    const NAME: &'static str;
    /// Whether its rows are in order of `t_s` and end at the scenario's duration.
    const TIMED: bool;
    type Row<'a>: Row;
}

/// A row of a table.
pub trait Row: serde::Serialize {
    /// What the types do not say: floats are numbers, and strings of a closed set are of it.
    fn check(&self) -> Result<(), Wrong>;
}

/// The integer of Parquet and of JSON's readers: 64 bits, signed. A count beyond stays at the
/// largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Integer(pub i64);

macro_rules! from_unsigned {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Integer {
            fn from(value: $kind) -> Self {
                Integer(i64::try_from(value).unwrap_or(i64::MAX))
            }
        }
    )*};
}
from_unsigned!(u8, u16, u32, u64, usize);

impl From<i32> for Integer {
    fn from(value: i32) -> Self {
        Integer(value.into())
    }
}

impl From<i64> for Integer {
    fn from(value: i64) -> Self {
        Integer(value)
    }
}
