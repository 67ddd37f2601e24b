# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines at the ends of wired links, in one guest each."""

from pathlib import Path

import pytest

from hoplab import results
from hoplab.model.errors import HoplabError
from tests.emulation.conftest import Run

KINDS = ("codel", "fq_codel", "pie", "fq_pie", "cake", "fq", "sfq", "ets")
FASTEST_MBPS = 10.0
FRAME_BITS = 8 * 1042
DURATION_S = 4.0
LIMIT = 0.02
"""Of a link's rate: some packets are in the first queue's bucket, and on the way."""


def _link(near: int, kind: str, mbps: float) -> str:
    more = ", bands = 1" if kind == "ets" else ""
    return (
        f'[[link]]\nends = ["s{near}", "s{near + 1}"]\nrate_mbps = 20\ndelay_ms = 1\n'
        f'queue = {{ kind = "{kind}", shape_mbps = {mbps}{more} }}\n'
    )


def _chain() -> str:
    """Each link of a chain shapes to less than the one before it, by another discipline."""
    stations = "".join(
        f'[[station]]\nname = "s{i}"\nradio = false\n' for i in range(len(KINDS) + 1)
    )
    links = "".join(_link(i, kind, FASTEST_MBPS - i) for i, kind in enumerate(KINDS))
    flow = (
        f'[[flow]]\nprotocol = "udp"\nsource = "s0"\ndestination = "s{len(KINDS)}"\n'
        "packet_bytes = 1000\nrate_kbps = 12000\n"
    )
    return f"duration_s = {DURATION_S}\n{stations}{links}{flow}"


def test_every_kind_holds_its_rate_and_drops_the_rest(run_scenario: Run) -> None:
    done = results.load(Path(run_scenario(_chain())["folder"]))
    rows = done.rows("queues")
    for i, kind in enumerate(KINDS):
        near = "eth0" if i == 0 else "eth1"
        of_link = [row for row in rows if (row["node"], row["interface"]) == (f"s{i}", near)]
        begun, last = of_link[len(of_link) // 4], of_link[-1]
        sent = last["sent_packets"] - begun["sent_packets"]
        mbps = 1e-6 * sent * FRAME_BITS / (last["t_s"] - begun["t_s"])
        assert mbps == pytest.approx(FASTEST_MBPS - i, rel=LIMIT), kind
        assert (last["sojourn_ms"] is not None) == (kind in ("codel", "pie", "cake")), kind
    parts = {(row["node"], row["part"]) for row in done.rows("queue_parts")}
    cake, ets = (KINDS.index(kind) for kind in ("cake", "ets"))
    # The other end of CAKE's link sends nothing, so that its tins have no rows.
    assert parts == {(f"s{cake}", "best-effort"), (f"s{ets}", "band0"), (f"s{ets + 1}", "band0")}


MARKING = (
    'kind = "codel", ecn = true',
    'kind = "fq_codel"',
    'kind = "pie", ecn = true',
    'kind = "fq_pie", ecn = true',
    'kind = "cake"',
    'kind = "fq", ce_threshold_ms = 5',
)


def _routed(*queues: str) -> str:
    """A TCP flow over a router for each of the queues."""
    parts = ["duration_s = 8\n[tcp]\necn = true\n"]
    for i, queue in enumerate(queues):
        parts += [f'[[station]]\nname = "{name}{i}"\nradio = false\n' for name in "arb"]
        parts.append(f'[[link]]\nends = ["a{i}", "r{i}"]\nrate_mbps = 100\n')
        parts.append(f'[[link]]\nends = ["r{i}", "b{i}"]\nqueue = {{ {queue} }}\n')
        parts.append(f'[[flow]]\nsource = "a{i}"\ndestination = "b{i}"\n')
    return "".join(parts)


def test_a_queue_marks_where_others_drop(run_scenario: Run) -> None:
    """TCP answers each mark, so no packet is sent again."""
    done = run_scenario(_routed(*MARKING))
    last = {
        row["node"]: row
        for row in results.load(Path(done["folder"])).rows("queues")
        if row["interface"] == "eth1"
    }
    for i, (queue, flow) in enumerate(zip(MARKING, done["flows"], strict=True)):
        assert last[f"r{i}"]["marks"] > 0, queue
        assert (last[f"r{i}"]["drops"], flow["retransmits"]) == (0, 0), queue


def test_a_discipline_that_the_kernel_lacks_is_one_line(run_scenario: Run) -> None:
    with pytest.raises((AssertionError, HoplabError), match=r"'dualpi2' is not in this kernel"):
        run_scenario(_routed('kind = "dualpi2"'))


ON_AIR = """
duration_s = 6
[topology]
kind = "explicit"
[radio]
profile = "80211a"
[[station]]
name = "n0"
{queue}
[[station]]
name = "n1"
x_m = 10
[[flow]]
protocol = "udp"
source = "n0"
destination = "n1"
packet_bytes = 1000
rate_kbps = 30000
"""
SHAPED_MBPS = 4.0


@pytest.mark.parametrize("kind", ["cake", "fq_codel"])
def test_a_queue_above_a_radio_keeps_the_radios_own_empty(run_scenario: Run, kind: str) -> None:
    """A packet is on the air before the next one comes. Without the queue, the radio's is full."""
    queue = f'queue = {{ kind = "{kind}", shape_mbps = {SHAPED_MBPS} }}'
    done, without = (run_scenario(ON_AIR.format(queue=text)) for text in (queue, ""))
    run = results.load(Path(done["folder"]))
    rows = [row for row in run.rows("queues") if row["node"] == "n0"]
    assert {row["interface"] for row in rows} == {"wlan0"}
    begun, last = rows[len(rows) // 4], rows[-1]
    sent = last["sent_packets"] - begun["sent_packets"]
    mbps = 1e-6 * sent * FRAME_BITS / (last["t_s"] - begun["t_s"])
    assert mbps == pytest.approx(SHAPED_MBPS, rel=LIMIT)
    waiting = [row["queue_len"] for row in run.rows("nodes") if row["node"] == "n0"]
    assert max(waiting) <= 2
    nodes = results.load(Path(without["folder"])).rows("nodes")
    assert max(row["queue_len"] for row in nodes if row["node"] == "n0") > 20
