// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects the protocol core to the system: TUN, packet sockets, clock, records. One thread has
//! one wait. Frames come through rings without a call of their own and leave in batches.

use crate::config::{Config, Overhear};
use crate::control;
use crate::error::Error;
use crate::layers::Core;
use crate::monitor::Monitor;
use crate::outbox::{Frame, Outbox};
use crate::samples::SplitSamples;
use crate::stack;
use hoplab_base::{Duration, Instant};
use hoplab_dsr_core::layer::Either;
use hoplab_dsr_core::{Dsr, LinkDestination, Mac, Output, Token};
use hoplab_dsr_elfn::{Notice, Notices};
use hoplab_dsr_split::Splitting;
use hoplab_linux::control::Control;
use hoplab_linux::interface::Configurator;
use hoplab_linux::packet::{self, Receives};
use hoplab_linux::tun::Tun;
use hoplab_linux::{
    calls, kernel, privileges, say, signals, wait, want_statuses, Clock, Found, Interest, Ring,
    Room, Statuses,
};
use hoplab_station::elfn::Elfn;
use hoplab_station::records::{Counters, Events};
use hoplab_station::stack::set;
use hoplab_wire::ethernet;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};

/// Longest wait without looking at the clock.
const IDLE: Duration = Duration::from_secs(3600);
/// Never zero: where the kernel's time is virtual, it passes only during a wait.
const SHORTEST_WAIT: Duration = Duration::from_micros(1);
/// Octets of a sent frame that identify it when its status comes.
const PREFIX: usize = 72;
/// Most frames that wait for a status. Beyond that the daemon forgets the oldest. The core has
/// given up on that one long before.
const AWAITED: usize = 1024;

mod reading;

pub struct Daemon {
    core: Core,
    own: Mac,
    clock: Clock,
    tun: Tun,
    link: Ring,
    /// Sends, and gets the statuses of what it sent.
    sender: OwnedFd,
    monitor: Option<Monitor>,
    control: Control,
    elfn: Option<Elfn>,
    outbox: Outbox,
    statuses: Statuses,
    /// How far a ring's stamps are ahead of the clock: they count from another origin.
    stamps_ahead: Duration,
    /// When overheard frames were read last. The core's time never goes back behind it.
    last: Instant,
    /// The starts of unicast frames whose status is outstanding, oldest first. Among equal starts
    /// the first status belongs to the oldest frame.
    awaited: VecDeque<(Token, Vec<u8>)>,
    /// Sequence number of the latest frame overheard from each neighbour.
    heard: BTreeMap<Mac, u16>,
    /// Signal of the latest frame of each neighbour that was for this station or for all, dBm.
    signals: BTreeMap<Mac, i16>,
    events: Option<Events>,
    counters: Counters,
    splitting: Option<SplitSamples>,
}

/// What a wait found, apart from frames: their rings are read after each wait.
struct Woken {
    tun: Found,
    control: Found,
    sender: Found,
}

impl Daemon {
    pub fn set_up(config: &Config) -> Result<Self, Error> {
        let (address, prefix) = (config.address, config.prefix);
        let net = Configurator::new()?;
        let interface = config.interface.as_str();
        let index = net.index(interface)?;
        let own = Mac(net.mac(interface)?);
        let mut settings = config.settings.clone();
        let refused = net.set_mtu(interface, settings.link_mtu as u32).is_err();
        let mtu = net.mtu(interface)?;
        if refused {
            say::warning(&format!(
                "{interface}: MTU stays {mtu}, long routes may not fit"
            ));
        }
        settings.link_mtu = settings.link_mtu.min(mtu);
        stack::quiet(&net, interface, address, prefix)?;
        let tun = Tun::create(&config.tun)?;
        set(&format!("ipv6/conf/{}/disable_ipv6", config.tun), "1");
        // ICMP from the daemon to the stack has the station's own address as its source.
        set(&format!("ipv4/conf/{}/accept_local", config.tun), "1");
        net.set_ip(&config.tun, address, Some(prefix))?;
        net.set_mtu(&config.tun, config.tun_mtu)?;
        net.up(&config.tun)?;
        net.up(interface)?;
        let link = packet::open(index, Receives::All)?;
        let sender = packet::open(index, Receives::Nothing)?;
        if config.overhear == Overhear::Promiscuous {
            packet::promiscuous(&link, index)?;
        }
        let signals = settings.signal_threshold_dbm.is_some();
        let monitor = match config.overhear {
            Overhear::Off | Overhear::Promiscuous => None,
            Overhear::Monitor => Some(Monitor::open(&net, index, own, signals)?),
        };
        want_statuses(&sender)?;
        let name = config.name.as_str();
        let events = config.events.as_deref();
        let events = events.map(|path| Events::append(path, name, config.epoch_ns));
        let counters = Counters::create(config.counters.as_deref(), name, config.end_ns)?;
        let splitting = SplitSamples::of(config)?;
        let control = Control::bind(&config.control)?;
        let elfn = config.elfn.then(Elfn::open).transpose()?;
        if !config.keep_privileges {
            privileges::drop().map_err(hoplab_station::Error::Privileges)?;
        }
        // Those of setting up do not count.
        calls::forget();
        let layers = (
            Notices::new(address, config.notices.clone(), elfn.is_some()),
            Splitting::new(address, config.split(), settings.link_mtu),
        );
        let core = Dsr::with_layer(address, own, settings, config.stream(), layers);
        Ok(Daemon {
            core,
            own,
            clock: Clock::new(),
            tun,
            link: Ring::new(link, Room::FEW)?.serving_dsr(index),
            sender,
            monitor,
            control,
            elfn,
            outbox: Outbox::default(),
            statuses: Statuses::new(),
            stamps_ahead: kernel::real_time().since(kernel::now()),
            last: Instant::ZERO,
            awaited: VecDeque::new(),
            heard: BTreeMap::new(),
            signals: BTreeMap::new(),
            events: events.transpose()?,
            counters,
            splitting,
        })
    }

    /// Runs until SIGTERM; then writes what is left of the records.
    pub fn run(mut self) -> Result<(), Error> {
        while !signals::stopped() {
            let woken = self.wait();
            let now = self.clock.now();
            // The counters include what was overheard before the measured time ended.
            if self.counters.due().is_some_and(|end| end <= now) {
                self.read_foreign();
                self.counters.write(&control::counters(&self.core));
            }
            if let Some(splitting) = &mut self.splitting {
                splitting.sample(now, &self.core.layer().1);
            }
            self.round(&woken);
        }
        self.counters.write(&control::counters(&self.core));
        let (now, layer) = (self.clock.now(), &self.core.layer().1);
        let splitting = self.splitting.map_or(Ok(()), |s| s.finish(now, layer));
        let events = self.events.map_or(Ok(()), Events::finish);
        self.counters.finish().and(events)?;
        splitting
    }

    /// Waits for input or the next deadline.
    fn wait(&mut self) -> Woken {
        let now = self.clock.now();
        let foreign = self.monitor.as_ref().map(|monitor| &monitor.foreign);
        let mut interests = [
            Interest::input(self.link.as_fd()),
            foreign.map_or_else(Interest::none, |ring| Interest::input(ring.as_fd())),
            Interest::input(self.tun.as_fd()),
            Interest::input(self.control.as_fd()),
            match self.outbox.is_empty() {
                true => Interest::error(self.sender.as_fd()),
                false => Interest::output(self.sender.as_fd()),
            },
        ];
        let rows = self.splitting.as_ref().and_then(SplitSamples::due);
        let until = [self.core.next_deadline(), self.counters.due(), rows];
        let until = until.into_iter().flatten().min().unwrap_or(Instant::MAX);
        let longest = until.since(now).clamp(SHORTEST_WAIT, IDLE);
        let left = wait(&mut interests, longest);
        let [_, _, tun, control, sender] = interests.map(|interest| interest.found());
        // Where reading the clock is a system call, time advances by what the waits took.
        self.clock.waited(longest - left);
        Woken {
            tun,
            control,
            sender,
        }
    }

    fn round(&mut self, woken: &Woken) {
        let now = self.clock.now();
        // A status that is there lets what arrives go on at once. Some are of frames that the
        // core does not follow (ARP), and must be taken out all the same.
        if woken.sender.error {
            self.read_statuses();
        }
        // Before the frames for this station, whose signals it brings.
        self.read_foreign();
        self.read_link();
        if woken.tun.input {
            self.read_tun();
        }
        if woken.control.input {
            let (core, splitting) = (&mut self.core, self.splitting.as_ref());
            self.control
                .serve(|word| control::answer(core, splitting, now, word));
        }
        if self.core.next_deadline().is_some_and(|at| at <= now) {
            self.core.handle_timeout(now);
        }
        // A refused frame makes room for others, which the core hands over at once.
        self.carry_out();
        while self.send() {
            self.carry_out();
        }
        if let Some(events) = &mut self.events {
            events.flush();
        }
    }

    /// Does what the core wants; frames go to the outbox.
    fn carry_out(&mut self) {
        while let Some(output) = self.core.poll_output() {
            match output {
                // A full TUN queue is the stack's loss, as on any interface.
                Output::Deliver(packet) => drop(self.tun.send(&packet)),
                Output::Layer(Either::First(Notice(segments))) => {
                    if let Some(elfn) = &self.elfn {
                        elfn.segments(&segments);
                    }
                }
                Output::Layer(Either::Second(event)) => {
                    if let Some(events) = &mut self.events {
                        events.write(self.clock.now(), "split", event.kind(), &event);
                    }
                }
                Output::Event(event) => {
                    if let Some(events) = &mut self.events {
                        events.write(self.clock.now(), "dsr", event.kind(), &event);
                    }
                }
                Output::Transmit {
                    to,
                    ethertype,
                    bytes,
                    token,
                    ..
                } => self.post(to, ethertype, &bytes, token),
            }
        }
    }

    fn post(&mut self, to: LinkDestination, ethertype: u16, packet: &[u8], token: Token) {
        let destination = match to {
            LinkDestination::Unicast(mac) => mac,
            LinkDestination::Broadcast => Mac::BROADCAST,
        };
        let header = ethernet::Header {
            destination,
            source: self.own,
            ethertype,
        };
        let mut bytes = Vec::with_capacity(ethernet::HEADER_LEN + packet.len());
        header.emit(&mut bytes);
        bytes.extend_from_slice(packet);
        if to != LinkDestination::Broadcast {
            let prefix = bytes[..bytes.len().min(PREFIX)].to_vec();
            self.awaited.push_back((token, prefix));
            if self.awaited.len() > AWAITED {
                self.awaited.pop_front();
            }
        }
        self.outbox.push(Frame { token, bytes });
    }

    /// Offers the outbox to the interface; whether it refused a frame, which lets others go.
    fn send(&mut self) -> bool {
        if self.outbox.is_empty() {
            return false;
        }
        let now = self.clock.now();
        let sender = &self.sender;
        let refused = self.outbox.flush(|frames| packet::send(sender, frames));
        for token in &refused {
            self.awaited.retain(|(awaited, _)| awaited != token);
            self.core.handle_refusal(now, *token);
        }
        !refused.is_empty()
    }
}
