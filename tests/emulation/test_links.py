# SPDX-License-Identifier: Apache-2.0
"""Wired links whose directions differ, or on which chance acts."""

import random
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from hoplab.host import results
from hoplab.model.network import jitter
from tests.emulation.conftest import Run

FRAME_BITS = 8 * 1042
PACKETS = 4000
"""Sent at 1000 a second."""
STATIONS = "".join(f'[[station]]\nname = "{name}"\nradio = false\n' for name in "arb")
DATAGRAMS = f"""duration_s = 5
{STATIONS}
[[link]]
ends = ["a", "b"]
rate_mbps = 50
{{link}}
[[flow]]
protocol = "udp"
source = "a"
destination = "b"
packet_bytes = 1000
rate_kbps = 8000
packets = {PACKETS}
[measure]
packets = true
"""
JITTER_MS = 4
SERIALISED_MS = FRAME_BITS / 50e3


def _packets(run_scenario: Run, link: str, *arguments: str) -> list[dict[str, Any]]:
    done = run_scenario(DATAGRAMS.format(link=link), *arguments)
    rows = results.load(Path(done["folder"])).rows("packets")
    return sorted(rows, key=lambda row: int(row["seq"]))


def _delays_ms(rows: list[dict[str, Any]]) -> list[float]:
    return [1000 * (row["received_s"] - row["sent_s"]) for row in rows if row["received_s"]]


def test_directions_have_their_own_rates_and_delays(run_scenario: Run) -> None:
    """An echo's round trip is both delays, and both serialisations at their rates."""
    done = run_scenario(
        f"""duration_s = 3
{STATIONS}
[[link]]
ends = ["a", "b"]
up = {{ rate_mbps = 1, delay_ms = 20 }}
down = {{ rate_mbps = 8, delay_ms = 3 }}
[[flow]]
protocol = "ping"
source = "a"
destination = "b"
packet_bytes = 958
"""
    )
    expected_ms = 20 + 3 + 8 * 1000 / 1e3 + 8 * 1000 / 8e3
    assert done["flows"][0]["rtt_ms_mean"] == pytest.approx(expected_ms, abs=0.01)


def _in_order(distribution: str) -> list[float]:
    """Delays of packets that each arrive when their own draw says, or one before them: the later of
    both."""
    draw, latest, delays = random.Random(1), -1e9, []
    for sent_ms in range(100_000):
        if distribution == "uniform":
            own = draw.uniform(-JITTER_MS, JITTER_MS)
        else:
            own = JITTER_MS * draw.choice(jitter.table(distribution)) / jitter.SCALE
        latest = max(latest, sent_ms + 30 + SERIALISED_MS + own)
        delays.append(latest - sent_ms)
    return delays


@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto"])
def test_jitter_varies_the_delay_and_keeps_the_order(run_scenario: Run, distribution: str) -> None:
    """Of the delay's excess over the least possible. 4000 packets are some hundred draws that hold
    the others back, which leaves 5 % of the deviation to chance."""
    keys = f'delay_ms = 30\njitter_ms = {JITTER_MS}\njitter = "{distribution}"'
    rows = _packets(run_scenario, keys)
    arrived = [row["received_s"] for row in rows]
    assert arrived == sorted(arrived)
    delays, expected = _delays_ms(rows), _in_order(distribution)
    assert fmean(delays) == pytest.approx(fmean(expected), abs=0.2 * pstdev(expected))
    assert pstdev(delays) == pytest.approx(pstdev(expected), rel=0.2)


def test_the_draws_follow_the_seed(run_scenario: Run) -> None:
    link = "delay_ms = 30\njitter_ms = 4\nloss = { p_good_to_bad = 0.01, p_bad_to_good = 0.3 }"
    first, again, other = (
        [row["received_s"] for row in _packets(run_scenario, link, "--set", f"seed={seed}")]
        for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def test_losses_in_bursts(run_scenario: Run) -> None:
    """Bursts of 1 / 0.25 packets, a share of 0.02 / 0.27: within 4 deviations of 80 bursts."""
    rows = _packets(run_scenario, "loss = { p_good_to_bad = 0.02, p_bad_to_good = 0.25 }")
    lost = [row["received_s"] is None for row in rows]
    bursts = sum(now and not before for before, now in pairwise([False, *lost]))
    assert sum(lost) / len(lost) == pytest.approx(0.02 / 0.27, rel=4 * (2 / 80) ** 0.5)
    assert sum(lost) / bursts == pytest.approx(1 / 0.25, rel=4 * (1 / 80) ** 0.5)


def test_what_overtakes_arrives_without_delay(run_scenario: Run) -> None:
    rows = _packets(run_scenario, "delay_ms = 30\nreorder = 0.05")
    delays = _delays_ms(rows)
    early = [delay for delay in delays if delay < 15]
    assert len(delays) == PACKETS
    assert len(early) / PACKETS == pytest.approx(0.05, rel=4 / (0.05 * PACKETS) ** 0.5)
    assert early == pytest.approx([SERIALISED_MS] * len(early), abs=0.01)


def test_copies_arrive_beside_their_packets(run_scenario: Run) -> None:
    """Datagrams that came twice count twice at the receiver."""
    done = run_scenario(DATAGRAMS.format(link="duplicate = 0.1"))
    (flow,) = done["flows"]
    assert flow["sent"] == PACKETS
    assert flow["lost"] == 0


TCP = """duration_s = 6
{stations}
{links}
[[flow]]
source = "a"
destination = "b"
"""


def _backlog(run_scenario: Run, links: str, node: str, interface: str) -> tuple[int, float]:
    done = run_scenario(TCP.format(stations=STATIONS, links=links))
    rows = results.load(Path(done["folder"])).rows("queues")
    of_end = [r for r in rows if (r["node"], r["interface"]) == (node, interface)]
    return max(r["backlog_packets"] for r in of_end), float(done["flows"][0]["goodput_kbps"])


def test_tcp_small_queues_hold_back_a_sender_at_its_own_link_only(run_scenario: Run) -> None:
    """What waits in a host's own queue counts against its socket. What is on the wire does not, so
    that a long wire is filled."""
    slow = "rate_mbps = 10\ndelay_ms = 50\nqueue = { packets = 1000 }"
    own, goodput = _backlog(run_scenario, f'[[link]]\nends = ["a", "b"]\n{slow}', "a", "eth0")
    behind = (
        '[[link]]\nends = ["a", "r"]\nrate_mbps = 100\ndelay_ms = 0\n'
        f'[[link]]\nends = ["r", "b"]\n{slow}'
    )
    routers, _ = _backlog(run_scenario, behind, "r", "eth1")
    assert own <= 16
    assert routers > 10 * own
    assert goodput > 8000
