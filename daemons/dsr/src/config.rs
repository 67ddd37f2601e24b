// SPDX-License-Identifier: Apache-2.0
//! Command line and configuration file. Options given on the command line win.

use clap::{Args, Parser, Subcommand, ValueEnum};
use hoplab_base::Stream;
use hoplab_dsr_core::Settings;
use hoplab_keys::{table, Keys};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Where the control socket is unless told otherwise: an abstract name, so that every network
/// namespace has its own and nothing is left behind.
pub const DEFAULT_CONTROL: &str = "@hoplab-dsr";

/// Longest time between samples.
const MOST_SECONDS: f64 = 1e9;

/// The declaration of `[settings]`.
const SETTINGS: &str = "DsrSettings";

const LONG: &str = "\
hoplab-dsr runs the Dynamic Source Routing protocol (RFC 4728) on a Linux wireless interface.

It creates a TUN interface that carries the local stack's traffic, sends DSR packets by a packet
socket on the wireless interface, learns of broken links from the link layer (SO_WIFI_STATUS),
and overhears its neighbours through a monitor interface that disappears with the process.";

const AFTER: &str = "\
FILES
  A configuration file is TOML. Its keys are the long options of `run` (interface, address,
  name, seed, epoch_ns, duration_s, events, counters, control, tun, overhear, split,
  split_table, split_interval_s, elfn, keep_privileges) and a table [settings]
  with the protocol's constants; unknown keys are refused. See docs/dsr.md.

SIGNALS
  SIGTERM, SIGINT   write the remaining records and exit with status 0

EXIT STATUS
  0 after SIGTERM, 1 when something could not be set up

EXAMPLES
  hoplab-dsr --interface wlan0 --address 10.0.0.1/24
  hoplab-dsr --config dsr.toml --events events.jsonl
  hoplab-dsr ctl routes";

/// The settings, as they are declared, and what else a manual page has.
fn after() -> String {
    let settings = table(SETTINGS).help(2);
    format!("SETTINGS\n{settings}\n{AFTER}")
}

#[derive(Parser)]
#[command(name = "hoplab-dsr", version, long_about = LONG, after_long_help = after())]
#[command(about = "Dynamic Source Routing (RFC 4728) daemon")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Subcommand)]
pub enum Command {
    /// Ask a running daemon.
    Ctl {
        /// The daemon's control socket; a leading @ means an abstract name.
        #[arg(long, default_value = DEFAULT_CONTROL)]
        control: String,
        request: Request,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Request {
    /// Print the route cache, one route a line.
    Routes,
    /// Print the counters, one a line.
    Stats,
    /// Forget all routes.
    Flush,
    /// Print the settings in force, as TOML.
    Settings,
    /// Print what the station does for split connections, a line for each.
    Split,
}

impl Request {
    pub fn as_str(self) -> &'static str {
        match self {
            Request::Routes => "routes",
            Request::Stats => "stats",
            Request::Flush => "flush",
            Request::Settings => "settings",
            Request::Split => "split",
        }
    }
}

#[derive(Args)]
pub struct RunArgs {
    /// Wireless interface to send and receive DSR packets on.
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// This station's address and prefix length; it is given to the TUN interface.
    #[arg(long, value_name = "ADDRESS/LENGTH")]
    address: Option<String>,
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Seed of the station's random stream "SEED/dsr/NAME".
    #[arg(long)]
    seed: Option<u64>,
    /// Name of this station in records and in its random stream [default: n0].
    #[arg(long)]
    name: Option<String>,
    /// CLOCK_MONOTONIC value, ns, that is time 0 in the records [default: 0].
    #[arg(long, value_name = "NS")]
    epoch_ns: Option<u64>,
    /// Scenario time at which the counters are taken, s [default: the daemon's end].
    #[arg(long, value_name = "S")]
    duration_s: Option<f64>,
    /// Append events to FILE as JSON lines.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Write the counters to FILE as JSON lines, at --duration-s or the end.
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Control socket; a leading @ means an abstract name [default: @hoplab-dsr].
    #[arg(long, value_name = "PATH")]
    control: Option<String>,
    /// Name of the TUN interface [default: dsr0].
    #[arg(long, value_name = "NAME")]
    tun: Option<String>,
    /// How to overhear frames for others [default: monitor].
    #[arg(long, value_enum)]
    overhear: Option<Overhear>,
    /// One protocol setting, as in the configuration file: --set resolution=arp.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Check the configuration file and the settings, and do nothing else.
    #[arg(long)]
    pub check: bool,
    /// File of the connections that are split (TOML, as of hoplab-split).
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
    /// Append rows of table `split` to FILE as JSON lines.
    #[arg(long, value_name = "FILE")]
    split_table: Option<PathBuf>,
    /// Time between two rows of a connection at least, s [default: 0.1].
    #[arg(long, value_name = "S")]
    split_interval_s: Option<f64>,
    /// Tell the kernel module elfn which segments of this station met a broken link.
    #[arg(long)]
    elfn: bool,
    /// Stay the user who started the daemon instead of becoming `nobody` after set-up.
    #[arg(long)]
    keep_privileges: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overhear {
    /// A monitor interface beside the wireless one (works with mac80211 in IBSS mode).
    Monitor,
    /// The interface itself in promiscuous mode (drivers that pass foreign frames).
    Promiscuous,
    /// Not at all: no route shortening, fewer routes learned.
    Off,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub interface: String,
    pub address: String,
    pub name: String,
    pub seed: u64,
    pub epoch_ns: u64,
    pub duration_s: Option<f64>,
    pub events: Option<PathBuf>,
    pub counters: Option<PathBuf>,
    pub control: String,
    pub tun: String,
    pub tun_mtu: u32,
    pub overhear: Overhear,
    pub split: Option<PathBuf>,
    pub split_table: Option<PathBuf>,
    pub split_interval_s: f64,
    pub elfn: bool,
    pub keep_privileges: bool,
    pub settings: Settings,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            interface: String::new(),
            address: String::new(),
            name: "n0".into(),
            seed: 0,
            epoch_ns: 0,
            duration_s: None,
            events: None,
            counters: None,
            control: DEFAULT_CONTROL.into(),
            tun: "dsr0".into(),
            tun_mtu: 1500,
            overhear: Overhear::Monitor,
            split: None,
            split_table: None,
            split_interval_s: 0.1,
            elfn: false,
            keep_privileges: false,
            settings: Settings::default(),
        }
    }
}

impl Config {
    pub fn load(args: RunArgs) -> Result<Self, String> {
        let (mut c, mut given) = match &args.config {
            Some(path) => read(path)?,
            None => (Config::default(), Keys::new()),
        };
        given.extend(single_settings(&args.set)?);
        c.settings = settings(given)?;
        let set = |field: &mut String, value: Option<String>| {
            if let Some(v) = value {
                *field = v;
            }
        };
        set(&mut c.interface, args.interface);
        set(&mut c.address, args.address);
        set(&mut c.name, args.name);
        set(&mut c.control, args.control);
        set(&mut c.tun, args.tun);
        c.seed = args.seed.unwrap_or(c.seed);
        c.epoch_ns = args.epoch_ns.unwrap_or(c.epoch_ns);
        c.duration_s = args.duration_s.or(c.duration_s);
        c.events = args.events.or(c.events);
        c.counters = args.counters.or(c.counters);
        c.split = args.split.or(c.split);
        c.split_table = args.split_table.or(c.split_table);
        c.split_interval_s = args.split_interval_s.unwrap_or(c.split_interval_s);
        if !(0.0..=MOST_SECONDS).contains(&c.split_interval_s) {
            let given = c.split_interval_s;
            return Err(format!(
                "split_interval_s {given}: expected 0 to {MOST_SECONDS} s"
            ));
        }
        c.overhear = args.overhear.unwrap_or(c.overhear);
        c.elfn |= args.elfn;
        c.keep_privileges |= args.keep_privileges;
        if !args.check && (c.interface.is_empty() || c.address.is_empty()) {
            return Err("need an interface and an address: give --interface wlan0 \
                        --address 10.0.0.1/24, or both keys in the --config file"
                .into());
        }
        Ok(c)
    }

    /// The address and its prefix length.
    pub fn address(&self) -> Result<(Ipv4Addr, u8), String> {
        let wrong = || {
            let text = &self.address;
            format!("address {text:?}: expected an IPv4 address and a length like 10.0.0.1/24")
        };
        let (ip, len) = self.address.split_once('/').ok_or_else(wrong)?;
        let len: u8 = len.parse().map_err(|_| wrong())?;
        if len > 32 {
            return Err(wrong());
        }
        Ok((ip.parse().map_err(|_| wrong())?, len))
    }

    /// The station's random stream, "SEED/dsr/NAME".
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, &format!("dsr/{}", self.name))
    }
}

/// The settings given as KEY=VALUE; a value that is no TOML value is a string.
fn single_settings(given: &[String]) -> Result<Keys, String> {
    let mut keys = Keys::new();
    for text in given {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| format!("setting {text:?}: expected KEY=VALUE"))?;
        let as_toml = format!("{key:?} = {value}");
        let is_one = toml::from_str::<toml::Table>(&as_toml).is_ok_and(|table| table.len() == 1);
        let line = if is_one {
            as_toml
        } else {
            format!("{key:?} = {value:?}")
        };
        let read = table(SETTINGS).read(&line);
        keys.extend(read.map_err(|mistake| format!("setting {}", mistake.told("")))?);
    }
    Ok(keys)
}

/// What `given` comes to with the defaults.
fn settings(mut given: Keys) -> Result<Settings, String> {
    table(SETTINGS)
        .complete(&mut given)
        .map_err(|mistake| mistake.told(""))?;
    // What the declaration accepts has the types of `Settings`, by a test of every key.
    serde_json::from_value(Value::Object(given)).map_err(|e| format!("settings: {e}"))
}

/// A configuration file, and the settings that it gives.
fn read(path: &Path) -> Result<(Config, Keys), String> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("configuration {}: {e}", path.display()))?;
    let given = table(SETTINGS)
        .read_below(&text, "settings")
        .map_err(|mistake| format!("configuration {}, {}", path.display(), mistake.told(&text)))?;
    let config = toml::from_str(&text).map_err(|e| {
        let at = e
            .span()
            .map_or(0, |span| text[..span.start].lines().count().max(1));
        format!(
            "configuration {}, line {at}: {}",
            path.display(),
            e.message()
        )
    })?;
    Ok((config, given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hoplab_dsr_core::settings::Resolution;
    use hoplab_dsr_core::Duration;

    fn overlay(given: &[&str]) -> Result<Settings, String> {
        let given: Vec<String> = given.iter().map(|text| (*text).into()).collect();
        single_settings(&given).and_then(settings)
    }

    #[test]
    fn single_settings_overlay_the_rest() {
        let s = overlay(&["resolution=arp", "request_period_s=2", "salvage=false"]).unwrap();
        assert_eq!(s.resolution, Resolution::Arp);
        assert_eq!(s.request_period_s, Duration::from_secs(2));
        assert!(!s.salvage);
        assert_eq!(s.queue_packets, 50);
        for (wrong, told) in [
            (
                "reply_from_cach=true",
                "setting reply_from_cach: unknown key; did you mean reply_from_cache?",
            ),
            (
                "max_salvage_count=16",
                "setting max_salvage_count: 16 is out of range; 0 to 15 is allowed",
            ),
            (
                "cache=tree",
                "setting cache: \"tree\" is not allowed; one of path, link",
            ),
            ("salvage=1", "setting salvage: 1 is not true or false"),
        ] {
            let message = overlay(&[wrong]).unwrap_err();
            assert!(message.starts_with(told), "{message}");
        }
    }

    #[test]
    fn the_defaults_of_the_core_are_those_declared() {
        assert_eq!(settings(Keys::new()).unwrap(), Settings::default());
    }

    #[test]
    fn every_setting_is_declared_and_every_declared_one_is_a_setting() {
        let Value::Object(core) = serde_json::to_value(Settings::default()).unwrap() else {
            panic!("settings are a table");
        };
        let declared: Vec<&str> = table(SETTINGS).names().collect();
        for name in core.keys() {
            assert!(declared.contains(&name.as_str()), "{name} is not declared");
        }
        for name in declared {
            assert!(core.contains_key(name), "{name} is no setting");
            for word in table(SETTINGS).words(name) {
                overlay(&[&format!("{name}={word}")]).unwrap();
            }
        }
    }

    #[test]
    fn whole_seconds_are_times_in_a_file_too() {
        let text = "interface = \"wlan0\"\n[settings]\nrequest_period_s = 1\n";
        let c: Config = toml::from_str(text).unwrap();
        assert_eq!(c.settings.request_period_s, Duration::from_secs(1));
    }

    #[test]
    fn the_stream_follows_seed_and_name() {
        let config = Config {
            seed: 1,
            name: "n0".into(),
            ..Config::default()
        };
        assert_eq!(config.stream().bits(), Stream::new(1, "dsr/n0").bits());
    }
}
