// SPDX-License-Identifier: Apache-2.0
//! Configuration files, right and wrong.

use hoplab_medium::config::PowerEvent;
use hoplab_medium::config::{parse, Config};
use hoplab_medium_core::{Duration, Fading, Instant, Position, Reception, Waypoint};

const STATIONS: &str = r#"
[[station]]
name = "a"
mac = "02:00:00:00:00:01"
x_m = 0
y_m = 0
[[station]]
name = "b"
mac = "02:00:00:00:00:02"
x_m = 100
y_m = 0
[records]
dir = "/tmp"
"#;

fn read(head: &str) -> Config {
    let text = format!("{head}{STATIONS}");
    parse(&text, Instant::ZERO).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let Err(mistake) = parse(text, Instant::ZERO) else {
        panic!("accepted:\n{text}");
    };
    assert_eq!(mistake.to_string(), expected, "\n{text}");
}

#[track_caller]
fn refused_head(head: &str, expected: &str) {
    refused(&format!("{head}{STATIONS}"), expected);
}

#[test]
fn mistakes_are_told_with_line_key_and_what_is_allowed() {
    refused_head(
        "[radio]\nprofile = \"wavelam\"\n",
        "line 2: radio.profile: \"wavelam\" is not allowed; one of wavelan, hv99, ns2-stock, \
         80211b, 80211g, 80211a, 80211n, 80211ac",
    );
    refused_head(
        "\n\n[radio]\nchannel = 1\npropagation = \"three-ray\"\n",
        "line 5: radio.propagation: \"three-ray\" is not allowed; one of two-ray, friis, \
         log-distance",
    );
    refused_head(
        "[radio]\nrange_m = 250\ncapture_db = \"ten\"\n",
        "line 3: radio.capture_db: \"ten\" is not a number",
    );
    refused_head(
        "[radio]\nshadowing_db = -1\n",
        "line 2: radio.shadowing_db: -1 is out of range; 0 to 30 is allowed",
    );
    refused_head(
        "[radio]\nnoise_dbm = nan\n",
        "line 2: radio.noise_dbm: NaN is not a number",
    );
    refused_head(
        "[radio]\nenergy = { preset = \"diesel\" }\n",
        "line 2: radio.energy.preset: \"diesel\" is not allowed; one of ns2, lucent-bronze, \
         lucent-silver",
    );
    refused_head(
        "[radio]\nrange_m = 100\nrx_threshold_dbm = -70\n",
        "line 3: radio.rx_threshold_dbm: gives what range_m gives too; remove one",
    );
    refused_head(
        "[radio]\nbasic_rate_mbps = 6\n",
        "line 2: radio.basic_rate_mbps: 6 Mbit/s is no such rate of 802.11; one of 1, 2, 5.5, 11",
    );
    refused_head(
        "[radio]\nnic = { rx_buffer_packets = 3 }\n",
        "line 2: radio.nic.rx_buffer_packets: needs rx_service_mbps or rx_packet_us: a host that takes frames at \
         once needs no buffer",
    );
    refused_head(
        "[[loss]]\nkind = \"uniform\"\nrate = 1.5\n",
        "line 3: loss.rate: 1.5 is out of range; 0 to 1 is allowed",
    );
    refused_head(
        "[[loss]]\nkind = \"uniform\"\nrate = 0.1\n[[loss]]\nkind = \"burst\"\nrate = 0.5\n",
        "line 4: loss.on_s: missing; kind \"burst\" needs it",
    );
    refused_head(
        "[[loss]]\nkind = \"burst\"\nrate = 0.5\non_s = 1e-10\nperiod_s = 2e-10\n",
        "line 4: loss.on_s: 0.0000000001 is out of range; 0.000001 to 86000 is allowed",
    );
    refused_head(
        "[[event]]\nat_s = 1\nkind = \"move\"\nstation = \"a\"\nx_m = 1\n",
        "line 1: event.y_m: missing; kind \"move\" needs it",
    );
    refused_head(
        "[[event]]\nat_s = 1\nkind = \"down\"\nstation = \"z\"\n",
        "line 4: event.station: no station \"z\"; one of a, b",
    );
    refused(
        "[[station]]\nname = \"a\"\nmac = \"02:00\"\nx_m = 0\ny_m = 0\n[records]\ndir = \"/\"\n",
        "line 3: station.mac: \"02:00\" is not six hexadecimal bytes with colons, as \
         02:00:00:00:00:01",
    );
    let broken = parse("seed = \n", Instant::ZERO).expect_err("no value");
    assert!(broken.starts_with("line 1: not valid TOML"), "{broken}");
}

#[test]
fn an_unknown_key_is_told_with_those_that_exist() {
    let text = format!("[radio]\nrange = 250\n{STATIONS}");
    let mistake = parse(&text, Instant::ZERO)
        .expect_err("no such key")
        .to_string();
    assert!(mistake.starts_with("line 2: radio.range: unknown key; did you mean range_m?"));
    assert!(mistake.contains("carrier_sense_m"));
}

#[test]
fn every_profile_is_complete() {
    for name in hoplab_keys::table("Radio").words("profile") {
        let config = read(&format!("[radio]\nprofile = \"{name}\"\n"));
        assert!(config.params.rx_threshold_dbm > config.params.cs_threshold_dbm);
    }
}

#[test]
fn every_key_acts() {
    let config = read(
        r#"
seed = 5
[radio]
profile = "80211g"
channel = 14
rate_mbps = "auto"
preamble = "short"
mac = "csma-ca-noack"
retry_rules = "standard"
queue_packets = 7
routing_priority = true
propagation = "log-distance"
exponent = 3.3
reference_m = 2
shadowing_db = 5
fading = "nakagami"
nakagami_m = 3
rx_threshold_dbm = -80
cs_threshold_dbm = -85
capture_later = true
noise_dbm = -95
reception = "error-rate"
level_error_db = 1.5
nic = { tx_ring = 4, rx_service_mbps = 2, rx_buffer_packets = 9 }
energy = { preset = "lucent-silver", idle_w = 0.5, battery_j = 100 }
"#,
    );
    let params = config.params;
    assert_eq!((params.seed, config.channel_mhz), (5, 2484));
    assert_eq!(params.phy.preamble_bits, 72);
    assert!(params.no_ack && !params.kernel_retries && params.routing_priority);
    assert!(params.capture_later);
    assert_eq!(params.queue_packets, 7);
    assert_eq!(params.shadowing_db, 5.0);
    assert_eq!(params.fading, Fading::Nakagami { m: 3.0 });
    assert_eq!(params.reception, Reception::ErrorRate);
    assert_eq!(params.rx_threshold_dbm, -80.0);
    assert_eq!(params.cs_threshold_dbm, -85.0);
    assert_eq!(params.noise_dbm, Some(-95.0));
    assert_eq!((params.nic.tx_ring, params.nic.rx_buffer_packets), (4, 9));
    assert_eq!((params.nic.rx.frame_us, params.nic.rx.mbps), (0.0, 2.0));
    assert_eq!(params.level_error_db, 1.5);
    assert!(config.nics.is_empty());
    let energy = params.energy;
    assert_eq!((energy.tx_w, energy.idle_w), (1.346, 0.5));
    assert_eq!((energy.sleep_w, energy.battery_j), (0.047, Some(100.0)));
    // 30 dB below 1 m at 3.3 a decade: 2 m further.
    let loss = params.propagation.received_dbm(2.0) - params.propagation.received_dbm(20.0);
    assert!((loss - 33.0).abs() < 1e-9);
}

#[test]
fn noise_counts_where_it_is_given_or_bits_are() {
    assert_eq!(read("").params.noise_dbm, None);
    assert_eq!(
        read("[radio]\nnoise_dbm = -90\n").params.noise_dbm,
        Some(-90.0)
    );
    let by_bits = read("[radio]\nreception = \"error-rate\"\n");
    // -113.975 dBm/MHz over 22 MHz and 7 dB: the figure of ns-3's validation.
    let noise = by_bits.params.noise_dbm.expect("counts");
    assert!((noise + 93.5523).abs() < 0.01, "{noise}");
}

#[test]
fn events_become_places_losses_and_power() {
    let head = r#"
epoch_ns = 1000
[[event]]
at_s = 4
kind = "loss"
src = "a"
dst = "b"
rate = 0.0
[[event]]
at_s = 2
kind = "loss"
src = "a"
dst = "b"
rate = 0.5
[[event]]
at_s = 3
kind = "move"
station = "b"
x_m = 7
y_m = 8
[[event]]
at_s = 5
kind = "down"
station = "a"
[[event]]
at_s = 6
kind = "up"
station = "a"
"#;
    let config = read(head);
    let second = |s| Instant::from_nanos(1000) + Duration::from_secs(s);
    let active: Vec<_> = config.losses.iter().map(|l| l.active.clone()).collect();
    assert_eq!(active, [second(2)..second(4), second(4)..Instant::MAX]);
    let jump = second(3);
    let expected = [
        point(Instant::ZERO, 100.0, 0.0),
        point(jump, 100.0, 0.0),
        point(jump, 7.0, 8.0),
    ];
    assert_eq!(config.stations[1].waypoints, expected);
    let power = |s, up| PowerEvent {
        at: second(s),
        radio: 0,
        up,
    };
    let expected = [power(5, false), power(6, true)];
    assert_eq!(config.power, expected);
}

fn point(at: Instant, x_m: f64, y_m: f64) -> Waypoint {
    Waypoint::new(at, Position::new(x_m, y_m))
}

#[test]
fn a_move_interrupts_a_walk() {
    let text = STATIONS.replace(
        "x_m = 100\n",
        "x_m = 100\nwaypoints = [[0, 100.0, 0.0], [10, 200.0, 0.0]]\n",
    );
    let event = "[[event]]\nat_s = 4\nkind = \"move\"\nstation = \"b\"\nx_m = 0\ny_m = 50\n";
    let config = parse(&format!("epoch_ns = 0\n{event}{text}"), Instant::ZERO).expect("right");
    let at = Instant::ZERO + Duration::from_secs(4);
    let expected = [
        point(Instant::ZERO, 100.0, 0.0),
        point(at, 140.0, 0.0),
        point(at, 0.0, 50.0),
    ];
    assert_eq!(config.stations[1].waypoints, expected);
}

/// Every word that is declared means something to the engine, whatever the other keys are.
#[test]
fn every_declared_word_is_understood() {
    let radio = hoplab_keys::table("Radio");
    for key in [
        "profile",
        "rules",
        "standard",
        "preamble",
        "mac",
        "retry_rules",
        "propagation",
        "fading",
        "reception",
    ] {
        let words = radio.words(key);
        assert!(words.len() > 1, "{key}");
        for word in words {
            let more = match word {
                "802.11g" | "802.11a" => "rate_mbps = 6\nbasic_rate_mbps = 6\nplcp_rate_mbps = 6\n",
                "802.11n" | "802.11ac" => "mcs = 0\nbasic_rate_mbps = 6\nplcp_rate_mbps = 6\n",
                _ => "",
            };
            read(&format!("[radio]\n{key} = \"{word}\"\n{more}"));
        }
    }
    for preset in hoplab_keys::table("Energy").words("preset") {
        read(&format!("[radio]\nenergy = {{ preset = \"{preset}\" }}\n"));
    }
    assert_eq!(hoplab_keys::table("Loss").words("kind").len(), 4);
    for loss in [
        "kind = \"uniform\"\nrate = 0.1",
        "kind = \"gilbert-elliott\"\np_good_to_bad = 0.1\np_bad_to_good = 0.1",
        "kind = \"burst\"\nrate = 1\non_s = 1\nperiod_s = 2",
        "kind = \"list\"\nframes = [1]",
    ] {
        read(&format!("[[loss]]\n{loss}\n"));
    }
}

#[test]
fn contradictions_are_refused_as_by_check() {
    refused_head(
        "[radio]\ncw_min = 30\n",
        "line 2: radio.cw_min: 30 is not 2^n - 1, as 15, 31 and 1023 are",
    );
    refused_head(
        "[radio]\ncw_max = 15\n",
        "line 2: radio.cw_max: 15 is below cw_min 31",
    );
    refused_head(
        "[radio]\ncarrier_sense_m = 100\n",
        "line 2: radio.carrier_sense_m: carrier sense ends before reception; raise it or lower range_m",
    );
    refused_head(
        "[radio]\nexponent = 2\n",
        "line 2: radio.exponent: counts only where propagation is \"log-distance\"; here it is \
         \"two-ray\"; remove one",
    );
}

#[test]
fn a_station_may_have_a_card_of_its_own() {
    let own = STATIONS.replace(
        "x_m = 100\n",
        "x_m = 100\nnic = { tx_packet_us = 400, tx_service_mbps = 3, queue_packets = 6, tx_ring = 1, \
         tx_load_us = 200, tx_load_mbps = 16, rx_packet_us = 500, rx_service_mbps = 2.5, \
         rx_buffer_packets = 8 }\n",
    );
    let text = format!("radio = {{ nic = {{ tx_ring = 7 }} }}{own}");
    let config = parse(&text, Instant::ZERO).expect("right");
    assert_eq!(config.params.nic.tx_ring, 7);
    let [(radio, nic)] = config.nics[..] else {
        panic!("{:?}", config.nics);
    };
    assert_eq!((radio, nic.tx_ring, nic.queue_packets), (1, 1, 6));
    let costs = [nic.tx, nic.load, nic.rx].map(|cost| (cost.frame_us, cost.mbps));
    assert_eq!(costs, [(400.0, 3.0), (200.0, 16.0), (500.0, 2.5)]);
    assert_eq!(nic.rx_buffer_packets, 8);
    let wrong = STATIONS.replace("x_m = 100\n", "nic = { rx_buffer_packets = 2 }\n");
    refused(
        &wrong,
        "line 10: station.nic.rx_buffer_packets: needs rx_service_mbps or rx_packet_us: a host \
         that takes frames at once needs no buffer",
    );
}

#[test]
fn an_mcs_is_one_of_its_standard_and_width() {
    let radio = |profile: &str, keys: &str| format!("[radio]\nprofile = \"{profile}\"\n{keys}\n");
    read(&radio("80211n", "mcs = 15\nwidth_mhz = 40\nguard_ns = 400"));
    read(&radio("80211ac", "mcs = 9\nstreams = 2"));
    // Its own rate is the profile's, not one of the standard that is given.
    read(&radio("80211ac", "standard = \"802.11a\""));
    refused_head(
        &radio("80211ac", "mcs = 9\nwidth_mhz = 20"),
        "line 3: radio.mcs: 802.11ac has no MCS 9 at 20 MHz",
    );
    refused_head(
        &radio("80211n", "mcs = 8\nwidth_mhz = 80"),
        "line 3: radio.mcs: 802.11n has no MCS 8 at 80 MHz",
    );
    refused_head(
        &radio("80211a", "mcs = 7"),
        "line 3: radio.mcs: counts only where standard is \"802.11n\" or \"802.11ac\"; here it is \
         \"802.11a\"; remove one",
    );
}
