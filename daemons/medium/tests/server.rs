// SPDX-License-Identifier: Apache-2.0
//! The daemon's loop before a port that is a list of frames. Its records say how a run ended, and
//! what hosts and daemons did that they must not do.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hoplab_channel::config::{Config, Radio, Records, NO_RTS};
use hoplab_channel::dot11;
use hoplab_channel::hosts::{Heard, Hosts, Sent, Status, Troubles};
use hoplab_medium::port::{Port, Woken};
use hoplab_medium::server::Server;
use hoplab_medium::Error;
use hoplab_medium_core::{
    Attempts, Dbm, Duration, Energy, Instant, Params, Position, RadioId, Rate, Waypoint,
};
use hoplab_wire::Mac;
use serde_json::{json, Value};

const EPOCH_NS: u64 = 5_000_000_000;
const EPOCH: Instant = Instant::from_nanos(EPOCH_NS);
const LONGEST: usize = 2304;

/// What hosts got to know: (cookie, acknowledged), and how many deliveries they got.
#[derive(Default)]
struct Told {
    statuses: Vec<(u64, bool)>,
    deliveries: u64,
}

/// Hosts in virtual time that send given frames.
struct Script {
    now: Instant,
    /// Time, radio, frame.
    frames: VecDeque<(Instant, usize, Vec<u8>)>,
    stop: Instant,
    /// The daemon is stopped (SIGSTOP) from then until then.
    frozen: Option<(Instant, Instant)>,
    told: Rc<RefCell<Told>>,
}

impl Hosts for Script {
    type Ticket = u64;
    type Error = Error;

    fn longest_frame(&self) -> usize {
        LONGEST
    }

    fn deliver(&mut self, _: RadioId, _: &[u8], _: &u64, _: Heard) {
        self.told.borrow_mut().deliveries += 1;
    }

    fn status(&mut self, ticket: &u64, status: &Status) {
        self.told
            .borrow_mut()
            .statuses
            .push((*ticket, status.acked));
    }

    fn flush(&mut self, _: bool) -> Result<(), Error> {
        Ok(())
    }

    fn say(&mut self, _: &str) {}

    fn troubles(&self) -> Troubles {
        Troubles::default()
    }
}

impl Port for Script {
    fn clock(&mut self) -> Instant {
        self.now
    }

    fn virtual_time(&self) -> bool {
        true
    }

    fn stopped(&self) -> bool {
        self.now >= self.stop
    }

    fn wait(&mut self, limit: Option<Duration>) -> Result<Woken, Error> {
        let before = self.now;
        let next = self.frames.front().map_or(Instant::MAX, |frame| frame.0);
        let second = Duration::from_secs(1);
        let limited = before + limit.map_or(second, |limit| limit.min(second));
        self.now = limited.min(next).min(self.stop).max(before);
        if let Some((_, until)) = self.frozen.filter(|frozen| frozen.0 <= self.now) {
            self.now = self.now.max(until);
            self.frozen = None;
        }
        let input = self.now >= next;
        Ok(Woken {
            passed: self.now.min(limited).since(before),
            input,
            other: false,
        })
    }

    fn watch(&mut self, _: OwnedFd) {}

    fn add(&mut self, _: Mac) {}

    fn read(&mut self, mut accept: impl FnMut(&mut Self, Sent<'_, u64>)) {
        while self.frames.front().is_some_and(|frame| frame.0 <= self.now) {
            if let Some((at, radio, bytes)) = self.frames.pop_front() {
                let sent = Sent {
                    radio: RadioId::new(radio),
                    bytes: &bytes,
                    header: dot11::parse(&bytes),
                    frequency_mhz: 2412,
                    rates: vec![Attempts {
                        rate: Rate::DSSS_2,
                        tries: 7,
                        rts: false,
                    }],
                    window: 0,
                    ticket: at.as_nanos(),
                };
                accept(self, sent);
            }
        }
    }

    fn calls(&self) -> Value {
        json!({"wait": 0})
    }
}

fn from_epoch(ns: u64) -> Instant {
    EPOCH + Duration::from_nanos(ns)
}

/// A data frame from station a to station b.
fn data(bytes: usize) -> Vec<u8> {
    let mut frame = vec![8, 0, 0, 0];
    frame.extend(IDS[1]);
    frame.resize(bytes, 0);
    frame
}

struct Ended {
    folder: PathBuf,
    result: Result<(), Error>,
    told: Rc<RefCell<Told>>,
}

impl Ended {
    fn rows(&self, table: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.join(format!("{table}.jsonl")));
        let lines = text
            .expect("a table")
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        let rows = lines.iter().map(|line| serde_json::from_str(line));
        rows.map(|row| row.expect("JSON")).collect()
    }

    fn own(&self) -> Value {
        let text =
            std::fs::read_to_string(self.folder.join("medium.json")).expect("its own record");
        serde_json::from_str(&text).expect("JSON")
    }

    fn doubts(&self) -> String {
        self.own()["doubts"].to_string()
    }
}

/// Two stations 100 m apart that record everything; times from the epoch.
fn config(folder: &Path, duration_s: Option<f64>) -> Config {
    let watt = Energy {
        tx_w: 1.0,
        rx_w: 1.0,
        idle_w: 1.0,
        sleep_w: 1.0,
        battery_j: None,
    };
    let radio = |name: &str, mac: [u8; 6], x_m| Radio {
        name: name.into(),
        mac: Mac(mac),
        waypoints: vec![Waypoint::new(Instant::ZERO, Position::new(x_m, 0.0))],
        nic: None,
        power: Vec::new(),
        channel_mhz: None,
        width_mhz: None,
        links: vec![],
        emlsr: None,
        beacon_offset: Duration::ZERO,
        categories: None,
    };
    Config {
        epoch: EPOCH,
        end: duration_s.map(|s| EPOCH + Duration::from_secs_f64(s)),
        params: Params {
            energy: watt,
            ..Params::default()
        },
        stations: vec![radio("a", IDS[0], 0.0), radio("b", IDS[1], 100.0)],
        losses: Vec::new(),
        measured: None,
        channel_mhz: 2412,
        noise_dbm: Dbm(-93.5),
        level_error_db: 0.0,
        overhear: true,
        rts_threshold: NO_RTS,
        data_rate: None,
        power_save: None,
        roams: false,
        control: None,
        others_radios: false,
        records: Records {
            dir: folder.into(),
            interval: Duration::from_millis(100),
            frames: true,
            air_capture: Some(folder.join("air.pcapng")),
        },
    }
}

/// Run with frames of 1000 bytes at these times; times from the epoch.
fn run(
    name: &str,
    duration_s: impl Into<Option<f64>>,
    stop: u64,
    frames: Vec<(u64, usize)>,
) -> Ended {
    freeze(name, duration_s, stop, frames, None)
}

fn freeze(
    name: &str,
    duration_s: impl Into<Option<f64>>,
    stop: u64,
    frames: Vec<(u64, usize)>,
    frozen: Option<(u64, u64)>,
) -> Ended {
    let folder = std::env::temp_dir().join(format!("hoplab-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let config = config(&folder, duration_s.into());
    let told = Rc::new(RefCell::new(Told::default()));
    let frames = frames.into_iter();
    let port = Script {
        now: EPOCH - Duration::from_secs(1),
        frames: frames
            .map(|(at, bytes)| (from_epoch(at), 0, data(bytes)))
            .collect(),
        stop: from_epoch(stop),
        frozen: frozen.map(|(from, until)| (from_epoch(from), from_epoch(until))),
        told: told.clone(),
    };
    let server = Server::new(config, port).expect("a server");
    Ended {
        result: server.run(),
        folder,
        told,
    }
}

const MS: u64 = 1_000_000;
/// 100 units of 1.024 ms.
const BEACON_INTERVAL: u64 = 102_400_000;
const IDS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 1, 0]];

#[test]
fn the_last_stretch_without_frames_counts() {
    let ended = run("last", 3.05, 3050 * MS, vec![(1000 * MS, 1000)]);
    assert!(ended.result.is_ok(), "{:?}", ended.result);
    let nodes = ended.rows("nodes");
    let times = nodes.iter().filter(|row| row["node"] == "a");
    let times: Vec<f64> = times.filter_map(|row| row["t_s"].as_f64()).collect();
    assert_eq!(times.len(), 31, "{times:?}");
    assert_eq!(times.last(), Some(&3.0));
    for radio in ended.rows("radios") {
        let joules = ["tx", "rx", "idle", "sleep"]
            .map(|state| radio[format!("energy_{state}_j")].as_f64().unwrap_or(0.0));
        let sum: f64 = joules.iter().sum();
        assert!((sum - 3.05).abs() < 1e-9, "{joules:?}");
    }
    assert_eq!(ended.own()["trustworthy"], true);
}

#[test]
fn records_end_with_the_run_however_long_the_daemon_lives() {
    // A frame each 10 ms; the one of 1.99 s is on the air for 4 ms, one of 1.997 s beyond the end.
    let mut frames: Vec<_> = (0..300).map(|i| (i * 10 * MS, 1000)).collect();
    frames.push((1997 * MS, 1000));
    frames.sort_unstable();
    let [short, long] = [2000 * MS, 3100 * MS].map(|stop| {
        let name = format!("end-{stop}");
        run(&name, 2.0, stop, frames.clone())
    });
    for table in ["nodes", "radios", "links", "signals", "frames"] {
        let rows = short.rows(table);
        assert_eq!(rows, long.rows(table), "{table}");
        assert!(!rows.is_empty(), "{table}");
    }
    let air = |ended: &Ended| std::fs::read(ended.folder.join("air.pcapng")).expect("a capture");
    assert_eq!(air(&short), air(&long));
    // The medium itself lived on.
    assert!(long.told.borrow().deliveries > short.told.borrow().deliveries + 50);
}

#[test]
fn a_medium_that_was_stopped_early_fails() {
    let ended = run("early", 10.0, 3200 * MS, vec![(1000 * MS, 1000)]);
    let why = ended.result.as_ref().expect_err("an early end");
    assert_eq!(why.to_string(), "stopped at 3.200 s of 10 s");
    assert!(ended.doubts().contains("it was stopped at 3.200 s of 10 s"));
    assert_eq!(ended.rows("radios").len(), 2);
    // Without a duration any end is a good one.
    let ended = run("open", None, 3200 * MS, vec![(1000 * MS, 1000)]);
    assert!(ended.result.is_ok(), "{:?}", ended.result);
    assert_eq!(ended.own()["trustworthy"], true);
}

#[test]
fn a_medium_that_was_frozen_says_so() {
    let frames: Vec<_> = (0..300).map(|i| (i * 10 * MS, 1000)).collect();
    let ended = freeze(
        "frozen",
        3.0,
        3000 * MS,
        frames,
        Some((1003 * MS, 2500 * MS)),
    );
    assert!(ended.result.is_ok(), "{:?}", ended.result);
    assert!(
        ended.doubts().contains("held up 1 times, for 1.4"),
        "{}",
        ended.doubts()
    );
}

#[test]
fn frames_that_no_radio_takes_are_refused_and_told() {
    let frames = vec![(10 * MS, LONGEST + 1), (20 * MS, LONGEST)];
    let ended = run("oversized", 1.0, 1000 * MS, frames);
    let told = ended.told.borrow();
    assert_eq!(
        told.statuses,
        [(EPOCH_NS + 10 * MS, false), (EPOCH_NS + 20 * MS, true)]
    );
    assert_eq!(told.deliveries, 1);
    let own = ended.own();
    assert_eq!(own["kernel"]["oversized"], 1);
    assert_eq!(own["kernel"]["frames"], 1);
    assert!(ended
        .doubts()
        .contains("1 frames of more than 2304 bytes were refused"));
}

/// Beacons come from all radios in one instant.
#[test]
fn beacons_that_are_held_back_do_not_meet() {
    const BEACONS: u64 = 20;
    let folder = std::env::temp_dir().join(format!("hoplab-{}-beacons", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let beacon = |radio: usize| {
        let mut frame = vec![0x80, 0, 0, 0];
        frame.extend([0xff; 6]);
        frame.extend(IDS[radio]);
        frame.extend(IDS[radio]);
        frame.resize(100, 0);
        frame
    };
    let told = Rc::new(RefCell::new(Told::default()));
    let at = |i| from_epoch(i * BEACON_INTERVAL);
    let frames = (0..BEACONS).flat_map(|i| (0..2).map(move |radio| (i, radio)));
    let port = Script {
        now: EPOCH,
        frames: frames
            .map(|(i, radio)| (at(i), radio, beacon(radio)))
            .collect(),
        stop: at(BEACONS + 1),
        frozen: None,
        told: told.clone(),
    };
    let mut server = Server::new(config(&folder, None), port).expect("a server");
    server.hold_beacons(vec![Duration::ZERO, Duration::from_millis(5)]);
    let ended = Ended {
        result: server.run(),
        folder,
        told,
    };
    assert!(ended.result.is_ok(), "{:?}", ended.result);
    assert_eq!(ended.told.borrow().deliveries, 2 * BEACONS);
    for link in ended.rows("links") {
        assert_eq!(
            (&link["frames"], &link["deaf"]),
            (&json!(BEACONS), &json!(0))
        );
    }
}
