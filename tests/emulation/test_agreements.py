# SPDX-License-Identifier: Apache-2.0
"""Block ack agreements of mac80211 (`radio.aggregation = "kernel"`), beside the medium's."""

from pathlib import Path
from typing import Any

import dpkt
import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

ACTION = 0xD0
BLOCK_ACK = 3
NETWORK = """
duration_s = {duration_s}
[radio]
{radio}
queue = "fq_codel"
aggregation = {way}
[[station]]
name = "n0"
[[station]]
name = "n1"
x_m = 10
"""
CELL = '[[cell]]\naccess_point = "n0"\nclients = ["n1"]\n'
WPA3 = CELL + 'security = "wpa3"\n'
N, AC, AX = ('profile = "80211n"', 'profile = "80211ac"', 'profile = "80211ax"')
AT_6_GHZ = AX + "\nband_ghz = 6\nchannel = 37"
MESH = '[routing]\nprotocol = "hwmp"\n'
RECORDED = "[measure]\nframes = true\n"
CAPTURED = '[measure]\ncaptures = ["air"]\n'
LOSSY = "[[loss]]\nrate = 0.1\n"
FLOW = '[[flow]]\nsource = "n0"\ndestination = "n1"\n'
UDP = FLOW + 'protocol = "udp"\nrate_kbps = {}\npacket_bytes = {}\n'


def network(way: str, *more: str, radio: str = AC, duration_s: float = 1) -> str:
    return NETWORK.format(radio=radio, way=way, duration_s=duration_s) + "".join(more)


def handshakes(folder: Path) -> int:
    """Return the number of action frames about agreements (IEEE 802.11-2020 9.6.4)."""
    with (folder / "captures" / "air.pcapng").open("rb") as file:
        packets = [data for _, data in dpkt.pcapng.Reader(file)]
    frames = [packet[int.from_bytes(packet[2:4], "little") :] for packet in packets]
    return sum(frame[0] == ACTION and frame[24] == BLOCK_ACK for frame in frames)


def largest(folder: Path) -> int:
    rows = results.load(folder).rows("frames")
    return max(row["mpdus"] or 1 for row in rows)


@pytest.mark.parametrize("losses", ["", LOSSY], ids=["clean", "lossy"])
def test_both_ways_carry_as_much(tmp_path: Path, run_scenario: Run, losses: str) -> None:
    """A saturated access point. Only the kernel's way has ADDBA frames."""
    found = {}
    for i, way in enumerate(("true", '"kernel"'), start=1):
        text = network(way, CELL, losses, CAPTURED, UDP.format(300_000, 1000))
        found[way] = run_scenario(text)["flows"][0]["goodput_kbps"]
        assert (handshakes(tmp_path / f"run{i}") >= 2) == (way == '"kernel"')
    tolerance = 0.03 if losses else 0.01
    assert found['"kernel"'] == pytest.approx(found["true"], rel=tolerance)


@pytest.mark.parametrize(
    ("radio", "more", "frames"),
    [(N, "", 30), (AC, WPA3, 60), (AX, CELL, 64), (AT_6_GHZ, MESH, 64)],
    ids=["ad-hoc", "wpa3", "ax-cell", "ax-mesh-at-6-GHz"],
)
def test_the_kernel_agrees_in_every_network(
    tmp_path: Path, run_scenario: Run, radio: str, more: str, frames: int
) -> None:
    """Without an agreement each frame would go alone, and without HE's none with more than 64. The
    sender's socket holds some 160 packets, so no A-MPDU fills HE's window."""
    flow = UDP.format(400_000, 512)
    run_scenario(network('"kernel"', more, RECORDED, flow, radio=radio, duration_s=0.2))
    assert largest(tmp_path / "run1") > frames


def test_tcp_over_clean_air_repeats_nothing(tmp_path: Path, run_scenario: Run) -> None:
    """The receiver's kernel has each frame in its order, also those from before the agreement."""
    run_scenario(network('"kernel"', CELL, RECORDED, FLOW))
    run = results.load(tmp_path / "run1")
    assert run.rows("tcp")[-1]["retransmits"] == 0
    assert largest(tmp_path / "run1") > 10


ONE_LOST = """
[[loss]]
kind = "list"
src = "n0"
dst = "n1"
frames = [100]
"""


@pytest.mark.parametrize(("more", "waits"), [("", True), (CELL, False), (MESH, False)])
def test_an_abandoned_frame_holds_back_others_only_in_ad_hoc_networks(
    run_scenario: Run, more: str, waits: bool
) -> None:
    """There mac80211 takes no block ack request: it belongs to no network (ieee80211_get_bssid).
    So the receiver waits 100 ms (HT_RX_REORDER_BUF_TIMEOUT), as that of a card does."""
    flow = UDP.format(2000, 1000)
    done: dict[str, Any] = run_scenario(network('"kernel"', more, ONE_LOST, flow, radio=N))
    latency_ms = done["flows"][0]["latency_ms_mean"]
    # Packets of a hold's time H wait H / 2 on average, so over one second H^2 / 2. H is 100 ms
    # and up to two ticks of 4 ms.
    assert 5 <= latency_ms < 5.9 + 0.5 if waits else latency_ms < 1
