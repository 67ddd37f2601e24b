// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The door to a file of a run's folder, where programs of others write too.
//!
//! A pipe in a file's place would block the program that opens it, in the guest's kernel the whole
//! guest. A link would lead to another file of the user's.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

const FLAGS: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

/// A regular file for reading. The user who started the daemon gave its path, which may lead there
/// by a link, as `/proc/self/fd/3` does.
pub fn read(path: &Path) -> io::Result<File> {
    open(path, File::options().read(true).custom_flags(FLAGS))
}

/// A regular file for writing, new or with a new content.
pub fn create(path: &Path) -> io::Result<File> {
    // Not by `set_len`: in the guest's kernel a daemon has no ftruncate(2) of its own. The call
    // would act on the host's descriptor of that number.
    open(
        path,
        written(File::options().write(true).create(true).truncate(true)),
    )
}

/// A regular file for writing at its end, which may be new.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, written(File::options().append(true).create(true)))
}

fn written(how: &mut OpenOptions) -> &mut OpenOptions {
    how.custom_flags(FLAGS | libc::O_NOFOLLOW)
}

fn open(path: &Path, how: &OpenOptions) -> io::Result<File> {
    let file = how.open(path).map_err(|why| {
        // A link; a pipe that nobody reads, a socket; a device without a driver.
        match why.raw_os_error() {
            Some(libc::ELOOP) => irregular("a link"),
            Some(libc::ENXIO | libc::ENODEV) => irregular("a pipe, a socket or a device"),
            Some(libc::EISDIR) => irregular("a folder"),
            _ => why,
        }
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    Err(irregular(if kind.is_fifo() {
        "a pipe"
    } else if kind.is_dir() {
        "a folder"
    } else {
        "a device"
    }))
}

fn irregular(what: &str) -> io::Error {
    let why = format!("is no regular file but {what}; let no program put one there");
    io::Error::new(ErrorKind::InvalidInput, why)
}
