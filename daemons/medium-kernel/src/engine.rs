// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The channel and its messages, between two calls of C.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use hoplab_channel::config::Config;
use hoplab_channel::dot11;
use hoplab_channel::hosts::{Hosts, Sent};
use hoplab_channel::rates::{self, RateEntry};
use hoplab_channel::request;
use hoplab_channel::{Account, Channel};
use hoplab_medium_core::{Category, CategoryParams, Instant, RadioId};
use hoplab_wire::Mac;
use serde_json::{json, Value};

use crate::error::{Error, OUT};
use crate::kernel::{Kernel, Ticket};

/// The engine of a document.
pub struct Engine {
    /// None after the end.
    channel: Option<Channel<Ticket>>,
    hosts: Kernel,
    /// Of the stations, as requests have them.
    names: Vec<String>,
    /// What is to be read.
    messages: VecDeque<String>,
    failed: bool,
    /// What [`due`](Self::due) said last.
    expected: Option<Instant>,
    /// Calls after the time that was asked for, and for nothing.
    late: u64,
    early: u64,
}

impl Engine {
    /// The engine of this document; otherwise why it cannot be used.
    pub fn new(document: &str) -> Result<Self, Error> {
        let mut config: Config = document.parse()?;
        config.records.dir = on_host(&config.records.dir)?;
        let capture = config.records.air_capture.as_deref().map(on_host);
        config.records.air_capture = capture.transpose()?;
        let (macs, names) = (config.macs(), config.names());
        Ok(Self {
            names,
            channel: Some(Channel::new(config)?),
            hosts: Kernel::new(macs),
            messages: VecDeque::new(),
            failed: false,
            expected: None,
            late: 0,
            early: 0,
        })
    }

    /// In the place of an engine that there cannot be: it says why.
    pub fn refusing(why: &Error) -> Self {
        Self {
            channel: None,
            hosts: Kernel::new(Vec::new()),
            names: Vec::new(),
            messages: VecDeque::from([why.to_string()]),
            failed: true,
            expected: None,
            late: 0,
            early: 0,
        }
    }

    /// The radio of this address; none for one that the document does not name.
    pub fn radio(&self, address: Mac) -> Option<RadioId> {
        self.hosts.radio(address)
    }

    /// Whether hosts must make no block ack agreements.
    pub fn agrees(&self) -> bool {
        self.channel.as_ref().is_some_and(Channel::agrees)
    }

    /// Frames that agreements of the hosts' own may have outstanding; 0 where they make none.
    pub fn window(&self) -> usize {
        self.channel.as_ref().map_or(0, Channel::window)
    }

    /// Whether radios are where their hosts tune them to.
    pub fn follows(&self) -> bool {
        self.channel.as_ref().is_some_and(Channel::follows)
    }

    /// A host has tuned its radio to a channel with this centre; none for one that the document does
    /// not name.
    pub fn tuned(&mut self, now: Instant, radio: Option<RadioId>, mhz: u16) {
        if let (Some(radio), true) = (radio, self.follows()) {
            self.reach(now);
            if let Some(channel) = &mut self.channel {
                channel.tuned(radio, mhz);
            }
        }
    }

    /// A host's packets go by way of this access point from now on, or of none.
    pub fn associated(&mut self, now: Instant, radio: Option<RadioId>, point: Option<Mac>) {
        if let (Some(radio), true) = (radio, self.follows()) {
            self.reach(now);
            if let Some(channel) = &mut self.channel {
                channel.associated(radio, point);
            }
        }
    }

    /// A host's radio contends like this in a category from now on.
    pub fn contends(
        &mut self,
        now: Instant,
        radio: Option<RadioId>,
        category: Category,
        params: CategoryParams,
    ) {
        let learns = (self.channel.as_ref()).is_some_and(Channel::learns_categories);
        if let (Some(radio), true) = (radio, learns) {
            self.reach(now);
            if let Some(channel) = &mut self.channel {
                channel.contends(radio, category, params);
            }
        }
    }

    /// A radio sends a frame; none for one that the document does not name.
    pub fn sent(&mut self, now: Instant, radio: Option<RadioId>, frame: FrameOf<'_>) {
        let Some(radio) = radio else {
            self.hosts.troubles.unknown_radios += 1;
            return;
        };
        self.late += u64::from(self.expected.is_some_and(|due| due < now));
        let Some(channel) = &mut self.channel else {
            return;
        };
        let result = channel.advance(now).and_then(|()| {
            let sent = Sent {
                radio,
                bytes: frame.bytes,
                header: dot11::parse(frame.bytes),
                frequency_mhz: frame.frequency_mhz,
                rates: rates::attempts(&frame.rates, frame.frequency_mhz),
                window: frame.window,
                ticket: Ticket {
                    radio,
                    cookie: frame.cookie,
                    frequency_mhz: frame.frequency_mhz,
                },
            };
            channel.accept(&mut self.hosts, sent, now);
            channel.hand_out(&mut self.hosts).map(drop)
        });
        self.note(result);
    }

    /// The time `now` has come, that [`due`](Self::due) named.
    pub fn advance(&mut self, now: Instant) {
        self.late += u64::from(self.expected.is_some_and(|due| due < now));
        self.early += u64::from(self.expected.is_some_and(|due| due > now));
        self.reach(now);
    }

    fn reach(&mut self, now: Instant) {
        let Some(channel) = &mut self.channel else {
            return;
        };
        let result = channel
            .advance(now)
            .and_then(|()| channel.hand_out(&mut self.hosts).map(drop));
        self.note(result);
    }

    /// Do what a request asks for, now; whether that was possible. Why not, is its next message.
    pub fn change(&mut self, now: Instant, request: &[u8]) -> bool {
        let change = match request::change(request, &self.names) {
            Ok(change) => change,
            Err(why) => {
                self.messages.push_back(why.to_string());
                return false;
            }
        };
        self.late += u64::from(self.expected.is_some_and(|due| due < now));
        let Some(channel) = &mut self.channel else {
            self.messages.push_back("the medium has ended".into());
            return false;
        };
        let result = channel.advance(now).and_then(|()| {
            channel.change(change, now);
            channel.hand_out(&mut self.hosts).map(drop)
        });
        self.note(result);
        !self.failed
    }

    /// When to call [`advance`](Self::advance) next.
    pub fn due(&mut self) -> Option<Instant> {
        let channel = self.channel.as_ref();
        let due = channel.and_then(|channel| {
            let record = channel.next_record();
            channel.due().into_iter().chain(record).min()
        });
        self.expected = due;
        due
    }

    /// A delivery found its radio gone, or down.
    pub fn refused_delivery(&mut self) {
        self.hosts.troubles.refused_deliveries += 1;
    }

    /// A status found its frame gone.
    pub fn refused_status(&mut self) {
        self.hosts.troubles.refused_statuses += 1;
    }

    /// Write the records; whether they are complete.
    pub fn end(&mut self, now: Instant) -> bool {
        self.reach(now);
        if let Some(channel) = self.channel.take() {
            let inexact = self.late + self.early > 0;
            let doubt = inexact.then(|| {
                format!(
                    "the engine was called late {} times and for nothing {} times",
                    self.late, self.early
                )
            });
            let account = Account {
                home: "kernel",
                virtual_time: true,
                troubles: self.hosts.troubles,
                calls: json!({}),
                lateness: Value::Null,
                doubts: doubt.into_iter().collect(),
                longest_frame: self.hosts.longest_frame(),
            };
            let result = channel.finish(account, |doubt| self.messages.push_back(doubt.into()));
            self.note(result);
        }
        !self.failed
    }

    /// What has been said since the last call; the first of it.
    pub fn message(&mut self) -> Option<String> {
        self.messages.pop_front()
    }

    pub fn has_message(&self) -> bool {
        !self.messages.is_empty()
    }

    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Without its records a run is worth nothing, so nothing more is done.
    fn note(&mut self, result: Result<(), hoplab_channel::Error>) {
        self.messages.extend(self.hosts.said.drain(..));
        if let Err(why) = result {
            self.messages.push_back(why.to_string());
            self.failed = true;
            self.channel = None;
        }
    }
}

/// A frame as C describes it.
pub struct FrameOf<'a> {
    pub bytes: &'a [u8],
    pub frequency_mhz: u32,
    pub cookie: u64,
    pub rates: Vec<RateEntry>,
    /// Of its agreement; 0 without one.
    pub window: usize,
}

/// A path below the run's folder, as the kernel's own program finds it.
fn on_host(path: &Path) -> Result<PathBuf, Error> {
    match path.strip_prefix(OUT) {
        Ok(below) => Ok(Path::new("out").join(below)),
        Err(_) => Err(Error::Path(path.into())),
    }
}
