// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lines to standard output and error, each with one system call of this process. The streams of
//! std have a lock and a buffer, which programs in the guest's kernel would share.

use crate::socket::checked;
use std::io;

/// To standard output.
pub fn line(text: &str) -> io::Result<()> {
    write(libc::STDOUT_FILENO, text)
}

/// To standard error, if there is one.
pub fn warning(text: &str) {
    let _ = write(libc::STDERR_FILENO, text);
}

fn write(fd: libc::c_int, text: &str) -> io::Result<()> {
    let line = format!("{text}\n");
    // SAFETY: pointer and length are those of a live string.
    let written = unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
    checked(written as i64).map(|_| ())
}
