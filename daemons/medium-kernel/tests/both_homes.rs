// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The daemon's loop and the kernel's entry points give hosts the same, to the nanosecond, and
//! write the same records. The same frames come at the same times.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Mutex;

use hoplab_abi as abi;
use hoplab_channel::config::Config;
use hoplab_channel::dot11;
use hoplab_channel::hosts::{Heard, Hosts, Sent, Status, Troubles};
use hoplab_channel::rates::{self, RateEntry};
use hoplab_medium::port::{Port, Woken};
use hoplab_medium::server::Server;
use hoplab_medium::Error;
use hoplab_medium_core::{Duration, Instant, RadioId, Stream, MAX_RATES};
use hoplab_medium_kernel::entry;
use hoplab_wire::Mac;
use serde_json::{json, Value};

/// A document as `hoplab` writes it.
const DOCUMENT: &str = include_str!("../../medium/tests/document.json");
const STATIONS: usize = 4;
const SPACING_M: f64 = 150.0;
const FRAMES: usize = 3000;
/// On average, less than a frame of 1000 octets takes: queues fill, and frames collide.
const BETWEEN_NS: u32 = 1_500_000;
const FREQUENCY_MHZ: u32 = 2412;
const END_NS: u64 = 6_000_000_000;

/// What a host learns, and when. It is the sender's cookie, then the receiver and the signal in
/// dBm, or whether it was acknowledged and how often it was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Learnt {
    Arrival(u64, usize, i32),
    Outcome(u64, bool, [u32; MAX_RATES]),
}

type Log = Vec<(u64, Learnt)>;

struct Arrival {
    at_ns: u64,
    radio: usize,
    bytes: Vec<u8>,
}

fn mac(radio: usize) -> [u8; 6] {
    [2, 0, 0, 0, radio as u8, 0]
}

/// A chain with two hidden pairs, in which one radio goes off and comes up again.
fn document(dir: &str) -> String {
    let mut document: Value = serde_json::from_str(DOCUMENT).expect("JSON");
    let station = |i: usize| {
        let power = match i {
            1 => json!([
                {"at_ns": 2_000_000_123u64, "up": false},
                {"at_ns": 3_000_000_321u64, "up": true},
            ]),
            _ => json!([]),
        };
        let way = json!([[0, [i as f64 * SPACING_M, 0.0]]]);
        json!({"name": format!("n{i}"), "mac": mac(i), "waypoints": way, "nic": null, "power": power})
    };
    document["stations"] = (0..STATIONS).map(station).collect();
    document["losses"] = json!([]);
    document["end_ns"] = json!(END_NS);
    document["records"] = json!({
        "dir": dir, "interval_ns": 100_000_000, "frames": true,
        "air_capture": format!("{dir}/air.pcapng"),
    });
    document.to_string()
}

/// Frames of random lengths from random stations to neighbours and to all, at any nanosecond.
fn arrivals() -> Vec<Arrival> {
    let mut lots = Stream::new(7, "both homes");
    let mut at_ns = 1000;
    let mut arrival = || {
        at_ns += u64::from(lots.below(2 * BETWEEN_NS)) | 1;
        let radio = lots.below(STATIONS as u32) as usize;
        let to = match lots.below(8) {
            0 => [0xff; 6],
            i if radio == 0 || (i % 2 == 0 && radio + 1 < STATIONS) => mac(radio + 1),
            _ => mac(radio - 1),
        };
        let mut bytes = vec![8, 0, 0, 0];
        bytes.extend(to);
        bytes.extend(mac(radio));
        bytes.resize(40 + lots.below(1400) as usize, 0);
        Arrival {
            at_ns,
            radio,
            bytes,
        }
    };
    (0..FRAMES).map(|_| arrival()).collect()
}

const RATES: [RateEntry; 1] = [RateEntry {
    index: 4,
    tries: 7,
    flags: 0,
}];

/// The daemon's hosts, in virtual time.
struct Daemon {
    now: Instant,
    arrivals: VecDeque<(u64, Arrival)>,
    log: Rc<RefCell<Log>>,
}

impl Daemon {
    fn note(&self, learnt: Learnt) {
        self.log.borrow_mut().push((self.now.as_nanos(), learnt));
    }
}

impl Hosts for Daemon {
    type Ticket = u64;
    type Error = Error;

    fn longest_frame(&self) -> usize {
        2304
    }

    fn deliver(&mut self, to: RadioId, _: &[u8], ticket: &u64, heard: Heard) {
        self.note(Learnt::Arrival(
            *ticket,
            to.index(),
            heard.signal_dbm.rounded(),
        ));
    }

    fn status(&mut self, ticket: &u64, status: &Status) {
        self.note(Learnt::Outcome(*ticket, status.acked, status.tries));
    }

    fn flush(&mut self, _: bool) -> Result<(), Error> {
        Ok(())
    }

    fn say(&mut self, _: &str) {}

    fn troubles(&self) -> Troubles {
        Troubles::default()
    }
}

impl Port for Daemon {
    fn clock(&mut self) -> Instant {
        self.now
    }

    fn virtual_time(&self) -> bool {
        true
    }

    fn stopped(&self) -> bool {
        self.now.as_nanos() >= END_NS
    }

    fn wait(&mut self, limit: Option<Duration>) -> Result<Woken, Error> {
        let before = self.now;
        let limited = before + limit.unwrap_or(Duration::from_secs(1));
        let next = self.arrivals.front().map_or(END_NS, |first| first.1.at_ns);
        self.now = limited
            .min(Instant::from_nanos(next.min(END_NS)))
            .max(before);
        Ok(Woken {
            passed: self.now.since(before),
            input: self.now.as_nanos() == next,
            other: false,
        })
    }

    fn watch(&mut self, _: OwnedFd) {}

    fn add(&mut self, _: Mac) {}

    fn read(&mut self, mut accept: impl FnMut(&mut Self, Sent<'_, u64>)) {
        let now = self.now.as_nanos();
        while self
            .arrivals
            .front()
            .is_some_and(|first| first.1.at_ns <= now)
        {
            let Some((cookie, arrival)) = self.arrivals.pop_front() else {
                break;
            };
            let sent = Sent {
                radio: RadioId::new(arrival.radio),
                bytes: &arrival.bytes,
                header: dot11::parse(&arrival.bytes),
                frequency_mhz: FREQUENCY_MHZ,
                rates: rates::attempts(&RATES, FREQUENCY_MHZ),
                window: 0,
                ticket: cookie,
            };
            accept(self, sent);
        }
    }

    fn calls(&self) -> Value {
        json!({})
    }
}

fn by_daemon(dir: &Path) -> Log {
    let text = document(dir.to_str().expect("a path of text"));
    let config: Config = hoplab_document::parse(&text).expect("a document");
    let log = Rc::new(RefCell::new(Log::new()));
    let daemon = Daemon {
        now: Instant::from_nanos(1),
        arrivals: (1..).zip(arrivals()).collect(),
        log: log.clone(),
    };
    let server = Server::new(config, daemon).expect("a server");
    server.run().expect("a whole run");
    log.take()
}

/// What the kernel's C part was given, at the time that it last named.
static GIVEN: Mutex<(u64, Log)> = Mutex::new((0, Log::new()));

fn given(learnt: Learnt) {
    let mut given = GIVEN.lock().expect("one thread");
    let now = given.0;
    given.1.push((now, learnt));
}

/// In the place of C. Which frame an arrival is of stands in its last octets of the address 3.
#[no_mangle]
extern "C" fn hoplab_medium_deliver(
    address: *const [u8; 6],
    bytes: *const u8,
    _length: u32,
    _frequency_mhz: u32,
    _rate: u32,
    signal_dbm: i32,
) {
    // SAFETY: the caller gives an address, and a frame of at least 40 octets.
    let (to, cookie) = unsafe { (*address, bytes.add(30).cast::<u64>().read_unaligned()) };
    given(Learnt::Arrival(cookie, to[4].into(), signal_dbm));
}

#[no_mangle]
extern "C" fn hoplab_medium_status(_address: *const [u8; 6], status: *const abi::Status) {
    // SAFETY: the caller gives one.
    let status = unsafe { &*status };
    given(Learnt::Outcome(status.cookie, status.acked, status.tries));
}

#[no_mangle]
extern "C" fn hoplab_medium_died(_text: *const u8, _length: u32) -> ! {
    std::process::abort()
}

/// Time comes to `now` in C.
fn at(now: u64) -> u64 {
    GIVEN.lock().expect("one thread").0 = now;
    now
}

fn by_kernel() -> Log {
    let text = document("/out/raw");
    // SAFETY: pointer and length are the text's.
    assert!(unsafe { entry::hoplab_engine_start(text.as_ptr(), text.len()) });
    let deadlines_until = |until: u64| loop {
        match entry::hoplab_engine_due() {
            due if due > until => break,
            due => entry::hoplab_engine_advance(at(due)),
        }
    };
    for (cookie, arrival) in (1u64..).zip(arrivals()) {
        if arrival.at_ns >= END_NS {
            break;
        }
        deadlines_until(arrival.at_ns);
        let mut bytes = arrival.bytes;
        bytes[30..38].copy_from_slice(&cookie.to_ne_bytes());
        let row = |entry: RateEntry| abi::Rate {
            index: entry.index as i8,
            tries: entry.tries,
            flags: entry.flags,
        };
        let end = abi::Rate {
            index: -1,
            tries: 0,
            flags: 0,
        };
        // SAFETY: an address is six octets.
        let radio = unsafe { entry::hoplab_engine_radio(&mac(arrival.radio)) };
        let frame = abi::Frame {
            bytes: bytes.as_ptr(),
            cookie,
            length: bytes.len() as u32,
            frequency_mhz: FREQUENCY_MHZ,
            radio,
            window: 0,
            rates: [row(RATES[0]), end, end, end],
        };
        // SAFETY: the frame has the octets that it names.
        unsafe { entry::hoplab_engine_sent(at(arrival.at_ns), &raw const frame) };
    }
    deadlines_until(END_NS);
    assert!(entry::hoplab_engine_end(at(END_NS)));
    assert!(!entry::hoplab_engine_has_failed());
    std::mem::take(&mut GIVEN.lock().expect("one thread").1)
}

#[test]
fn hosts_learn_the_same_and_records_are_the_same() {
    let folder = std::env::temp_dir().join(format!("hoplab-{}-homes", std::process::id()));
    let (daemon, kernel) = (folder.join("daemon"), folder.join("out/raw"));
    for path in [&daemon, &kernel] {
        std::fs::create_dir_all(path).expect("a folder");
    }
    std::env::set_current_dir(&folder).expect("a folder");
    let (by_daemon, by_kernel) = (by_daemon(&daemon), by_kernel());
    assert_eq!(by_daemon.len(), by_kernel.len());
    for (one, other) in by_daemon.iter().zip(&by_kernel) {
        assert_eq!(one, other);
    }
    let failed = |log: &Log| {
        let failed = |entry: &&(u64, Learnt)| matches!(entry.1, Learnt::Outcome(_, false, _));
        log.iter().filter(failed).count()
    };
    assert!(by_kernel.len() > FRAMES && failed(&by_kernel) > 50);
    // No time is on a grid that a coarser clock has.
    assert!(by_kernel.iter().filter(|entry| entry.0 % 256 != 0).count() > FRAMES / 2);
    for table in ["nodes", "links", "radios", "signals", "link_samples"] {
        let read = |dir: &Path| std::fs::read_to_string(dir.join(format!("{table}.jsonl")));
        let text = read(&daemon).expect("a table");
        assert!(
            !text.is_empty() && text == read(&kernel).expect("a table"),
            "{table}"
        );
    }
    let frames = |dir: &Path| {
        let text = std::fs::read_to_string(dir.join("frames.jsonl")).expect("a table");
        text.lines().count()
    };
    assert_eq!(frames(&daemon), frames(&kernel));
    let own = std::fs::read_to_string(kernel.join("medium.json")).expect("an account");
    let own: Value = serde_json::from_str(&own).expect("JSON");
    assert_eq!(
        (&own["trustworthy"], &own["home"]),
        (&json!(true), &json!("kernel"))
    );
    std::fs::remove_dir_all(&folder).expect("the folder");
}
