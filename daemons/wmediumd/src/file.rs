// SPDX-License-Identifier: Apache-2.0
//! What wmediumd's configuration asks for.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use hoplab_channel::config::{Config, Radio, Records, NO_RTS};
use hoplab_medium_core::{
    Antenna, Dbm, Duration, Energy, ErrorTable, Fading, Instant, LinkId, MediumId, Model, Params,
    Phy, Position, Propagation, RadioId, Rate, Reception, Standard, Waypoint,
};

use hoplab_wire::Mac;

use crate::error::Mistake;
use crate::libconfig::{self, Group, Value};
use crate::table;

/// What decides over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Places,
    Snr,
    Probability,
}

/// A link, and what the file says of it: decibels, or a probability.
type Link = (LinkId, f64);

/// What a file asks for beyond a [`Config`].
pub struct Described {
    pub config: Config,
    pub mode: Mode,
    /// Of each radio, where places decide.
    pub antennas: Vec<Antenna>,
    /// Power of a link that nothing is said of, and of the others.
    pub levels: Option<(Dbm, Vec<(LinkId, Dbm)>)>,
    /// Probability of a loss on each link, where only chance decides.
    pub losses: Vec<Link>,
    /// That of a link of which nothing is said; none where more than chance decides.
    pub default_loss: Option<f64>,
    pub mediums: Vec<(RadioId, MediumId)>,
    /// Settings that wmediumd does not have, and so ignores.
    pub unknown: Vec<Unknown>,
}

/// A setting that wmediumd does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Of which group; empty at the top of the file.
    group: &'static str,
    key: String,
    /// Those that the group may have.
    known: &'static [&'static str],
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, key, known } = self;
        let point = if group.is_empty() { "" } else { "." };
        let known = known.join(", ");
        write!(
            f,
            "{group}{point}{key}: ignored, as wmediumd has no such setting; it has {known}"
        )
    }
}

/// Groups of a file, and the settings that wmediumd, old or new, or Mininet-WiFi has in them.
const GROUPS: [&str; 2] = ["ifaces", "model"];
const OF_IFACES: [&str; 6] = [
    "count",
    "ids",
    "links",
    "medium_array",
    "enable_interference",
    "enable_medium_detection",
];
const OF_MODEL: [&str; 17] = [
    "type",
    "model_name",
    "positions",
    "directions",
    "tx_powers",
    "isnodeaps",
    "noise_threshold",
    "fading_coefficient",
    "default_prob",
    "links",
    "path_loss_exp",
    "xg",
    "sL",
    "nFLOORS",
    "lF",
    "pL",
    "m",
];

/// wmediumd's, which a file does not tell.
pub const GAIN_DBI: f64 = 5.0;
pub const HEIGHT_M: f64 = 1.0;
const NOISE: Dbm = Dbm(-91.0);
const DEFAULT_SNR_DB: f64 = 30.0;
const DEFAULT_POWER: Dbm = Dbm(20.0);
const FREQUENCY_MHZ: f64 = 2412.0;
const CHANNEL_MHZ: u16 = 2412;
/// A radio's of which no power is given.
const OWN_POWER: Dbm = Dbm(15.0);
/// As ns-2's radio draws.
const RADIATED_W: f64 = 0.2818;
/// In which a station moves by its direction (MOVE_INTERVAL). wmediumd's jumps at its end.
const MOVE_INTERVAL: Duration = Duration::from_secs(3);
/// After so many the file's movement ends, 34 days on.
const MOVES: u64 = 1_000_000;
/// At which every rate comes through, where only chance decides.
const STRONG_SNR_DB: f64 = 60.0;

/// Read what wmediumd reads: `text` of its file, `losses` that of its table. `records` is the folder
/// for what the run leaves, `start` its time 0.
pub fn describe(
    text: &str,
    losses: Option<&str>,
    records: &Path,
    start: Instant,
) -> Result<Described, Mistake> {
    let file = libconfig::parse(text)?;
    let ifaces = group(&file, "ifaces").ok_or_else(|| Mistake::expected("ifaces", "a group"))?;
    let ids = ifaces.get("ids").and_then(Value::list);
    let ids = ids.ok_or_else(|| Mistake::expected("ifaces.ids", "a list of addresses"))?;
    let addresses = ids.iter().map(address).collect::<Result<Vec<_>, _>>()?;
    let empty = Group::new();
    let model = group(&file, "model").unwrap_or(&empty);
    let noise_dbm = number(model, "noise_threshold").filter(|dbm| *dbm < 0.0);
    let noise = noise_dbm.map_or(NOISE, Dbm);
    let mut config = plain(&addresses, noise, records, start);
    if let Some(text) = losses {
        config.params.reception = Reception::Table;
        config.params.table = table::parse(text)?;
    }
    if let Some(deviation_db) = number(model, "fading_coefficient").filter(|db| *db > 0.0) {
        config.params.fading = Fading::Normal { deviation_db };
    }
    let mut described = Described {
        config,
        mode: Mode::Snr,
        antennas: Vec::new(),
        levels: None,
        losses: Vec::new(),
        default_loss: None,
        mediums: mediums(ifaces, addresses.len())?,
        unknown: unknown(&file),
    };
    let kind = model.get("type").map_or(Some("snr"), Value::text);
    match kind {
        Some("path_loss") => described.by_places(model)?,
        Some("prob") => described.by_chance(model)?,
        Some("snr") => {
            let of_model = model.get("links").or_else(|| ifaces.get("links"));
            let links = links(of_model, addresses.len())?;
            let levels = links.into_iter().map(|(link, db)| (link, noise + db));
            described.levels = Some((noise + DEFAULT_SNR_DB, levels.collect()));
        }
        _ => {
            let kinds = "\"path_loss\", \"snr\" or \"prob\"";
            return Err(Mistake::expected("model.type", kinds));
        }
    }
    Ok(described)
}

impl Described {
    fn by_places(&mut self, model: &Group) -> Result<(), Mistake> {
        self.mode = Mode::Places;
        let params = &mut self.config.params;
        params.propagation.model = path_loss(model)?;
        let radios = self.config.stations.len();
        let places = model.get("positions").and_then(Value::list);
        let places: Option<Vec<Position>> = places.and_then(|all| all.iter().map(place).collect());
        let places = places
            .filter(|places| places.len() == radios)
            .ok_or_else(|| {
                let what = format!("{radios} times (x, y) or (x, y, z)");
                Mistake::expected("model.positions", what)
            })?;
        let directions = directions(model, radios)?;
        let start = self.config.epoch;
        let both = places.into_iter().zip(directions);
        for (station, (place, direction)) in self.config.stations.iter_mut().zip(both) {
            station.waypoints = vec![Waypoint::new(start, place)];
            if direction != [0.0, 0.0] {
                let [x_m, y_m] = direction.map(|metres| metres * MOVES as f64);
                let far = Position {
                    x_m: place.x_m + x_m,
                    y_m: place.y_m + y_m,
                    z_m: place.z_m,
                };
                let end = start + MOVE_INTERVAL * MOVES;
                station.waypoints.push(Waypoint::new(end, far));
            }
        }
        let of_each = |key: &str, default: f64| match model.get(key) {
            None => Ok(vec![default; radios]),
            Some(given) => given
                .numbers()
                .filter(|numbers| numbers.len() == radios)
                .ok_or_else(|| {
                    Mistake::expected(format!("model.{key}"), format!("{radios} numbers"))
                }),
        };
        let powers = of_each("tx_powers", DEFAULT_POWER.0)?;
        let access_points = of_each("isnodeaps", 0.0)?;
        let both = powers.into_iter().zip(access_points);
        self.antennas = both
            .map(|(power_dbm, access_point)| Antenna {
                tx_power_dbm: Dbm(power_dbm),
                gain_dbi: GAIN_DBI,
                height_m: HEIGHT_M,
                frequency_mhz: FREQUENCY_MHZ,
                sets_power: access_point != 0.0,
            })
            .collect();
        Ok(())
    }

    fn by_chance(&mut self, model: &Group) -> Result<(), Mistake> {
        self.mode = Mode::Probability;
        let radios = self.config.stations.len();
        let default = number(model, "default_prob").unwrap_or(0.0);
        let given = links(model.get("links"), radios)?;
        let probable = |p: f64| (0.0..=1.0).contains(&p);
        if !probable(default) || !given.iter().all(|link| probable(link.1)) {
            let what = "probabilities of a loss from 0 to 1";
            return Err(Mistake::expected("model", what));
        }
        for from in 0..radios {
            for to in (0..radios).filter(|to| *to != from) {
                let link = link(from, to);
                let own = given.iter().rev().find(|given| given.0 == link);
                self.losses.push((link, own.map_or(default, |own| own.1)));
            }
        }
        self.default_loss = Some(default);
        let strong = self.config.noise_dbm + STRONG_SNR_DB;
        self.levels = Some((strong, Vec::new()));
        // Nothing but chance.
        self.config.params.reception = Reception::ErrorRate;
        self.config.params.table = ErrorTable::default();
        Ok(())
    }

    /// Power of a radio of which nothing is said.
    pub fn default_power(&self) -> Dbm {
        match self.mode {
            Mode::Places => DEFAULT_POWER,
            Mode::Snr | Mode::Probability => self.config.params.propagation.tx_power_dbm,
        }
    }

    /// Power of each radio.
    pub fn powers(&self) -> Vec<Dbm> {
        let own = self.config.params.propagation.tx_power_dbm;
        let of = |radio| {
            self.antennas
                .get(radio)
                .map_or(own, |a: &Antenna| a.tx_power_dbm)
        };
        (0..self.config.stations.len()).map(of).collect()
    }
}

/// A channel with 802.11g's times and these radios; the rest is wmediumd's.
fn plain(addresses: &[Mac], noise: Dbm, records: &Path, start: Instant) -> Config {
    let place = Waypoint::new(Instant::ZERO, Position::default());
    let radio = |address: &Mac| Radio {
        name: address.to_string(),
        mac: *address,
        waypoints: vec![place],
        nic: None,
        power: Vec::new(),
        channel_mhz: None,
        width_mhz: None,
        links: Vec::new(),
        emlsr: None,
        beacon_offset: Duration::ZERO,
        categories: None,
    };
    Config {
        epoch: start,
        end: None,
        params: params(noise),
        stations: addresses.iter().map(radio).collect(),
        losses: Vec::new(),
        measured: None,
        channel_mhz: CHANNEL_MHZ,
        noise_dbm: noise,
        level_error_db: 0.0,
        overhear: true,
        rts_threshold: NO_RTS,
        data_rate: None,
        power_save: None,
        roams: false,
        control: None,
        others_radios: true,
        records: Records {
            dir: records.into(),
            interval: Duration::from_millis(100),
            frames: false,
            air_capture: None,
        },
    }
}

fn params(noise: Dbm) -> Params {
    let sensed = noise + 1.0;
    Params {
        phy: Phy {
            // Whatever the radios can send.
            standard: Standard::Vht {
                signal_extension: true,
            },
            short_preamble: false,
            plcp_rate: Rate::OFDM_6,
            basic_rate: Rate::OFDM_6,
            slot: Duration::from_micros(9),
            sifs: Duration::from_micros(10),
            cw_min: 15,
            cw_max: 1023,
        },
        propagation: Propagation {
            model: Model::TwoRay,
            tx_power_dbm: OWN_POWER,
            frequency_mhz: FREQUENCY_MHZ,
            antenna_height_m: HEIGHT_M,
            antenna_gain_dbi: GAIN_DBI,
        },
        reception: Reception::ErrorRate,
        rx_threshold_dbm: sensed,
        cs_threshold_dbm: sensed,
        noise_dbm: Some(noise),
        kernel_retries: true,
        energy: Energy {
            tx_w: RADIATED_W,
            rx_w: RADIATED_W,
            ..Energy::default()
        },
        ..Params::default()
    }
}

fn link(from: usize, to: usize) -> LinkId {
    let [from, to] = [from, to].map(RadioId::new);
    LinkId { from, to }
}

fn group<'a>(file: &'a Group, key: &str) -> Option<&'a Group> {
    file.get(key).and_then(Value::group)
}

fn number(group: &Group, key: &str) -> Option<f64> {
    group.get(key).and_then(Value::number)
}

fn address(value: &Value) -> Result<Mac, Mistake> {
    let text = value.text().unwrap_or_default();
    let octets = text.split(':').map(|part| u8::from_str_radix(part, 16));
    let octets: Option<Vec<u8>> = octets.map(Result::ok).collect();
    octets
        .and_then(|octets| octets.try_into().ok())
        .map(Mac)
        .ok_or_else(|| Mistake::Address(text.into()))
}

/// `medium_array`: lists of radios by the order of `ids`, the first of which are medium 1.
fn mediums(ifaces: &Group, radios: usize) -> Result<Vec<(RadioId, MediumId)>, Mistake> {
    let Some(array) = ifaces.get("medium_array") else {
        return Ok(Vec::new());
    };
    let wrong = || Mistake::expected("ifaces.medium_array", "lists of places in ifaces.ids");
    let mut found = Vec::new();
    for (list, medium) in array.list().ok_or_else(wrong)?.iter().zip(1..) {
        for number in list.numbers().ok_or_else(wrong)? {
            found.push((index(number, radios).ok_or_else(wrong)?, MediumId(medium)));
        }
    }
    Ok(found)
}

/// A place in `ifaces.ids`.
fn index(number: f64, radios: usize) -> Option<RadioId> {
    let whole = number >= 0.0 && number < radios as f64 && number.fract() == 0.0;
    whole.then_some(RadioId::new(number as usize))
}

fn links(value: Option<&Value>, radios: usize) -> Result<Vec<Link>, Mistake> {
    let wrong = || Mistake::expected("links", "(from, to, number), by the order of ifaces.ids");
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let link = |link: &Value| match link.numbers()?[..] {
        [from, to, number] => {
            let (from, to) = (index(from, radios)?, index(to, radios)?);
            Some((LinkId { from, to }, number))
        }
        _ => None,
    };
    let links = value.list().ok_or_else(wrong)?.iter().map(link);
    let mut links = links.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    // A link that the file has in one direction only is equal both ways.
    let back = |link: LinkId| LinkId {
        from: link.to,
        to: link.from,
    };
    let given: BTreeSet<LinkId> = links.iter().map(|(link, _)| *link).collect();
    let one_way = links
        .iter()
        .filter(|(link, _)| !given.contains(&back(*link)));
    let mirrored: Vec<Link> = one_way.map(|(link, value)| (back(*link), *value)).collect();
    links.extend(mirrored);
    Ok(links)
}

fn place(value: &Value) -> Option<Position> {
    match value.numbers()?[..] {
        [x_m, y_m, z_m] => Some(Position { x_m, y_m, z_m }),
        // wmediumd before Mininet-WiFi's.
        [x_m, y_m] => Some(Position { x_m, y_m, z_m: 0.0 }),
        _ => None,
    }
}

/// Of each radio, the metres along x and y in `MOVE_INTERVAL`.
fn directions(model: &Group, radios: usize) -> Result<Vec<[f64; 2]>, Mistake> {
    let Some(given) = model.get("directions") else {
        return Ok(vec![[0.0; 2]; radios]);
    };
    let one = |value: &Value| value.numbers()?.try_into().ok();
    given
        .list()
        .and_then(|all| all.iter().map(one).collect::<Option<Vec<_>>>())
        .filter(|all| all.len() == radios)
        .ok_or_else(|| Mistake::expected("model.directions", format!("{radios} times (x, y)")))
}

fn unknown(file: &Group) -> Vec<Unknown> {
    let empty = Group::new();
    let of = |group: &'static str, given: &Group, known: &'static [&'static str]| {
        let others = given.keys().filter(|key| !known.contains(&key.as_str()));
        let named = |key: &String| Unknown {
            group,
            key: key.clone(),
            known,
        };
        others.map(named).collect::<Vec<_>>()
    };
    let inside = |name| group(file, name).unwrap_or(&empty);
    let mut found = of("", file, &GROUPS);
    found.extend(of("ifaces", inside("ifaces"), &OF_IFACES));
    found.extend(of("model", inside("model"), &OF_MODEL));
    found
}

fn path_loss(model: &Group) -> Result<Model, Mistake> {
    let name = model.get("model_name").and_then(Value::text);
    let needed = |key: &'static str| number(model, key).ok_or(Mistake::Missing(key));
    let system_loss = || {
        let loss = number(model, "sL").unwrap_or(1.0);
        10.0 * loss.max(1.0).log10()
    };
    Ok(match name {
        Some("log_distance" | "log_normal_shadowing") => Model::LogDistance {
            exponent: needed("path_loss_exp")?,
            reference_m: 1.0,
        },
        Some("free_space") => Model::FreeSpace {
            loss_db: system_loss(),
        },
        Some("two_ray_ground") => Model::TwoRay,
        Some("itu") => Model::Itu {
            coefficient: number(model, "pL").filter(|pl| *pl != 0.0),
            floors_db: needed("lF")? * needed("nFLOORS")?,
        },
        _ => return Err(Mistake::PathLoss(name.map(Into::into))),
    })
}

/// The file that `-x` names: as wmediumd has it, the name lacks its last two letters.
pub fn read_table(name: &str) -> Result<String, hoplab_medium::Error> {
    let longer = PathBuf::from(format!("{name}ax"));
    let path = if longer.exists() { longer } else { name.into() };
    fs::read_to_string(&path).map_err(|why| hoplab_medium::Error::File { path, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: &str = "ids = [\"02:00:00:00:00:00\", \"02:00:00:00:01:00\"];";

    fn read(ifaces: &str, model: &str, losses: Option<&str>) -> Result<Described, Mistake> {
        let text = format!("ifaces: {{ {IDS} {ifaces} }};\nmodel: {{ {model} }};");
        describe(&text, losses, Path::new("records"), Instant::ZERO)
    }

    fn places(model: &str) -> Described {
        let given = "type = \"path_loss\"; positions = ((10.0, 10.0, 0.0), (50.0, 10.0, 2.0)); \
             isnodeaps = (0, 1); tx_powers = (14, 20); ";
        read("", &format!("{given}{model}"), None).expect("a file")
    }

    #[test]
    fn radios_at_places() {
        let found =
            places("model_name = \"log_distance\"; path_loss_exp = 4.0; noise_threshold = -91;");
        assert_eq!(found.mode, Mode::Places);
        assert_eq!(found.powers(), [14.0, 20.0].map(Dbm));
        assert_eq!(found.config.stations[1].mac, Mac([2, 0, 0, 0, 1, 0]));
        assert_eq!(found.config.stations[1].name, "02:00:00:00:01:00");
        assert_eq!(found.config.stations[1].waypoints[0].position.z_m, 2.0);
        assert_eq!(found.config.noise_dbm, Dbm(-91.0));
        assert_eq!(found.config.params.cs_threshold_dbm, Dbm(-90.0));
        assert!(!found.antennas[0].sets_power && found.antennas[1].sets_power);
    }

    /// wmediumd's own: 14 dBm and twice 5 dBi over 40 m with exponent 4 at 2.412 GHz arrive as -80
    /// dBm. Free space is log-distance with exponent 2.
    #[test]
    fn path_losses() {
        let received = |model: &str, metres: f64| {
            let found = places(model);
            let (from, to) = (found.antennas[0], found.antennas[0]);
            found.config.params.propagation.between(&from, &to, metres)
        };
        let far = received("model_name = \"log_distance\"; path_loss_exp = 4.0;", 40.0);
        assert!((far - Dbm(-80.17)).abs() < 0.01, "{far}");
        let free = received("model_name = \"free_space\"; sL = 1;", 40.0);
        let two = received("model_name = \"log_distance\"; path_loss_exp = 2;", 40.0);
        assert!((free - two).abs() < 1e-9);
        let lossy = received("model_name = \"free_space\"; sL = 10;", 40.0);
        assert!((free - lossy - 10.0).abs() < 1e-9);
        // 20 log 2412 + 28 log 10 + 2 times 6 - 28 = 79.6 dB.
        let floors = received("model_name = \"itu\"; nFLOORS = 2; lF = 6; pL = 0;", 10.0);
        assert!((floors - Dbm(24.0 - 79.65)).abs() < 0.01, "{floors}");
        let shadowed = "model_name = \"log_normal_shadowing\"; path_loss_exp = 4.0; sL = 1;";
        assert_eq!(received(shadowed, 40.0), far);
    }

    #[test]
    fn matrices() {
        let snr = read("", "type = \"snr\"; links = ((0, 1, 20));", None).expect("a file");
        assert_eq!(
            snr.levels,
            Some((
                Dbm(-61.0),
                vec![(link(0, 1), Dbm(-71.0)), (link(1, 0), Dbm(-71.0))]
            ))
        );
        let older = read("links = ((1, 0, 5), (0, 1, 20));", "", None).expect("a file");
        assert_eq!(
            older.levels,
            Some((
                Dbm(-61.0),
                vec![(link(1, 0), Dbm(-86.0)), (link(0, 1), Dbm(-71.0))]
            ))
        );
        let text = "type = \"prob\"; default_prob = 1.0; links = ((0, 1, 0.25));";
        let chance = read("", text, None).expect("a file");
        assert_eq!(chance.losses, [(link(0, 1), 0.25), (link(1, 0), 0.25)]);
    }

    #[test]
    fn mediums_are_numbered_from_one() {
        let found = read("medium_array = ((0), (1));", "", None).expect("a file");
        let [first, second] = [0, 1].map(RadioId::new);
        assert_eq!(found.mediums, [(first, MediumId(1)), (second, MediumId(2))]);
    }

    #[test]
    fn two_coordinates_are_a_place_on_the_ground_and_directions_move_from_it() {
        let text = "type = \"path_loss\"; positions = ((-20.0, 1.0), (20.0, 0.0, 3.0)); \
             directions = ((0.0, 0.0), (10.0, -4.0)); model_name = \"free_space\";";
        let found = read("", text, None).expect("a file");
        let place = |station: usize, seconds| {
            let station = hoplab_medium_core::Station {
                name: String::new(),
                waypoints: found.config.stations[station].waypoints.clone(),
            };
            let place = station.position(Instant::ZERO + Duration::from_secs(seconds));
            [place.x_m, place.y_m, place.z_m].map(|metres| (metres * 1e6).round() / 1e6)
        };
        assert_eq!(place(0, 0), [-20.0, 1.0, 0.0]);
        assert_eq!(place(0, 9), [-20.0, 1.0, 0.0]);
        assert_eq!(place(1, 0), [20.0, 0.0, 3.0]);
        assert_eq!(place(1, 9), [50.0, -12.0, 3.0]);
    }

    #[test]
    fn settings_that_wmediumd_does_not_have_are_named() {
        let model = "type = \"snr\"; tx_powers = (15.0, 15.0); tx_powerz = (15.0, 15.0);";
        let unknown = |ifaces, model| {
            let found = read(ifaces, model, None).expect("a file").unknown;
            found.iter().map(Unknown::to_string).collect::<Vec<_>>()
        };
        let told = unknown("idz = [];", model);
        assert!(told[0].starts_with("ifaces.idz: ignored"), "{told:?}");
        assert!(told[1].starts_with("model.tx_powerz: ignored"), "{told:?}");
        assert!(told[1].contains(", tx_powers, "), "{told:?}");
        assert_eq!(told.len(), 2);
        assert!(unknown("enable_interference = true;", "type = \"snr\"; xg = 0.0;").is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        let told = |ifaces, model| {
            let mistake = read(ifaces, model, None).err();
            mistake.expect("a mistake").to_string()
        };
        assert!(told("", "type = \"other\";").starts_with("model.type"));
        assert!(told("", "links = ((0, 2, 5));").starts_with("links"));
        assert!(told("medium_array = ((2));", "").starts_with("ifaces.medium_array"));
        assert!(
            told("", "type = \"path_loss\"; model_name = \"free_space\";").contains("positions")
        );
        assert!(told("", "type = \"path_loss\"; model_name = \"x\";").contains("model_name"));
        let moving = "type = \"path_loss\"; positions = ((1, 1), (2, 2)); directions = ((1, 1)); \
             model_name = \"free_space\";";
        assert!(told("", moving).starts_with("model.directions: expected 2 times (x, y)"));
        assert!(describe("", None, Path::new("r"), Instant::ZERO).is_err());
    }
}
