# SPDX-License-Identifier: Apache-2.0
"""Cells on several channels: no frame of one is received on another, and what leaks is energy."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

RADIO = """
duration_s = {duration_s}
[radio]
profile = "{profile}"
{more}
[measure]
packets = true
captures = ["air"]
"""
CELL = """
[[station]]
name = "ap{i}"
x_m = {ap_m}
y_m = {y_m}
[[station]]
name = "n{i}"
x_m = {n_m}
y_m = {y_m}
[[cell]]
access_point = "ap{i}"
clients = ["n{i}"]
channel = {channel}
security = "wpa2"
[[flow]]
source = "n{i}"
destination = "ap{i}"
protocol = "udp"
rate_kbps = {rate_kbps}
"""
FROM_S = 1.0
RATES_KBPS = {"80211g": 20_000, "80211n": 70_000, "80211ac": 40_000}
"""More than a cell carries of the flows' short datagrams; every one that is dropped costs time."""
MORE = {"80211ac": "mcs = 0"}
"""29.3 Mbit/s at 80 MHz, so that a flow can saturate it."""


def cells(profile: str, *channels: int) -> str:
    """Ten metres apart, so that each hears all of the other where both are on one channel."""
    return RADIO.format(duration_s=5, profile=profile, more=MORE.get(profile, "")) + "".join(
        CELL.format(i=i, ap_m=0, n_m=30, y_m=10 * i, channel=channel, rate_kbps=RATES_KBPS[profile])
        for i, channel in enumerate(channels)
    )


def received(found: results.Results) -> list[int]:
    """Packets of each flow that came once all have begun."""
    count: dict[str, int] = {}
    for row in found.rows("packets"):
        if row["received_s"] is not None and row["received_s"] > FROM_S:
            count[row["flow"]] = count.get(row["flow"], 0) + 1
    return [count[flow] for flow in sorted(count)]


@pytest.mark.parametrize(
    ("profile", "channels"), [("80211g", (1, 6)), ("80211n", (36, 40)), ("80211ac", (36, 149))]
)
def test_cells_on_two_channels_have_the_throughput_of_one_alone(
    tmp_path: Path, run_scenario: Run, profile: str, channels: tuple[int, int]
) -> None:
    """On one channel they share it: two saturated senders carry together about what one does."""
    first, second = channels
    found = []
    for n, on in enumerate(((first,), (first, second), (first, first)), start=1):
        run_scenario(cells(profile, *on))
        found.append(received(results.load(tmp_path / f"run{n}")))
    (alone,), apart, together = found
    assert apart == pytest.approx([alone, alone], rel=0.01)
    assert sum(together) == pytest.approx(alone, rel=0.15)
    assert all(0.35 * alone < each < 0.65 * alone for each in together)


def test_a_capture_of_the_air_names_each_channel(tmp_path: Path, run_scenario: Run) -> None:
    run_scenario(cells("80211n", 36, 149))
    air = (tmp_path / "run1" / "captures" / "air.pcapng").read_bytes()
    ofdm_at_5_ghz = (0x0100 | 0x0040).to_bytes(2, "little")
    for mhz in (5180, 5745):
        assert air.count(mhz.to_bytes(2, "little") + ofdm_at_5_ghz) > 1000


def test_a_near_sender_on_the_next_channel_takes_a_far_client_s_frames(
    tmp_path: Path, run_scenario: Run
) -> None:
    """An access point hears its client with -69.8 dBm, and a sender 3 m away with -41.2 dBm. Of
    that it hears -67.3 dBm on the next channel, -81.4 on the one after. Capture needs 10 dB."""
    found, rate_kbps = [], RATES_KBPS["80211n"]
    for n, (second, leakage) in enumerate(((40, "mask"), (44, "mask"), (40, "none")), start=1):
        radio = RADIO.format(duration_s=2, profile="80211n", more=f'leakage = "{leakage}"')
        run_scenario(
            radio
            + CELL.format(i=0, ap_m=0, n_m=80, y_m=0, channel=36, rate_kbps=rate_kbps)
            + CELL.format(i=1, ap_m=-13, n_m=-3, y_m=0, channel=second, rate_kbps=rate_kbps)
        )
        found.append(received(results.load(tmp_path / f"run{n}")))
    spoiled, apart, silent = found
    assert apart == pytest.approx(silent, rel=0.01)
    # The near sender goes on as if it were alone. Of the far one next to nothing arrives: what
    # falls into a gap between two A-MPDUs, if even a request of ARP does.
    *far, near = spoiled
    assert sum(far) < 0.001 * silent[0]
    assert near == pytest.approx(silent[1], rel=0.01)
