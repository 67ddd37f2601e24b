// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records as JSON lines. At every interval there are rows of `nodes.jsonl` and
//! `link_samples.jsonl`, and all that was written so far reaches the disk. The files
//! `radios.jsonl`, `links.jsonl` and `signals.jsonl` are of the whole run. On request there are
//! `frames.jsonl` and a capture of the air, and `handovers.jsonl` where stations roam. What the
//! daemon has to say of itself is in `medium.json`.
//!
//! A run that has a duration ends in all of them exactly then, however long the daemon lives on.

use std::io::{self, Write};
use std::path::Path;

use hoplab_medium_core::{
    AirKind, Aired, Asks, Category, Class, Counters, Duration, Instant, LinkView, Medium, Mimo,
    Modulation, Outcome, Position, RadioId, Signals, Sounding, To,
};
use hoplab_records::{
    events, file, frames, handovers, link_samples, links, nodes, radios, signals, Table, Writer,
};
use hoplab_wire::ieee80211::{on_air, Control};
use hoplab_wire::Mac;
use serde_json::Value;

use crate::carried::carried;
use crate::config::{Config, Records};
use crate::dot11::Header;
use crate::error::{Early, Error};
use crate::handovers::Handovers;
use crate::held::Held;
use crate::pcapng::{Capture, Captured, Octets, User};
use crate::sequences::Sequences;
use crate::soundings::Soundings;
use crate::triggers::{buffer_status, Triggers};

/// What tells the daemon's rows of the table `events` from others'.
const SOURCE: &str = "medium";

pub struct Recorder {
    nodes: Writer<nodes::Table>,
    link_samples: Writer<link_samples::Table>,
    /// Frames of each link, by sender and receiver, in its last row there.
    sampled: Vec<Vec<u64>>,
    frames: Option<Writer<frames::Table>>,
    /// Whether radios have access categories.
    by_category: bool,
    /// Whether each radio has further links.
    has_links: Vec<bool>,
    capture: Option<Capture>,
    sequences: Sequences,
    triggers: Triggers,
    soundings: Soundings,
    events: Option<Writer<events::Table>>,
    /// Where stations go from one access point to another.
    handovers: Option<(Handovers, Writer<handovers::Table>)>,
    settings: Records,
    names: Vec<String>,
    macs: Vec<Mac>,
    interval: Duration,
    next: Instant,
    epoch: Instant,
    /// When the run ends; none if the daemon does not know.
    end: Option<Instant>,
    /// Up to when rows were written.
    reached: Instant,
    /// Whether the tables of the whole run are written.
    closed: bool,
    /// Whether rows wait for those who follow the run.
    sampled_since_flush: bool,
}

fn create<T: Table>(settings: &Records) -> Result<Writer<T>, Error> {
    Ok(Writer::create_in(&settings.dir, None)?)
}

/// Of access points that send several stations streams of their own.
fn antennas(config: &Config) -> u8 {
    let mimo = config.params.ofdma.and_then(|ofdma| ofdma.mimo);
    mimo.map_or(1, Mimo::streams)
}

fn file_failed(path: &Path, why: io::Error) -> Error {
    let path = path.into();
    Error::File { path, why }
}

impl Recorder {
    /// Times of the engine count from the kernel's boot; the configuration's epoch is time 0.
    pub fn new(config: &Config) -> Result<Self, Error> {
        let settings = config.records.clone();
        let capture = settings.air_capture.as_ref().map(|path| {
            Capture::create(
                path,
                (config.channels_mhz(), config.links_mhz()),
                config.noise_dbm,
                config.params.phy.clone(),
            )
            .map_err(|why| file_failed(path, why))
        });
        let frames = settings.frames.then(|| create(&settings)).transpose()?;
        let roaming = config.roams.then(|| create(&settings)).transpose()?;
        Ok(Self {
            nodes: create(&settings)?,
            link_samples: create(&settings)?,
            sampled: vec![vec![0; config.stations.len()]; config.stations.len()],
            frames,
            by_category: config.params.edca.is_some(),
            has_links: (config.stations.iter())
                .map(|radio| !radio.links.is_empty())
                .collect(),
            capture: capture.transpose()?,
            sequences: Sequences::default(),
            triggers: Triggers::new(
                config.params.phy.clone(),
                config.params.propagation.tx_power_dbm,
            ),
            soundings: Soundings::new(antennas(config)),
            events: None,
            handovers: roaming.map(|file| (Handovers::default(), file)),
            names: config.names(),
            macs: config.macs(),
            interval: settings.interval,
            next: config.epoch,
            epoch: config.epoch,
            end: config.end,
            reached: Instant::ZERO,
            closed: false,
            sampled_since_flush: false,
            settings,
        })
    }

    /// A radio more from now on.
    pub fn add(&mut self, name: String, mac: Mac) {
        self.names.push(name);
        self.macs.push(mac);
        self.has_links.push(false);
        let radios = self.names.len();
        self.sampled.resize(radios, Vec::new());
        for row in &mut self.sampled {
            row.resize(radios, 0);
        }
        if let Some(capture) = &mut self.capture {
            capture.grow();
        }
    }

    /// When the medium is to be read next; none after the end.
    pub fn next_due(&self) -> Option<Instant> {
        let sample = self.end.is_none_or(|end| self.next <= end);
        let end = self.end.filter(|_| !self.closed);
        end.into_iter().chain(sample.then_some(self.next)).min()
    }

    /// Write the rows that are due just `now`, to which the medium has been brought; at the end those
    /// of the whole run.
    pub fn record(&mut self, medium: &Medium, now: Instant) -> Result<(), Error> {
        if self.next == now {
            self.next += self.interval;
            self.sampled_since_flush = true;
            self.sample(medium, now)?;
        }
        if self.end == Some(now) {
            self.close(medium)?;
        }
        Ok(())
    }

    /// Nothing more is due until `now`.
    pub fn reach(&mut self, now: Instant) -> Result<(), Error> {
        self.reached = self.reached.max(self.end.map_or(now, |end| end.min(now)));
        if std::mem::take(&mut self.sampled_since_flush) {
            self.flush()?;
        }
        Ok(())
    }

    /// A row of every radio, and of every link with something new.
    fn sample(&mut self, medium: &Medium, at: Instant) -> Result<(), Error> {
        let passed = at.since(self.epoch);
        for (index, name) in self.names.iter().enumerate() {
            let radio = RadioId::new(index);
            self.nodes
                .write(&node_row(medium, radio, name, at, passed))?;
            for link in medium.links(radio) {
                let sampled = &mut self.sampled[index][link.to.index()];
                if link.counters.frames != *sampled {
                    *sampled = link.counters.frames;
                    let other = &self.names[link.to.index()];
                    self.link_samples
                        .write(&link_sample_row(&link, name, other, passed))?;
                }
            }
        }
        Ok(())
    }

    /// Give what was written so far to those who follow the run.
    fn flush(&mut self) -> Result<(), Error> {
        self.nodes.flush()?;
        self.link_samples.flush()?;
        self.frames.as_mut().map_or(Ok(()), Writer::flush)?;
        if let Some((_, file)) = &mut self.handovers {
            file.flush()?;
        }
        Ok(self.events.as_mut().map_or(Ok(()), Writer::flush)?)
    }

    /// Where the run was cut short: how far it had come.
    pub fn missing(&self) -> Option<Early> {
        let end = self.end.filter(|end| self.reached < *end)?;
        Some(Early {
            reached_s: self.reached.since(self.epoch).as_secs_f64(),
            duration_s: end.since(self.epoch).as_secs_f64(),
        })
    }

    /// Whether something that was over `at` this time belongs to the run.
    fn belongs(&self, at: Instant) -> bool {
        self.end.is_none_or(|end| at <= end)
    }

    /// A host's frame, with what records will say of each of its tries.
    pub fn hold(&self, bytes: &[u8], header: Option<Header>) -> Held {
        let packet = header.filter(|_| self.frames.is_some());
        let packet = packet.and_then(|header| header.packet(bytes));
        Held {
            bytes: bytes.into(),
            header,
            carried: packet.map(|(ethertype, packet)| carried(ethertype, packet)),
        }
    }

    /// Something was on the air; `held` is the host's frame that it carried.
    pub fn aired(&mut self, aired: &Aired, held: Option<&Held>) -> Result<(), Error> {
        if let (Some(_), Some(held)) = (&self.capture, held) {
            self.learn(aired, held);
        }
        if aired.at < self.epoch || !self.belongs(aired.until) {
            return Ok(());
        }
        if let Some(file) = &mut self.frames {
            let to = match aired.to {
                To::Everyone => Some("*"),
                To::Radio(radio) => self.names.get(radio.index()).map(String::as_str),
                To::Nobody => None,
            };
            let carried = held.and_then(|held| held.carried);
            let ip = carried.and_then(|carried| carried.ip);
            let ends = ip.and_then(|ip| ip.transport);
            let numbers = ends.and_then(|ends| ends.numbers);
            let [packet_src, packet_dst] = [ip.map(|ip| ip.source), ip.map(|ip| ip.destination)]
                .map(|a| a.map(|a| a.to_string()));
            file.write(&frames::Row {
                t_s: aired.at.seconds_from(self.epoch),
                src: &self.names[aired.from.index()],
                dst: to,
                kind: aired.kind.name(),
                bytes: aired.bytes.into(),
                rate_mbps: aired.rate.mbps(),
                attempt: aired.attempt.into(),
                fate: aired.fate.name(),
                signal_dbm: aired.signal_dbm.map(|level| level.0),
                until_s: aired.until.seconds_from(self.epoch),
                protocol: carried.map(|carried| carried.protocol),
                packet_src: packet_src.as_deref(),
                packet_dst: packet_dst.as_deref(),
                packet_id: ip.map(|ip| ip.identification.into()),
                ttl: ip.map(|ip| ip.ttl.into()),
                src_port: ends.map(|ends| ends.source_port.into()),
                dst_port: ends.map(|ends| ends.destination_port.into()),
                seq: numbers.map(|numbers| numbers.0.into()),
                ack: numbers.map(|numbers| numbers.1.into()),
                payload_bytes: ends.map(|ends| ends.payload.into()),
                category: category(aired)
                    .filter(|_| self.by_category)
                    .map(Category::name),
                mpdu: aired.place.map(|place| (place.number + 1).into()),
                mpdus: aired.place.map(|place| place.frames.into()),
                link: self.has_links[aired.from.index()].then(|| aired.link.into()),
            })?;
        }
        if let Some(capture) = &mut self.capture {
            let reserve_us = u16::try_from(aired.nav.as_micros_ceil()).unwrap_or(u16::MAX);
            let octets = match (held, aired.to) {
                (Some(held), _) => Octets::Host {
                    begin: on_air(&held.bytes, aired.attempt > 1, reserve_us),
                    frame: held.bytes.clone(),
                },
                (None, To::Radio(_)) if is_to_several(aired) => {
                    if asks_by_trigger(aired) {
                        self.soundings.asks_by_trigger(aired.from);
                    }
                    let made = self
                        .triggers
                        .control(aired, &self.macs, &mut self.sequences);
                    let Some(made) = made else { return Ok(()) };
                    Octets::Radio(made)
                }
                (None, To::Radio(_)) if aired.sounding.is_some() => {
                    let made = self.soundings.frame(aired, &self.macs, &self.triggers);
                    let Some(made) = made else { return Ok(()) };
                    Octets::Radio(made)
                }
                (None, To::Radio(to)) => {
                    let (to, from) = (self.macs[to.index()], self.macs[aired.from.index()]);
                    let own = control(aired.kind, to, from);
                    let own = own.or_else(|| self.sequences.control(aired, to, from));
                    let own = own.map(|control| control.emit(reserve_us));
                    let status = || buffer_status(aired, to, from);
                    match own.or_else(|| Some(status()?.emit(reserve_us))) {
                        Some(made) => Octets::Radio(made),
                        None => return Ok(()),
                    }
                }
                // The host has known for long: it took the frame back when its radio went off.
                _ => return Ok(()),
            };
            let triggered = aired.triggered && !self.soundings.goes_alone(aired);
            let is_shared = triggered || (aired.share.is_some() && aired.sounding.is_none());
            let captured = Captured {
                at_ns: aired.at.since(self.epoch).as_nanos(),
                channel_mhz: capture.channel_mhz(aired.from, aired.link),
                rate: aired.rate,
                signal_dbm: aired.signal_dbm,
                ampdu: aired
                    .place
                    .map(|place| capture.ampdu((aired.from, aired.link), place)),
                user: is_shared.then(|| User {
                    triggered,
                    unit: self.triggers.unit(aired),
                    association: self.triggers.association(aired),
                }),
                is_null: aired.sounding == Some(Sounding::NullData),
                octets,
            };
            let result = capture.add(captured.at_ns, captured);
            result.map_err(Error::Capture)?;
        }
        Ok(())
    }

    /// What a capture says of later frames.
    fn learn(&mut self, aired: &Aired, held: &Held) {
        let Some(header) = held.header else { return };
        if let Some(number) = header.sequence {
            self.sequences.learn(aired, number);
        }
        if header.class == Class::Management {
            self.triggers.learn(aired, &held.bytes);
        }
    }

    /// A battery is empty.
    pub fn exhausted(&mut self, radio: RadioId, at: Instant) -> Result<(), Error> {
        self.happened(radio, at, "battery-empty", "")
    }

    /// Where frames are recorded: a radio was done with one of its host's without success.
    pub fn dropped(
        &mut self,
        radio: RadioId,
        at: Instant,
        outcome: Outcome,
        held: &Held,
    ) -> Result<(), Error> {
        let cause = match outcome {
            Outcome::Acked | Outcome::Sent => return Ok(()),
            Outcome::RetryLimit => "retry-limit",
            Outcome::QueueFull => "queue-full",
            Outcome::Off => "off",
            Outcome::Refused => "refused",
        };
        let Some(carried) = held.carried else {
            return Ok(());
        };
        let detail = match carried.ip {
            Some(ip) => format!("cause={cause} {ip}"),
            None => format!("cause={cause} kind={}", carried.protocol),
        };
        self.happened(radio, at, "drop", &detail)
    }

    /// From now on the radio is on the channel with this centre.
    pub fn tuned(&mut self, radio: RadioId, mhz: u16) {
        if let Some(capture) = &mut self.capture {
            capture.tuned(radio, mhz);
        }
    }

    /// A host's packets go by way of this access point from now on, or of none.
    pub fn associated(&mut self, radio: RadioId, point: Option<Mac>) {
        if let Some((handovers, _)) = &mut self.handovers {
            let station = self.macs[radio.index()];
            handovers.associated(station, point);
        }
    }

    /// A host's frame has been acknowledged.
    pub fn acknowledged(&mut self, at: Instant, held: &Held) -> Result<(), Error> {
        if !self.belongs(at) {
            return Ok(());
        }
        let cell = held.header.and_then(|header| header.cell);
        let (Some((handovers, file)), Some(cell)) = (&mut self.handovers, cell) else {
            return Ok(());
        };
        let Some(found) = handovers.acknowledged(cell, at) else {
            return Ok(());
        };
        let of = |mac: Mac| self.macs.iter().position(|own| *own == mac);
        let ends = (of(found.station), of(found.old), of(found.new));
        let (Some(node), Some(old), Some(new)) = ends else {
            return Ok(());
        };
        if at < self.epoch {
            return Ok(());
        }
        let gap = found.first.since(found.last);
        Ok(file.write(&handovers::Row {
            node: &self.names[node],
            old: &self.names[old],
            new: &self.names[new],
            last_s: found.last.seconds_from(self.epoch),
            first_s: found.first.seconds_from(self.epoch),
            gap_ms: gap.as_nanos() as f64 / 1e6,
        })?)
    }

    /// A row of the table `events`, if it belongs to the run.
    fn happened(
        &mut self,
        radio: RadioId,
        at: Instant,
        kind: &str,
        detail: &str,
    ) -> Result<(), Error> {
        if at < self.epoch || !self.belongs(at) {
            return Ok(());
        }
        let file = match &mut self.events {
            Some(file) => file,
            None => {
                let file = Writer::create_in(&self.settings.dir, Some(SOURCE))?;
                self.events.insert(file)
            }
        };
        Ok(file.write(&events::Row {
            t_s: at.since(self.epoch).as_secs_f64(),
            node: &self.names[radio.index()],
            source: SOURCE,
            kind,
            detail,
        })?)
    }

    /// Write the tables of the whole run as it stands.
    fn close(&mut self, medium: &Medium) -> Result<(), Error> {
        self.closed = true;
        let mut radios: Writer<radios::Table> = create(&self.settings)?;
        let mut links: Writer<links::Table> = create(&self.settings)?;
        let mut signals: Writer<signals::Table> = create(&self.settings)?;
        for (index, name) in self.names.iter().enumerate() {
            let radio = RadioId::new(index);
            radios.write(&radio_row(medium, radio, name))?;
            for link in medium.links(radio) {
                let other = &self.names[link.to.index()];
                links.write(&link_row(&link, name, other))?;
                write_signals(&mut signals, &link, name, other)?;
            }
        }
        radios.flush()?;
        links.flush()?;
        Ok(signals.flush()?)
    }

    /// End the records; `own` is what the daemon says of itself.
    pub fn finish(mut self, medium: &Medium, own: &Value) -> Result<(), Error> {
        if !self.closed {
            self.close(medium)?;
        }
        self.flush()?;
        if let Some(capture) = self.capture.take() {
            let result = capture.finish();
            result.map_err(Error::Capture)?;
        }
        let path = self.settings.dir.join("medium.json");
        let written = file::create(&path).and_then(|mut file| writeln!(file, "{own}"));
        written.map_err(|why| file_failed(&path, why))
    }
}

/// The access category that sent it, where radios have categories; an answer has none.
fn category(aired: &Aired) -> Option<Category> {
    match aired.kind {
        AirKind::Ack | AirKind::Cts | AirKind::BlockAck => None,
        _ => Category::ALL.get(usize::from(aired.function)).copied(),
    }
}

/// Whether it is a part of a control frame to several stations.
fn is_to_several(aired: &Aired) -> bool {
    match aired.kind {
        AirKind::Trigger | AirKind::BlockAckRequest => aired.asks.is_some(),
        AirKind::Sounding => asks_by_trigger(aired),
        AirKind::BlockAck => aired.share.is_some(),
        _ => false,
    }
}

/// Whether a trigger asks for reports, as of HE and EHT. VHT has polls for it.
fn asks_by_trigger(aired: &Aired) -> bool {
    let of_vht = |asks: Asks| matches!(asks.rate.modulation(), Modulation::Vht(_));
    aired.sounding == Some(Sounding::Poll) && aired.asks.is_some_and(|asks| !of_vht(asks))
}

/// The frame of an exchange that its radio makes itself; none where a host makes it.
fn control(kind: AirKind, receiver: Mac, transmitter: Mac) -> Option<Control> {
    match kind {
        AirKind::Rts => Some(Control::Rts {
            receiver,
            transmitter,
        }),
        AirKind::Cts => Some(Control::Cts { receiver }),
        AirKind::Ack => Some(Control::Ack { receiver }),
        _ => None,
    }
}

fn node_row<'a>(
    medium: &Medium,
    radio: RadioId,
    name: &'a str,
    at: Instant,
    passed: Duration,
) -> nodes::Row<'a> {
    let counters = medium.counters(radio);
    let Position { x_m, y_m, .. } = medium.position(radio, at);
    let passed_ns = passed.as_nanos();
    nodes::Row {
        t_s: passed.as_secs_f64(),
        node: name,
        x_m,
        y_m,
        tx_frames: counters.tx_frames.into(),
        tx_bytes: counters.tx_bytes.into(),
        rx_frames: counters.rx_frames.into(),
        rx_bytes: counters.rx_bytes.into(),
        retries: counters.retries.into(),
        failed: counters.retry_limit.into(),
        queue_len: medium.queue_len(radio).into(),
        queue_drops: counters.queue_full.into(),
        busy_fraction: counters.busy_time().as_nanos() as f64 / passed_ns.max(1) as f64,
        energy_j: medium.joules(radio).sum(),
    }
}

fn radio_row<'a>(medium: &Medium, radio: RadioId, name: &'a str) -> radios::Row<'a> {
    let counters: Counters = medium.counters(radio);
    let airtime_s = |kind: AirKind| counters.airtime[kind as usize].as_secs_f64();
    let spent = medium.joules(radio);
    radios::Row {
        node: name,
        tx_frames: counters.tx_frames.into(),
        rx_frames: counters.rx_frames.into(),
        retries: counters.retries.into(),
        retry_limit: counters.retry_limit.into(),
        queue_full: counters.queue_full.into(),
        rx_overrun: counters.rx_overrun.into(),
        airtime_data_s: airtime_s(AirKind::Data),
        airtime_ack_s: [
            AirKind::Ack,
            AirKind::BlockAck,
            AirKind::BlockAckRequest,
            AirKind::Trigger,
            AirKind::BufferStatus,
            AirKind::Sounding,
        ]
        .map(airtime_s)
        .into_iter()
        .sum(),
        airtime_rts_s: airtime_s(AirKind::Rts),
        airtime_cts_s: airtime_s(AirKind::Cts),
        airtime_beacon_s: airtime_s(AirKind::Beacon),
        airtime_broadcast_s: airtime_s(AirKind::Broadcast),
        busy_s: counters.busy_time().as_secs_f64(),
        energy_tx_j: spent.tx,
        energy_rx_j: spent.rx,
        energy_idle_j: spent.idle,
        energy_sleep_j: spent.sleep,
    }
}

fn link_row<'a>(link: &LinkView<'_>, src: &'a str, dst: &'a str) -> links::Row<'a> {
    let counters = link.counters;
    links::Row {
        src,
        dst,
        frames: counters.frames.into(),
        delivered: counters.delivered.into(),
        collided: counters.collided.into(),
        weak: counters.weak.into(),
        capture_lost: counters.capture_lost.into(),
        error_model: counters.error_model.into(),
        deaf: counters.deaf.into(),
        off: counters.off.into(),
        bytes: counters.bytes.into(),
        signal_dbm_mean: counters.mean_dbm().0,
    }
}

fn link_sample_row<'a>(
    link: &LinkView<'_>,
    src: &'a str,
    dst: &'a str,
    passed: Duration,
) -> link_samples::Row<'a> {
    let counters = link.counters;
    link_samples::Row {
        t_s: passed.as_secs_f64(),
        src,
        dst,
        frames: counters.frames.into(),
        delivered: counters.delivered.into(),
        collided: counters.collided.into(),
        weak: counters.weak.into(),
        capture_lost: counters.capture_lost.into(),
        error_model: counters.error_model.into(),
        deaf: counters.deaf.into(),
        off: counters.off.into(),
        bytes: counters.bytes.into(),
    }
}

fn write_signals(
    file: &mut Writer<signals::Table>,
    link: &LinkView<'_>,
    src: &str,
    dst: &str,
) -> Result<(), Error> {
    let Signals { signal, noise } = link.signals;
    for (quantity, histogram) in [("signal", signal), ("noise", noise)] {
        for bin in histogram.bins() {
            file.write(&signals::Row {
                src,
                dst,
                quantity,
                dbm: bin.dbm.into(),
                frames: bin.count.into(),
            })?;
        }
    }
    Ok(())
}
