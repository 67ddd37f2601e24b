// SPDX-License-Identifier: Apache-2.0
//! Between hosts and the engine: one thread that blocks in one place.

use std::collections::BTreeMap;

use hoplab_medium_core::{
    Class, Duration, Frame, Instant, Medium, Mhz, Outcome, Output, RadioId, Station, To, MAX_RATES,
};
use serde_json::{json, Value};

use crate::config::{Config, Radio};
use crate::control::{Change, Changes, Control, Part};
use crate::dot11;
use crate::error::Error;
use crate::lateness::Lateness;
use crate::port::{Heard, Port, Sent, Woken};
use crate::records::Recorder;

const FCS_BYTES: usize = 4;
/// Bytes from which a batch is sent: the kernel copies a send into one buffer.
const BATCH_BYTES: usize = 1 << 18;
/// A port wakes at least once in this time.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// A frame that its host, or a delivery, waits for.
struct Pending<T> {
    bytes: Vec<u8>,
    ticket: T,
}

/// What came from hosts and went to them.
#[derive(Default)]
struct Traffic {
    frames: u64,
    unicasts: u64,
    statuses: u64,
    deliveries: u64,
    /// Deauthentications between IBSS stations, which stay off the air.
    deauthentications: u64,
    refused_rates: u64,
    /// Frames that no host could take.
    oversized: u64,
}

/// The engine behind a [`Port`], and its records.
pub struct Server<P: Port> {
    port: P,
    /// Radio of each address that frames are sent to.
    radios: BTreeMap<[u8; 6], usize>,
    medium: Medium,
    recorder: Recorder,
    pending: BTreeMap<u64, Pending<P::Ticket>>,
    next_id: u64,
    traffic: Traffic,
    lateness: Lateness,
    changes: Option<Box<dyn Changes>>,
    /// See [`Server::hold_beacons`].
    phases: Vec<Duration>,
    /// Beacons that are held back, by the time at which they come.
    late: BTreeMap<(Instant, u64), (usize, Frame)>,
    /// See [`Config::others_radios`].
    others_radios: bool,
    /// See [`Config::rts_threshold`].
    rts_threshold: usize,
    /// Somebody asked for the end.
    ended: bool,
}

impl<P: Port> Server<P> {
    pub fn new(config: Config, port: P) -> Result<Self, Error> {
        let recorder = Recorder::new(&config)?;
        let control = match &config.control {
            Some(_) if port.virtual_time() => return Err(Error::VirtualTime),
            Some(path) => Some(Control::open(path, config.names())?),
            None => None,
        };
        let radios = config.macs().into_iter().zip(0..).collect();
        let way = |radio: &Radio| Station {
            name: radio.name.clone(),
            waypoints: radio.waypoints.clone(),
        };
        let ways = config.stations.iter().map(way).collect();
        let mut medium = Medium::new(config.params, ways, config.losses);
        for (index, station) in config.stations.into_iter().enumerate() {
            let radio = RadioId::new(index);
            for event in station.power {
                medium.schedule_power(event.at, radio, event.up);
            }
            if let Some(nic) = station.nic {
                medium.equip(radio, nic);
            }
        }
        medium.schedule_measure(config.epoch);
        let mut server = Self {
            changes: None,
            phases: Vec::new(),
            late: BTreeMap::new(),
            others_radios: config.others_radios,
            rts_threshold: config.rts_threshold,
            ended: false,
            lateness: Lateness::new(port.virtual_time()),
            port,
            radios,
            medium,
            recorder,
            pending: BTreeMap::new(),
            next_id: 0,
            traffic: Traffic::default(),
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
        self.phases = phases;
    }

    /// The channel, to be set up further.
    pub fn medium(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// Serve until told to stop, and write the records; an error where the run was cut short.
    pub fn run(mut self) -> Result<(), Error> {
        self.serve()?;
        let doubts = self.doubts();
        for doubt in &doubts {
            eprintln!("hoplab-medium: do not trust this run: {doubt}");
        }
        let own = self.own_record(&doubts);
        let early = self.recorder.missing();
        self.recorder.finish(&self.medium, &own)?;
        early.map_or(Ok(()), |early| Err(Error::Stopped(early)))
    }

    fn serve(&mut self) -> Result<(), Error> {
        let mut now = self.port.clock();
        while !self.port.stopped() && !self.ended {
            // The engine is behind while nothing that a host could notice happens in it.
            let due = self.medium.next_output();
            // In virtual time a sample waits for whatever comes next, a second at most: a wake-up
            // of its own would cost two system calls.
            let sample = self
                .recorder
                .next_due()
                .filter(|_| !self.port.virtual_time());
            let late = self.late.first_key_value().map(|(key, _)| key.0);
            let until = due.into_iter().chain(sample).chain(late).min();
            let limit = until.map(|until| until.since(now));
            let Woken {
                passed,
                input,
                other,
            } = self.port.wait(limit)?;
            let latest = now + limit.map_or(LONGEST_SLEEP, |limit| limit.min(LONGEST_SLEEP));
            now += passed;
            if !self.port.virtual_time() || input || limit.is_none() {
                // A wait with a limit tells the time to within what other processes took since the
                // last one; a frame must not start before its arrival.
                now = now.max(self.port.clock());
                self.lateness.woken(now.since(latest));
            }
            self.release_beacons(now)?;
            self.advance(now)?;
            if other {
                self.obey(now)?;
            }
            self.read(now);
            let deliveries = self.write()?;
            if !self.port.virtual_time() && deliveries > 0 {
                let late = due.map_or(Duration::ZERO, |due| now.since(due));
                self.lateness.add(late, deliveries);
            }
        }
        // What has passed since something last happened counts too.
        now = now.max(self.port.clock());
        self.advance(now)?;
        self.write()?;
        Ok(())
    }

    /// Bring the medium to `now`, by way of every time at which the recorder reads it.
    fn advance(&mut self, now: Instant) -> Result<(), Error> {
        while let Some(at) = self.recorder.next_due().filter(|at| *at <= now) {
            self.medium.advance(at);
            self.recorder.record(&self.medium, at)?;
        }
        self.medium.advance(now);
        self.recorder.reach(now)
    }

    /// Do what came at the control socket.
    fn obey(&mut self, now: Instant) -> Result<(), Error> {
        let Some(source) = &mut self.changes else {
            return Ok(());
        };
        let (changes, another) = source.receive();
        if another {
            self.port.watch(source.descriptor()?);
        }
        for change in changes {
            match change {
                Change::Put { radio, place } => self.medium.put(radio, place),
                Change::Power { radio, up } => self.medium.schedule_power(now, radio, up),
                Change::Lose { link, rate } => self.medium.set_loss(link, rate),
                Change::Level { link, dbm } => {
                    self.medium.set_rssi(link, dbm);
                }
                Change::Fit { radio, part } => {
                    let mut antenna = self.medium.antenna(radio);
                    match part {
                        Part::Power(dbm) => antenna.tx_power_dbm = dbm,
                        Part::Gain(dbi) => antenna.gain_dbi = dbi,
                        Part::Height(metres) => antenna.height_m = metres,
                    }
                    self.medium.fit(radio, antenna);
                }
                Change::Assign { radio, medium } => self.medium.assign(radio, medium),
                Change::End => self.ended = true,
            }
        }
        self.medium.advance(now);
        Ok(())
    }

    /// Those that were held back until now come to the medium, each at its time.
    fn release_beacons(&mut self, now: Instant) -> Result<(), Error> {
        while let Some(first) = self.late.first_entry() {
            let (at, _) = *first.key();
            if at > now {
                break;
            }
            let (radio, frame) = first.remove();
            self.advance(at)?;
            self.medium.enqueue(RadioId::new(radio), frame);
        }
        Ok(())
    }

    fn read(&mut self, now: Instant) {
        let Self {
            port,
            radios,
            medium,
            pending,
            next_id,
            traffic,
            phases,
            late,
            others_radios,
            rts_threshold,
            ..
        } = self;
        port.read(|port, sent| {
            if *others_radios {
                medium.tune(RadioId::new(sent.radio), Mhz(sent.frequency_mhz));
                // Of a radio with several, as an access point with several networks.
                if let Some(sender) = dot11::transmitter(sent.bytes) {
                    radios.insert(sender.0, sent.radio);
                }
            }
            let ready = prepare(radios, port, traffic, &sent);
            let Some((to, header)) = ready else { return };
            *next_id += 1;
            let bytes = sent.bytes.len() + FCS_BYTES;
            let mut rates = sent.rates;
            let of_ht = rates.iter_mut().filter(|try_| try_.rate.scheme().is_some());
            of_ht.for_each(|try_| try_.rts |= bytes > *rts_threshold);
            let frame = Frame {
                id: *next_id,
                to,
                bytes,
                rates,
                class: header.map_or(Class::Management, |header| header.class),
                routing: header.is_some_and(|header| header.routing),
            };
            let waits = Pending {
                bytes: sent.bytes.to_vec(),
                ticket: sent.ticket,
            };
            pending.insert(*next_id, waits);
            match phases.get(sent.radio) {
                Some(phase) if frame.class == Class::Beacon => {
                    late.insert((now + *phase, *next_id), (sent.radio, frame));
                }
                _ => medium.enqueue(RadioId::new(sent.radio), frame),
            }
        });
    }

    /// Everything that the engine has decided leaves in one send; returns how many messages.
    fn write(&mut self) -> Result<u64, Error> {
        let before = self.traffic.deliveries + self.traffic.statuses;
        while let Some(output) = self.medium.poll_output() {
            match output {
                Output::Deliver {
                    frame,
                    to,
                    signal_dbm,
                    rate,
                    ..
                } => {
                    let heard = Heard { signal_dbm, rate };
                    self.deliver(frame, to.index(), heard);
                }
                Output::Status {
                    frame,
                    radio,
                    at,
                    outcome,
                    tries,
                    kept,
                } => {
                    if let Some(pending) = self.pending.get(&frame) {
                        self.recorder.dropped(radio, at, outcome, &pending.bytes)?;
                    }
                    self.status(frame, outcome, &tries, kept);
                }
                Output::Released { frame } => {
                    self.pending.remove(&frame);
                }
                Output::Aired(aired) => {
                    let pending = aired.frame.and_then(|frame| self.pending.get(&frame));
                    let bytes = pending.map(|pending| &pending.bytes[..]);
                    self.recorder.aired(&aired, bytes)?;
                }
                Output::Exhausted { radio, at } => self.recorder.exhausted(radio, at)?,
            }
            if self.port.unsent() > BATCH_BYTES {
                self.port.flush()?;
            }
        }
        self.port.flush()?;
        Ok(self.traffic.deliveries + self.traffic.statuses - before)
    }

    fn deliver(&mut self, frame: u64, to: usize, heard: Heard) {
        let Some(pending) = self.pending.get(&frame) else {
            return;
        };
        self.traffic.deliveries += 1;
        self.port
            .deliver(to, &pending.bytes, &pending.ticket, heard);
    }

    fn status(&mut self, frame: u64, outcome: Outcome, tries: &[u32; MAX_RATES], kept: bool) {
        let Some(pending) = self.pending.get(&frame) else {
            return;
        };
        if outcome == Outcome::Refused {
            self.traffic.refused_rates += 1;
            if self.traffic.refused_rates == 1 {
                eprintln!(
                    "hoplab-medium: a frame's rate is none of the channel's standard or \
                     not modelled (160 MHz, HE): frames at such rates are refused"
                );
            }
        }
        self.traffic.statuses += 1;
        self.port
            .status(&pending.ticket, outcome.succeeded(), tries);
        if !kept {
            self.pending.remove(&frame);
        }
    }

    /// Reasons not to trust the run.
    fn doubts(&self) -> Vec<String> {
        let audit = self.medium.audit();
        let (traffic, troubles) = (&self.traffic, self.port.troubles());
        let mut doubts = self.lateness.doubts();
        doubts.extend(
            self.recorder
                .missing()
                .map(|early| format!("it was stopped {early}")),
        );
        if troubles.overruns > 0 {
            doubts.push(format!(
                "messages of the kernel were lost {} times: the receive buffer was full",
                troubles.overruns
            ));
        }
        if traffic.oversized > 0 {
            doubts.push(format!(
                "{} frames of more than {} bytes were refused, which no radio takes: \
                 use a smaller MTU or mss",
                traffic.oversized,
                self.port.longest_frame()
            ));
        }
        let open = audit.open + self.late.len() as u64;
        if !audit.holds() || traffic.frames != traffic.statuses + open {
            doubts.push(format!(
                "{} frames came, {} statuses went and {open} are open: {audit:?}",
                traffic.frames, traffic.statuses
            ));
        }
        doubts
    }

    /// What `medium.json` says.
    fn own_record(&self, doubts: &[String]) -> Value {
        let (audit, traffic) = (self.medium.audit(), &self.traffic);
        let troubles = self.port.troubles();
        let virtual_time = self.port.virtual_time();
        let mut calls = self.port.calls();
        let counted = calls.as_object().into_iter().flatten();
        let all: u64 = counted
            // Outside virtual time the clock is read without entering the kernel (vdso(7)).
            .filter(|(call, _)| virtual_time || *call != "clock")
            .filter_map(|(_, count)| count.as_u64())
            .sum();
        calls["per_frame"] = json!(all as f64 / traffic.frames.max(1) as f64);
        json!({
            "trustworthy": doubts.is_empty(),
            "doubts": doubts,
            "frames": {
                "accepted": audit.accepted,
                "acked": audit.acked,
                "sent": audit.sent,
                "retry_limit": audit.retry_limit,
                "queue_full": audit.queue_full,
                "off": audit.off,
                "refused": audit.refused,
                "open": audit.open,
            },
            "kernel": {
                "frames": traffic.frames,
                "unicasts": traffic.unicasts,
                "statuses": traffic.statuses,
                "deliveries": traffic.deliveries,
                "malformed": troubles.malformed,
                "unknown_radios": troubles.unknown_radios,
                "overruns": troubles.overruns,
                "oversized": traffic.oversized,
                "deauthentications": traffic.deauthentications,
                "refused_statuses": troubles.refused_statuses,
                "refused_deliveries": troubles.refused_deliveries,
            },
            "system_calls": calls,
            "virtual_time": virtual_time,
            "lateness": self.lateness.as_json(),
            "engine_events": self.medium.handled(),
        })
    }
}

/// Where a frame goes, and its header; none where it does not go on the air.
fn prepare<P: Port>(
    radios: &BTreeMap<[u8; 6], usize>,
    port: &mut P,
    traffic: &mut Traffic,
    sent: &Sent<'_, P::Ticket>,
) -> Option<(To, Option<dot11::Header>)> {
    let once = [1, 0, 0, 0];
    // Linux deauthenticates every IBSS station that was silent for 60 s when it forgets it. Here all
    // stations have once heard all others, far ones included, before time 0: a minute later
    // these frames, tried over and over, would fill the channel for seconds.
    if dot11::is_deauthentication(sent.bytes) {
        traffic.deauthentications += 1;
        port.status(&sent.ticket, true, &once);
        return None;
    }
    // Acknowledged it would vanish on its way to the receiving host.
    if sent.bytes.len() > port.longest_frame() {
        traffic.oversized += 1;
        port.status(&sent.ticket, false, &once);
        return None;
    }
    let header = dot11::parse(sent.bytes);
    let to = match header.map(|header| header.receiver) {
        None => To::Nobody,
        Some(receiver) if receiver.is_group() => To::Everyone,
        Some(receiver) => radios
            .get(&receiver.0)
            .map_or(To::Nobody, |radio| To::Radio(RadioId::new(*radio))),
    };
    traffic.frames += 1;
    traffic.unicasts += u64::from(to != To::Everyone);
    Some((to, header))
}
