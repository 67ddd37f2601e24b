// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a row was not written.

use crate::Wrong;
use std::io;
use std::path::PathBuf;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table's file cannot be opened or written.
    #[error("{}: {why}", .path.display())]
    File { path: PathBuf, why: io::Error },
    /// A row of this table has a value that the schema does not allow.
    #[error("table {table}, {wrong}")]
    Row { table: &'static str, wrong: Wrong },
}
