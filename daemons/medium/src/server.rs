// SPDX-License-Identifier: Apache-2.0
//! The daemon's loop: one thread that blocks in one place.

use hoplab_channel::config::Config;
use hoplab_channel::{Account, Change, Channel};
use hoplab_medium_core::{Duration, Instant, Medium};

use crate::control::{Changes, Control};
use crate::error::Error;
use crate::lateness::Lateness;
use crate::port::{Port, Woken};

/// A port wakes at least once in this time.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The channel behind a [`Port`].
pub struct Server<P: Port> {
    port: P,
    channel: Channel<P::Ticket>,
    lateness: Lateness,
    changes: Option<Box<dyn Changes>>,
    /// Somebody asked for the end.
    ended: bool,
}

impl<P: Port> Server<P> {
    pub fn new(config: Config, port: P) -> Result<Self, Error> {
        let control = match &config.control {
            Some(_) if port.virtual_time() => return Err(Error::VirtualTime),
            Some(path) => Some(Control::open(path, config.names())?),
            None => None,
        };
        let mut server = Self {
            lateness: Lateness::new(port.virtual_time()),
            port,
            channel: Channel::new(config)?,
            changes: None,
            ended: false,
        };
        if let Some(control) = control {
            server.take_changes_from(control)?;
        }
        Ok(server)
    }

    /// Do what comes there.
    pub fn take_changes_from(&mut self, changes: impl Changes + 'static) -> Result<(), Error> {
        self.port.watch(changes.descriptor()?);
        self.changes = Some(Box::new(changes));
        Ok(())
    }

    /// Hold back each radio's beacons by so long.
    pub fn hold_beacons(&mut self, phases: Vec<Duration>) {
        self.channel.hold_beacons(phases);
    }

    /// The engine, to be set up further.
    pub fn medium(&mut self) -> &mut Medium {
        self.channel.medium()
    }

    /// Serve until asked to stop, and write the records; an error where the run was cut short.
    pub fn run(mut self) -> Result<(), Error> {
        self.serve()?;
        let account = Account {
            home: "daemon",
            virtual_time: self.port.virtual_time(),
            troubles: self.port.troubles(),
            calls: self.port.calls(),
            lateness: self.lateness.as_json(),
            doubts: self.lateness.doubts(),
            longest_frame: self.port.longest_frame(),
        };
        let Self {
            mut port, channel, ..
        } = self;
        Ok(channel.finish(account, |doubt| port.say(doubt))?)
    }

    fn serve(&mut self) -> Result<(), Error> {
        let mut now = self.port.clock();
        while !self.port.stopped() && !self.ended {
            // The engine is behind while nothing that a host could notice happens in it.
            let due = self.channel.due();
            // In virtual time a sample waits for whatever comes next, a second at most: a wake-up
            // of its own would cost two system calls.
            let record = self.channel.next_record();
            let record = record.filter(|_| !self.port.virtual_time());
            let limit = due.into_iter().chain(record).min();
            let limit = limit.map(|until| until.since(now));
            let Woken {
                passed,
                input,
                other,
            } = self.port.wait(limit)?;
            let latest = now + limit.map_or(LONGEST_SLEEP, |limit| limit.min(LONGEST_SLEEP));
            now += passed;
            if !self.port.virtual_time() || input || limit.is_none() {
                // After a wait with a limit, the time may be off by what other processes took since
                // the last one. A frame must not start before its arrival.
                now = now.max(self.port.clock());
                self.lateness.woken(now.since(latest));
            }
            self.channel.advance(now)?;
            if other {
                self.obey(now)?;
            }
            let channel = &mut self.channel;
            self.port.read(|port, sent| channel.accept(port, sent, now));
            let deliveries = self.channel.hand_out(&mut self.port)?;
            if !self.port.virtual_time() && deliveries > 0 {
                let late = due.map_or(Duration::ZERO, |due| now.since(due));
                self.lateness.add(late, deliveries);
            }
        }
        // What has passed since something last happened counts too.
        now = now.max(self.port.clock());
        self.channel.advance(now)?;
        self.channel.hand_out(&mut self.port)?;
        Ok(())
    }

    /// Do what came at the source of changes.
    fn obey(&mut self, now: Instant) -> Result<(), Error> {
        let Some(source) = &mut self.changes else {
            return Ok(());
        };
        let received = source.receive();
        if received.another {
            self.port.watch(source.descriptor()?);
        }
        self.ended |= received.end;
        for change in received.changes {
            if let Change::Add { mac } = change {
                self.port.add(mac);
            }
            self.channel.change(change, now);
        }
        Ok(())
    }
}
