# SPDX-License-Identifier: Apache-2.0
"""Cells and clients of different widths, and cells whose channels overlap."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

NETWORK = """
duration_s = 0.5
[radio]
profile = "80211ac"
channel = 36
mcs = 8
{radio}
[measure]
frames = true
"""
PAIR = """
[[station]]
name = "{0}p"
x_m = {1}
[[station]]
name = "{0}c"
x_m = {1}
y_m = 5
{2}
[[cell]]
access_point = "{0}p"
clients = ["{0}c"]
{3}
[[flow]]
source = "{0}p"
destination = "{0}c"
protocol = "udp"
rate_kbps = 400_000
packet_bytes = 1472
"""
VHT_MBPS = {20: 78.0, 40: 162.0, 80: 351.0}
"""MCS 8 of one stream (IEEE 802.11-2020 tables 21-30 to 21-46)."""


def network(*pairs: str, radio: str = "") -> str:
    return NETWORK.format(radio=radio) + "".join(pairs)


def widths(folder: Path, sender: str) -> set[int]:
    """Return the widths on which a station has sent data."""
    rows = results.load(folder).rows("frames")
    data = {row["rate_mbps"] for row in rows if row["src"] == sender and row["mpdus"] is not None}
    return {width for width, mbps in VHT_MBPS.items() if mbps in data}


def test_a_narrow_client_is_as_fast_as_in_a_narrow_cell(tmp_path: Path, run_scenario: Run) -> None:
    texts = (
        network(PAIR.format("a", 0, "width_mhz = 20", "")),
        network(PAIR.format("a", 0, "", "width_mhz = 20")),
        network(PAIR.format("a", 0, "", ""), radio="width_mhz = 20"),
    )
    kbps = [run_scenario(text)["flows"][0]["goodput_kbps"] for text in texts]
    assert kbps == pytest.approx([kbps[2]] * 3, rel=0.01)
    for run in ("run1", "run2", "run3"):
        assert widths(tmp_path / run, "ap") == {20}


def test_a_wide_cell_beside_a_narrow_one_sends_on_what_is_free(
    tmp_path: Path, run_scenario: Run
) -> None:
    """Both share the air on their common frequencies, and the wide one has the others too."""
    narrow = PAIR.format("b", 20, "", "channel = 44\nwidth_mhz = 20")
    apart = narrow.replace("channel = 44", "channel = 149")
    wide = PAIR.format("a", 0, "", "")
    alone = run_scenario(network(wide, apart))["flows"]
    beside = run_scenario(network(wide, narrow))["flows"]
    assert widths(tmp_path / "run1", "ap") == {80}
    assert widths(tmp_path / "run2", "ap") == {40, 80}
    assert widths(tmp_path / "run2", "bp") == {20}
    shares = [
        one["goodput_kbps"] / other["goodput_kbps"]
        for one, other in zip(beside, alone, strict=True)
    ]
    assert 0.3 < shares[0] < 0.9 and 0.3 < shares[1] < 1, shares
