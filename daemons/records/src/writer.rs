// SPDX-License-Identifier: Apache-2.0
//! A table's file.

use crate::{Row, Table};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 16;

/// Writes rows of the table `T`; a full buffer or [`Writer::flush`] reaches the disk.
pub struct Writer<T> {
    path: PathBuf,
    out: BufWriter<File>,
    table: PhantomData<T>,
}

impl<T: Table> Writer<T> {
    /// A new file of this name; what was in it is gone.
    pub fn create(path: &Path) -> Result<Self, String> {
        Self::open(
            path,
            File::options().write(true).create(true).truncate(true),
        )
    }

    /// A new file or the end of an old one.
    pub fn append(path: &Path) -> Result<Self, String> {
        Self::open(path, File::options().append(true).create(true))
    }

    /// `FOLDER/TABLE.jsonl`, or with a source, since several may write one table,
    /// `FOLDER/TABLE-SOURCE.jsonl`.
    pub fn create_in(folder: &Path, source: Option<&str>) -> Result<Self, String> {
        let source = source.map(|name| format!("-{name}")).unwrap_or_default();
        Self::create(&folder.join(format!("{}{source}.jsonl", T::NAME)))
    }

    fn open(path: &Path, how: &std::fs::OpenOptions) -> Result<Self, String> {
        let file = how
            .open(path)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self {
            path: path.into(),
            out: BufWriter::with_capacity(BUFFER_BYTES, file),
            table: PhantomData,
        })
    }

    pub fn write(&mut self, row: &T::Row<'_>) -> Result<(), String> {
        row.check()
            .map_err(|wrong| format!("table {}, {wrong}", T::NAME))?;
        serde_json::to_writer(&mut self.out, row).map_err(|e| self.failed(&e))?;
        self.out.write_all(b"\n").map_err(|e| self.failed(&e))
    }

    pub fn flush(&mut self) -> Result<(), String> {
        self.out.flush().map_err(|e| self.failed(&e))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.path.display())
    }
}
