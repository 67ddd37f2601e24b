# SPDX-License-Identifier: Apache-2.0
"""Measured links: what the air carries is what their file says, wherever stations are."""

from pathlib import Path

import pytest

from hoplab.host import results
from tests.emulation.conftest import Run

NOISE_DBM = -94.0
SCENARIO = f"""
duration_s = 6
[topology]
kind = "chain"
stations = 3
spacing_m = 9000
[radio]
profile = "80211a"
rate_mbps = 6
basic_rate_mbps = 6
reception = "error-rate"
noise_dbm = {NOISE_DBM}
cs_threshold_dbm = -92
rx_threshold_dbm = -80
snr_trace = "links.csv"
[measure]
frames = true
[[flow]]
source = "n0"
destination = "n1"
protocol = "udp"
rate_kbps = 400
"""
LINKS = """\
t_s,src,dst,snr_db
0,n0,n1,30
2,n0,n1,20
2,n0,n1,-5
4,n0,n1,-5
4,n0,n1,25
0,n1,n0,40
"""


def expected_dbm(t_s: float) -> float:
    return NOISE_DBM + (30 - 5 * t_s if t_s < 2 else 25)


def test_frames_have_the_powers_that_were_measured(tmp_path: Path, run_scenario: Run) -> None:
    """n0 fades, is away for two seconds, and comes back; n2, which no link names, hears nothing."""
    (tmp_path / "links.csv").write_text(LINKS)
    run_scenario(SCENARIO)
    found = results.load(tmp_path / "run1")
    data = [row for row in found.rows("frames") if row["kind"] == "data" and row["t_s"] >= 0]
    sent = [row for row in data if (row["src"], row["dst"]) == ("n0", "n1")]
    assert not any("n2" in (row["src"], row["dst"]) for row in data)
    heard = [row for row in sent if not 2 <= row["t_s"] < 4]
    away = [row for row in sent if 2 <= row["t_s"] < 4]
    assert len(heard) > 300 and len(away) > 100
    for row in heard:
        assert row["signal_dbm"] == pytest.approx(expected_dbm(row["t_s"]), abs=0.01)
    datagrams = [row for row in heard if row["protocol"] == "udp"]
    assert all(row["fate"] == "delivered" for row in datagrams)
    assert all(row["fate"] == "weak" and row["signal_dbm"] is None for row in away)
    beacons = [row for row in found.rows("frames") if row["kind"] == "beacon"]
    assert not any(row["fate"] == "delivered" for row in beacons if row["src"] == "n2")
