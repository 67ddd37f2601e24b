// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connects the core to the kernel: a queue of the packet filter, a raw socket, a clock, records.
//! One thread, one wait.

use crate::config::Config;
use crate::queue::Queue;
use hoplab_base::{Duration, Instant};
use hoplab_linux::control::Control;
use hoplab_linux::raw::Sender;
use hoplab_linux::{privileges, signals, wait, Clock, Interest};
use hoplab_split::{told, Error, Events, Samples};
use hoplab_split_core::{self as split_core, hops_by_ttl, Output, Place, Split, Verdict};
use hoplab_wire::ipv4::View;
use hoplab_wire::nfqueue::{Hook, Queued};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;

/// Longest wait without looking at the clock.
const IDLE: Duration = Duration::from_secs(3600);
/// Never zero: in virtual time only waiting lets time pass.
const SHORTEST_WAIT: Duration = Duration::from_micros(1);

pub struct Daemon {
    core: Split,
    connections: split_core::Config,
    clock: Clock,
    queue: Queue,
    sender: Sender,
    /// Packets to be sent, with their addresses.
    outbox: Vec<(Ipv4Addr, Vec<u8>)>,
    control: Control,
    events: Option<Events>,
    samples: Samples,
}

impl Daemon {
    pub fn set_up(config: Config) -> Result<Self, Error> {
        let connections = split_core::Config {
            connection: config.connection,
            tuning: split_core::Tuning {
                mtu: config.mtu,
                ..split_core::Tuning::default()
            },
        };
        let name = config.name.as_str();
        let events = config.events.as_deref();
        let events = events.map(|path| Events::append(path, name, config.epoch_ns));
        let samples = Samples::append(
            config.table.as_deref(),
            name,
            config.epoch_ns,
            config.interval_ns,
            config.end_ns,
        )?;
        let control = Control::bind(&config.control)?;
        let sender = Sender::open(config.mark)?;
        let queue = Queue::open(config.queue)?;
        if !config.keep_privileges {
            privileges::drop_but_net_admin().map_err(Error::Privileges)?;
        }
        Ok(Daemon {
            core: Split::new(config.address, connections.clone()),
            connections,
            clock: Clock::new(),
            queue,
            sender,
            outbox: Vec::new(),
            control,
            events: events.transpose()?,
            samples,
        })
    }

    /// Runs until SIGTERM; then writes what is left of the records.
    pub fn run(mut self) -> Result<(), Error> {
        while !signals::stopped() {
            self.round()?;
        }
        let rows = self.core.rows();
        let samples = self
            .samples
            .finish(self.clock.now(), &rows, &self.connections);
        let events = self.events.map_or(Ok(()), Events::finish);
        samples.and(events)
    }

    fn round(&mut self) -> Result<(), Error> {
        let mut interests = [
            Interest::input(self.queue.as_fd()),
            Interest::input(self.control.as_fd()),
        ];
        let until = [self.core.next_deadline(), self.samples.due()];
        let until = until.into_iter().flatten().min().unwrap_or(Instant::MAX);
        let longest = until.since(self.clock.now()).clamp(SHORTEST_WAIT, IDLE);
        let left = wait(&mut interests, longest);
        let [queue, control] = interests.map(|interest| interest.found());
        self.clock.waited(longest - left);
        let now = self.clock.now();
        if self.samples.due().is_some_and(|end| end <= now) {
            // As it was at the end, not with what came since.
            self.sample(now);
        }
        if queue.any() {
            let core = &mut self.core;
            self.queue.read(|queued| show(core, now, queued))?;
        }
        if self.core.next_deadline().is_some_and(|at| at <= now) {
            self.core.handle_timeout(now);
        }
        self.carry_out(now);
        if self.samples.wanted(now) {
            self.sample(now);
        }
        if control.input {
            let (core, connections) = (&self.core, &self.connections);
            self.control.serve(|word| match word {
                "split" => told(&core.rows(), connections),
                other => format!("unknown request {other:?}: expected split\n"),
            });
        }
        Ok(())
    }

    fn sample(&mut self, now: Instant) {
        if let Some(events) = &mut self.events {
            events.flush();
        }
        self.samples
            .write(now, &self.core.rows(), &self.connections);
    }

    /// Does what the core wants.
    fn carry_out(&mut self, now: Instant) {
        while let Some(output) = self.core.poll_output() {
            match output {
                Output::Send { packet, .. } => {
                    if let Some(to) = View::new(&packet).map(|view| view.destination()) {
                        self.outbox.push((to, packet));
                    }
                }
                Output::Event(event) => {
                    if let Some(events) = &mut self.events {
                        events.write(now, &event);
                    }
                }
            }
        }
        if !self.outbox.is_empty() {
            self.sender.send(&self.outbox);
            self.outbox.clear();
        }
    }
}

/// Whether the packet may go its way.
fn show(core: &mut Split, now: Instant, queued: Queued<'_>) -> bool {
    let Some(place) = place(queued.hook, queued.packet) else {
        return true;
    };
    core.handle_packet(now, place, queued.packet, ()) == Verdict::Pass
}

fn place(hook: Hook, packet: &[u8]) -> Option<Place> {
    match hook {
        Hook::Input => Some(Place::Arriving),
        Hook::Output => Some(Place::Leaving),
        Hook::Forward => Some(Place::Passing {
            hops: hops_by_ttl(View::new(packet)?.ttl()),
        }),
        Hook::Other => None,
    }
}
