// SPDX-License-Identifier: Apache-2.0
//! Between the kernel and the engine: one thread that blocks in one place.

use std::collections::BTreeMap;

use hoplab_medium_core::{Class, Frame, Medium, Outcome, Output, To};
use serde_json::{json, Value};

use crate::config::Config;
use crate::dot11;
use crate::hwsim::{self, Batch, Message, Sent};
use crate::lateness::Lateness;
use crate::records::Recorder;
use crate::sys::{self, Inbox, Netlink, LONGEST_WAIT};

const FCS_BYTES: usize = 4;
/// Bytes from which a batch is sent: the kernel copies a send into one buffer.
const BATCH_BYTES: usize = 1 << 18;
/// hwsim's rate table: DSSS/CCK, then OFDM; in the 5 GHz band only OFDM.
const RATES_MBPS: [f64; 12] = [
    1.0, 2.0, 5.5, 11.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0,
];
const FIRST_OFDM: usize = 4;

/// A frame that the kernel, or a delivery, waits for.
struct Pending {
    cookie: u64,
    flags: u32,
    frequency_mhz: u32,
    bytes: Vec<u8>,
    rates: Vec<u8>,
}

/// What came from and went to the kernel.
#[derive(Default)]
struct Traffic {
    frames: u64,
    unicasts: u64,
    statuses: u64,
    deliveries: u64,
    malformed: u64,
    overruns: u64,
    /// Frames of radios that the configuration does not name.
    unknown_radios: u64,
    /// Deauthentications between IBSS stations, which stay off the air.
    deauthentications: u64,
    refused_rates: u64,
    refused_statuses: u64,
    refused_deliveries: u64,
    clock_readings: u64,
}

struct Shell {
    netlink: Netlink,
    family: u16,
    /// Radio of each address that frames are sent to.
    radios: BTreeMap<[u8; 6], usize>,
    /// Radio of each address that hwsim knows it by.
    senders: BTreeMap<[u8; 6], usize>,
    /// What hwsim calls each radio.
    addresses: Vec<[u8; 6]>,
    medium: Medium,
    pending: BTreeMap<u64, Pending>,
    next_id: u64,
    batch: Batch,
    traffic: Traffic,
    lateness: Lateness,
    virtual_time: bool,
}

/// Whether this kernel's time stands still while programs compute (User-Mode Linux,
/// `time-travel=inf-cpu`): deliveries are then never late.
fn in_virtual_time() -> bool {
    let arguments = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
    arguments
        .split_whitespace()
        .any(|word| word.starts_with("time-travel"))
}

/// CLOCK_MONOTONIC in nanoseconds.
pub fn monotonic() -> u64 {
    sys::monotonic()
}

/// Register and serve until SIGTERM.
pub fn run(config: Config) -> Result<(), String> {
    let mut recorder = Recorder::new(&config)?;
    let netlink = Netlink::open().map_err(|e| format!("netlink socket: {e}"))?;
    let mut medium = Medium::new(config.params, config.stations, config.losses);
    for (at, radio, on) in config.power {
        medium.schedule_power(at, radio, on);
    }
    medium.schedule_measure(config.epoch_ns);
    let radios: BTreeMap<[u8; 6], usize> = config.macs.iter().copied().zip(0..).collect();
    let mut shell = Shell {
        family: find_family(&netlink)?,
        netlink,
        senders: radios.clone(),
        radios,
        addresses: config.macs,
        medium,
        pending: BTreeMap::new(),
        next_id: 0,
        batch: Batch::default(),
        traffic: Traffic::default(),
        lateness: Lateness::default(),
        virtual_time: in_virtual_time(),
    };
    shell.register()?;
    shell.netlink.forget_calls();
    sys::catch_signals();
    println!("ready");
    shell.serve(&mut recorder)?;
    let doubts = shell.doubts();
    for doubt in &doubts {
        eprintln!("hoplab-medium: do not trust this run: {doubt}");
    }
    recorder.finish(&shell.medium, &shell.account(&doubts))
}

fn request(netlink: &Netlink, batch: &mut Batch) -> Result<Vec<u8>, String> {
    netlink
        .send(&batch.take())
        .map_err(|e| format!("netlink send: {e}"))?;
    let mut inbox = Inbox::new();
    netlink
        .receive(&mut inbox, true)
        .map_err(|e| format!("netlink: {e}"))?;
    let answer = inbox.datagrams().next().flatten();
    Ok(answer
        .ok_or("netlink: the kernel did not answer within 1 s")?
        .to_vec())
}

fn find_family(netlink: &Netlink) -> Result<u16, String> {
    let mut batch = Batch::default();
    batch.get_family();
    let answer = request(netlink, &mut batch)?;
    match hwsim::parse(&answer).first() {
        Some(Message::Family(id)) => Ok(*id),
        _ => Err("mac80211_hwsim is not there; load it with 'modprobe mac80211_hwsim'".into()),
    }
}

impl Shell {
    fn register(&mut self) -> Result<(), String> {
        self.batch.register(self.family);
        let answer = request(&self.netlink, &mut self.batch)?;
        match hwsim::parse(&answer).first() {
            Some(Message::Ack(0, _)) => Ok(()),
            Some(Message::Ack(code, _)) => Err(format!(
                "registering with mac80211_hwsim failed: {}; another medium may be registered",
                std::io::Error::from_raw_os_error(code.saturating_neg())
            )),
            _ => Err("registering with mac80211_hwsim: unexpected answer".into()),
        }
    }

    fn serve(&mut self, recorder: &mut Recorder) -> Result<(), String> {
        let mut inbox = Inbox::new();
        let mut now = sys::monotonic();
        while !sys::stopped() {
            // The engine is behind while nothing that a host could notice happens in it.
            let due = self.medium.next_output();
            match due {
                // With nothing on its way, waiting and receiving are one call.
                None => self.receive(&mut inbox, true)?,
                Some(due) => {
                    let timeout = due.saturating_sub(now).min(LONGEST_WAIT);
                    let (ready, left) = self.netlink.wait(timeout);
                    now += timeout - left.min(timeout);
                    if ready {
                        self.receive(&mut inbox, false)?;
                    }
                }
            }
            if !self.virtual_time || !inbox.is_empty() {
                // The wait tells the time to within what other processes took since the last one;
                // a frame must not start before its arrival.
                self.traffic.clock_readings += 1;
                now = now.max(sys::monotonic());
            }
            recorder.due(&mut self.medium, now)?;
            self.medium.advance(now);
            self.read(&mut inbox);
            let deliveries = self.write(recorder)?;
            if !self.virtual_time {
                recorder.show(now)?;
                if deliveries > 0 {
                    let late = now.saturating_sub(due.unwrap_or(now));
                    self.lateness.add(late, deliveries);
                }
            }
        }
        recorder.due(&mut self.medium, now)
    }

    fn receive(&mut self, inbox: &mut Inbox, wait: bool) -> Result<(), String> {
        match self.netlink.receive(inbox, wait) {
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                self.traffic.overruns += 1;
                Ok(())
            }
            other => other.map_err(|error| format!("netlink receive: {error}")),
        }
    }

    fn read(&mut self, inbox: &mut Inbox) {
        for datagram in inbox.datagrams() {
            let Some(bytes) = datagram else {
                self.traffic.malformed += 1;
                continue;
            };
            for message in hwsim::parse(bytes) {
                match message {
                    Message::Frame(sent) => self.accept(&sent),
                    Message::Malformed => self.traffic.malformed += 1,
                    // A radio that has gone, or is down, refuses its frame: not an error.
                    Message::Ack(_, hwsim::SEQUENCE_DELIVER) => {
                        self.traffic.refused_deliveries += 1;
                    }
                    Message::Ack(_, hwsim::SEQUENCE_STATUS) => self.traffic.refused_statuses += 1,
                    Message::Ack(..) | Message::Family(_) | Message::Unknown => {}
                }
            }
        }
        inbox.clear();
    }

    /// Hand a frame of the kernel to the engine.
    fn accept(&mut self, sent: &Sent<'_>) {
        let Some(radio) = self.radio_of(sent.transmitter) else {
            self.traffic.unknown_radios += 1;
            return;
        };
        if dot11::is_deauthentication(sent.frame) {
            return self.keep_off_the_air(radio, sent);
        }
        let header = dot11::parse(sent.frame);
        let to = match header.map(|header| header.receiver) {
            None => To::Nobody,
            Some(receiver) if receiver[0] & 1 != 0 => To::Everyone,
            Some(receiver) => self
                .radios
                .get(&receiver)
                .map_or(To::Nobody, |radio| To::Radio(*radio)),
        };
        self.traffic.frames += 1;
        self.traffic.unicasts += u64::from(to != To::Everyone);
        let (rates, indexes) = rate_table(sent);
        self.next_id += 1;
        let frame = Frame {
            id: self.next_id,
            to,
            bytes: sent.frame.len() + FCS_BYTES,
            rates,
            class: header.map_or(Class::Management, |header| header.class),
            routing: header.is_some_and(|header| header.routing),
        };
        self.pending.insert(
            self.next_id,
            Pending {
                cookie: sent.cookie,
                flags: sent.flags,
                frequency_mhz: sent.frequency_mhz,
                bytes: sent.frame.to_vec(),
                rates: indexes,
            },
        );
        self.medium.enqueue(radio, frame);
    }

    /// Linux deauthenticates every IBSS station that was silent for 60 s when it forgets it. Here all
    /// stations have once heard all others, far ones included, before time 0: a minute later
    /// these frames, tried over and over, would fill the channel for seconds.
    fn keep_off_the_air(&mut self, radio: usize, sent: &Sent<'_>) {
        self.traffic.deauthentications += 1;
        let (_, indexes) = rate_table(sent);
        let table: Vec<(u8, u32)> = indexes.first().map(|rate| (*rate, 1)).into_iter().collect();
        let flags = sent.flags | hwsim::TX_STAT_ACK;
        let mac = self.addresses[radio];
        self.batch
            .status(self.family, mac, flags, sent.cookie, &table);
    }

    /// Which radio has this hwsim address: its own, or for a radio that was made without a given
    /// address, its own with the bit 0x40 set.
    fn radio_of(&mut self, address: [u8; 6]) -> Option<usize> {
        if let Some(radio) = self.senders.get(&address) {
            return Some(*radio);
        }
        let mut plain = address;
        plain[0] &= !0x40;
        let radio = *self.radios.get(&plain)?;
        self.addresses[radio] = address;
        self.senders.insert(address, radio);
        Some(radio)
    }

    /// Everything that the engine has decided leaves in one send; returns how many messages.
    fn write(&mut self, recorder: &mut Recorder) -> Result<u64, String> {
        let before = self.traffic.deliveries + self.traffic.statuses;
        while let Some(output) = self.medium.poll_output() {
            match output {
                Output::Deliver {
                    frame,
                    to,
                    signal_dbm,
                    rate_mbps,
                    ..
                } => self.deliver(frame, to, signal_dbm, rate_mbps),
                Output::Status {
                    frame,
                    radio,
                    outcome,
                    tries,
                    kept,
                } => self.status(frame, radio, outcome, &tries, kept),
                Output::Released { frame } => {
                    self.pending.remove(&frame);
                }
                Output::Aired(aired) => {
                    let pending = aired.frame.and_then(|frame| self.pending.get(&frame));
                    recorder.aired(&aired, pending.map(|pending| &pending.bytes[..]))?;
                }
                Output::Exhausted { radio, at } => recorder.exhausted(radio, at)?,
            }
            if self.batch.len() > BATCH_BYTES {
                self.flush()?;
            }
        }
        self.flush()?;
        Ok(self.traffic.deliveries + self.traffic.statuses - before)
    }

    fn deliver(&mut self, frame: u64, to: usize, signal_dbm: f64, rate_mbps: f64) {
        let Some(pending) = self.pending.get(&frame) else {
            return;
        };
        self.traffic.deliveries += 1;
        let rate = RATES_MBPS.iter().position(|r| *r == rate_mbps).unwrap_or(0);
        self.batch.deliver(
            self.family,
            self.addresses[to],
            &pending.bytes,
            rate.saturating_sub(first_rate(pending.frequency_mhz)) as u32,
            signal_dbm.round() as i32,
            pending.frequency_mhz,
        );
    }

    fn status(&mut self, frame: u64, radio: usize, outcome: Outcome, tries: &[u32], kept: bool) {
        let Some(pending) = self.pending.get(&frame) else {
            return;
        };
        if outcome == Outcome::Refused {
            self.traffic.refused_rates += 1;
            if self.traffic.refused_rates == 1 {
                eprintln!(
                    "hoplab-medium: a frame's rate is none of the channel's standard (HT and VHT \
                     are not modelled): frames at such rates are refused"
                );
            }
        }
        self.traffic.statuses += 1;
        let acked = outcome.succeeded() && pending.flags & hwsim::TX_CTL_NO_ACK == 0;
        let flags = pending.flags | if acked { hwsim::TX_STAT_ACK } else { 0 };
        let rates = pending.rates.iter().copied();
        let table: Vec<(u8, u32)> = rates.zip(tries.iter().copied()).collect();
        let mac = self.addresses[radio];
        self.batch
            .status(self.family, mac, flags, pending.cookie, &table);
        if !kept {
            self.pending.remove(&frame);
        }
    }

    fn flush(&mut self) -> Result<(), String> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.netlink
            .send(&self.batch.take())
            .map_err(|e| format!("netlink send: {e}"))
    }

    /// Reasons not to trust the run.
    fn doubts(&self) -> Vec<String> {
        let audit = self.medium.audit();
        let traffic = &self.traffic;
        let mut doubts: Vec<String> = self.lateness.verdict().into_iter().collect();
        if traffic.overruns > 0 {
            doubts.push(format!(
                "messages of the kernel were lost {} times: the receive buffer was full",
                traffic.overruns
            ));
        }
        if !audit.holds() || traffic.frames != traffic.statuses + audit.open {
            doubts.push(format!(
                "{} frames came, {} statuses went and {} are open: {audit:?}",
                traffic.frames, traffic.statuses, audit.open
            ));
        }
        doubts
    }

    /// The daemon's account of itself.
    fn account(&self, doubts: &[String]) -> Value {
        let (audit, traffic) = (self.medium.audit(), &self.traffic);
        let calls = self.netlink.calls();
        let mut all = calls.wait + calls.receive + calls.send;
        if self.virtual_time {
            // Elsewhere the clock is read without entering the kernel (vdso(7)).
            all += traffic.clock_readings;
        }
        let each = all as f64 / traffic.frames.max(1) as f64;
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
                "malformed": traffic.malformed,
                "unknown_radios": traffic.unknown_radios,
                "overruns": traffic.overruns,
                "deauthentications": traffic.deauthentications,
                "refused_statuses": traffic.refused_statuses,
                "refused_deliveries": traffic.refused_deliveries,
            },
            "system_calls": {
                "wait": calls.wait,
                "receive": calls.receive,
                "send": calls.send,
                "clock": traffic.clock_readings,
                "per_frame": each,
            },
            "virtual_time": self.virtual_time,
            "lateness": if self.virtual_time { Value::Null } else { self.lateness.report() },
            "engine_events": self.medium.handled(),
        })
    }
}

fn first_rate(frequency_mhz: u32) -> usize {
    if frequency_mhz > 4000 {
        FIRST_OFDM
    } else {
        0
    }
}

/// The frame's rates for the engine, and the kernel's indexes of them; none if one of them is of
/// another table (HT, VHT) or unknown.
fn rate_table(sent: &Sent<'_>) -> (Vec<(f64, u32, bool)>, Vec<u8>) {
    let offset = first_rate(sent.frequency_mhz);
    let mut rates = Vec::new();
    let mut indexes = Vec::new();
    for &(index, tries, flags) in &sent.rates {
        let rate = RATES_MBPS.get(usize::from(index) + offset);
        let Some(rate) = rate.filter(|_| flags & hwsim::RC_MCS == 0) else {
            return (Vec::new(), indexes);
        };
        rates.push((*rate, u32::from(tries), flags & hwsim::RC_USE_RTS_CTS != 0));
        indexes.push(index);
    }
    (rates, indexes)
}
