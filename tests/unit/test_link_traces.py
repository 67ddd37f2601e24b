# SPDX-License-Identifier: Apache-2.0
"""The files of links' traces: what they mean, and what they may not have."""

import base64
import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from hoplab.model.errors import ScenarioError
from hoplab.model.keys.link_traces import (
    HEADER,
    LOSS_UNITS,
    MAGIC,
    OPPORTUNITY_BYTES,
    load,
    unpacked,
)
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve

FOREVER_S = 1000.0


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_of_csv_are_steps_and_the_last_lasts_as_the_one_before(tmp_path: Path) -> None:
    rows = "t_s,rate_mbps,delay_ms,loss\n0,8,5,0\n2,8,7,0.5\n3,0,7,1\n"
    trace = load(written(tmp_path, rows), FOREVER_S, True)
    assert trace.path is not None
    assert list(trace.capacity.rows()) == [(3_000_000, 1_000_000, 0), (1_000_000, 0, 0)]
    assert list(trace.path.rows()) == [
        (2_000_000, 5000, 0),
        (1_000_000, 7000, round(0.5 * LOSS_UNITS)),
        (1_000_000, 7000, LOSS_UNITS),
    ]
    assert trace.mean_mbps == pytest.approx(8 * 3 / 4)
    assert (trace.peak_mbps, trace.longest_delay_ms, trace.repeated) == (8, 7, True)


def test_what_the_first_row_says_holds_before_it(tmp_path: Path) -> None:
    trace = load(written(tmp_path, "t_s,rate_mbps\n5,8\n6,16\n"), FOREVER_S, True)
    assert list(trace.capacity.length_us) == [6_000_000, 1_000_000]
    assert trace.path is None


def test_lines_of_mahimahi_are_opportunities(tmp_path: Path) -> None:
    trace = load(written(tmp_path, "2\n2\n5\n", "lte.up"), FOREVER_S, True)
    one = OPPORTUNITY_BYTES
    assert list(trace.capacity.rows()) == [(2000, 0, 0), (3000, 2 * one, 0), (0, one, 0)]
    assert trace.at_once
    assert trace.mean_mbps == pytest.approx(3 * 8 * one / 5000)


@pytest.mark.parametrize("name", ["t.csv", "t.trace"])
def test_a_run_takes_the_part_that_it_needs(tmp_path: Path, name: str) -> None:
    rows = [f"{t},{1 + t % 7}" if name == "t.csv" else f"{t}" for t in range(1, 100_000)]
    head = ["t_s,rate_mbps"] if name == "t.csv" else []
    duration_s = 20.0 if name == "t.csv" else 0.02
    trace = load(written(tmp_path, "\n".join(head + rows), name), duration_s, True)
    assert 19 <= len(trace.capacity) <= 23
    assert not trace.repeated


def test_what_is_packed_is_read_again(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = "".join(f"{t},{draw.random():.6f},{draw.randint(1, 9)}\n" for t in range(200))
    for name, text in (("a.csv", f"t_s,rate_mbps,delay_ms\n{rows}"), ("a.down", "1\n3\n3\n")):
        trace = load(written(tmp_path, text, name), FOREVER_S, False)
        assert unpacked(trace.packed()) == trace


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "", "expected t_s, rate_mbps"),
        ("t.csv", "t_s,rate\n0,1\n", "expected t_s, rate_mbps"),
        ("t.csv", "t_s,rate_mbps\n", "has no capacity"),
        ("t.csv", "t_s,rate_mbps\n0,0\n9,0\n", "has no capacity"),
        ("t.csv", "t_s,rate_mbps\n-1,5\n", "t.csv:2: t_s: '-1'; expected a number from 0"),
        ("t.csv", "t_s,rate_mbps\n0,nan\n", "t.csv:2: rate_mbps: 'nan'"),
        ("t.csv", "t_s,rate_mbps\n0,1,2\n", "t.csv:2: has 3 values; expected 2"),
        ("t.csv", "t_s,rate_mbps\n2,5\n1,5\n", "t.csv:3: 1 s follows 2 s"),
        ("t.csv", "t_s,rate_mbps\n1,5\n1,6\n", "t.csv:3: 1 s follows 1 s"),
        ("t.csv", "t_s,rate_mbps,loss\n1,5,0\n", "delay_ms not"),
        ("t.csv", "t_s,rate_mbps,delay_ms,loss\n1,5,1,2\n", "loss: '2'"),
        ("t.up", "", "has no capacity"),
        ("t.up", "0\n0\n", "has no capacity"),
        ("t.up", "5\n4\n", "t.up:2: 4 ms follows 5 ms"),
        ("t.up", "-5\n", "t.up:1: '-5'; expected a time"),
        ("t.up", "1.5\n", "t.up:1: '1.5'; expected a time"),
        ("t.up", "9" * 300, "t.up:1: is longer"),
    ],
)
def test_a_bad_trace_is_one_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(written(tmp_path, text, name), FOREVER_S, True)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_hostile_files_end_in_a_line_or_are_read(tmp_path: Path) -> None:
    draw = random.Random(2)
    good = b"t_s,rate_mbps,delay_ms,loss\n0,1,2,0.1\n1,3,4,0\n", b"1\n2\n2\n7\n"
    for round_ in range(600):
        kind = round_ % 2
        data = bytearray(good[kind])
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path = tmp_path / ("f.csv" if not kind else "f.up")
        path.write_bytes(data)
        try:
            assert any(load(path, 10, True).capacity.value)
        except ScenarioError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("damage", ["", "x", "aGk=", "cut", "long", "empty"])
def test_packed_text_is_checked(tmp_path: Path, damage: str) -> None:
    good = load(written(tmp_path, "1\n", "t.up"), FOREVER_S, True).packed()
    header = HEADER.pack(MAGIC, 0, 0, 1 << 30, 0)
    packed = {
        "cut": good[:-8],
        "long": base64.b64encode(zlib.compress(header + bytes(100))).decode(),
        "empty": base64.b64encode(zlib.compress(HEADER.pack(MAGIC, 0, 0, 0, 0))).decode(),
    }
    with pytest.raises(ValueError, match="no packed trace"):
        unpacked(packed.get(damage, damage))


def resolved(folder: Path, duration_s: float = 5, **link: Any) -> Any:
    stations = [{"name": name, "radio": False} for name in "ab"]
    links = [{"ends": ["a", "b"], **link}]
    document = {"duration_s": duration_s, "station": stations, "link": links}
    return resolve(parse(document, "scenario"), folder).link[0]


def test_directions_take_their_own_trace(tmp_path: Path) -> None:
    written(tmp_path, "t_s,rate_mbps\n0,3\n")
    made = resolved(tmp_path, trace="t.csv", down={"rate_mbps": 7})
    up, down = made.ways
    assert (up.mean_mbps, down.mean_mbps, down.steps) == (3, 7, None)
    again = resolved(tmp_path, **made.model_dump(mode="json", exclude_none=True, exclude={"ends"}))
    assert again.ways[0].steps == up.steps


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"trace": "t.csv", "rate_mbps": 1}, "so does rate_mbps"),
        ({"trace": "t.csv", "queue": {"shape_mbps": 1}}, "takes the place of the trace"),
        ({"trace": "t.csv", "delay_ms": 3}, "has delay_ms of its own"),
        ({"trace": "t.csv", "up": {"jitter_ms": 3, "delay_ms": 3}}, "do not count"),
        ({"trace": "none.csv"}, "cannot be read"),
        ({"trace_steps": "x"}, "no packed trace"),
        ({"preset": "isdn"}, "preset"),
    ],
)
def test_what_does_not_go_with_a_trace_is_refused(
    tmp_path: Path, link: dict[str, Any], words: str
) -> None:
    written(tmp_path, "t_s,rate_mbps,delay_ms\n0,3,2\n")
    with pytest.raises(ScenarioError) as refused:
        resolved(tmp_path, **link)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_keys_of_the_link_go_over_its_presets(tmp_path: Path) -> None:
    plain = resolved(tmp_path, preset="cable")
    up, down = plain.ways
    assert (up.rate_mbps, up.queue.kind, down.rate_mbps, down.delay_ms) == (1, "pie", 5, 14)
    up, down = resolved(tmp_path, preset="cable", delay_ms=3, down={"rate_mbps": 50}).ways
    assert (up.rate_mbps, up.delay_ms, down.rate_mbps) == (1, 3, 50)
    up, down = resolved(tmp_path, preset="4g", rate_mbps=9).ways
    assert (up.steps, up.mean_mbps, down.mean_mbps) == (None, 9, 9)


@pytest.mark.parametrize(
    ("preset", "up_mbps", "down_mbps", "round_trip_ms"),
    [
        ("dsl", 0.384, 1.5, 50),
        ("cable", 1, 5, 28),
        ("4g", 12, 12, 70),
        ("5g", 50, 100, 20),
        ("geo", 10, 100, 558),
    ],
)
def test_presets_have_the_figures_of_their_sources(
    tmp_path: Path, preset: str, up_mbps: float, down_mbps: float, round_trip_ms: float
) -> None:
    up, down = resolved(tmp_path, 60, preset=preset).ways
    assert up.mean_mbps == pytest.approx(up_mbps, rel=0.01)
    assert down.mean_mbps == pytest.approx(down_mbps, rel=0.01)
    assert up.delay_ms + down.delay_ms == round_trip_ms


def test_a_terminal_of_leo_is_assigned_anew_every_15_s(tmp_path: Path) -> None:
    _, down = resolved(tmp_path, 60, preset="leo").ways
    assert down.steps is not None
    assert down.steps.path is not None
    times, t_us = [], 0
    for length_us, octets_per_s, _ in down.steps.capacity.rows():
        if not octets_per_s:
            times.append(t_us / 1e6)
        t_us += length_us
    assert times == [0, 15, 30, 45]
    round_trips_ms = [2 * delay_us / 1000 for delay_us in down.steps.path.value]
    assert 36 <= min(round_trips_ms) < max(round_trips_ms) <= 60
