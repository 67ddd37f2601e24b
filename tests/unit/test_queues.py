# SPDX-License-Identifier: Apache-2.0
"""Queues of wired links: what the kernel is asked for, and what it tells."""

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError
from pyroute2.netlink.exceptions import NetlinkError

from hoplab.guest.network import queues
from hoplab.guest.network.wired import sending_end
from hoplab.guest.probes import wired_queues
from hoplab.model.errors import MissingTool
from hoplab.model.keys.links import Link
from hoplab.model.keys.queues import MARKING, Queue


class Asked:
    """A netlink socket that keeps what it is asked for."""

    def __init__(self, refused: int | None = None) -> None:
        self.disciplines: list[tuple[str, int, dict[str, Any]]] = []
        self._refused = refused

    def tc(self, command: str, kind: str, index: int, handle: int, **values: Any) -> None:
        if self._refused is not None and kind not in ("tbf", "pfifo"):
            raise NetlinkError(self._refused)
        self.disciplines.append((kind, handle, values))


def attribute(number: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), number) + content + bytes(-len(content) % 4)


def u32(number: int, value: int) -> bytes:
    return attribute(number, struct.pack("=I", value))


@pytest.mark.parametrize(
    ("keys", "packed"),
    [
        ({"kind": "codel"}, b""),
        (
            {"kind": "codel", "target_ms": 2.5, "ecn": True, "limit_packets": 9},
            u32(1, 2500) + u32(2, 9) + u32(4, 1),
        ),
        (
            {"kind": "fq_codel", "ecn": False, "memory_limit_bytes": 1 << 20},
            u32(4, 0) + u32(9, 1 << 20),
        ),
        ({"kind": "fq", "maxrate_mbps": 8, "pacing": False}, u32(5, 0) + u32(7, 1_000_000)),
        (
            {"kind": "cake", "rtt_ms": 20, "diffserv": "besteffort", "overhead_bytes": -4},
            u32(3, 3) + attribute(6, struct.pack("=i", -4)) + u32(7, 20_000) + u32(8, 1000),
        ),
        ({"kind": "cake", "shape_mbps": 16}, attribute(2, struct.pack("=Q", 2_000_000))),
        (
            {"kind": "ets", "strict": 1, "quanta_bytes": [3000], "priomap": [1, 0]},
            attribute(1, b"\x02")
            + attribute(2, b"\x01")
            + attribute(0x8003, u32(4, 3000))
            + attribute(0x8005, attribute(6, b"\x01") + attribute(6, b"\x00")),
        ),
        (
            {"kind": "dualpi2", "alpha": 0.16, "coupling_factor": 3, "ecn_mask": "any_ect"},
            u32(5, 41) + attribute(10, b"\x03") + attribute(14, b"\x03"),
        ),
        (
            {"kind": "sfq", "limit_packets": 200, "divisor": 512, "depth_packets": 20},
            struct.pack("=IiIIIII", 0, 0, 200, 512, 0, 20, 0) + bytes(44),
        ),
    ],
)
def test_options_are_packed_as_the_kernel_reads_them(keys: dict[str, Any], packed: bytes) -> None:
    queue = Queue.model_validate(keys)
    assert queues.PACKED[queue.kind](queue) == packed


def test_every_kind_and_parameter_reaches_the_kernel() -> None:
    """A key that counts for a kind has an attribute there, and the other way round."""
    elsewhere = {
        "kind",
        "shape_mbps",
        "packets",
        *(
            name
            for name in Queue.model_fields
            if name in {"bands", "strict", "quanta_bytes", "priomap"}
        ),
    }
    for kind, attributes in queues.ATTRIBUTES.items():
        queue = Queue.model_construct(kind=kind)
        counting = {name for name in Queue.model_fields if queue.counts(name)} - elsewhere
        assert counting == attributes.keys()


def test_a_queue_that_shapes_has_its_rate_at_the_root_and_cake_its_own() -> None:
    for kind, rate_bytes in (("fq_codel", 500_000), ("cake", 1_250_000)):
        netlink = Asked()
        queue = Queue(kind=kind, shape_mbps=4)
        sending_end(netlink, 7, Link(ends=("a", "b"), rate_mbps=10, queue=queue))
        (root, _, values), (leaf, _, below) = netlink.disciplines
        assert (root, leaf, below["parent"]) == ("tbf", kind, 0x10001)
        assert values["rate_bytes"] == rate_bytes


def test_each_band_has_its_own_fifo() -> None:
    netlink = Asked()
    queues.attach(netlink, 7, 0x10001, 0x20000, Queue(kind="ets", bands=2, packets=9))
    assert [(kind, values.get("limit")) for kind, _, values in netlink.disciplines] == [
        ("ets", None),
        ("pfifo", 9),
        ("pfifo", 9),
    ]


def test_what_a_kernel_lacks_is_named_with_the_kernel_that_has_it() -> None:
    with pytest.raises(MissingTool, match=r"'dualpi2' is not in this kernel.*Linux 7\.2 and newer"):
        queues.attach(Asked(2), 7, 0x10001, 0x20000, Queue(kind="dualpi2"))
    with pytest.raises(NetlinkError):
        queues.attach(Asked(22), 7, 0x10001, 0x20000, Queue(kind="dualpi2"))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"kind": "fq_kodel"}, "fq_kodel"),
        ({"kind": "codel", "flows": 9}, "flows counts only where kind is"),
        ({"kind": "codel", "packets": 9}, "packets counts only where kind is"),
        ({"kind": "codel", "target_ms": 0}, "target_ms"),
        ({"kind": "pie", "alpha": 2.5}, "no whole number"),
        ({"kind": "dualpi2", "alpha": 0.001}, "1/256 Hz"),
        ({"kind": "dualpi2", "step_thresh_ms": 1.0, "step_thresh_packets": 1}, "one threshold"),
        ({"kind": "sfq", "divisor": 1000}, "no power of two"),
        ({"kind": "ets"}, "needs bands, strict or quanta_bytes"),
        ({"kind": "ets", "strict": 1, "priomap": [0, 1]}, "priomap names band 1"),
        ({"kind": "ets", "bands": 1, "strict": 1, "quanta_bytes": [1500]}, "of 2 bands"),
        ({"kind": "fq_pie", "ecn_prob_percent": 5}, "only where ecn is true"),
        ({"kind": "red", "packets": 10, "max_packets": 11}, "RED needs"),
    ],
)
def test_what_cannot_be_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Queue.model_validate(keys)
    assert words in str(refused.value)


def test_which_queues_mark() -> None:
    marking = {
        kind for kind in (*MARKING, "cake", "dualpi2", "sfq", "droptail") if Queue(kind=kind).marks
    }
    assert marking == {"fq_codel", "cake", "dualpi2"}
    assert Queue(kind="red", ecn=True).marks
    assert Queue(kind="fq", ce_threshold_ms=1.0).marks


TIN = u32(2, 70) + u32(4, 3) + u32(8, 2) + u32(11, 5000) + u32(19, 1500)
IDLE_TIN = u32(2, 0) + u32(19, 0)


@pytest.mark.parametrize(
    ("kind", "told", "marks", "sojourn_ms"),
    [
        ("red", struct.pack("=4I", 1, 2, 3, 4), 4, None),
        ("codel", struct.pack("=4Ii4I", 0, 0, 0, 2500, -1, 0, 4, 1, 3), 7, 2.5),
        ("fq_codel", struct.pack("=10I", 0, 1, 2, 30, 4, 5, 6, 7, 8, 9), 37, None),
        ("pie", struct.pack("=Q8I", 9, 15_000, 1, 2, 3, 4, 5, 6, 11), 11, 15.0),
        ("fq_pie", struct.pack("=9I", *range(9)), 4, None),
        ("fq", struct.pack("=7Qq4IQ", *range(13)), 12, None),
        ("dualpi2", struct.pack("=8Ii3I", 1, 15_000, 1000, 40, 50, 9, 6, 2, -5, 0, 0, 0), 6, 15.0),
        (
            "cake",
            attribute(0x800A, attribute(1, IDLE_TIN) + attribute(2, TIN) + attribute(3, IDLE_TIN)),
            2,
            1.5,
        ),
    ],
)
def test_what_a_discipline_tells(
    kind: str, told: bytes, marks: int | None, sojourn_ms: float | None
) -> None:
    found = wired_queues.READ[kind](told)
    assert (found.marks, found.sojourn_ms) == (marks, sojourn_ms)
    if kind == "cake":
        (tin,) = found.parts
        assert tin == ("best-effort", 70, None, 5000, 3, 2, 1.5)
    if kind == "dualpi2":
        assert [(part.part, part.packets, part.sojourn_ms) for part in found.parts] == [
            ("l4s", 50, 1.0),
            ("classic", 40, 15.0),
        ]


class Discipline(dict[str, int]):
    """A queue as the kernel lists it."""

    def get_attr(self, name: str) -> Any:
        if name == "TCA_STATS2":
            return self
        if name == "TCA_STATS_QUEUE":
            return {"qlen": self["qlen"], "backlog": 100 * self["qlen"], "drops": 1}
        return {"packets": 7} if name == "TCA_STATS_BASIC" else "00:01"


def test_rows_of_a_queue_and_its_bands() -> None:
    listed = [
        Discipline(index=3, parent=parent, qlen=qlen)
        for parent, qlen in ((0xFFFFFFFF, 5), (0x10001, 5), (0x20001, 2), (0x20002, 3))
    ]
    rows: list[tuple[str, dict[str, Any]]] = []
    probe = wired_queues.WiredQueues.__new__(wired_queues.WiredQueues)
    probe._records = SimpleNamespace(add=lambda table, **row: rows.append((table, row)))  # type: ignore[assignment]
    probe._queues = {("r", "eth0"): Queue(kind="ets", bands=2)}
    netlink = SimpleNamespace(get_qdiscs=lambda: listed)
    probe._stations = [("r", netlink, {3: "eth0"})]
    probe.sample(1.0)
    assert [(table, row.get("part"), row["backlog_packets"]) for table, row in rows] == [
        ("queues", None, 5),
        ("queue_parts", "band0", 2),
        ("queue_parts", "band1", 3),
    ]
    assert [row["packets"] for table, row in rows[1:]] == [9, 10]
