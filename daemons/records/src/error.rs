// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a row was not written.

use crate::Wrong;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// What failed.
#[derive(Debug)]
pub enum Error {
    /// The table's file cannot be opened or written.
    File { path: PathBuf, why: io::Error },
    /// A row of this table has a value that the schema does not allow.
    Row { table: &'static str, wrong: Wrong },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, why } => write!(f, "{}: {why}", path.display()),
            Error::Row { table, wrong } => write!(f, "table {table}, {wrong}"),
        }
    }
}

impl std::error::Error for Error {}
