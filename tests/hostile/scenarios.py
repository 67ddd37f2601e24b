# SPDX-License-Identifier: Apache-2.0
"""Hostile scenarios: (text, words that the one line of refusal must have, or none: accepted)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.scenarios import TWO_HOPS

CHAIN = f"duration_s = 5\n{TWO_HOPS}"
WIRE = """duration_s = 5
[[station]]
name = "a"
radio = false
[[station]]
name = "b"
radio = false
[[link]]
ends = ["a", "b"]
"""
HYBRID = """duration_s = 5
[topology]
kind = "hybrid"
[[flow]]
source = "srv"
destination = "n0"
"""
PLACES = """duration_s = 5
[[station]]
name = "a"
[[station]]
name = "b"
x_m = 100
"""

Case = tuple[str, tuple[str, ...] | None]


def chain(more: str, *words: str) -> Case:
    return CHAIN + more, words or None


def wire(more: str, *words: str) -> Case:
    return WIRE + more, words or None


def top(line: str, *words: str) -> Case:
    return line + "\n" + TWO_HOPS, words or None


def radio(keys: str, *words: str) -> Case:
    return chain(f"[radio]\n{keys}\n", *words)


def topology(keys: str, *words: str) -> Case:
    return f"duration_s = 5\n[topology]\n{keys}\n", words or None


def by(protocol: str, settings: str, *words: str) -> Case:
    return chain(f'[routing]\nprotocol = "{protocol}"\nsettings = {{ {settings} }}\n', *words)


def aodv(settings: str, *words: str) -> Case:
    return by("aodv", settings, *words)


def dsr(settings: str, *words: str) -> Case:
    return by("dsr", settings, *words)


UDP_FLOWS = 5 * (
    'protocol = "udp"\nrate_kbps = 204800\n[[flow]]\nsource = "n0"\ndestination = "n1"\n'
)
"""As many packets a second as are allowed, and the beginning of one flow more."""


def flow(keys: str, *words: str) -> Case:
    # Right after the flow's own keys.
    return CHAIN + keys + "\n", words or None


def loss(keys: str, *words: str) -> Case:
    return chain(f"[[loss]]\n{keys}\n", *words)


def event(keys: str, *words: str) -> Case:
    return chain(f"[[event]]\n{keys}\n", *words)


def link(keys: str, *words: str) -> Case:
    return wire(keys + "\n", *words)


def places(keys: str, *words: str) -> Case:
    return PLACES + keys + "\n", words or None


HAND_WRITTEN: list[Case] = [
    # The file itself.
    ("", ("station", "none given")),
    ("\ufeff" + CHAIN, None),
    ("\ufeff\ufeff" + CHAIN, ("not valid TOML",)),
    ("x = " + "9" * 5000, ("too many digits",)),
    ("seed = -" + "9" * 5000, ("too many digits",)),
    ("seed = 0x" + "f" * 4000, ("seed",)),
    ("x = " + "[" * 100_000, ("nested too deeply",)),
    ("x = " + "[" * 5000 + "]" * 5000, ("nested too deeply",)),
    ("a" + ".a" * 20_000 + " = 1", ("a key of too many parts",)),
    ("[" + "a." * 20_000 + "a]", ("a key of too many parts",)),
    ('title = """' + "x" * 100_000 + '"""', ("title",)),
    (f"{'k' * 100_000} = 1", ("unknown key",)),
    ("\x00", ("not valid TOML",)),
    ("title = 'a\x07b'", ("not valid TOML",)),
    ("title = 1\ntitle = 2", ("not valid TOML",)),
    ("[topology]\n[topology]", ("not valid TOML",)),
    ("[[flow]]\n[flow]", ("not valid TOML",)),
    ("flow = 1", ("flow",)),
    ("flow = [1]", ("flow.0",)),
    ("flow = [[]]", ("flow.0",)),
    ("station = {}", ("station",)),
    ("topology = []", ("topology",)),
    ("radio = 'wavelan'", ("radio",)),
    ("measure = true", ("measure",)),
    ("'' = 1", ("unknown key",)),
    ("title = 1979-05-27T07:32:00Z", ("title",)),
    ("duration_s = 07:32:00", ("duration_s",)),
    # Times.
    top("duration_s = 0", "duration_s", "greater than 0"),
    top("duration_s = 86001", "duration_s", "86000"),
    top("duration_s = 1e-9", "measure.interval_s"),
    top("duration_s = 0.05", "measure.interval_s", "no sample"),
    top("duration_s = 5\nwarm_up_s = 1e18", "warm_up_s"),
    top("duration_s = 5\nwarm_up_s = -1", "warm_up_s"),
    top("duration_s = 5\nwarm_up_s = 3600"),
    top("duration_s = 86000\n[measure]\ninterval_s = 0.001", "measure.interval_s", "samples"),
    top("duration_s = 5\nseed = -1", "seed"),
    top("duration_s = 5\nseed = 9223372036854775808", "seed"),
    top("duration_s = 5\nseed = 9223372036854775807"),
    top("duration_s = 5\nseed = 1.5", "seed"),
    top("duration_s = 5\nseed = true", "seed"),
    # Kinds of topology and their keys.
    topology('kind = "chian"', "topology.kind", "'chain'"),
    topology('kind = "../../etc/passwd"', "topology.kind"),
    topology('kind = ""', "topology.kind"),
    topology('kind = "Chain"', "topology.kind"),
    topology('kind = "chain"\nrows = 3', "topology", "rows", '"grid"'),
    topology('kind = "chain"\nrate_mbps = 3', "topology", "rate_mbps"),
    topology('kind = "chain"\nmovement = "x.ns2"', "topology", "movement"),
    topology('kind = "grid"\nstations = 3', "topology", "stations"),
    topology('kind = "grid"\nrows = 45\ncolumns = 45', "2025 stations", "at most 2000"),
    topology('kind = "grid"\nrows = 200\ncolumns = 200', "40000 stations"),
    topology('kind = "grid"\nrows = 14\ncolumns = 14'),
    topology('kind = "grid"\nrows = 0', "topology.rows"),
    topology('kind = "pair"\nstations = 2', "topology", "stations"),
    topology('kind = "pair"\nspacing_m = 0', "spacing_m"),
    topology('kind = "pair"\nspacing_m = 1e308', "spacing_m"),
    topology('kind = "chain"\nstations = 2001', "stations", "2000"),
    topology('kind = "chain"\nstations = 0', "stations"),
    topology('kind = "chain"\nstations = 3.0', "stations"),
    topology('kind = "chain"\nstations = "3"', "stations"),
    topology('kind = "chain"\nstations = 200\nspacing_m = 5100', "station.197.x_m"),
    topology('kind = "random-waypoint"\nmax_speed_mps = 1e300', "max_speed_mps"),
    topology(
        'kind = "random-waypoint"\nwidth_m = 1\nheight_m = 1\nmax_speed_mps = 1000\nstations = 200',
        "legs",
    ),
    topology('kind = "random-waypoint"\nmin_speed_mps = 30', "min_speed_mps", "max_speed_mps"),
    topology('kind = "random-waypoint"\nwidth_m = 0', "width_m"),
    topology('kind = "random-waypoint"\nmin_speed_mps = 0', "min_speed_mps"),
    topology('kind = "random-waypoint"\npause_s = -1', "pause_s"),
    topology('kind = "random-waypoint"\nspacing_m = 10', "spacing_m"),
    topology('kind = "trace"', "movement"),
    topology('kind = "trace"\nmovement = "none.ns2"', "cannot be read"),
    topology('kind = "trace"\nmovement = "/"', "no movement format"),
    topology('kind = "trace"\nmovement = "/dev/null"', "no movement format"),
    topology('kind = "trace"\nmovement = "x.csv"', "no movement format"),
    topology('kind = "trace"\nmovement = 5', "movement"),
    topology('kind = "hidden"\nrate_mbps = 3', "rate_mbps", "no wired links"),
    topology('kind = "hidden"\nspacing_m = 3', "spacing_m"),
    topology('kind = "dumbbell"\nrate_mbps = 0', "rate_mbps"),
    topology('kind = "dumbbell"\nrate_mbps = 10000\ndelay_ms = 100000', "packets on the way"),
    topology('kind = "explicit"\nstations = 4', "stations"),
    ('[topology]\nkind = "chain"\n[[station]]\nname = "a"', ("makes its own stations",)),
    # Stations.
    places('[[station]]\nname = "a"', "'a' is given twice"),
    places('[[station]]\nname = "air"', "'air' is not free"),
    places('[[station]]\nname = "A"', "station.2.name"),
    places('[[station]]\nname = ""', "station.2.name"),
    places('[[station]]\nname = "ninechars"', "station.2.name"),
    places('[[station]]\nname = "a b"', "station.2.name"),
    places('[[station]]\nname = "é"', "station.2.name"),
    places("[[station]]\nname = 5", "station.2.name"),
    places('[[station]]\nname = "a\\n"', "station.2.name"),
    places("[[station]]\nx_m = 1", "station.2.name", "missing"),
    places('[[station]]\nname = "c"\nx_m = 1e308', "station.2.x_m"),
    places('[[station]]\nname = "c"\ny_m = -1e7', "station.2.y_m"),
    places('[[station]]\nname = "c"\nradio = "no"', "station.2.radio"),
    places('[[station]]\nname = "c"\nradio = 0', "station.2.radio"),
    places('[[station]]\nname = "c"\nwaypoints = [[5, 1, 1], [4, 1, 1]]', "must not decrease"),
    places('[[station]]\nname = "c"\nwaypoints = [[-5, 1, 1]]', "station.2.waypoints"),
    places('[[station]]\nname = "c"\nwaypoints = [[0, 1]]', "station.2.waypoints"),
    places('[[station]]\nname = "c"\nwaypoints = [[0, 1, 1, 1]]', "station.2.waypoints"),
    places('[[station]]\nname = "c"\nwaypoints = [0]', "station.2.waypoints"),
    places('[[station]]\nname = "c"\nwaypoints = [[0, 1e308, 1]]', "station.2.waypoints"),
    places('[[station]]\nname = "c"\nwaypoints = [[0, nan, 1]]', "station.2.waypoints"),
    places('[[station]]\nname = "c"\nwaypoints = [["0", 1, 1]]', "station.2.waypoints"),
    places('[[station]]\nname = "c"\nx_m = 7\nwaypoints = [[0, 1, 1]]', "contradicts"),
    places('[[station]]\nname = "c"\nx_m = 1\nwaypoints = [[0, 1, 1]]'),
    places('[[station]]\nname = "c"\nwaypoints = []'),
    # Links.
    link("rate_mbps = 0", "rate_mbps"),
    link("rate_mbps = 1e300", "rate_mbps"),
    link("rate_mbps = 1e-300", "rate_mbps"),
    link("rate_mbps = 10001", "rate_mbps"),
    link("rate_mbps = 10000"),
    link("rate_mbps = 0.001"),
    link("delay_ms = -1", "delay_ms"),
    link("up = { rate_mbps = 0 }", "up", "rate_mbps"),
    link('up = { ends = ["a", "b"] }', "up.ends", "unknown key"),
    link("loss = { p_good_to_bad = 0.1 }", "p_bad_to_good"),
    link('loss = "much"', "loss"),
    link("jitter_ms = 10.1", "jitter_ms 10.1 is above delay_ms 10"),
    link("duplicate = 0.1\nreorder = 0.1", "netem does not mix them"),
    link('[tcp]\nsysctl = { "kernel.panic" = 1 }', "tcp.sysctl"),
    link('[tcp]\nsysctl = { "net.ipv4.tcp_sack" = 1 }', "sack of flows says it"),
    link('[tcp]\nsysctl = { "net.ipv4.tcp_rmem" = [1] }', "tcp.sysctl"),
    link('queue = { kind = "fq_kodel" }', "queue.kind", "fq_codel"),
    link('queue = { kind = "codel", flows = 1 }', "queue", "flows counts only"),
    link('queue = { kind = "pie", target_ms = 1e300 }', "target_ms"),
    link('queue = { kind = "cake", overhead_bytes = -65 }', "overhead_bytes"),
    link('queue = { kind = "cake", rtt_ms = 0.09 }', "rtt_ms"),
    link('queue = { kind = "sfq", divisor = 3 }', "divisor 3 is no power of two"),
    link('queue = { kind = "ets", strict = 17 }', "strict"),
    link('queue = { kind = "ets", quanta_bytes = [1500, 0] }', "quanta_bytes"),
    link('queue = { kind = "fq_codel", shape_mbps = 10.1 }', "shape_mbps 10.1 is above"),
    link('queue = { kind = "fq_codel", shape_mbps = 10 }'),
    link("delay_ms = 1e9", "delay_ms"),
    link("delay_ms = 100000"),
    link("rate_mbps = 10000\ndelay_ms = 100000", "packets on the way"),
    link("loss = 1.1", "loss"),
    link("loss = nan", "loss"),
    link("queue = { packets = 0 }", "queue.packets"),
    link("queue = { packets = 1000000 }", "queue.packets"),
    link('queue = { kind = "codel1" }', "queue.kind"),
    link("queue = { min_packets = 3 }", "min_packets", '"red"'),
    link('queue = { kind = "red", min_packets = 20 }', "min_packets < max_packets"),
    link('queue = { kind = "red", max_packets = 60 }', "max_packets <= packets"),
    link('queue = { kind = "red", packets = 100000, packet_bytes = 65535 }', "too much for RED"),
    link('queue = { kind = "red", drop_probability = 0 }', "drop_probability"),
    link('queue = { kind = "red" }'),
    link('[[link]]\nends = ["b", "a"]', "link.1.ends", "already"),
    link('[[link]]\nends = ["b", "b"]', "two different stations"),
    link('[[link]]\nends = ["b", "c"]', "no station 'c'"),
    link('[[link]]\nends = ["b"]', "link.1.ends"),
    link('[[link]]\nends = ["a", "b", "c"]', "link.1.ends"),
    link("[[link]]\nrate_mbps = 1", "link.1.ends", "missing"),
    wire('[routing]\nprotocol = "dsr"\n', "needs a radio"),
    (PLACES + '[[link]]\nends = ["a", "b"]\n[routing]\nprotocol = "dsr"\n', ("no wired links",)),
    # The channel.
    radio('profile = "80211a"\nchannel = 1', "radio.channel", "36"),
    radio('profile = "80211g"\nchannel = 36', "radio.channel"),
    *[radio(f"channel = {n}", "radio.channel") for n in (0, 15, 34, 36, 100, 166, 10**30)],
    *[radio(f"channel = {n}") for n in (12, 13, 14)],
    radio('profile = "80211g"\nchannel = 14', "radio.channel"),
    radio('profile = "80211n"\nchannel = 13\nrange_m = 210'),
    radio('profile = "80211n"\nsecondary = "above"', "radio.secondary"),
    *[radio(f'profile = "80211a"\nchannel = {n}', "radio.channel") for n in (34, 52, 100, 140)],
    radio("channel = 11"),
    radio("channel = 1.0", "radio.channel"),
    radio("rate_mbps = 3", "radio.rate_mbps", "802.11"),
    radio("rate_mbps = 54", "radio.rate_mbps"),
    radio("rate_mbps = true", "radio.rate_mbps"),
    radio('rate_mbps = "fast"', "radio.rate_mbps"),
    radio('rate_mbps = "auto"'),
    radio("rate_mbps = []", "radio.rate_mbps"),
    radio('profile = "80211a"\nrate_mbps = 11', "radio.rate_mbps"),
    radio('profile = "80211a"\nbasic_rate_mbps = 1', "radio.basic_rate_mbps"),
    radio('profile = "80211g"\nplcp_rate_mbps = 1', "radio.plcp_rate_mbps"),
    radio('profile = "80211n"\nmcs = 15\nwidth_mhz = 40\nrange_m = 300\ncarrier_sense_m = 600'),
    radio('profile = "80211ac"\nmcs = 9\nstreams = 2\nrange_m = 300\ncarrier_sense_m = 600'),
    radio('profile = "80211ac"\nmcs = 9\nwidth_mhz = 20', "radio.mcs", "9 of 1 stream on 20 MHz"),
    radio('profile = "80211ac"\nmcs = 6\nstreams = 3', "radio.mcs", "6 of 3 streams on 80 MHz"),
    radio(
        'profile = "80211ac"\nmcs = 8\nwidth_mhz = 160\nstreams = 4\n'
        "range_m = 300\ncarrier_sense_m = 600"
    ),
    radio('profile = "80211ac"\nwidth_mhz = 160\nchannel = 149', "radio.width_mhz", "80 MHz"),
    radio('profile = "80211ax"', "radio.standard", "cell"),
    radio('profile = "80211ax"\nband_ghz = 6', "radio.standard", "cell"),
    radio('profile = "80211ax"\nband_ghz = 6\nchannel = 6', "radio.channel", "6 GHz", "233"),
    radio('profile = "80211ax"\nband_ghz = 60', "band_ghz", "2.4, 5, 6"),
    radio('profile = "80211ac"\nband_ghz = 6', "band_ghz", "802.11ax"),
    radio('profile = "80211ac"\nmcs = 10', "radio.mcs", "0 to 9"),
    radio('profile = "80211n"\nmcs = 16', "radio.mcs"),
    radio('profile = "80211n"\nwidth_mhz = 80', "radio.width_mhz", "20 and 40"),
    radio('profile = "80211n"\nwidth_mhz = 30', "radio.width_mhz"),
    radio('profile = "80211n"\nguard_ns = 1600', "radio.guard_ns"),
    radio('profile = "80211n"\nstreams = 2', "streams", "802.11ac"),
    radio('profile = "80211n"\nrate_mbps = 54', "rate_mbps", "set mcs"),
    radio('profile = "80211a"\nmcs = 7', "mcs", "remove one"),
    radio('profile = "80211ac"\nchannel = 165', "radio.width_mhz", "165"),
    radio('profile = "80211ac"\nstandard = "802.11a"\nrange_m = 300\ncarrier_sense_m = 600'),
    radio('profile = "80211a"\nstandard = "802.11n"', "mcs"),
    radio("plcp_rate_mbps = 6", "radio.plcp_rate_mbps"),
    radio("plcp_rate_mbps = true", "radio.plcp_rate_mbps"),
    radio("plcp_rate_mbps = 2.0"),
    radio("cw_min = 30", "radio.cw_min", "2^n - 1"),
    radio("cw_max = 1000", "radio.cw_max", "2^n - 1"),
    radio("cw_min = 1023\ncw_max = 31", "radio.cw_max", "below cw_min"),
    radio("cw_min = 32768", "radio.cw_min"),
    radio("cw_min = 0"),
    radio("carrier_sense_m = 100", "carrier sense ends at 100 m"),
    radio("range_m = 600", "carrier sense ends at 550 m, before reception at 600 m"),
    radio("range_m = 550"),
    radio("rx_threshold_dbm = -100", "carrier sense ends"),
    radio("cs_threshold_dbm = 0", "carrier sense ends"),
    radio("rx_threshold_dbm = -70\nrange_m = 100", "remove one"),
    radio("cs_threshold_dbm = -80\ncarrier_sense_m = 600", "remove one"),
    radio("range_m = 0", "radio.range_m"),
    radio("range_m = 150", "flow.0", "no path"),
    radio("exponent = 2", "exponent", "log-distance"),
    radio('propagation = "friis"\nreference_m = 2', "reference_m"),
    radio('propagation = "log-distance"\nexponent = 0', "exponent"),
    radio('propagation = "log-distance"\nexponent = 2'),
    radio("nakagami_m = 2", "nakagami_m"),
    radio('fading = "nakagami"\nnakagami_m = 0.1', "nakagami_m"),
    radio("shadowing_db = 31", "shadowing_db"),
    radio("shadowing_correlation_m = 20", "shadowing_correlation_m: 20", "shadowing_db is 0"),
    radio("shadowing_db = 4\nshadowing_correlation_m = 0", "shadowing_correlation_m"),
    radio("shadowing_db = 4\nshadowing_correlation_m = 20"),
    radio("slot_us = 0", "slot_us"),
    radio("sifs_us = 1e300", "sifs_us"),
    radio("rts_threshold = 2348", "rts_threshold"),
    radio("retry_short = 0", "retry_short"),
    radio("queue_packets = 0", "queue_packets"),
    radio("nic = { rx_buffer_packets = 3 }", "rx_service_mbps"),
    radio("nic = { tx_ring = -1 }", "nic.tx_ring"),
    radio("nic = { tx_load_mbps = inf }", "nic.tx_load_mbps"),
    radio("level_error_db = -1", "level_error_db"),
    radio("energy = { preset = 'diesel' }", "energy.preset"),
    radio("energy = { battery_j = 0 }", "battery_j"),
    radio("energy = { tx_w = inf }", "tx_w"),
    radio("frequency_mhz = 0", "frequency_mhz"),
    radio("tx_power_dbm = 1e6", "tx_power_dbm"),
    radio("capture_later = 1", "capture_later"),
    radio("range = 250", "radio.range", "'range_m'"),
    # Flows.
    flow("rate_kbps = 5", "rate_kbps", '"udp"'),
    flow('protocol = "udp"\n[routing]\nprotocol = "dsr"', "no full buffer holds a sender back"),
    flow('protocol = "udp"\n[routing]\nprotocol = "aodv"', "a sender back over AODV"),
    flow('elfn = true\n[routing]\nprotocol = "olsr"', "flow.0.elfn", "tells a source"),
    flow('split = { every_hops = 1 }\n[routing]\nprotocol = "aodv"', "flow.0.split", "AODV"),
    flow('ip = 6\n[routing]\nprotocol = "aodv"', "flow.0.ip: 6", "AODV (RFC 3561)"),
    flow('ip = 6\n[routing]\nprotocol = "olsr"', "flow.0.ip: 6", "OLSR"),
    flow('split = { every_hops = 1 }\n[routing]\nprotocol = "dsdv"', "flow.0.split", "DSDV"),
    flow('elfn = true\n[routing]\nprotocol = "olsr"', "flow.0.elfn", "OLSR"),
    chain('[tcp]\ndelayed_ack = false\n[routing]\nprotocol = "aodv"\n', "tcp.delayed_ack"),
    flow('protocol = "udp"\nrate_kbps = 0.0004', "rate_kbps"),
    flow('protocol = "udp"\nrate_kbps = 0.001', "a packet in"),
    flow('protocol = "udp"\nrate_kbps = 1e300', "rate_kbps"),
    flow('protocol = "udp"\nrate_kbps = 1024001', "packets a second", "at most 250000"),
    flow(UDP_FLOWS),
    flow(UDP_FLOWS + 'protocol = "udp"\nrate_kbps = 8', "flow: 6 flows", "at most 250000"),
    flow('protocol = "udp"\nrate_kbps = 8\nmss = 100', "mss", '"tcp"'),
    flow('protocol = "udp"\nrate_kbps = 8\nsack = true', "sack"),
    flow('protocol = "udp"\nrate_kbps = 8\npacket_bytes = 15', "packet_bytes"),
    flow('protocol = "udp"\nrate_kbps = 8\npacket_bytes = 65001', "packet_bytes"),
    flow('protocol = "udp"\nrate_kbps = 8\npacket_bytes = 1000'),
    flow('protocol = "udp"\nrate_kbps = 8\nbuffer_bytes = 100', "buffer_bytes"),
    flow('protocol = "udp"\nrate_kbps = 8\nspacing = "random"\nbuffer_bytes = 5000'),
    flow('protocol = "udp"'),
    flow('protocol = "udp"\ngenerator = "iperf"', "generator", "'iperf3'"),
    flow('protocol = "ping"\ngenerator = "iperf3"', "generator", '"udp"'),
    flow(
        'protocol = "tcp"\npackets = 9\npacket_bytes = 100\ngenerator = "iperf3"',
        "generator",
        "remove packets or generator",
    ),
    flow(
        'protocol = "udp"\nrate_kbps = 8\nspacing = "random"\ngenerator = "iperf3"', "not iperf3's"
    ),
    flow("buffer_bytes = 5000", "buffer_bytes", '"udp"'),
    flow('protocol = "sctp"', "flow.0.protocol"),
    flow("packets = 5", "needs packet_bytes"),
    flow("packet_bytes = 500", "packet_bytes"),
    flow("packets = 0\npacket_bytes = 500", "packets"),
    flow("mss = 2233", "mss"),
    flow("mss = 2232"),
    flow("mss = 87", "mss"),
    flow('mss = 1461\n[routing]\nprotocol = "dsr"', "mss", "1460"),
    flow("window = 0", "window"),
    flow("start_s = 5", "not before duration_s"),
    flow("start_s = 3\nstop_s = 3", "not after start_s"),
    flow("start_s = -1", "start_s"),
    flow("start_s = 1e308", "start_s"),
    flow('congestion_control = "westwod"', "'westwood'"),
    flow('congestion_control = "Reno"', "'reno'"),
    flow('congestion_control = "../x"', "congestion_control"),
    flow('congestion_control = ""', "congestion_control"),
    flow('congestion_control = "' + "x" * 10_000 + '"', "congestion_control"),
    flow('congestion_control = "sack"\nsack = false', "contradicts"),
    flow('congestion_control = "newreno"\nsack = true', "contradicts"),
    flow('congestion_control = "tahoe"\nsack = true', "contradicts"),
    flow('congestion_control = "vegas"\nsack = false'),
    flow('[[flow]]\nsource = "n0"\ndestination = "n1"\nsack = false'),
    flow('name = "x"\n[[flow]]\nname = "x"\nsource = "n0"\ndestination = "n1"', "given twice"),
    flow('name = "flow1"\n[[flow]]\nsource = "n0"\ndestination = "n1"', "given twice"),
    flow('name = "a/b"', "flow.0.name"),
    flow('name = ".."', "flow.0.name"),
    flow('name = "a,b"', "flow.0.name"),
    flow('[[flow]]\nsource = "n0"\ndestination = "n0"', "both n0"),
    flow('[[flow]]\nsource = "n0"\ndestination = "n9"', "flow.1.destination", "no station 'n9'"),
    flow('[[flow]]\nsource = "n0"', "destination", "missing"),
    (
        WIRE + '[[station]]\nname = "c"\nradio = false\n[[flow]]\nsource = "a"\ndestination = "c"',
        ("no path from a to c",),
    ),
    (PLACES.replace("100", "300") + '[[flow]]\nsource = "a"\ndestination = "b"', ("no path",)),
    (HYBRID + "mss = 1461\n", ("mss", "1460")),
    (HYBRID, None),
    (
        "duration_s = 5\n"
        + '[[flow]]\nsource = "n0"\ndestination = "n1"\n' * 251
        + '[topology]\nkind = "pair"\n',
        ("flow", "250"),
    ),
    # Split-TCP.
    flow('[split]\nproxies = ["n1"]'),
    flow("[split]\nevery_hops = 1"),
    flow('split = { proxies = ["n1"], window = 8 }\nwindow = 8'),
    flow("split = false\n[split]\nevery_hops = 1"),
    flow("split = true", "flow.0.split", "proxies or every_hops"),
    flow("split = {}", "flow.0.split"),
    flow("split = 1", "flow.0.split", "true, false or a table"),
    flow('split = true\nprotocol = "udp"\nrate_kbps = 8', "split", '"tcp"'),
    flow("[split]\nbuffer_packets = 8", "acts on nothing"),
    flow('[split]\nproxies = ["n1"]\nevery_hops = 1', "split", "remove one"),
    flow('[split]\nproxies = ["n1", "n1"]', "given twice"),
    flow('[split]\nproxies = ["n9"]', "no station 'n9'"),
    flow('[split]\nproxies = ["n2"]', "proxies", "between n0 and n2", "n1"),
    flow("[split]\nevery_hops = 2", "every_hops", "2 hops"),
    flow('congestion_control = "reno"\n[split]\nevery_hops = 1', "congestion_control", '"reno"'),
    flow("window = 8\n[split]\nevery_hops = 1", "flow.0.window", "64"),
    flow("[tcp]\nelfn = true\n[split]\nevery_hops = 1", "flow.0.elfn"),
    flow('congestion_control = "window"', "give window"),
    flow('congestion_control = "window"\nwindow = 8'),
    # TCP and routing.
    chain("[tcp]\nmin_rto_ms = 0\n", "min_rto_ms"),
    chain("[tcp]\ninitial_window = 1001\n", "initial_window"),
    chain('[tcp]\nprofile = "modern"\n', "tcp.profile"),
    chain('[tcp]\ndelayed_ack = false\n[routing]\nprotocol = "babeld"\n', "delayed_ack"),
    chain('[routing]\nprotocol = "ospf"\n', "routing.protocol"),
    aodv("cache = 'link'", "routing.settings.cache", "active_route_timeout_s"),
    aodv("ttl_start = 0", "ttl_start"),
    by("olsr", "willingness = 8", "willingness"),
    by("olsr", "ttl_start = 1", "routing.settings.ttl_start", "hello_interval_s"),
    by("olsr", "tc_redundancy = 3", "tc_redundancy"),
    by("olsr", "metric = 'hop'", "metric", "etx"),
    by("dsdv", "update_interval_s = 0", "update_interval_s"),
    by("dsdv", "settling_weight = 1.5", "settling_weight"),
    aodv("resolution = 'none'", "resolution", "learned"),
    aodv("net_traversal_time_s = 0", "net_traversal_time_s"),
    chain("[routing]\nsettings = { cache = 'link' }\n", "settings", "'static' has none"),
    chain('[routing]\nprotocol = "batman-adv"\nsettings = { o = 1 }\n', "settings"),
    chain('[routing]\nprotocol = "babeld"\nsettings = { C = "x" }\n', "settings.C"),
    chain('[routing]\nprotocol = "babeld"\nsettings = { h = 2 }\n'),
    chain('[routing]\nprotocol = "batmand"\nsettings = { d = 4 }\n', "settings.d"),
    dsr("cach = 'link'", "routing.settings.cach", "'cache'"),
    dsr("cache = 'tree'", "routing.settings.cache", "path"),
    dsr("discovery_hop_limit = 256", "discovery_hop_limit", "255"),
    dsr("discovery_hop_limit = 0", "discovery_hop_limit"),
    dsr("max_salvage_count = 16", "max_salvage_count"),
    dsr("request_period_s = 0", "request_period_s"),
    dsr("request_period_s = '1'", "request_period_s"),
    dsr("request_period_s = 1e300", "request_period_s"),
    dsr("salvage = 1", "salvage"),
    dsr("salvage = 'yes'", "salvage"),
    dsr("link_mtu = 100", "link_mtu"),
    dsr("link_mtu = 2304", "link_mtu"),
    dsr("queue_packets = -1", "queue_packets"),
    dsr("negative_cache_s = nan", "negative_cache_s"),
    dsr("signal_threshold_dbm = -80.5", "signal_threshold_dbm"),
    dsr("cache = { a = 1 }", "settings"),
    dsr("cache = 'link', negative_cache_s = 5"),
    # What goes wrong.
    loss('kind = "uniform"', "needs rate"),
    loss("rate = 2", "loss.0.rate"),
    loss("rate = 0.1\nframes = [1]", "frames"),
    loss('kind = "list"', "needs frames"),
    loss('kind = "list"\nframes = []', "needs frames"),
    loss('kind = "list"\nframes = [0]', "frames"),
    loss('kind = "list"\nframes = [1.5]', "frames"),
    loss('kind = "list"\nframes = [true]', "frames"),
    loss('kind = "burst"\nrate = 1', "needs on_s"),
    loss('kind = "burst"\nrate = 1\non_s = 1\nperiod_s = 1e-12', "period_s"),
    loss('kind = "burst"\nrate = 1\non_s = 1e-300\nperiod_s = 1', "on_s"),
    loss('kind = "burst"\nrate = 1\non_s = 2\nperiod_s = 1', "longer than period_s"),
    loss('kind = "burst"\nrate = 1\non_s = 1\nperiod_s = 2\nstart_s = 1e300', "start_s"),
    loss('kind = "burst"\nrate = 1\non_s = 1\nperiod_s = 2'),
    loss('kind = "gilbert-elliott"\nrate = 1', "rate"),
    loss('kind = "gilbert-elliott"', "needs p_good_to_bad"),
    loss('kind = "gilbert-elliott"\np_good_to_bad = 0.1\np_bad_to_good = 0.1'),
    loss('rate = 0.1\nsrc = "n0"\ndst = "n0"', "both n0"),
    loss('rate = 0.1\nsrc = "n7"', "no station 'n7'"),
    loss('kind = "fire"', "loss.0.kind"),
    wire("[[loss]]\nrate = 0.1\n", "acts on nothing"),
    wire('[[loss]]\nrate = 0.1\nsrc = "a"\n', "acts on nothing"),
    wire('[[loss]]\nrate = 0.1\nsrc = "a"\ndst = "b"\n'),
    wire(
        '[[loss]]\nkind = "burst"\nrate = 1\non_s = 1\nperiod_s = 2\nsrc = "a"\ndst = "b"\n', "list"
    ),
    (
        HYBRID + '[[loss]]\nrate = 0.1\ndst = "srv"\n',
        ("has no radio",),
    ),
    event('at_s = 1\nkind = "down"', "needs station"),
    event('at_s = 1\nkind = "move"\nstation = "n0"\nx_m = 1', "needs y_m"),
    event('at_s = 1\nkind = "loss"\nsrc = "n0"\ndst = "n1"', "needs rate"),
    event('at_s = 1\nkind = "down"\nstation = "n0"\nrate = 1', "rate"),
    event('at_s = 5\nkind = "down"\nstation = "n0"', "not before duration_s"),
    event('at_s = -1\nkind = "down"\nstation = "n0"', "at_s"),
    event('at_s = 1\nkind = "explode"\nstation = "n0"', "event.0.kind"),
    event('kind = "down"\nstation = "n0"', "at_s", "missing"),
    event('at_s = 1\nkind = "down"\nstation = "n9"', "no station 'n9'"),
    event('at_s = 1\nkind = "move"\nstation = "n0"\nx_m = 1e300\ny_m = 0', "x_m"),
    event('at_s = 1\nkind = "down"\nstation = "n0"'),
    wire('[[event]]\nat_s = 1\nkind = "down"\nstation = "a"\n', "has no radio"),
    wire('[[event]]\nat_s = 1\nkind = "loss"\nsrc = "a"\ndst = "b"\nrate = 1\n', "has no radio"),
    (HYBRID + '[[event]]\nat_s = 1\nkind = "down"\nstation = "srv"\n', ("has no radio",)),
    # What is measured.
    chain("[measure]\ninterval_s = 0\n", "interval_s"),
    chain("[measure]\ninterval_s = 61\n", "interval_s"),
    chain("[measure]\ninterval_s = 6\n", "longer than duration_s"),
    chain("[measure]\npackets = 1\n", "packets"),
    chain('[measure]\ncaptures = ["n7"]\n', "captures.0", "no station 'n7'"),
    chain('[measure]\ncaptures = ["n0:eth0"]\n', "captures.0", "eth0"),
    chain('[measure]\ncaptures = ["n0:dsr0"]\n', "captures.0", "dsr0"),
    chain('[measure]\ncaptures = ["n0:"]\n', "captures.0"),
    chain('[measure]\ncaptures = ["n0", "n0"]\n', "given twice"),
    chain('[measure]\ncaptures = [""]\n', "captures.0"),
    chain("[measure]\ncaptures = [5]\n", "captures.0"),
    chain('[measure]\ncaptures = ["n0:../x"]\n', "captures.0"),
    chain('[measure]\ncaptures = "n0"\n', "captures"),
    chain('[measure]\ncaptures = ["n0", "n1:wlan0", "n2:any", "air"]\n'),
    wire('[measure]\ncaptures = ["air"]\n', "no radios"),
    wire('[measure]\ncaptures = ["a:eth0"]\n'),
    wire('[measure]\ncaptures = ["a:eth1"]\n', "eth1"),
    wire('[measure]\ncaptures = ["a:wlan0"]\n', "wlan0"),
]

NO_NUMBERS = ("true", '"5"', "nan", "inf", "-inf", "[]", "{}", "1e308", "-1e308")
NUMBERS = {
    "": ("duration_s", "warm_up_s"),
    "radio": ("slot_us", "range_m", "capture_db", "noise_dbm", "tx_power_dbm"),
    "tcp": ("initial_window",),
    "measure": ("interval_s",),
}


def wrong_types() -> Iterator[Case]:
    """What is no number where a number belongs, or none of this world."""
    for table, keys in NUMBERS.items():
        for name in keys:
            for value in NO_NUMBERS:
                if table == "":
                    yield top(f"{name} = {value}", name)
                else:
                    yield chain(f"[{table}]\n{name} = {value}\n", f"{table}.{name}")


CASES: list[Case] = [*HAND_WRITTEN, *wrong_types()]
