// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The way into the guest's kernel for a program that is linked into it too. It runs there in one
//! system call of its process, with the process's descriptors, namespaces and rights. Its own
//! system calls are calls of functions.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

const DEVICE: &str = "/dev/hoplab-resident";

/// The kernel's file for programs that run in it.
pub struct Resident(File);

impl Resident {
    /// None where the kernel has no such file, or does not run programs now.
    pub fn open() -> Option<Self> {
        OpenOptions::new().write(true).open(DEVICE).ok().map(Self)
    }

    /// Run the program of this name with this document until it ends; whether that was without an
    /// error. If not, the program has said why.
    pub fn run(mut self, name: &str, document: &str) -> io::Result<bool> {
        // One write: it returns when the program has ended.
        let whole = format!("{name}\n{document}");
        self.0.write(whole.as_bytes()).map(|taken| taken > 0)
    }
}
