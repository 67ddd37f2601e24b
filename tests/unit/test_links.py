# SPDX-License-Identifier: Apache-2.0
"""Wired links: directions, delays that vary, losses in bursts."""

import math
import random
import struct
from statistics import fmean, pstdev
from typing import Any

import pytest
from pydantic import ValidationError

from hoplab.guest.network import disturbed, qdiscs
from hoplab.guest.network.wired import sending_end, wire
from hoplab.model.keys.links import Bursts, Link
from hoplab.model.network import jitter
from tests.unit.test_queues import Asked

ENDS = {"ends": ("a", "b")}


def link(**keys: Any) -> Link:
    return Link.model_validate({**ENDS, **keys})


def test_a_direction_has_the_links_values_but_its_own() -> None:
    made = link(
        rate_mbps=10, loss=0.1, up={"rate_mbps": 1, "queue": {"packets": 9}}, down={"loss": 0}
    )
    up, down = made.ways
    assert (up.rate_mbps, up.loss, up.queue.packets) == (1, 0.1, 9)
    assert (down.rate_mbps, down.loss, down.queue.packets) == (10, 0, 50)
    assert link().ways == (link(), link())


def test_what_is_written_is_read_again() -> None:
    made = link(
        jitter_ms=2,
        loss={"p_good_to_bad": 0.1, "p_bad_to_good": 0.5},
        up={"delay_ms": 3, "loss": 0.5},
    )
    assert Link.model_validate(made.model_dump(mode="json", exclude_none=True)) == made


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"loss": True}, "number from 0 to 1 or a table"),
        ({"loss": {"p_good_to_bad": 0.1}}, "p_bad_to_good"),
        ({"loss": {"p_good_to_bad": 2, "p_bad_to_good": 0.1}}, "p_good_to_bad"),
        ({"jitter_ms": 11}, "jitter_ms 11 is above delay_ms 10"),
        ({"delay_ms": 0, "reorder": 0.1}, "reorder skips delay_ms"),
        ({"duplicate": 0.1, "jitter_ms": 1}, "netem does not mix them"),
        ({"jitter": "gamma"}, "jitter"),
        ({"up": {"ends": ("a", "b")}}, "ends"),
        ({"up": {"jitter_ms": 11}}, "up: jitter_ms 11 is above"),
        (
            {"down": {"rate_mbps": 1, "queue": {"shape_mbps": 2}}},
            "down: queue.shape_mbps 2 is above",
        ),
        ({"up": {"rate_mbps": 10_000, "delay_ms": 100_000}}, "up: 10000 Mbit/s and 100000 ms"),
    ],
)
def test_what_cannot_be_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        link(**keys)
    assert words in str(refused.value)


def test_each_end_sends_at_its_directions_rate() -> None:
    up, down = link(up={"rate_mbps": 8}, down={"rate_mbps": 80}).ways
    for way, rate_bytes in ((up, 1_000_000), (down, 10_000_000)):
        ends, wires = Asked(), Asked()
        sending_end(ends, 1, way)
        wire(wires, 2, way)
        assert ends.disciplines[0][2]["rate_bytes"] == rate_bytes
        assert wires.disciplines[0][2]["rate_bytes"] == rate_bytes


def asked(**keys: Any) -> list[dict[str, Any]]:
    wires = Asked()
    wire(wires, 2, link(**keys), seed=7)
    return [values for _, _, values in wires.disciplines]


def test_a_wire_without_chance_is_asked_for_as_ever() -> None:
    """No seed and no second discipline, so that the digests of older scenarios stay."""
    (values,) = asked(loss=0.25)
    assert values == {"delay_us": 10_000, "rate_bytes": 1_250_000, "loss": 0.25, "limit": 100_000}


def test_jitter_has_a_discipline_behind_the_serialisation() -> None:
    outer, inner = asked(delay_ms=30, jitter_ms=5, jitter="normal")
    deviations = jitter.table("normal")[-1] / jitter.SCALE
    assert outer["delay_us"] + inner["delay_us"] == pytest.approx(30_000)
    assert inner["delay_us"] == pytest.approx(5000 * deviations)
    assert inner["jitter_us"] == 5000
    assert inner["rate_bytes"] == disturbed.IN_ORDER_BYTES_PER_S
    assert outer["seed"] != inner["seed"]


def test_overtaking_skips_the_whole_delay() -> None:
    outer, inner = asked(delay_ms=30, reorder=0.25)
    assert (outer["delay_us"], inner["delay_us"], inner["reorder"]) == (0, 30_000, 0.25)


def test_copies_find_no_endless_queue() -> None:
    (values,) = asked(duplicate=0.5, rate_mbps=1, delay_ms=0)
    assert values["limit"] == 50


def test_bursts_are_packed_as_the_kernel_reads_them() -> None:
    (values,) = asked(loss={"p_good_to_bad": 0.25, "p_bad_to_good": 0.5, "loss_bad": 0.75})
    packed = dict(qdiscs.Netem.get_parameters(values)["attrs"])["TCA_NETEM_LOSS_NESTED"]
    length, kind, p, r, survives, good = struct.unpack("=HHIIII", packed)
    whole = 0xFFFFFFFF
    assert (length, kind, good) == (20, 2, 0)
    assert [round(share / whole, 6) for share in (p, r, survives)] == [0.25, 0.5, 0.25]


def test_the_mean_of_bursts_is_that_of_their_chain() -> None:
    bursts = Bursts(p_good_to_bad=0.02, p_bad_to_good=0.3, loss_good=0.01, loss_bad=0.8)
    draw, bad, lost, tries = random.Random(1), False, 0, 200_000
    for _ in range(tries):
        lost += draw.random() < (bursts.loss_bad if bad else bursts.loss_good)
        leaves = draw.random() < (bursts.p_bad_to_good if bad else bursts.p_good_to_bad)
        bad ^= leaves
    assert lost / tries == pytest.approx(bursts.mean, rel=0.05)


def test_the_tables_of_jitter_are_cut_distributions() -> None:
    """By hand, for Pareto's distribution of shape 3 and least value 1, cut at c. The mean is
    3/2 - 1/(2 c^2), and the mean square 3 - 2/c."""
    cut = 1.5 + jitter.DEVIATIONS * math.sqrt(0.75)
    mean, square = 1.5 - 1 / (2 * cut**2), 3 - 2 / cut
    pareto = (mean - 1.5) / math.sqrt(0.75), math.sqrt((square - mean**2) / 0.75)
    for distribution, (mean, deviation) in (("normal", (0.0, 1.0)), ("pareto", pareto)):
        values = [value / jitter.SCALE for value in jitter.table(distribution)]
        assert values == sorted(values)
        assert pstdev(values) == pytest.approx(deviation, rel=0.002)
        assert fmean(values) == pytest.approx(mean, abs=0.001)
