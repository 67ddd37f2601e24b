// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A table's file.

use crate::{file, Error, Row, Table};
use std::fs::File;
use std::io::{self, BufWriter, Write};
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
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::over(path, file::create(path))
    }

    /// A new file or the end of an old one.
    pub fn append(path: &Path) -> Result<Self, Error> {
        Self::over(path, file::append(path))
    }

    /// `FOLDER/TABLE.jsonl`, or with a source, since several may write one table,
    /// `FOLDER/TABLE-SOURCE.jsonl`.
    pub fn create_in(folder: &Path, source: Option<&str>) -> Result<Self, Error> {
        let source = source.map(|name| format!("-{name}")).unwrap_or_default();
        Self::create(&folder.join(format!("{}{source}.jsonl", T::NAME)))
    }

    fn over(path: &Path, file: io::Result<File>) -> Result<Self, Error> {
        let file = file.map_err(|why| Error::File {
            path: path.into(),
            why,
        })?;
        Ok(Self {
            path: path.into(),
            out: BufWriter::with_capacity(BUFFER_BYTES, file),
            table: PhantomData,
        })
    }

    pub fn write(&mut self, row: &T::Row<'_>) -> Result<(), Error> {
        row.check().map_err(|wrong| Error::Row {
            table: T::NAME,
            wrong,
        })?;
        let written = serde_json::to_writer(&mut self.out, row).map_err(io::Error::from);
        let ended = written.and_then(|()| self.out.write_all(b"\n"));
        ended.map_err(|why| self.failed(why))
    }

    pub fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(|why| self.failed(why))
    }

    fn failed(&self, why: io::Error) -> Error {
        let path = self.path.clone();
        Error::File { path, why }
    }
}
