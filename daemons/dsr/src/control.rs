// SPDX-License-Identifier: Apache-2.0
//! The control socket: one request a connection, one word a request, text back.

use hoplab_dsr_core::{Dsr, Instant};
use hoplab_linux::calls::Call;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// A client that says nothing must not stop forwarding for long.
const CLIENT_TIMEOUT: Duration = Duration::from_millis(100);

pub struct Control(UnixListener);

fn address(name: &str) -> std::io::Result<SocketAddr> {
    match name.strip_prefix('@') {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name),
        None => SocketAddr::from_pathname(name),
    }
}

impl Control {
    pub fn bind(name: &str) -> Result<Self, String> {
        let fail = |e| format!("control socket {name:?}: {e}");
        if !name.starts_with('@') && UnixStream::connect(name).is_err() {
            // Left behind by a process that is gone.
            let _ = std::fs::remove_file(name);
        }
        let at = address(name).map_err(fail)?;
        let listener = UnixListener::bind_addr(&at).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        Ok(Control(listener))
    }

    pub fn serve(&self, core: &mut Dsr, now: Instant) {
        let Ok((mut stream, _)) = self.0.accept() else {
            return;
        };
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_read_timeout(Some(CLIENT_TIMEOUT));
        let mut request = [0u8; 64];
        let got = stream.read(&mut request).unwrap_or(0);
        let word = String::from_utf8_lossy(&request[..got]);
        // The client may be gone; that is its own affair.
        let _ = stream.write_all(answer(core, now, word.trim()).as_bytes());
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The protocol's counters, and how often each system call of the forwarding path was made.
pub fn counters(core: &Dsr) -> Vec<(&'static str, u64)> {
    let mut all = core.stats().counters();
    all.extend([
        ("calls_wait", Call::Wait.made()),
        ("calls_send", Call::Send.made()),
        ("calls_statuses", Call::Statuses.made()),
        ("calls_tun", Call::Tun.made()),
    ]);
    all
}

fn answer(core: &mut Dsr, now: Instant, request: &str) -> String {
    match request {
        "routes" => {
            let line = |route: Vec<std::net::Ipv4Addr>| {
                let hops: Vec<_> = route.iter().map(ToString::to_string).collect();
                hops.join(" ") + "\n"
            };
            core.routes(now).into_iter().map(line).collect()
        }
        "stats" => {
            let line = |(name, value)| format!("{name} {value}\n");
            counters(core).into_iter().map(line).collect()
        }
        "settings" => toml::to_string(core.settings()).unwrap_or_else(|e| format!("{e}\n")),
        "flush" => {
            core.flush();
            "ok\n".into()
        }
        other => format!("unknown request {other:?}: expected routes, stats, settings or flush\n"),
    }
}

/// The client's side.
pub fn ask(name: &str, request: &str) -> Result<String, String> {
    let fail = |e| format!("control socket {name:?}: {e} (is the daemon running here?)");
    let mut stream = UnixStream::connect_addr(&address(name).map_err(fail)?).map_err(fail)?;
    stream.write_all(request.as_bytes()).map_err(fail)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(fail)?;
    Ok(text)
}
