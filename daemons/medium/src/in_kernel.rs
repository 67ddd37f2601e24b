// SPDX-License-Identifier: Apache-2.0
//! The way to the medium in a guest's own kernel: one file, at which nothing happens per frame.
//!
//! It takes the document as one write, and requests for changes as further ones. A read gives what
//! the medium says. The medium ends when [`END`] is written or the file closed
//! (`kernel-modules/guest/c/medium.c`).

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;

use hoplab_linux::{signals, wait, Found, Interest};
use hoplab_medium_core::Duration;

use crate::control::Control;
use crate::error::{Error, DEVICE};

/// Makes the medium write its records and end.
const END: &[u8] = b"end";
const LONGEST_MESSAGE: usize = 4096;
/// A wait without news ends after so long, and is repeated.
const LONGEST_WAIT: Duration = Duration::from_secs(1_000_000);

/// The kernel's medium at work.
pub struct InKernel {
    file: File,
    /// Where requests come from.
    control: Option<Control>,
}

impl InKernel {
    /// Give the medium its document; it decides every frame's fate from now on. Requests for changes
    /// come at `control`.
    pub fn start(document: &str, control: Option<Control>) -> Result<Self, Error> {
        signals::catch_in_wait();
        let file = OpenOptions::new().read(true).write(true).open(DEVICE);
        let mut medium = Self {
            file: file.map_err(Error::NoMedium)?,
            control,
        };
        if medium.file.write(document.as_bytes()).is_err() {
            return Err(medium.failed());
        }
        Ok(medium)
    }

    /// Serve until asked to stop; what the medium says goes to standard error.
    pub fn run(mut self) -> Result<(), Error> {
        while !signals::stopped() {
            let (news, asked) = self.news();
            if news.error {
                return Err(self.failed());
            }
            if news.input {
                self.repeat();
            }
            if asked {
                self.obey();
            }
        }
        if self.file.write(END).is_err() {
            return Err(self.failed());
        }
        self.repeat();
        Ok(())
    }

    /// Wait; what there is of the medium, and whether there is a request.
    fn news(&self) -> (Found, bool) {
        let medium = Interest::input(self.file.as_fd());
        let Some(control) = &self.control else {
            let mut interest = [medium];
            wait(&mut interest, LONGEST_WAIT);
            return (interest[0].found(), false);
        };
        let mut interest = [medium, Interest::input(control.as_fd())];
        wait(&mut interest, LONGEST_WAIT);
        let [news, asked] = interest.map(|interest| interest.found());
        (news, asked.input)
    }

    /// Hand the requests that have come to the medium.
    fn obey(&mut self) {
        let Some(mut control) = self.control.take() else {
            return;
        };
        control.take(|request| {
            self.repeat();
            let done = self.file.write(request);
            done.map(drop).map_err(|why| match self.message() {
                Some(said) => Error::Kernel(Some(said)),
                None => Error::Request(why),
            })
        });
        self.control = Some(control);
    }

    /// Repeat what the medium has said.
    fn repeat(&mut self) {
        while let Some(text) = self.message() {
            eprintln!("hoplab-medium: {text}");
        }
    }

    /// Its next message, each of one read.
    fn message(&mut self) -> Option<String> {
        let mut message = [0; LONGEST_MESSAGE];
        let length = self
            .file
            .read(&mut message)
            .ok()
            .filter(|length| *length > 0)?;
        Some(String::from_utf8_lossy(&message[..length]).into_owned())
    }

    /// Why it has failed, which it says last.
    fn failed(&mut self) -> Error {
        let mut last = None;
        while let Some(text) = self.message() {
            if let Some(before) = last.replace(text) {
                eprintln!("hoplab-medium: {before}");
            }
        }
        Error::Kernel(last)
    }
}
