# SPDX-License-Identifier: Apache-2.0
"""The catalogue of docs/examples: each scenario runs, and shows what its page says of it.

Each is run twice under three seeds: as it is, and with one setting changed. The effect must show
under every seed.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import hoplab
from hoplab.model.resources import PROJECT

EXAMPLES = PROJECT / "docs" / "examples"
SEEDS = (1, 2, 3)
Reader = Callable[[hoplab.Run], float]


def goodput(flow: int) -> Reader:
    """In kbit/s, of one flow."""
    return lambda run: float(run.rows("flows")[flow]["goodput_kbps"])


def total(run: hoplab.Run) -> float:
    """Goodput of all flows in kbit/s."""
    return sum(float(row["goodput_kbps"]) for row in run.rows("flows"))


def round_trip(flow: int) -> Reader:
    """Mean, in ms."""
    return lambda run: float(run.rows("flows")[flow]["rtt_ms_mean"])


def latency(flow: int) -> Reader:
    """Mean one-way time of datagrams, in ms."""
    return lambda run: float(run.rows("flows")[flow]["latency_ms_mean"])


def away(run: hoplab.Run) -> float:
    """Time in ms between the last packet by one access point and the first by the next."""
    (handover,) = run.rows("handovers")
    return float(handover["gap_ms"])


def delivery(run: hoplab.Run) -> float:
    """Share of the first flow's packets that arrive."""
    row = run.rows("flows")[0]
    return float(row["received"]) / float(row["sent"])


def page_times_s(run: hoplab.Run) -> list[float]:
    """Until each page was there, as the browser says it."""
    said = (run.run_dir / "logs" / "program-browser.out").read_text(encoding="utf-8")
    return [float(line.split()[2]) for line in said.splitlines()]


def page(run: hoplab.Run) -> float:
    """Mean time in ms until a page was there."""
    return 1000 * fmean(page_times_s(run))


@dataclass(frozen=True)
class Example:
    """A scenario's setting that is changed, and what that does to a value."""

    changed: Mapping[str, Any]
    read: Reader
    factor: tuple[float, float]
    """Limits of the value as it is over the value with the change."""


FOUND = {
    # Theory of tests/validate/terminals.py gives RTS a gain of 5.67 with equal, saturated senders.
    "hidden-terminals": Example({"radio.rts_threshold": 0}, total, (0.0, 0.5)),
    # Both send at once, or one after the other.
    "exposed-terminal": Example({"radio.carrier_sense_m": 250}, total, (0.4, 0.6)),
    "capture": Example({"radio.capture_db": 1000}, goodput(0), (3.0, 20.0)),
    "channel-capture": Example({"flow.1.start_s": 19.9}, goodput(0), (0.4, 0.65)),
    # Four hops in a row cannot send at once: a quarter, and a little more.
    "hops": Example({"flow.0.destination": "n1"}, goodput(0), (0.2, 0.34)),
    "window": Example({"flow.0.window": 1000}, round_trip(0), (0.0, 0.5)),
    "bufferbloat": Example({"topology.queue.packets": 10}, round_trip(1), (3.0, 100.0)),
    "variants": Example({"flow.0.congestion_control": "vegas"}, goodput(1), (0.0, 0.7)),
    "red": Example(
        {"topology.queue": {"kind": "droptail", "packets": 50}}, round_trip(0), (0.5, 0.9)
    ),
    "elfn": Example({"tcp.elfn": False}, goodput(0), (1.1, 2.0)),
    "split-tcp": Example(
        {"flow.0.split": False, "flow.0.congestion_control": "newreno"}, goodput(0), (1.2, math.inf)
    ),
    "random-loss": Example({"flow.0.congestion_control": "reno"}, goodput(0), (1.1, 3.0)),
    "mobile-mesh": Example({"topology.stations": 4}, delivery, (1.01, math.inf)),
    "backbone": Example({"backbone.0.mode": "ad-hoc"}, delivery, (1.1, math.inf)),
    "mesh": Example({"routing.protocol": "babeld"}, delivery, (1.3, math.inf)),
    "babel": Example({"event": []}, delivery, (0.3, 0.98)),
    "home": Example({"link.0.delay_ms": 100}, goodput(0), (2.0, 10.0)),
    # It goes over at the next scan, or looks around once it has lost its access point.
    "roaming": Example({"cell.0.bgscan_dbm": -95, "cell.1.bgscan_dbm": -95}, away, (0.0, 0.2)),
    "slow-station": Example({"radio.airtime_fairness": True}, total, (0.4, 0.9)),
    # What the phones get beside it, 12 Mbit/s, takes more air than its own.
    "platform": Example(
        {"flow": [{"name": "download", "source": "ap", "destination": "laptop"}]},
        goodput(0),
        (0.5, 0.85),
    ),
    # The oven leaves half of the air, and its beginning spoils what is on it.
    "microwave": Example({"radio.channel": 1}, goodput(0), (0.3, 0.6)),
    "walls": Example({"radio.channel": 6}, goodput(0), (0.3, 0.8)),
    "ofdma": Example({"radio.ofdma": "none"}, latency(0), (0.4, 0.9)),
    "aggregation": Example({"radio.aggregation": False}, goodput(0), (1.5, 3.5)),
    "battery": Example({"radio.energy.battery_j": 100}, delivery, (0.5, 0.9)),
    # 40 octets of header where IPv4 has 20.
    "ipv6": Example({"flow.0.ip": 4}, goodput(0), (0.9, 1.05)),
    # Half of the run is free of load; what the load leaves of the other half is open.
    "requests": Example({"flow.1.start_s": 0}, goodput(0), (2.0, math.inf)),
    # One round trip to the answer after one of handshake; TCP and TLS shake hands for two.
    "page": Example(
        {"program.1.run": "hoplab-har load page.har server --pages 10 --think 1 --connections 1"},
        page,
        (0.5, 0.6),
    ),
    "quic": Example({"program.1.run": "python3 fetch.py tls server"}, page, (0.65, 0.75)),
    "walk-away": Example({"radio.rate_mbps": 54}, delivery, (1.1, 10.0)),
    # Out of the cell TCP has nothing, for half of the run.
    "mptcp": Example({"flow.0.protocol": "tcp"}, goodput(0), (1.5, 4.0)),
}


def test_every_scenario_is_looked_at() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == set(FOUND)


def test_every_scenario_has_its_picture() -> None:
    """Else: python -m tests.pictures NAME"""
    shown = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in FOUND:
        assert f"(../figures/examples/{name}.svg)" in shown
        assert (PROJECT / "docs" / "figures" / "examples" / f"{name}.svg").is_file()


@pytest.mark.nightly
@pytest.mark.parametrize("name", FOUND)
def test_it_shows_what_its_page_says(name: str, tmp_path: Path) -> None:
    example = FOUND[name]
    for seed in SEEDS:
        file = EXAMPLES / f"{name}.toml"
        found = example.read(hoplab.run(file, seed=seed, out=tmp_path / f"{seed}"))
        changed = hoplab.run(
            file, seed=seed, set=dict(example.changed), out=tmp_path / f"{seed}-changed"
        )
        other = example.read(changed)
        ratio = found / other if other else math.inf
        message = f"{name} seed {seed}: {found:.4g} and {other:.4g}: {ratio:.3g}"
        print(message)
        low, high = example.factor
        assert low <= ratio <= high, message
