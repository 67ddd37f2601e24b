// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects the protocol core to the system: TUN, packet sockets, clock, records. One thread has
//! one wait. Frames come through rings without a call of their own and leave in batches. Statuses
//! of sent frames and overheard frames are not urgent, so the daemon gathers them for a while.

use crate::config::{Config, Overhear};
use crate::control;
use crate::error::Error;
use crate::filter;
use crate::layers::Core;
use crate::monitor::{Monitor, Wanted};
use crate::outbox::{Frame, Outbox};
use crate::samples::SplitSamples;
use crate::stack;
use hoplab_base::{Duration, Instant};
use hoplab_dsr_core::layer::Either;
use hoplab_dsr_core::settings::Acknowledgement;
use hoplab_dsr_core::{Dsr, LinkDestination, Mac, Output, Settings, Token};
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
/// How long statuses of sent frames, and overheard frames, may wait for a wake-up that has another
/// reason. Statuses do not wait while one of them would let the next frame go.
const GATHER: Duration = Duration::from_millis(20);
/// How long quiet frames may wait for such a wake-up, so that their ring does not overflow.
const QUIET: Duration = Duration::from_millis(100);

mod reading;

pub struct Daemon {
    core: Core,
    own: Mac,
    clock: Clock,
    tun: Tun,
    /// Receives what `passing` does not.
    link: Ring,
    /// Data of others for others. It may wait here while neither the queue nor the driver lets it
    /// go on. The daemon reads it before it does anything else, so all decisions are as if it had
    /// been read when it came.
    passing: Ring,
    may_wait: bool,
    /// Sends, and gets the statuses where `sent` does not.
    sender: OwnedFd,
    monitor: Monitor,
    control: Control,
    elfn: Option<Elfn>,
    outbox: Outbox,
    statuses: Statuses,
    /// Until when statuses and overheard frames are gathered.
    statuses_due: Instant,
    foreign_due: Instant,
    /// Until when quiet frames wait; from then on the next one ends a wait.
    quiet_due: Instant,
    /// When a frame was overheard last.
    foreign_read: Instant,
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

/// What a wait found.
struct Woken {
    link: Found,
    passing: Found,
    tun: Found,
    control: Found,
    sender: Found,
    sent: Found,
    /// Whether a status would have ended the wait.
    awaited_status: bool,
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
        packet::filter(&link, &mut filter::passing(own, address, true))?;
        let passing = packet::open(index, Receives::All)?;
        packet::filter(&passing, &mut filter::passing(own, address, false))?;
        let sender = packet::open(index, Receives::Nothing)?;
        if config.overhear == Overhear::Promiscuous {
            packet::promiscuous(&link, index)?;
        }
        let monitor = match config.overhear {
            Overhear::Off | Overhear::Promiscuous => Monitor::default(),
            Overhear::Monitor => {
                let wanted = Wanted {
                    index,
                    own,
                    address,
                    signals: settings.signal_threshold_dbm.is_some(),
                    outstanding: settings.outstanding,
                    quiet: may_wait(&settings),
                };
                Monitor::open(&net, &wanted)?
            }
        };
        // Otherwise the monitor interface brings them, and reading its ring takes no system call.
        if monitor.sent.is_none() {
            want_statuses(&sender)?;
        }
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
        let may_wait =
            monitor.sent.is_some() && config.connection.is_empty() && may_wait(&settings);
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
            link: Ring::new(link, Room::FEW)?,
            passing: Ring::new(passing, Room::FEW)?,
            may_wait,
            sender,
            monitor,
            control,
            elfn,
            outbox: Outbox::default(),
            statuses: Statuses::new(),
            statuses_due: Instant::ZERO,
            foreign_due: Instant::ZERO,
            quiet_due: Instant::ZERO,
            foreign_read: Instant::ZERO,
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

    /// Waits for input or the next deadline. What is being gathered is left out until its time
    /// has come; after that it is waited for, so that silence costs nothing.
    fn wait(&mut self) -> Woken {
        let now = self.clock.now();
        let blocked = self.may_wait && self.core.blocked();
        let gather_statuses = self.statuses_due > now && !self.core.blocked();
        let gather_foreign = self.foreign_due > now;
        let foreign = self.monitor.foreign.as_ref().filter(|_| !gather_foreign);
        let gather_quiet = self.quiet_due > now;
        // While a packet waits for a route, a quiet frame may teach it and is as urgent as others.
        let wait_quiet = match self.core.seeks() {
            true => gather_foreign,
            false => gather_quiet,
        };
        let quiet = self.monitor.quiet.as_ref().filter(|_| !wait_quiet);
        let sent = self.monitor.sent.as_ref();
        let error_queue = sent.is_none() && !gather_statuses;
        let sent = sent.filter(|_| !gather_statuses);
        let passing = (!blocked).then_some(&self.passing);
        let mut interests = [
            Interest::input(self.link.as_fd()),
            input(passing),
            Interest::input(self.tun.as_fd()),
            input(foreign),
            input(quiet),
            input(sent),
            Interest::input(self.control.as_fd()),
            match (self.outbox.is_empty(), error_queue) {
                (false, _) => Interest::output(self.sender.as_fd()),
                (true, true) => Interest::error(self.sender.as_fd()),
                (true, false) => Interest::none(),
            },
        ];
        let deadline = self.core.next_deadline();
        let statuses =
            (gather_statuses && self.core.outstanding() > 0).then_some(self.statuses_due);
        let foreign =
            (gather_foreign && self.monitor.foreign.is_some()).then_some(self.foreign_due);
        let rows = self.splitting.as_ref().and_then(SplitSamples::due);
        let quiet = (gather_quiet && self.monitor.quiet.is_some()).then_some(self.quiet_due);
        // A gathered source has no interest above, so its time must end the wait.
        let until = [
            deadline,
            statuses,
            foreign,
            quiet,
            self.counters.due(),
            rows,
        ];
        let until = until.into_iter().flatten().min().unwrap_or(Instant::MAX);
        let longest = until.since(now).clamp(SHORTEST_WAIT, IDLE);
        let left = wait(&mut interests, longest);
        let found = interests.map(|interest| interest.found());
        let [link, passing, tun, _, _, sent, control, sender] = found;
        // Where reading the clock is a system call, time advances by what the waits took.
        self.clock.waited(longest - left);
        Woken {
            link,
            passing,
            tun,
            control,
            sender,
            sent,
            awaited_status: !gather_statuses,
        }
    }

    fn round(&mut self, woken: &Woken) {
        let now = self.clock.now();
        // A status that is there lets what arrives go on at once. Some are of frames that the
        // core does not follow (ARP), and must be taken out all the same.
        let gathered = !woken.awaited_status && (self.statuses_due <= now || self.core.full());
        let statuses = woken.sender.error || woken.sent.any();
        if statuses || gathered && self.core.outstanding() > 0 {
            self.read_error_queue();
            self.statuses_due = now + GATHER;
        }
        // Any wake-up serves to read what costs no call; and signals are known before frames.
        let heard = self.read_foreign();
        let others = [
            woken.link,
            woken.passing,
            woken.tun,
            woken.control,
            woken.sender,
            woken.sent,
        ];
        // Where quiet frames come apart, what is left is worth a wake-up of its own.
        let foreign = self.monitor.quiet.is_none() || self.core.seeks();
        let busy = foreign && others.into_iter().any(Found::any);
        if busy || heard && now.since(self.foreign_read) < GATHER / 3 {
            self.foreign_due = now + GATHER;
        }
        if heard {
            self.foreign_read = now;
        }
        self.read_link();
        self.read_sent();
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
        // The driver has none of the outstanding frames yet, so their statuses start a new wait.
        if self.core.outstanding() == self.outbox.len() {
            self.statuses_due = now + GATHER;
        }
        let sender = &self.sender;
        let refused = self.outbox.flush(|frames| packet::send(sender, frames));
        for token in &refused {
            self.awaited.retain(|(awaited, _)| awaited != token);
            self.core.handle_refusal(now, *token);
        }
        !refused.is_empty()
    }
}

fn input(ring: Option<&Ring>) -> Interest<'_> {
    ring.map_or_else(Interest::none, |ring| Interest::input(ring.as_fd()))
}

/// Whether data that is to be sent on may be read later, while the driver takes none. This holds
/// where nothing follows from it but its place in the queue and what the Route Cache learns.
/// Other kinds of acknowledgement, and signals, need each frame at once.
fn may_wait(s: &Settings) -> bool {
    s.acknowledgement == Acknowledgement::Link && s.signal_threshold_dbm.is_none()
}
