// SPDX-License-Identifier: Apache-2.0
//! Between the kernel and the engine: one thread that blocks in one place.

use std::collections::BTreeMap;

use hoplab_medium_core::{Class, Frame, Medium, Output, To};

use crate::config::Config;
use crate::hwsim::{self, Batch, Message, Sent};
use crate::records::Recorder;
use crate::sys::{self, Netlink};

/// Waits between readings of the clock; in between, the wait itself tells the time.
const CLOCK_EVERY: u32 = 64;
const FCS_BYTES: usize = 4;
const IDLE_WAIT: u64 = 3_600_000_000_000;
/// hwsim's rate table: DSSS/CCK, then OFDM; in the 5 GHz band only OFDM.
const RATES_MBPS: [f64; 12] = [
    1.0, 2.0, 5.5, 11.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0,
];
const FIRST_OFDM: usize = 4;

/// A frame that the kernel waits for.
struct Pending {
    cookie: u64,
    flags: u32,
    frequency_mhz: u32,
    bytes: Vec<u8>,
    rates: Vec<u8>,
}

struct Shell {
    netlink: Netlink,
    family: u16,
    macs: Vec<[u8; 6]>,
    /// What hwsim calls each radio.
    addresses: Vec<[u8; 6]>,
    medium: Medium,
    pending: BTreeMap<u64, Pending>,
    next_id: u64,
    batch: Batch,
    malformed: u64,
    lost: u64,
}

/// Register and serve until SIGTERM.
pub fn run(config: Config) -> Result<(), String> {
    let names: Vec<String> = config.stations.iter().map(|s| s.name.clone()).collect();
    let epoch = config.epoch_ns;
    // The engine counts from boot like the clock; waypoints count from the epoch.
    let mut stations = config.stations;
    for station in &mut stations {
        for point in &mut station.waypoints {
            point.0 += epoch;
        }
    }
    let mut recorder = Recorder::new(config.records, names, epoch)?;
    let netlink = Netlink::open().map_err(|e| format!("netlink socket: {e}"))?;
    let mut medium = Medium::new(config.params, stations, config.losses);
    for (at, radio, on) in config.power {
        medium.schedule_power(epoch + at, radio, on);
    }
    let mut shell = Shell {
        family: find_family(&netlink)?,
        netlink,
        addresses: config.macs.clone(),
        macs: config.macs,
        medium,
        pending: BTreeMap::new(),
        next_id: 0,
        batch: Batch::default(),
        malformed: 0,
        lost: 0,
    };
    shell.register()?;
    sys::catch_signals();
    println!("ready");
    shell.serve(&mut recorder)?;
    if shell.malformed + shell.lost > 0 {
        eprintln!(
            "hoplab-medium: {} messages of the kernel were malformed, {} receive overruns",
            shell.malformed, shell.lost
        );
    }
    recorder.finish(&shell.medium)
}

fn request(netlink: &Netlink, batch: &mut Batch) -> Result<Vec<u8>, String> {
    netlink
        .send(&batch.take())
        .map_err(|e| format!("netlink send: {e}"))?;
    let mut buffer = vec![0u8; 8192];
    netlink.wait(1_000_000_000);
    let got = netlink
        .receive(&mut buffer)
        .map_err(|e| format!("netlink: {e}"))?;
    buffer.truncate(got.ok_or("netlink: the kernel did not answer within 1 s")?);
    Ok(buffer)
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
            Some(Message::Ack(0)) => Ok(()),
            Some(Message::Ack(code)) => Err(format!(
                "registering with mac80211_hwsim failed: {}; another medium may be registered",
                std::io::Error::from_raw_os_error(-code)
            )),
            _ => Err("registering with mac80211_hwsim: unexpected answer".into()),
        }
    }

    fn serve(&mut self, recorder: &mut Recorder) -> Result<(), String> {
        let mut buffer = vec![0u8; 1 << 18];
        let mut now = sys::monotonic();
        let mut waits = 0;
        while !sys::stopped() {
            let deadline = self
                .medium
                .next_deadline()
                .unwrap_or(u64::MAX)
                .min(recorder.deadline());
            let timeout = deadline.saturating_sub(now).min(IDLE_WAIT);
            let (ready, left) = self.netlink.wait(timeout);
            now += timeout - left.min(timeout);
            waits += 1;
            if waits >= CLOCK_EVERY {
                waits = 0;
                now = now.max(sys::monotonic());
            }
            self.medium.advance(now);
            if ready {
                self.read(&mut buffer)?;
            }
            self.write()?;
            recorder.due(&self.medium, now)?;
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        match self.netlink.receive(buffer) {
            Ok(Some(length)) => {
                for message in hwsim::parse(&buffer[..length]) {
                    match message {
                        Message::Frame(sent) => self.accept(&sent),
                        Message::Malformed => self.malformed += 1,
                        // A radio that has gone, or is down, refuses its frame: not an error.
                        Message::Ack(_) | Message::Family(_) | Message::Unknown => {}
                    }
                }
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                self.lost += 1;
                Ok(())
            }
            Err(error) => Err(format!("netlink receive: {error}")),
        }
    }

    /// Hand a frame of the kernel to the engine.
    fn accept(&mut self, sent: &Sent<'_>) {
        let Some(radio) = self.radio_of(sent.transmitter) else {
            self.malformed += 1;
            return;
        };
        let offset = if sent.frequency_mhz > 4000 {
            FIRST_OFDM
        } else {
            0
        };
        let mut rates = Vec::new();
        let mut indexes = Vec::new();
        for &(index, tries, flags) in &sent.rates {
            if flags & hwsim::RC_MCS != 0 {
                eprintln!("hoplab-medium: HT and VHT rates are not modelled; frame refused");
                break;
            }
            let Some(rate) = RATES_MBPS.get(usize::from(index) + offset) else {
                break;
            };
            rates.push((*rate, u32::from(tries), flags & hwsim::RC_USE_RTS_CTS != 0));
            indexes.push(index);
        }
        if rates.is_empty() {
            rates.push((RATES_MBPS[offset], 1, false));
            indexes.push(0);
        }
        self.next_id += 1;
        let id = self.next_id;
        let frame = Frame {
            id,
            to: self.destination(sent.frame),
            bytes: sent.frame.len() + FCS_BYTES,
            rates,
            class: match sent.frame[0] & 0xfc {
                0x80 => Class::Beacon,
                kind if kind & 0x0c == 0x08 => Class::Data,
                _ => Class::Management,
            },
            routing: false,
        };
        self.pending.insert(
            id,
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

    /// Which radio has this hwsim address: its own, or for a radio that was made without a given
    /// address, its own with the bit 0x40 set.
    fn radio_of(&mut self, address: [u8; 6]) -> Option<usize> {
        if let Some(radio) = self.addresses.iter().position(|known| *known == address) {
            return Some(radio);
        }
        let mut plain = address;
        plain[0] &= !0x40;
        let radio = self.macs.iter().position(|mac| *mac == plain)?;
        self.addresses[radio] = address;
        Some(radio)
    }

    fn destination(&self, frame: &[u8]) -> To {
        let Some(address) = frame.get(4..).and_then(|a| a.first_chunk::<6>()) else {
            return To::Nobody;
        };
        if address[0] & 1 != 0 {
            return To::Everyone;
        }
        self.macs
            .iter()
            .position(|mac| mac == address)
            .map_or(To::Nobody, To::Radio)
    }

    /// Everything that the engine has decided leaves in one send.
    fn write(&mut self) -> Result<(), String> {
        while let Some(output) = self.medium.poll_output() {
            match output {
                Output::Deliver {
                    frame,
                    to,
                    signal_dbm,
                    rate_mbps,
                    ..
                } => {
                    let Some(pending) = self.pending.get(&frame) else {
                        continue;
                    };
                    let offset = if pending.frequency_mhz > 4000 {
                        FIRST_OFDM
                    } else {
                        0
                    };
                    let rate = RATES_MBPS.iter().position(|r| *r == rate_mbps).unwrap_or(0);
                    self.batch.deliver(
                        self.family,
                        self.addresses[to],
                        &pending.bytes,
                        rate.saturating_sub(offset) as u32,
                        signal_dbm.round() as i32,
                        pending.frequency_mhz,
                    );
                }
                Output::Status {
                    frame,
                    radio,
                    outcome,
                    tries,
                    ..
                } => {
                    let Some(pending) = self.pending.remove(&frame) else {
                        continue;
                    };
                    let acked = outcome.succeeded() && pending.flags & hwsim::TX_CTL_NO_ACK == 0;
                    let flags = pending.flags | if acked { hwsim::TX_STAT_ACK } else { 0 };
                    let table: Vec<(u8, u32)> = pending.rates.into_iter().zip(tries).collect();
                    let mac = self.addresses[radio];
                    self.batch
                        .status(self.family, mac, flags, pending.cookie, &table);
                }
                Output::Released { .. } | Output::Aired(_) | Output::Exhausted { .. } => {}
            }
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        self.netlink
            .send(&self.batch.take())
            .map_err(|e| format!("netlink send: {e}"))
    }
}
