// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP as a flow's ends need it: connections with the flow's options, whose waits a signal ends.

use crate::calls::{count, Call};
use crate::error::{trying, Error};
use crate::{signals, socket, wait, Interest};
use hoplab_base::Duration;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

/// Octets that one system call moves at most, as iperf3's.
const BLOCK: usize = 128 << 10;
/// Connections that a listener lets wait.
const BACKLOG: i32 = 8;

/// What a sender's connection has of its own; None leaves the kernel's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// IP's octet with the code point in it (RFC 2474).
    pub traffic_class: Option<u8>,
    /// The largest segment with its options, octets.
    pub mss: Option<u32>,
    /// By the kernel's name.
    pub congestion_control: Option<&'a str>,
    /// Short segments do not wait for more (RFC 896).
    pub no_delay: bool,
    /// Multipath TCP (RFC 8684), if the kernel has it.
    pub multipath: bool,
}

fn new_socket(own: SocketAddr, kind: Type, multipath: bool) -> Result<Socket, Error> {
    let protocol = multipath.then(|| Protocol::from(libc::IPPROTO_MPTCP));
    let what = if multipath {
        "MPTCP socket"
    } else {
        "TCP socket"
    };
    trying(what, Socket::new(Domain::for_address(own), kind, protocol))
}

fn open(own: SocketAddr, kind: Type, options: &Options) -> Result<Socket, Error> {
    let socket = new_socket(own, kind, options.multipath)?;
    socket::mark(&socket, own, options.traffic_class)?;
    trying("reuse of addresses", socket.set_reuse_address(true))?;
    if let Some(octets) = options.mss {
        let set = socket.set_mss(octets);
        trying(format!("segments of {octets} octets"), set)?;
    }
    if let Some(name) = options.congestion_control {
        let set = socket.set_tcp_congestion(name.as_bytes());
        trying(format!("congestion control {name}"), set)?;
    }
    trying(
        "segments without delay",
        socket.set_nodelay(options.no_delay),
    )?;
    trying(format!("address {own}"), socket.bind(&own.into()))?;
    Ok(socket)
}

/// A connection whose sends wait until all has gone to the kernel, whatever signals come.
pub struct Whole(Socket);

impl Whole {
    /// From `own` to `to`.
    pub fn connect(own: SocketAddr, to: SocketAddr, options: &Options) -> Result<Self, Error> {
        let socket = open(own, Type::STREAM, options)?;
        let connected = socket.connect(&to.into());
        trying(format!("address {to}"), connected)?;
        Ok(Whole(socket))
    }

    /// Sends octets. After the last one the segment ends if `is_record`: nothing that is sent later
    /// is added to it (MSG_EOR).
    pub fn send(&self, octets: &[u8], is_record: bool) -> io::Result<()> {
        let flags = libc::MSG_NOSIGNAL | if is_record { libc::MSG_EOR } else { 0 };
        let mut left = octets;
        while !left.is_empty() {
            count(Call::Send);
            left = &left[self.0.send_with_flags(left, flags)?..];
        }
        Ok(())
    }
}

/// A connection of which a signal ends each wait ([`signals::catch_in_wait`]). What it sends are
/// zeros, and what comes is forgotten.
pub struct Connection {
    stream: TcpStream,
    room: Vec<u8>,
    /// To which further subflows of a multipath connection come, or None.
    _listener: Option<TcpListener>,
}

/// How a wait of a [`Connection`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    Done,
    /// A signal asks for the end.
    Stopped,
    /// The peer has closed the connection.
    Closed,
}

impl Connection {
    /// From `own` to `to`; None if a signal came first.
    pub fn connect(
        own: SocketAddr,
        to: SocketAddr,
        options: &Options,
    ) -> Result<Option<Self>, Error> {
        let socket = open(own, Type::STREAM.nonblocking(), options)?;
        let what = || format!("address {to}");
        match socket.connect(&to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                return trying(what(), Err(error));
            }
            _ => {}
        }
        let stream = TcpStream::from(socket);
        if waited(&stream, Way::Out) == Outcome::Stopped {
            return Ok(None);
        }
        // A second call says what became of the first.
        trying(what(), SockRef::from(&stream).connect(&to.into()))?;
        Ok(Some(Self::over(stream, None)))
    }

    /// The first connection to `own`; None if a signal came first.
    pub fn accept(
        own: SocketAddr,
        traffic_class: Option<u8>,
        multipath: bool,
    ) -> Result<Option<Self>, Error> {
        let what = || format!("address {own}");
        let listener = if multipath {
            let socket = new_socket(own, Type::STREAM, true)?;
            trying("reuse of addresses", socket.set_reuse_address(true))?;
            trying(what(), socket.bind(&own.into()))?;
            trying(what(), socket.listen(BACKLOG))?;
            TcpListener::from(socket)
        } else {
            trying(what(), TcpListener::bind(own))?
        };
        socket::mark(&listener, own, traffic_class)?;
        trying(what(), listener.set_nonblocking(true))?;
        while !signals::stopped() {
            wait(&mut [Interest::input(listener.as_fd())], Duration::MAX);
            match listener.accept() {
                Ok((stream, _)) => {
                    trying(what(), stream.set_nonblocking(true))?;
                    let kept = multipath.then_some(listener);
                    return Ok(Some(Self::over(stream, kept)));
                }
                Err(error) if is_nothing(&error) => {}
                Err(error) => return trying(what(), Err(error)),
            }
        }
        Ok(None)
    }

    /// Short segments do not wait for more.
    pub fn without_delay(self) -> Result<Self, Error> {
        trying("segments without delay", self.stream.set_nodelay(true))?;
        Ok(self)
    }

    fn over(stream: TcpStream, listener: Option<TcpListener>) -> Self {
        let room = vec![0; BLOCK];
        Connection {
            stream,
            room,
            _listener: listener,
        }
    }

    /// Sends so many octets; without end for [`u64::MAX`].
    pub fn send(&mut self, octets: u64) -> io::Result<Outcome> {
        self.room.fill(0);
        self.moving(Way::Out, octets)
    }

    /// Takes so many octets; without end for [`u64::MAX`].
    pub fn take(&mut self, octets: u64) -> io::Result<Outcome> {
        self.moving(Way::In, octets)
    }

    fn moving(&mut self, way: Way, octets: u64) -> io::Result<Outcome> {
        let mut left = octets;
        while left > 0 {
            if waited(&self.stream, way) == Outcome::Stopped {
                return Ok(Outcome::Stopped);
            }
            let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            let room = &mut self.room[..most];
            let moved = match way {
                Way::Out => {
                    count(Call::Send);
                    self.stream.write(room)
                }
                Way::In => {
                    count(Call::Receive);
                    self.stream.read(room)
                }
            };
            match moved {
                Ok(0) => return Ok(Outcome::Closed),
                Ok(_) if octets == u64::MAX => {}
                Ok(moved) => left -= moved as u64,
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Outcome::Done)
    }
}

#[derive(Clone, Copy)]
enum Way {
    Out,
    In,
}

/// Waits until the connection takes or has something, or a signal comes.
fn waited(stream: &TcpStream, way: Way) -> Outcome {
    while !signals::stopped() {
        let mut interests = [match way {
            Way::Out => Interest::output(stream.as_fd()),
            Way::In => Interest::input(stream.as_fd()),
        }];
        wait(&mut interests, Duration::MAX);
        if interests[0].found().any() {
            return Outcome::Done;
        }
    }
    Outcome::Stopped
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
