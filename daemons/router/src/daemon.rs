// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects the protocol core to the system. The kernel forwards by the routes that the core
//! installs. What has none follows the network's route into a TUN interface, and comes here. Rings
//! without a wake-up of their own tell which routes packets take, and the monitor interface tells
//! which frames nobody acknowledged. One thread has one wait.

use crate::config::Config;
use crate::control::{self, Frames};
use crate::datagram;
use crate::filter;
use crate::routes::Routes;
use hoplab_base::{Duration, Instant};
use hoplab_linux::bpf::Instruction;
use hoplab_linux::control::Control;
use hoplab_linux::interface::Configurator;
use hoplab_linux::netlink::Netlink;
use hoplab_linux::packet::{self, Receives};
use hoplab_linux::tun::Tun;
use hoplab_linux::{calls, kernel, privileges, signals, wait, Clock, Interest, Ring, Room};
use hoplab_routing_core::{Event, Hop, Output, Protocol, Resolution};
use hoplab_station::elfn::Elfn;
use hoplab_station::records::{Counters, Events};
use hoplab_station::stack::set;
use hoplab_station::{filter as frames, monitor, nl80211, Error};
use hoplab_wire::{ethernet, ipv4, Mac, ETHERTYPE_IPV4};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

/// Longest wait without looking at the clock.
const IDLE: Duration = Duration::from_secs(3600);
/// Never zero: where the kernel's time is virtual, it passes only during a wait.
const SHORTEST_WAIT: Duration = Duration::from_micros(1);
/// Most packets of the TUN interface in a round.
const PACKETS: usize = 64;

pub struct Daemon<P: Protocol> {
    core: P,
    own: Ipv4Addr,
    mac: Mac,
    clock: Clock,
    tun: Tun,
    /// The protocol's messages.
    messages: Ring,
    /// Frames that this station sent, and that nobody acknowledged.
    failed: Ring,
    traffic: Option<Traffic>,
    sender: OwnedFd,
    routes: Routes,
    elfn: Option<Elfn>,
    learns: bool,
    control: Control,
    /// Keep the port and the monitor interface.
    _port: OwnedFd,
    _monitor: Netlink,
    outgoing: Vec<Vec<u8>>,
    frames: Frames,
    /// How far a ring's stamps are ahead of the clock: they count from another origin.
    stamps_ahead: Duration,
    /// When the rings were read last. The core's time never goes back behind it.
    last: Instant,
    events: Option<Events>,
    counters: Counters,
}

/// Passing packets, where the protocol follows them.
struct Traffic {
    /// Packets that came for this station or to be sent on.
    data: Ring,
    /// Frames that this station sent, and that somebody acknowledged.
    acknowledged: Ring,
}

fn ring(index: i32, mut program: Vec<Instruction>, room: Room) -> Result<Ring, Error> {
    let socket = packet::open(index, Receives::All)?;
    packet::filter(&socket, &mut program)?;
    Ok(Ring::new(socket, room)?)
}

impl<P: Protocol> Daemon<P> {
    pub fn set_up(config: &Config<P::Settings>) -> Result<Self, Error> {
        let net = Configurator::new()?;
        let (interface, tun_name) = (config.interface.as_str(), config.tun.as_str());
        let index = net.index(interface)?;
        let (own, mac) = (config.address, Mac(net.mac(interface)?));
        // The radio's own network would make all stations neighbours.
        net.set_ip(interface, own, Some(32))?;
        set(&format!("ipv4/conf/{interface}/forwarding"), "1");
        // Packets come from stations to which there is no route yet.
        set(&format!("ipv4/conf/{interface}/rp_filter"), "0");
        set(&format!("ipv4/conf/{interface}/send_redirects"), "0");
        let tun = Tun::create(tun_name)?;
        set(&format!("ipv6/conf/{tun_name}/disable_ipv6"), "1");
        // ICMP from the daemon to the stack has the station's own address as its source.
        set(&format!("ipv4/conf/{tun_name}/accept_local"), "1");
        set(&format!("ipv4/conf/{tun_name}/rp_filter"), "0");
        net.set_ip(tun_name, own, Some(config.prefix))?;
        // A packet has the same room whether its route is there or not.
        net.set_mtu(tun_name, net.mtu(interface)? as u32)?;
        net.up(tun_name)?;
        net.up(interface)?;
        let messages = ring(index, filter::messages(mac, P::PORT, false), Room::FEW)?;
        let name = format!("mon{index}");
        let owner = nl80211::monitor(index, &name)?;
        net.up(&name)?;
        let monitor = net.index(&name)?;
        let failed = ring(monitor, frames::failed_only(mac, false), Room::FEW)?;
        let traffic = match P::FOLLOWS_TRAFFIC {
            true => Some(Traffic {
                data: ring(index, filter::messages(mac, P::PORT, true), Room::STARTS)?,
                acknowledged: ring(monitor, frames::failed_only(mac, true), Room::STARTS)?,
            }),
            false => None,
        };
        let refused = |why| Error::Port { port: P::PORT, why };
        let port = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, P::PORT)).map_err(refused)?;
        let port = OwnedFd::from(port);
        packet::filter(&port, &mut filter::nothing())?;
        let name = config.name.as_str();
        let events = config.events.as_deref();
        let events = events.map(|path| Events::append(path, name, config.epoch_ns));
        let counters = Counters::create(config.counters.as_deref(), name, config.end_ns)?;
        let control = Control::bind(&config.control)?;
        let routes = Routes::open(index, own)?;
        let elfn = config.elfn.then(Elfn::open).transpose()?;
        let sender = packet::open(index, Receives::Nothing)?;
        if !config.keep_privileges {
            // Each change of a route needs it.
            privileges::drop_but_net_admin().map_err(Error::Privileges)?;
        }
        // Those of setting up do not count.
        calls::forget();
        let clock = Clock::new();
        let (settings, stream) = (config.settings.clone(), config.stream(P::NAME));
        let mut core = P::new(clock.now(), own, settings, stream);
        if elfn.is_some() {
            core.report_failures();
        }
        Ok(Daemon {
            learns: P::resolution(&config.settings) == Resolution::Learned,
            core,
            own,
            mac,
            clock,
            tun,
            messages,
            failed,
            traffic,
            sender,
            routes,
            elfn,
            control,
            _port: port,
            _monitor: owner,
            outgoing: Vec::new(),
            frames: Frames::default(),
            stamps_ahead: kernel::real_time().since(kernel::now()),
            last: Instant::ZERO,
            events: events.transpose()?,
            counters,
        })
    }

    /// Runs until SIGTERM; then writes what is left of the records.
    pub fn run(mut self) -> Result<(), Error> {
        while !signals::stopped() {
            let (packets, asked) = self.wait();
            let now = self.clock.now();
            self.read_usage(now);
            if self.counters.due().is_some_and(|end| end <= now) {
                self.write_counters();
            }
            self.read_failures(now);
            self.read_messages(now);
            if packets {
                self.read_tun(now);
            }
            if asked {
                let (core, frames) = (&mut self.core, &self.frames);
                self.control
                    .serve(|word| control::answer(core, frames, now, word));
            }
            if self.core.next_deadline().is_some_and(|at| at <= now) {
                self.core.handle_timeout(now);
            }
            self.carry_out();
            if let Some(events) = &mut self.events {
                events.flush();
            }
        }
        self.write_counters();
        let events = self.events.map_or(Ok(()), Events::finish);
        self.counters.finish().and(events)
    }

    fn write_counters(&mut self) {
        self.counters
            .write(&control::counters(&self.core, &self.frames));
    }

    /// Waits for input or the next deadline. What only keeps routes alive does not end the wait: a
    /// route's end does, and before that the rings are read. Whether the TUN interface has packets,
    /// and the control socket a request.
    fn wait(&mut self) -> (bool, bool) {
        let now = self.clock.now();
        let mut interests = [
            Interest::input(self.messages.as_fd()),
            Interest::input(self.failed.as_fd()),
            Interest::input(self.tun.as_fd()),
            Interest::input(self.control.as_fd()),
        ];
        let until = [self.core.next_deadline(), self.counters.due()];
        let until = until.into_iter().flatten().min().unwrap_or(Instant::MAX);
        let longest = until.since(now).clamp(SHORTEST_WAIT, IDLE);
        let left = wait(&mut interests, longest);
        let [_, _, tun, asked] = interests.map(|interest| interest.found().any());
        // Where reading the clock is a system call, time advances by what the waits took.
        self.clock.waited(longest - left);
        (tun, asked)
    }

    /// Packets that passed, each at the time when it did. What finds no room in a ring is lost, and
    /// not missed: a route lives on by the first packet after the last reading.
    fn read_usage(&mut self, now: Instant) {
        let (last, ahead) = (std::mem::replace(&mut self.last, now), self.stamps_ahead);
        let at = |stamp: Instant| Instant(stamp.0.saturating_sub(ahead.0)).clamp(last, now);
        let core = &mut self.core;
        let Some(traffic) = &mut self.traffic else {
            return;
        };
        while let Some(stamp) = traffic.data.stamp() {
            traffic.data.read_one(|frame| {
                let parsed = ethernet::Header::parse(frame);
                let packet = parsed.and_then(|(head, rest)| Some((head, ipv4::View::new(rest)?)));
                if let Some((head, packet)) = packet {
                    let (from, to) = (packet.source(), packet.destination());
                    core.handle_received(at(stamp), head.source, from, to);
                }
            });
        }
        while let Some(stamp) = traffic.acknowledged.stamp() {
            traffic.acknowledged.read_one(|frame| {
                let sent = monitor::parse(frame);
                let packet = sent.and_then(|sent| {
                    let packet = ipv4::View::new(sent.packet)?;
                    Some((sent.destination, packet.destination()))
                });
                if let Some((neighbour, destination)) = packet {
                    core.handle_sent(at(stamp), neighbour, destination);
                }
            });
        }
    }

    fn read_failures(&mut self, now: Instant) {
        let (core, frames) = (&mut self.core, &mut self.frames);
        self.failed.read(|frame| {
            if let Some(sent) = monitor::parse(frame) {
                frames.failed += 1;
                core.handle_failure(now, sent.destination, sent.packet);
            }
        });
    }

    fn read_messages(&mut self, now: Instant) {
        let core = &mut self.core;
        self.messages.read(|frame| {
            let Some((head, packet)) = ethernet::Header::parse(frame) else {
                return;
            };
            if let Some(received) = datagram::parse(packet, P::PORT) {
                let from = Hop {
                    address: received.from,
                    mac: head.source,
                };
                core.handle_message(now, from, received.ttl, received.message);
            }
        });
    }

    fn read_tun(&mut self, now: Instant) {
        let mut packet = [0u8; packet::FRAME];
        for _ in 0..PACKETS {
            match self.tun.receive(&mut packet) {
                Ok(len) if len > 0 && packet[0] >> 4 == 4 => {
                    self.core.handle_packet(now, packet[..len].to_vec());
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }

    /// Does what the core wants. The kernel has a route before a packet that waited for it goes.
    fn carry_out(&mut self) {
        while let Some(output) = self.core.poll_output() {
            match output {
                // A full TUN queue is the stack's loss, as on any interface.
                Output::Deliver(packet) => drop(self.tun.send(&packet)),
                Output::Send { to, ttl, message } => {
                    let all = (Ipv4Addr::BROADCAST, Mac::BROADCAST);
                    let (address, mac) = to.map_or(all, |hop| (hop.address, hop.mac));
                    let packet = datagram::emit(P::PORT, self.own, address, ttl, &message);
                    self.post(mac, &packet);
                }
                Output::Forward { to, packet } => self.post(to.mac, &packet),
                Output::Install {
                    destination,
                    next_hop,
                } => self.routes.install(destination, next_hop),
                Output::Remove { destination } => self.routes.remove(destination),
                Output::Neighbour(hop) if self.learns => self.routes.neighbour(hop),
                Output::Neighbour(_) => {}
                Output::Failure(failure) => {
                    if let Some(elfn) = &self.elfn {
                        elfn.tell(&failure);
                    }
                }
                Output::Event(event) => {
                    if let Some(events) = &mut self.events {
                        events.write(self.clock.now(), P::NAME, event.kind(), &event);
                    }
                }
            }
        }
        self.routes.flush();
        let mut rest = &self.outgoing[..];
        while !rest.is_empty() {
            let (taken, error) = packet::send(&self.sender, rest);
            // The kernel refused the first of the others: a full queue loses it, as any packet.
            let lost = usize::from(error.is_some() || taken == 0);
            self.frames.refused += lost as u64;
            rest = rest.get(taken + lost..).unwrap_or(&[]);
        }
        self.outgoing.clear();
    }

    fn post(&mut self, destination: Mac, packet: &[u8]) {
        let header = ethernet::Header {
            destination,
            source: self.mac,
            ethertype: ETHERTYPE_IPV4,
        };
        let mut frame = Vec::with_capacity(ethernet::HEADER_LEN + packet.len());
        header.emit(&mut frame);
        frame.extend_from_slice(packet);
        self.outgoing.push(frame);
    }
}
