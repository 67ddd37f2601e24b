// SPDX-License-Identifier: Apache-2.0
//! Files, right and wrong, by the declarations alone.

use hoplab_keys::table;

#[track_caller]
fn refused(name: &str, text: &str, expected: &str) {
    let read = table(name)
        .read(text)
        .and_then(|mut keys| table(name).complete(&mut keys));
    let mistake = read.expect_err("accepted");
    assert_eq!(mistake.told(text), expected, "{text}");
}

#[test]
fn mistakes_are_told_in_a_line() {
    refused(
        "Nic",
        "tx_rin = 4",
        "line 1: tx_rin: unknown key; did you mean tx_ring?; one of \
             tx_packet_us, tx_service_mbps, queue_packets, tx_ring, tx_load_us, tx_load_mbps, \
             rx_packet_us, rx_service_mbps, rx_buffer_packets",
    );
    refused(
        "Nic",
        "\ntx_ring = 4.5",
        "line 2: tx_ring: 4.5 is not a whole number",
    );
    refused(
        "Nic",
        "tx_ring = true",
        "line 1: tx_ring: true is not a whole number",
    );
    refused(
        "Nic",
        "tx_ring = -1",
        "line 1: tx_ring: -1 is out of range; 0 to 10000 is allowed",
    );
    refused(
        "Nic",
        "tx_ring = [1]",
        "line 1: tx_ring: a list, where a whole number belongs",
    );
    refused(
        "Nic",
        "tx_ring = {}",
        "line 1: tx_ring: a table, where a whole number belongs",
    );
    refused(
        "Nic",
        "rx_service_mbps = inf",
        "line 1: rx_service_mbps: inf is not a number",
    );
    refused(
        "Radio",
        "nic = { tx_ring = 'x' }",
        "line 1: nic.tx_ring: \"x\" is not a whole number",
    );
    refused(
        "Radio",
        "rate_mbps = 3",
        "line 1: rate_mbps: 3 is not allowed; one of 1, 2, 5.5, 11, \
             6, 9, 12, 18, 24, 36, 48, 54, auto",
    );
    refused(
        "Radio",
        "fading = 'rayleigh'\nnakagami_m = 2",
        "line 2: nakagami_m: counts only where \
             fading is \"nakagami\"; here it is \"rayleigh\"; remove one",
    );
    refused(
        "Loss",
        "rate = 0.5\nframes = [1]",
        "line 2: frames: counts only where kind is \
             \"list\"; here it is \"uniform\"; remove one",
    );
    refused("Event", "at_s = 1", "kind: missing");
    refused(
        "Link",
        "ends = ['a']",
        "line 1: ends: 1 entries; 2 is allowed",
    );
    refused(
        "Station",
        "name = 'a'\nwaypoints = [[0, 1]]",
        "line 2: waypoints: 2 entries; 3 is allowed",
    );
    let broken = table("Nic").read("tx_ring = ").expect_err("no value");
    assert!(broken
        .told("tx_ring = ")
        .starts_with("line 1: not valid TOML"));
}

#[test]
fn whole_numbers_may_be_written_with_a_fraction_where_rates_are() {
    let keys = table("Radio").read("plcp_rate_mbps = 2.0").expect("right");
    assert_eq!(keys["plcp_rate_mbps"], 2);
}

#[test]
fn defaults_are_filled_in_where_they_count() {
    let mut keys = table("Loss")
        .read("kind = 'burst'\nrate = 1")
        .expect("right");
    table("Loss").complete(&mut keys).expect("complete");
    assert_eq!(keys["start_s"], 0.0);
    assert!(!keys.contains_key("loss_bad"));
}
