# SPDX-License-Identifier: Apache-2.0
"""The manet study's counts and verdicts, on runs worked out by hand."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

import pytest

from hoplab.many.study import folder
from hoplab.many.study.swept import Run, Runs

STUDY = folder.find("manet")
ANALYSIS: Any = STUDY.analysis()
PUBLISHED = tomllib.loads((STUDY.folder / "published.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Told:
    """A run with one flow of 100 s."""

    received: int
    messages: int
    """Of 64 octets, each sent once."""
    delay_ms: float = 5.0

    def rows(self, name: str) -> list[dict[str, Any]]:
        flow = {
            "start_s": 0.0,
            "stop_s": 100.0,
            "received": self.received,
            "latency_ms_mean": self.delay_ms,
        }
        message = frame("aodv", 100)
        radio = {"energy_tx_j": 1.0, "energy_rx_j": 3.0}
        return {
            "flows": [flow],
            "radios": [radio, radio],
            "frames": [message] * self.messages,
        }[name]


def frame(protocol: str | None, octets: int, attempt: int = 1, **more: Any) -> dict[str, Any]:
    payload = {"payload_bytes": 512 if protocol == "udp" else None}
    return {
        "protocol": protocol,
        "bytes": octets,
        "attempt": attempt,
        "kind": "data",
        **payload,
        **more,
    }


def test_a_frame_counts_once_and_a_source_route_is_overhead() -> None:
    frames = [
        frame("aodv", 88),
        frame("aodv", 88, attempt=2),
        frame("udp", 512 + 64 + 20),
        frame("udp", 512 + 64),
        frame("arp", 64),
        frame(None, 14, kind="ack"),
        frame(None, 73, kind="broadcast"),
    ]
    assert ANALYSIS._overhead(frames) == (2, 52 + 37, 20)


def test_an_outcome_is_relative_to_what_was_offered_and_what_came() -> None:
    one = ANALYSIS.outcome(Run("", {"speed": 1, "by": "aodv"}, 1, Told(300, 600)))
    assert one.delivery == pytest.approx(0.75)
    assert (one.packets, one.octets) == (2, 128)
    assert one.control_octets == pytest.approx(64 * 6)
    assert one.joules == pytest.approx(8 / (300 * 512 * 8e-6))


def runs(received: dict[str, tuple[int, int]], messages: dict[str, tuple[int, int]]) -> Runs:
    """Two patterns at the speeds of the claims."""
    found = []
    for by, counts in received.items():
        for at, count, told in zip((1, 20), counts, messages[by], strict=True):
            for seed in (1, 2):
                found.append(Run("", {"speed": at, "by": by}, seed, Told(count, told + seed)))
    return Runs(found)


def verdicts(found: Runs) -> dict[str, str]:
    return {one.name: one.verdict for one in ANALYSIS.analyse(found, PUBLISHED).claims}


def test_the_claims_are_reproduced_where_the_runs_are_as_published() -> None:
    received = {"dsr": (399, 395), "aodv": (399, 390), "olsr": (390, 300), "dsdv": (390, 280)}
    messages = {"dsr": (40, 400), "aodv": (80, 900), "olsr": (3000, 3100), "dsdv": (2000, 2100)}
    found = verdicts(runs(received, messages))
    assert found.pop("octets") == "not"  # as all packets here have one length
    assert set(found.values()) == {"reproduced"}


def test_the_claims_are_not_where_they_are_otherwise() -> None:
    received = {"dsr": (300, 200), "aodv": (200, 100), "olsr": (390, 300), "dsdv": (300, 390)}
    messages = {"dsr": (900, 900), "aodv": (80, 90), "olsr": (100, 3100), "dsdv": (100, 2100)}
    found = verdicts(runs(received, messages))
    assert set(found.values()) == {"not"}
