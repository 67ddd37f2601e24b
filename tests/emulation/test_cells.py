# SPDX-License-Identifier: Apache-2.0
"""Access points and their clients: association, keys, traffic by way of the access point."""

import struct
from collections import defaultdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from hoplab.host import results
from tests.emulation.conftest import Run
from tests.validate import bsrp, classes, high_efficiency, mu_mimo, multilink, ofdma
from tests.validate.aggregation import Case
from tests.validate.saturation import (
    BEST_EFFORT,
    DSSS,
    OFDM,
    maximum_mbps,
    received_mbps,
    sender,
    station,
)
from tests.validate.throughput import SCHEMES, ht_us, legacy_us

CELL = """
duration_s = 5
[radio]
profile = "80211g"
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 30
[[station]]
name = "n1"
x_m = -30
[[cell]]
access_point = "ap"
clients = ["n0", "n1"]
ssid = "home"
"""
TO_THE_POINT = """
[[flow]]
source = "n0"
destination = "ap"
"""
BETWEEN_CLIENTS = """
[[flow]]
source = "n0"
destination = "n1"
"""


def secured(security: str) -> str:
    return CELL + f'security = "{security}"\n'


@pytest.mark.parametrize("security", ["open", "wpa2", "wpa3"])
def test_clients_reach_each_other_by_way_of_the_access_point(
    run_scenario: Run, security: str
) -> None:
    """Each segment between clients is two frames on the air, so the flow has less than half."""
    text = secured(security)
    direct = run_scenario(text + TO_THE_POINT)["flows"][0]["goodput_kbps"]
    relayed = run_scenario(text + BETWEEN_CLIENTS)["flows"][0]["goodput_kbps"]
    assert 0.35 * direct < relayed < 0.5 * direct


def test_a_cell_has_the_same_digest_twice(run_scenario: Run) -> None:
    text = secured("wpa3") + BETWEEN_CLIENTS
    assert run_scenario(text)["digest"] == run_scenario(text)["digest"]


WITH_UPLINK = """
duration_s = 5
[radio]
profile = "80211g"
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 30
[[station]]
name = "other"
x_m = 60
[[station]]
name = "m0"
x_m = 90
[[station]]
name = "srv"
radio = false
[[cell]]
access_point = "ap"
clients = ["n0"]
[[cell]]
access_point = "other"
clients = ["m0"]
security = "wpa3"
[[link]]
ends = ["ap", "srv"]
rate_mbps = 100
[[link]]
ends = ["other", "srv"]
rate_mbps = 100
"""


def test_cells_on_one_channel_with_wires_behind_their_access_points(run_scenario: Run) -> None:
    """By way of both cells a packet is two frames on the one channel, as it is within one."""
    flow = '[[flow]]\nsource = "{}"\ndestination = "{}"\n'
    down = run_scenario(WITH_UPLINK + flow.format("srv", "n0"))["flows"][0]["goodput_kbps"]
    across = run_scenario(WITH_UPLINK + flow.format("m0", "n0"))["flows"][0]["goodput_kbps"]
    assert 0.35 * down < across < 0.5 * down


OFF_AND_ON = """
duration_s = 30
[radio]
profile = "80211g"
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 30
[[cell]]
name = "home"
access_point = "ap"
clients = ["n0"]
security = "wpa3"
[[event]]
kind = "down"
station = "ap"
at_s = 5
[[event]]
kind = "up"
station = "ap"
at_s = 10
"""


def test_a_client_loses_its_access_point_and_finds_it_again(
    tmp_path: Path, run_scenario: Run
) -> None:
    """It asks a silent access point once more after seven beacons (mac80211), and gives up within
    seconds; wpa_supplicant scans until the access point answers."""
    run_scenario(OFF_AND_ON)
    events = results.load(tmp_path / "run1").rows("events")
    told = [(row["kind"], row["node"]) for row in events if row["source"] == "cell"]
    assert told == [("associated", "n0"), ("disassociated", "n0"), ("associated", "n0")]
    at_s = [row["t_s"] for row in events if row["source"] == "cell"]
    assert at_s[0] == 0 and 5.5 < at_s[1] < 10 < at_s[2] < 25
    assert all("cell=home access_point=ap" in row["detail"] for row in events)


CCMP_BYTES = 16
"""Header and integrity code of a protected frame (IEEE 802.11-2020 12.5.3.2)."""
LEGACY_24 = ({"profile": "80211a", "rate_mbps": 24.0}, OFDM, partial(legacy_us, 24.0, False))
DSSS_2 = ({"profile": "80211b", "rate_mbps": 2.0}, DSSS, partial(legacy_us, 2.0, False))
HT_20 = SCHEMES["HT-20-MCS-7"]
HT = ({**HT_20.radio, "aggregation": False}, BEST_EFFORT, partial(ht_us, HT_20))


@pytest.mark.parametrize(
    ("case", "security"),
    [(LEGACY_24, "open"), (LEGACY_24, "wpa2"), (DSSS_2, "wpa3"), (HT, "wpa3")],
    ids=["24-Mbps-open", "24-Mbps-wpa2", "2-Mbps-wpa3", "HT-wpa3"],
)
def test_a_client_has_the_throughput_that_the_standard_leaves(
    tmp_path: Path, run_scenario: Run, case: tuple[Any, ...], security: str
) -> None:
    """The theoretical maximum, less the share of the time that beacons take; `make validate` allows
    as much for a pair of ad hoc stations."""
    radio, timing, data_us = case
    protection = 0 if security == "open" else CCMP_BYTES
    maximum = maximum_mbps(timing, 1000, data_us(1000 + protection), rts=False)
    scenario = {
        "duration_s": 5.0,
        "station": [station("ap", 0.0), station("n0", 50.0)],
        "cell": [{"access_point": "ap", "clients": ["n0"], "security": security}],
        "radio": radio,
        "flow": [sender("n0", "ap", 1000, 1.1 * maximum)],
        "measure": {"packets": True},
    }
    run_scenario(tomli_w.dumps(scenario))
    found = results.load(tmp_path / "run1")
    beacons = sum(row["airtime_beacon_s"] for row in found.rows("radios")) / 5.0
    assert 0.001 < beacons < 0.01
    got = received_mbps(found, from_s=1.0)["n0-ap"]
    assert got == pytest.approx(maximum * (1 - beacons), rel=0.015)


HIGH_EFFICIENCY = """
duration_s = 1
[radio]
profile = "80211ax"
{keys}
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 20
[[cell]]
access_point = "ap"
clients = ["n0"]
security = "{security}"
[[flow]]
source = "ap"
destination = "n0"
[measure]
frames = true
captures = ["air"]
"""


@pytest.mark.parametrize(
    ("keys", "security", "mbps", "he"),
    [
        ("mcs = 11\nstreams = 2", "wpa3", 16333 / 13.6, (11, 2, 2, 0)),
        ("mcs = 9\nwidth_mhz = 160\nguard_ns = 3200", "open", 13066 / 16, (9, 1, 3, 2)),
        ("mcs = 7\nwidth_mhz = 40\nchannel = 6", "wpa2", 2340 / 13.6, (7, 1, 1, 0)),
        ("mcs = 0\nwidth_mhz = 20\nchannel = 6", "open", 117 / 13.6, (0, 1, 0, 0)),
    ],
)
def test_data_of_802_11ax_goes_at_its_rate(
    tmp_path: Path,
    run_scenario: Run,
    keys: str,
    security: str,
    mbps: float,
    he: tuple[int, int, int, int],
) -> None:
    """Both ways, from the handshake on; the capture names MCS, streams, width and guard interval
    as radiotap has them."""
    run_scenario(HIGH_EFFICIENCY.format(keys=keys, security=security))
    found = results.load(tmp_path / "run1")
    frames = [row for row in found.rows("frames") if row["t_s"] > 0.1 and row["kind"] == "data"]
    rates = {(row["src"], round(row["rate_mbps"], 6)) for row in frames if row["bytes"] > 60}
    assert rates == {("ap", round(mbps, 6)), ("n0", round(mbps, 6))}
    aggregates = max(row["mpdus"] or 1 for row in frames)
    assert aggregates > (30 if mbps > 100 else 3)
    mcs, streams, bandwidth, guard = he
    field = struct.pack(
        "<6H", 0x40A0, 0x0002, mcs << 8 | 0x2000, 0, guard << 4 | bandwidth, streams
    )
    assert (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes().count(field) > 20


def test_a_capture_tells_how_eht_was_sent(tmp_path: Path, run_scenario: Run) -> None:
    """80 MHz, MCS 12, two streams and a guard interval of 1.6 us, in radiotap's TLVs of U-SIG and
    EHT (radiotap.org)."""
    keys = "mcs = 12\nwidth_mhz = 80\nstreams = 2\nguard_ns = 1600"
    text = HIGH_EFFICIENCY.format(keys=keys, security="open").replace("80211ax", "80211be")
    run_scenario(text)
    usig = struct.pack("<2H3I", 33, 12, 2 << 15 | 0x3, 0x40, 0xC0)
    user = 1 << 24 | 12 << 20 | 1 << 19 | 0x96
    eht = struct.pack("<2H11I", 34, 44, 0x4, 1 << 7, *[0] * 8, user)
    octets = (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes()
    found = results.load(tmp_path / "run1")
    data = [row for row in found.rows("frames") if row["kind"] == "data"]
    assert octets.count(usig + eht) > 100
    assert octets.count(usig + eht) == sum(row["rate_mbps"] > 100 for row in data)


@pytest.mark.parametrize(
    "name", [name for name, it in high_efficiency.SCHEMES.items() if "band_ghz" in it.radio]
)
def test_a_cell_at_6_ghz_has_the_throughput_that_the_standard_leaves(
    tmp_path: Path, run_scenario: Run, name: str
) -> None:
    """With WPA3, at an MCS of two streams. Radiotap has no flag of 6 GHz, and Linux sets that of 5
    GHz."""
    case = Case(name, high_efficiency.SCHEMES[name], txop_us=0, rts=False)
    scenario = high_efficiency.scenario(case)
    scenario["measure"]["captures"] = ["air"]
    run_scenario(tomli_w.dumps(scenario))
    mbps, beacons = high_efficiency.received(results.load(tmp_path / "run1"))
    assert mbps == pytest.approx((1 - beacons) * high_efficiency.maximum_mbps(case), rel=0.01)
    channel = struct.pack("<HH", 5975, 0x0140)
    assert (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes().count(channel) > 1000


@pytest.mark.parametrize("ack", ofdma.ACKS)
def test_stations_share_a_ppdu_in_units_of_the_channel(
    tmp_path: Path, run_scenario: Run, ack: str
) -> None:
    """Four on 80 MHz: each has 242 tones, and hears of its own frames alone."""
    case = ofdma.Case(4, 234, ack)
    scenario = ofdma.scenario(case) | {"duration_s": 0.6}
    scenario["measure"]["frames"] = True
    run_scenario(tomli_w.dumps(scenario))
    found = results.load(tmp_path / "run1")
    shared = [row for row in found.rows("frames") if abs(row["rate_mbps"] - 1170 / 13.6) < 1e-6]
    receivers = defaultdict(set)
    for row in shared:
        receivers[row["t_s"], row["until_s"]].add(row["dst"])
    assert {len(names) for names in receivers.values()} == {4}
    assert {row["fate"] for row in shared} == {"delivered"}


def test_stations_send_together_when_their_access_point_asks(
    tmp_path: Path, run_scenario: Run
) -> None:
    """Four on 80 MHz: from the first trigger on, all data come in units of 242 tones."""
    scenario = ofdma.scenario(ofdma.Case(4, 234, "mu-bar", uplink=True)) | {"duration_s": 0.8}
    scenario["measure"]["frames"] = True
    run_scenario(tomli_w.dumps(scenario))
    found = results.load(tmp_path / "run1")
    frames = [row for row in found.rows("frames") if row["t_s"] > 0.6]
    asked, sent = defaultdict(set), defaultdict(set)
    for row in frames:
        if row["kind"] == "trigger":
            asked[row["until_s"]].add(row["dst"])
        elif row["kind"] == "data" and row["rate_mbps"] == pytest.approx(1170 / 14.4):
            sent[row["t_s"]].add(row["src"])
    assert len(asked) > 20
    everybody = {"n0", "n1", "n2", "n3"}
    assert all(names == everybody for names in [*asked.values(), *sent.values()])
    # A SIFS and the way later.
    ways = [begins - ends for begins, ends in zip(sorted(sent), sorted(asked), strict=False)]
    assert all(16e-6 < way < 16.2e-6 for way in ways)


@pytest.mark.parametrize("kind", ["VHT", "HE"])
def test_stations_have_streams_of_their_own_after_a_sounding(
    tmp_path: Path, run_scenario: Run, kind: str
) -> None:
    """Four on 20 MHz: each has a stream on the whole channel. Soundings come each 20 ms."""
    ack = "sequential" if kind == "VHT" else "mu-bar"
    scenario = ofdma.scenario(mu_mimo.Case(kind, 4, ack)) | {"duration_s": 0.8}
    scenario["measure"] |= {"frames": True}
    run_scenario(tomli_w.dumps(scenario))
    found = results.load(tmp_path / "run1")
    frames = [row for row in found.rows("frames") if row["t_s"] > 0.4]
    receivers = defaultdict(set)
    for row in frames:
        if row["kind"] == "data":
            receivers[row["t_s"], row["until_s"]].add(row["dst"])
    assert {len(names) for names in receivers.values()} == {4}
    assert {row["fate"] for row in frames} == {"delivered"}
    sounding = [row for row in frames if row["kind"] == "sounding"]
    sent = {row["t_s"] for row in sounding if row["src"] == "ap"}
    reports = [row for row in sounding if row["src"] != "ap"]
    # Announcement and null data packet, then polls of three, or one trigger.
    each = 5 if kind == "VHT" else 3
    assert 18 * each <= len(sent) <= 21 * each
    assert len(reports) * each == 4 * len(sent)


def test_uploads_by_tcp_are_asked_for_where_queues_are_polled(
    tmp_path: Path, run_scenario: Run
) -> None:
    """Four senders empty their queues again and again. Without polls no trigger asks them."""
    for bsrp_ms in (0, bsrp.BSRP_MS):
        run_scenario(tomli_w.dumps(bsrp.uploads(4, bsrp_ms) | {"duration_s": 1.3}))
    without, polled = (bsrp.uploaded(results.load(tmp_path / f"run{i}"))[1] for i in (1, 2))
    assert without < 0.1 and polled > 0.9


def test_a_device_sends_on_all_of_its_links(tmp_path: Path, run_scenario: Run) -> None:
    """Frames of one flow go on both channels, and come in their order."""
    scenario = multilink.scenario((80, 20)) | {"duration_s": 0.8}
    scenario["measure"]["captures"] = ["air"]
    run_scenario(tomli_w.dumps(scenario))
    found = results.load(tmp_path / "run1")
    mbps, beacons = high_efficiency.received(found)
    first, second = multilink.maxima_mbps((80, 20))
    assert mbps == pytest.approx((1 - beacons) * first + second, rel=0.03)
    octets = (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes()
    counts = [octets.count(struct.pack("<HH", mhz, 0x0140)) for mhz in (5180, 5745)]
    assert counts[0] > 3 * counts[1] > 1000


CATEGORIES = """
duration_s = 1
[radio]
profile = "80211n"
[radio.edca]
voice = { aifsn = 3, cw_min = 7, cw_max = 15, txop_us = 0 }
best_effort = { txop_us = 3008 }
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 20
[[cell]]
access_point = "ap"
clients = ["n0"]
[[flow]]
source = "ap"
destination = "n0"
[measure]
captures = ["air"]
"""


def test_beacons_say_how_categories_contend(tmp_path: Path, run_scenario: Run) -> None:
    """WMM's parameter element has the medium's parameters of best effort, background, video, voice.

    Each category has its number and AIFSN, both windows as exponents, and a TXOP in units of 32 us.
    """
    run_scenario(CATEGORIES)
    capture = (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes()
    fields = ((0x03, 0xA4, 94), (0x27, 0xA4, 0), (0x42, 0x43, 94), (0x63, 0x43, 0))
    element = b"".join(struct.pack("<BBH", *field) for field in fields)
    assert capture.count(element) >= 9


OWN_CATEGORIES = """
duration_s = 3
[radio]
profile = "80211n"
mcs = 7
aggregation = false
[[station]]
name = "left"
[[station]]
name = "n0"
x_m = 5
[[station]]
name = "right"
x_m = 10
[[station]]
name = "n1"
x_m = 15
[[cell]]
access_point = "left"
clients = ["n0"]
edca.best_effort.cw_min = 31
[[cell]]
access_point = "right"
clients = ["n1"]
edca.best_effort.cw_min = 7
edca_ap.best_effort.cw_min = 127
[[flow]]
source = "n0"
destination = "left"
protocol = "udp"
spacing = "random"
rate_kbps = 50_000
packet_bytes = 1000
[[flow]]
source = "right"
destination = "n1"
protocol = "udp"
spacing = "random"
rate_kbps = 50_000
packet_bytes = 1000
"""


def test_cells_on_one_channel_contend_by_their_own_categories(run_scenario: Run) -> None:
    """A client contends by what its access point announces, an access point by its own settings.

    They share the channel as Bianchi's chains with these windows do. The slower one sends some 1500
    frames.
    """
    done = run_scenario(OWN_CATEGORIES)
    client, access_point = (flow["goodput_kbps"] for flow in done["flows"])
    first, second = classes.model([classes.Class(1, 31, 1023), classes.Class(1, 127, 1023)], 54.0)
    assert client / access_point == pytest.approx(
        first.frames_per_s / second.frames_per_s, rel=0.15
    )


GIVEN_UP = """
duration_s = 4
[radio]
profile = "80211n"
mcs = 7
[[station]]
name = "ap"
[[station]]
name = "n0"
x_m = 30
[[cell]]
access_point = "ap"
clients = ["n0"]
security = "{security}"
# Once addresses are resolved.
[[loss]]
kind = "burst"
rate = 0.5
start_s = 1
on_s = 10
period_s = 10
[[flow]]
source = "ap"
destination = "n0"
protocol = "udp"
spacing = "random"
rate_kbps = 30_000
[measure]
packets = true
"""


@pytest.mark.parametrize("security", ["open", "wpa2", "wpa3"])
def test_frames_that_are_given_up_hold_nobody_back(
    tmp_path: Path, run_scenario: Run, security: str
) -> None:
    """One frame in 2^7 is given up. The medium's reorder buffer then learns from the next frame
    that the window has moved; mac80211's, of an agreement of its own, waits 100 ms."""
    run_scenario(GIVEN_UP.format(security=security))
    packets = results.load(tmp_path / "run1").rows("packets")
    came_s = sorted(row["received_s"] for row in packets if row["received_s"] is not None)
    assert len(came_s) < len(packets) and came_s[0] < 1 and came_s[-1] > 3.9
    assert max(after - before for before, after in pairwise(came_s)) < 0.05
