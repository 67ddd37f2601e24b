// SPDX-License-Identifier: Apache-2.0
//! Records as JSON lines: `nodes.jsonl` at every interval; `radios.jsonl`, `links.jsonl` and
//! `signals.jsonl` of the whole run; on request `frames.jsonl` and a capture of the air; what the
//! daemon has to say of itself in `medium.json`.
//!
//! A run that has a duration ends in all of them exactly then, however long the daemon lives on.

use std::fs::File;
use std::io::{BufWriter, Write};

use hoplab_medium_core::{AirKind, Aired, Medium, To};
use serde_json::{json, Value};

use crate::config::{Config, Records};
use crate::dot11;
use crate::pcapng::{Capture, Captured};
use crate::sys::LONGEST_WAIT;

pub struct Recorder {
    nodes: BufWriter<File>,
    frames: Option<BufWriter<File>>,
    capture: Option<Capture>,
    events: Option<BufWriter<File>>,
    settings: Records,
    names: Vec<String>,
    macs: Vec<[u8; 6]>,
    interval: u64,
    next: u64,
    /// When the rows so far were last given to whoever follows them.
    shown: u64,
    epoch: u64,
    /// When the run ends; none if the daemon is not told.
    end: Option<u64>,
    /// Up to when rows were written.
    reached: u64,
    /// Whether the tables of the whole run are written.
    closed: bool,
}

fn create(settings: &Records, name: &str) -> Result<BufWriter<File>, String> {
    let path = settings.dir.join(name);
    let file = File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl Recorder {
    /// Times of the engine count from the kernel's boot; the configuration's epoch is time 0.
    pub fn new(config: &Config) -> Result<Self, String> {
        let settings = config.records.clone();
        let capture = settings.air_capture.as_ref().map(|path| {
            let short = config.params.phy.preamble_bits < 144;
            Capture::create(path, config.channel_mhz, config.noise_dbm, short)
                .map_err(|e| format!("{}: {e}", path.display()))
        });
        let frames = settings
            .frames
            .then(|| create(&settings, "frames.jsonl"))
            .transpose()?;
        Ok(Self {
            nodes: create(&settings, "nodes.jsonl")?,
            frames,
            capture: capture.transpose()?,
            events: None,
            names: config.stations.iter().map(|s| s.name.clone()).collect(),
            macs: config.macs.clone(),
            interval: (settings.interval_s * 1e9).round() as u64,
            next: config.epoch_ns,
            shown: 0,
            epoch: config.epoch_ns,
            end: config.end_ns,
            reached: 0,
            closed: false,
            settings,
        })
    }

    /// Let those who follow a run see the rows of every station, at most a second late.
    pub fn show(&mut self, now: u64) -> Result<(), String> {
        if now < self.shown.saturating_add(LONGEST_WAIT) {
            return Ok(());
        }
        self.shown = now;
        self.nodes
            .flush()
            .map_err(|e| format!("{}: {e}", self.settings.dir.display()))
    }

    /// Write the rows that are due at or before `now`, and at its end the tables of the whole run;
    /// the engine is advanced to each of these times.
    pub fn due(&mut self, medium: &mut Medium, now: u64) -> Result<(), String> {
        let until = self.end.map_or(now, |end| end.min(now));
        while self.next <= until {
            let at = self.next;
            self.next += self.interval;
            medium.advance(at);
            for (radio, name) in self.names.iter().enumerate() {
                let counters = medium.counters(radio);
                let (x, y) = medium.position(radio, at);
                let elapsed = (at - self.epoch).max(1);
                let row = json!({
                    "t_s": seconds(at - self.epoch),
                    "node": name,
                    "x_m": x,
                    "y_m": y,
                    "tx_frames": counters.tx_frames,
                    "tx_bytes": counters.tx_bytes,
                    "rx_frames": counters.rx_frames,
                    "rx_bytes": counters.rx_bytes,
                    "retries": counters.retries,
                    "failed": counters.retry_limit,
                    "queue_len": medium.queue_len(radio),
                    "queue_drops": counters.queue_full,
                    "busy_fraction": counters.busy_time() as f64 / elapsed as f64,
                    "energy_j": medium.joules(radio).iter().sum::<f64>(),
                });
                line(&mut self.nodes, &row)?;
            }
        }
        self.reached = self.reached.max(until);
        if self.end.is_some_and(|end| end <= now) && !self.closed {
            medium.advance(until);
            self.close(medium)?;
        }
        Ok(())
    }

    /// Where the run was cut short: how far it had come.
    pub fn missing(&self) -> Option<String> {
        let end = self.end.filter(|end| self.reached < *end)?;
        let came = seconds(self.reached.saturating_sub(self.epoch));
        let whole = seconds(end - self.epoch);
        Some(format!("at {came:.3} s of {whole} s"))
    }

    /// Whether something that was over `at` this time belongs to the run.
    fn belongs(&self, at: u64) -> bool {
        self.end.is_none_or(|end| at <= end)
    }

    /// Something was on the air; `bytes` is the host's frame that it carried.
    pub fn aired(&mut self, aired: &Aired, bytes: Option<&[u8]>) -> Result<(), String> {
        if aired.at < self.epoch || !self.belongs(aired.until) {
            return Ok(());
        }
        if let Some(file) = &mut self.frames {
            let to = match aired.to {
                To::Everyone => Some("*"),
                To::Radio(radio) => self.names.get(radio).map(String::as_str),
                To::Nobody => None,
            };
            let row = json!({
                "t_s": seconds(aired.at - self.epoch),
                "src": self.names[aired.from],
                "dst": to,
                "kind": aired.kind.name(),
                "bytes": aired.bytes,
                "rate_mbps": aired.rate_mbps,
                "attempt": aired.attempt,
                "fate": aired.fate.name(),
                "signal_dbm": aired.signal_dbm,
            });
            line(file, &row)?;
        }
        if let Some(capture) = &mut self.capture {
            let reserve_us = u16::try_from(aired.reserve.div_ceil(1000)).unwrap_or(u16::MAX);
            let bytes = match (bytes, aired.kind, aired.to) {
                (Some(bytes), ..) => dot11::on_air(bytes, aired.attempt > 1, reserve_us),
                (None, AirKind::Ack | AirKind::Rts | AirKind::Cts, To::Radio(to)) => {
                    let (to, from) = (self.macs[to], self.macs[aired.from]);
                    dot11::control(aired.kind, reserve_us, to, from)
                }
                // The host was told long ago: it took the frame back when its radio went off.
                _ => return Ok(()),
            };
            let captured = Captured {
                at_ns: aired.at - self.epoch,
                rate_mbps: aired.rate_mbps,
                signal_dbm: aired.signal_dbm,
                bytes,
            };
            let result = capture.add(captured.at_ns, captured);
            result.map_err(|e| format!("capture of the air: {e}"))?;
        }
        Ok(())
    }

    /// A battery is empty.
    pub fn exhausted(&mut self, radio: usize, at: u64) -> Result<(), String> {
        if !self.belongs(at) {
            return Ok(());
        }
        let row = json!({
            "t_s": seconds(at.saturating_sub(self.epoch)),
            "node": self.names[radio],
            "source": "medium",
            "kind": "battery-empty",
            "detail": "",
        });
        let file = match &mut self.events {
            Some(file) => file,
            None => self
                .events
                .insert(create(&self.settings, "events-medium.jsonl")?),
        };
        line(file, &row)
    }

    /// Write the tables of the whole run as it stands.
    fn close(&mut self, medium: &Medium) -> Result<(), String> {
        self.closed = true;
        let mut radios = create(&self.settings, "radios.jsonl")?;
        let mut links = create(&self.settings, "links.jsonl")?;
        let mut signals = create(&self.settings, "signals.jsonl")?;
        for (radio, name) in self.names.iter().enumerate() {
            line(&mut radios, &radio_row(medium, radio, name))?;
            for (other, link, histograms) in medium.links(radio) {
                let other_name = &self.names[other];
                let row = json!({
                    "src": name,
                    "dst": other_name,
                    "frames": link.frames,
                    "delivered": link.delivered,
                    "collided": link.collided,
                    "weak": link.weak,
                    "capture_lost": link.capture_lost,
                    "error_model": link.error_model,
                    "deaf": link.deaf,
                    "off": link.off,
                    "bytes": link.bytes,
                    "signal_dbm_mean": link.signal_sum_dbm / link.frames as f64,
                });
                line(&mut links, &row)?;
                let Some(histograms) = histograms else {
                    continue;
                };
                for (quantity, histogram) in
                    [("signal", &histograms.signal), ("noise", &histograms.noise)]
                {
                    for (dbm, frames) in histogram.bins() {
                        let row = json!({
                            "src": name,
                            "dst": other_name,
                            "quantity": quantity,
                            "dbm": dbm,
                            "frames": frames,
                        });
                        line(&mut signals, &row)?;
                    }
                }
            }
        }
        flush(&self.settings, [radios, links, signals])
    }

    /// End the records; `own` is what the daemon says of itself.
    pub fn finish(mut self, medium: &Medium, own: &Value) -> Result<(), String> {
        if !self.closed {
            self.close(medium)?;
        }
        let mut file = create(&self.settings, "medium.json")?;
        line(&mut file, own)?;
        if let Some(capture) = self.capture.take() {
            let result = capture.finish();
            result.map_err(|e| format!("capture of the air: {e}"))?;
        }
        let tables = [file, self.nodes].into_iter();
        let asked = self.frames.into_iter().chain(self.events);
        flush(&self.settings, tables.chain(asked))
    }
}

fn flush(
    settings: &Records,
    files: impl IntoIterator<Item = BufWriter<File>>,
) -> Result<(), String> {
    for mut file in files {
        file.flush()
            .map_err(|e| format!("{}: {e}", settings.dir.display()))?;
    }
    Ok(())
}

fn radio_row(medium: &Medium, radio: usize, name: &str) -> Value {
    let counters = medium.counters(radio);
    let air = counters.airtime.map(seconds);
    let [tx, rx, idle, sleep] = medium.joules(radio);
    json!({
        "node": name,
        "tx_frames": counters.tx_frames,
        "rx_frames": counters.rx_frames,
        "retries": counters.retries,
        "retry_limit": counters.retry_limit,
        "queue_full": counters.queue_full,
        "rx_overrun": counters.rx_overrun,
        "airtime_data_s": air[0],
        "airtime_ack_s": air[1],
        "airtime_rts_s": air[2],
        "airtime_cts_s": air[3],
        "airtime_beacon_s": air[4],
        "airtime_broadcast_s": air[5],
        "busy_s": seconds(counters.busy_time()),
        "energy_tx_j": tx,
        "energy_rx_j": rx,
        "energy_idle_j": idle,
        "energy_sleep_j": sleep,
    })
}

fn line(file: &mut BufWriter<File>, row: &Value) -> Result<(), String> {
    writeln!(file, "{row}").map_err(|e| format!("records: {e}"))
}
