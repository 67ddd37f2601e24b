// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A daemon's control socket: one request a connection, one word a request, text back.

use crate::error::{trying, Error};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// A client that says nothing must not stop forwarding for long.
const CLIENT_TIMEOUT: Duration = Duration::from_millis(100);

/// The listening socket.
pub struct Control(UnixListener);

fn address(name: &str) -> std::io::Result<SocketAddr> {
    match name.strip_prefix('@') {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name),
        None => SocketAddr::from_pathname(name),
    }
}

impl Control {
    /// Listens at `name`; a leading @ means an abstract one.
    pub fn bind(name: &str) -> Result<Self, Error> {
        let what = || format!("control socket {name:?}");
        if !name.starts_with('@') && UnixStream::connect(name).is_err() {
            // Left behind by a process that is gone.
            let _ = std::fs::remove_file(name);
        }
        let at = trying(what(), address(name))?;
        let listener = trying(what(), UnixListener::bind_addr(&at))?;
        trying(what(), listener.set_nonblocking(true))?;
        Ok(Control(listener))
    }

    /// Answers the client that is waiting, if one is.
    pub fn serve(&self, answer: impl FnOnce(&str) -> String) {
        let Ok((mut stream, _)) = self.0.accept() else {
            return;
        };
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_read_timeout(Some(CLIENT_TIMEOUT));
        let mut request = [0u8; 64];
        let got = stream.read(&mut request).unwrap_or(0);
        let word = String::from_utf8_lossy(&request[..got]);
        // The client may be gone; that is its own affair.
        let _ = stream.write_all(answer(word.trim()).as_bytes());
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The client's side: what the daemon at `name` answers.
pub fn ask(name: &str, request: &str) -> Result<String, Error> {
    answer(name, request).map_err(|why| Error::Silent {
        control: name.into(),
        why,
    })
}

fn answer(name: &str, request: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect_addr(&address(name)?)?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
