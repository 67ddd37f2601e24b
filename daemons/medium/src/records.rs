// SPDX-License-Identifier: Apache-2.0
//! Counters as JSON lines: `nodes.jsonl` at every interval, `radios.jsonl` and `links.jsonl` at
//! the end.

use std::fs::File;
use std::io::{BufWriter, Write};

use hoplab_medium_core::Medium;
use serde_json::{json, Value};

use crate::config::Records;

pub struct Recorder {
    nodes: BufWriter<File>,
    settings: Records,
    names: Vec<String>,
    interval: u64,
    next: u64,
    epoch: u64,
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
    /// Times of the engine count from the kernel's boot; `epoch` is scenario time 0.
    pub fn new(settings: Records, names: Vec<String>, epoch: u64) -> Result<Self, String> {
        let interval = ((settings.interval_s * 1e9).round() as u64).max(1_000_000);
        let nodes = create(&settings, "nodes.jsonl")?;
        Ok(Self {
            nodes,
            settings,
            names,
            interval,
            next: epoch,
            epoch,
        })
    }

    /// When the next row of every station is due.
    pub fn deadline(&self) -> u64 {
        self.next
    }

    /// Write the rows that are due at or before `now`; the engine has been advanced to `now`.
    pub fn due(&mut self, medium: &Medium, now: u64) -> Result<(), String> {
        while self.next <= now {
            let at = self.next;
            self.next += self.interval;
            for (radio, name) in self.names.iter().enumerate() {
                let counters = medium.counters(radio);
                let (x, y) = medium.position(radio, at.saturating_sub(self.epoch));
                let elapsed = at.max(1);
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
        Ok(())
    }

    /// Write the tables of the whole run.
    pub fn finish(mut self, medium: &Medium) -> Result<(), String> {
        let mut radios = create(&self.settings, "radios.jsonl")?;
        let mut links = create(&self.settings, "links.jsonl")?;
        for (radio, name) in self.names.iter().enumerate() {
            let counters = medium.counters(radio);
            let air = counters.airtime.map(seconds);
            let [tx, rx, idle, sleep] = medium.joules(radio);
            let row = json!({
                "node": name,
                "tx_frames": counters.tx_frames,
                "rx_frames": counters.rx_frames,
                "retries": counters.retries,
                "retry_limit": counters.retry_limit,
                "queue_full": counters.queue_full,
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
            });
            line(&mut radios, &row)?;
            for (other, other_name) in self.names.iter().enumerate() {
                let link = medium.link(radio, other);
                if link.frames > 0 {
                    let row = json!({
                        "src": name,
                        "dst": other_name,
                        "frames": link.frames,
                        "delivered": link.delivered,
                        "collided": link.collided,
                        "weak": link.weak,
                        "error_model": link.error_model,
                        "bytes": link.bytes,
                        "signal_dbm_mean": link.signal_sum_dbm / link.frames as f64,
                    });
                    line(&mut links, &row)?;
                }
            }
        }
        for file in [&mut self.nodes, &mut radios, &mut links] {
            file.flush()
                .map_err(|e| format!("{}: {e}", self.settings.dir.display()))?;
        }
        Ok(())
    }
}

fn line(file: &mut BufWriter<File>, row: &Value) -> Result<(), String> {
    writeln!(file, "{row}").map_err(|e| format!("records: {e}"))
}
