# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard, answered by a VictoriaMetrics that a run was streamed to, has the
values of the run's tables."""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dashboards.write import built
from hoplab.host import results
from hoplab.host.results import Results
from hoplab.host.stream.about import numbers
from hoplab.model.records.schema import TABLES
from tests.emulation.conftest import HOPLAB
from tests.emulation.victoria import Labels, Victoria, victoria

FIRST = """
duration_s = 8
[topology]
kind = "chain"
stations = 4
[routing]
protocol = "dsr"
[tcp]
elfn = true
[[flow]]
source = "n0"
destination = "n3"
[[flow]]
source = "n0"
destination = "n3"
elfn = false
split = { proxies = ["n1"] }
[[flow]]
protocol = "udp"
rate_kbps = 20
source = "n3"
destination = "n0"
[[event]]
at_s = 4
kind = "move"
station = "n2"
x_m = 3000
y_m = 0
[[event]]
at_s = 6
kind = "move"
station = "n2"
x_m = 400
y_m = 0
"""
SECOND = """
duration_s = 6
topology = { kind = "hybrid" }
radio = { queue = "fq_codel" }
[[flow]]
source = "srv"
destination = "n0"
"""
RANGE_S, RATE_S, STEP_S = 3600, 1.0, 0.1
Key = tuple[str, ...]
Series = dict[Key, dict[float, float]]
"""By the labels that tell series apart: values by scenario time, or one at None."""


@dataclass(frozen=True)
class Streamed:
    """Two runs and a sweep in one database."""

    database: Victoria
    first: Results
    second: Results
    starts: tuple[float, float]
    sweep: pa.Table


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streamed]:
    folder = tmp_path_factory.mktemp("streamed")
    with victoria(folder) as database:
        runs = []
        for name, text in (("first", FIRST), ("second", SECOND)):
            (folder / f"{name}.toml").write_text(text)
            call("run", folder / f"{name}.toml", "--out", folder / name, "--influx", database.url)
            runs.append(results.load(folder / name))
        sweep = dataset()
        pq.write_table(sweep, folder / "windows.parquet")
        call("push", folder / "windows.parquet", "--influx", database.url)
        database.flush()
        at_s = time.time() + 60
        starts = [
            database.now(f'last_over_time(hoplab_run_start_s{{run="{run}"}}[1h])', at_s)[0][1]
            for run in ("first", "second")
        ]
        yield Streamed(database, *runs, (starts[0], starts[1]), sweep)


def call(*arguments: Any) -> None:
    done = subprocess.run([str(HOPLAB), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "dropped" not in done.stderr


def dataset() -> pa.Table:
    """As `hoplab.many.sweep.dataset` writes it: six runs over windows and variants."""
    rows = [
        {
            "window": window,
            "cc": cc,
            "seed": seed,
            "key": f"{window}{cc}{seed}",
            "digest": "d",
            "error": None,
            "flow": "flow0",
            "goodput_kbps": 100.0 * window + seed,
            "retransmits": seed,
            "energy_j": 1.5,
        }
        for window in (2, 10)
        for cc, seed in (("reno", 1), ("reno", 2), ("vegas", 1))
    ]
    return pa.Table.from_pylist(rows)


def queries() -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    for name, board in built().items():
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield (name.removesuffix(".json"), panel["title"], target["refId"]), target


def shift_ms(streamed: Streamed) -> float:
    """How much later the first run began than the second."""
    return 1000 * (streamed.starts[0] - streamed.starts[1])


def filled(expr: str, streamed: Streamed, run: str = "first") -> str:
    """The expression with what Grafana puts in for its variables."""
    values = {
        "${shift}": f"{shift_ms(streamed):.0f}",
        "${__range}": f"{RANGE_S}s",
        "$__rate_interval": f"{RATE_S:g}s",
        "$__range": f"{RANGE_S}s",
        "$run": run,
        "$shown": run,
        "$other": "second",
        "$against": "second",
        "$until": f"{streamed.starts[0] + 8:.0f}",
        "$flow": ".*",
        "$station": ".*",
        "$events": "scenario|medium|elfn",
        "$sweep": "windows",
        "$parameter": "p_window",
        "$result": "goodput_kbps",
    }
    for variable, value in values.items():
        expr = expr.replace(variable, value)
    assert "$" not in expr.replace('"$1', ""), expr
    return expr


def column(run: Results, table: str, name: str, factor: float = 1.0) -> Series:
    """A column over time, by the table's keys."""
    found: Series = {}
    for row in run.rows(table):
        if row[name] is not None:
            found.setdefault(keys(row, table), {})[round(row["t_s"], 3)] = factor * row[name]
    return found


def keys(row: dict[str, Any], table: str) -> Key:
    return tuple(str(row[key]) for key in TABLES[table].keys)


def code(run: Results, table: str, name: str) -> Series:
    values = next(c.values for c in TABLES[table].columns if c.name == name)
    assert values is not None
    return {
        (row["flow"],): column_of(run, table, row["flow"], name, values.index)
        for row in run.rows(table)
    }


def column_of(
    run: Results, table: str, flow: str, name: str, form: Callable[[Any], float]
) -> dict[float, float]:
    return {round(r["t_s"], 3): form(r[name]) for r in run.rows(table) if r["flow"] == flow}


def growth(series: Series, factor: float = 1.0) -> Series:
    """A second, where the value of a second before is there too."""
    return {
        key: {
            t: factor * (value - values[before]) / RATE_S
            for t, value in values.items()
            if (before := round(t - RATE_S, 3)) in values
        }
        for key, values in series.items()
    }


def added(series: Series, combine: Callable[[list[float]], float] = sum) -> Series:
    """All series as one, at times when all have a value."""
    times = set.intersection(*(set(values) for values in series.values()))
    return {(): {t: combine([values[t] for values in series.values()]) for t in times}}


def shown(run: Results, table: str, name: str) -> Series:
    """A column whose times are not those that a graph asks for: at the next that it does."""
    found: Series = {}
    for row in run.rows(table):
        stored_s = math.floor(row["t_s"] * 1000) / 1000
        asked_s = math.ceil(stored_s / STEP_S - 1e-9) * STEP_S
        found.setdefault(keys(row, table), {})[round(asked_s, 3)] = row[name]
    return found


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def last(series: Series) -> Series:
    return {key: {-1.0: values[max(values)]} for key, values in series.items()}


def total_growth(series: Series) -> Series:
    """In kbit/s, over the last second, as the lab tells it."""
    grown = growth(added(series), 8e-3)[()]
    return of_run(round(grown[max(grown)], 1))


def of_run(value: float) -> Series:
    return {(): {-1.0: value}}


def busy(run: Results) -> Series:
    passed = column(run, "nodes", "t_s")
    busy = column(run, "nodes", "busy_fraction")
    return growth({key: {t: busy[key][t] * t for t in values} for key, values in passed.items()})


def states(run: Results) -> Series:
    standby = column(run, "tcp", "standby")
    return {
        key: {t: value + 5 * standby.get(key, {}).get(t, 0) for t, value in values.items()}
        for key, values in code(run, "tcp", "ca_state").items()
    }


def health(run: Results, only: str) -> Series:
    return {
        (item,): {-1.0: value}
        for item, value in numbers(run.manifest.medium)
        if re.fullmatch(only, item)
    }


def events(run: Results) -> Series:
    found: Series = {}
    for row in run.rows("events"):
        found.setdefault((row["source"], row["kind"]), {})
    return found


def undelivered(run: Results) -> Series:
    frames, delivered = (
        last(column(run, "link_samples", name)) for name in ("frames", "delivered")
    )
    return {key: {-1.0: value[-1.0] - delivered[key][-1.0]} for key, value in frames.items()}


def place(run: Results) -> Series:
    """Place and number as text, as the map's query has them."""
    x, y, queue = (last(column(run, "nodes", name)) for name in ("x_m", "y_m", "queue_len"))
    return {
        (
            f"{x[key][-1.0]:g}",
            f"{0 - y[key][-1.0]:g}",
            *key,
            *key,
            f"{queue[key][-1.0]:g} waiting",
        ): {-1.0: 1}
        for key in x
    }


def edges(run: Results, since_s: float = 3.0) -> Series:
    """Links that delivered frames in the last five of eight seconds."""
    found: Series = {}
    for (src, dst), values in column(run, "link_samples", "delivered").items():
        before = max((t for t in values if t <= since_s), default=None)
        came = values[max(values)] - (values[before] if before is not None else 0)
        if came > 0:
            found[src, dst, f"{came:g} frames"] = {-1.0: 1}
    return found


def swept(table: pa.Table, value: str, combine: Callable[[list[float]], float]) -> Series:
    groups: dict[str, list[float]] = {}
    for row in table.to_pylist():
        groups.setdefault(str(row["window"]), []).append(row[value])
    return {(window,): {-1.0: combine(values)} for window, values in groups.items()}


def deviation(values: list[float]) -> float:
    """The sample's."""
    return statistics.stdev(values)


def flows(run: Results, name: str) -> Series:
    return {(row["flow"],): {-1.0: row[name]} for row in run.rows("flows") if row[name] is not None}


def both_flows(one: Results, other: Results, name: str) -> Series:
    return {
        (run_name, *key): values
        for run_name, run in (("first", one), ("second", other))
        for key, values in flows(run, name).items()
    }


def expectations(s: Streamed) -> dict[tuple[str, str, str], tuple[Key, Series]]:
    """What each query has to answer: the labels that tell its series apart, and their values."""
    one, two = s.first, s.second
    tcp: dict[str, Series] = {
        name: column(one, "tcp", name)
        for name in ("cwnd", "ssthresh", "rtt_ms", "rto_ms", "backoff", "retransmits", "timeouts")
    }
    node: dict[str, Series] = {
        name: column(one, "nodes", name)
        for name in ("queue_len", "queue_drops", "retries", "failed", "energy_j")
    }
    run, flow, station, items = "hoplab-run", ("flow",), ("node",), ("item",)
    health_board = "hoplab-health"
    wired, queued = ("node", "interface"), ("node", "peer", "category")
    fates = ("delivered", "collided", "weak", "capture_lost", "error_model", "deaf", "off")
    compare = "hoplab-compare"
    expected: dict[tuple[str, str, str], tuple[Key, Series]] = {
        (run, "Scenario time", "A"): ((), of_run(8)),
        (run, "Duration", "A"): ((), of_run(8)),
        (run, "State", "A"): ((), of_run(1)),
        (run, "Stations", "A"): ((), of_run(4)),
        (run, "Goodput now", "A"): ((), total_growth(column(one, "tcp", "delivered_bytes"))),
        (run, "Seed", "A"): ((), of_run(1)),
        (run, "Goodput", "A"): (flow, growth(column(one, "tcp", "delivered_bytes"), 8)),
        (run, "Congestion window and threshold", "A"): (flow, tcp["cwnd"]),
        (run, "Congestion window and threshold", "B"): (flow, tcp["ssthresh"]),
        (run, "Round-trip time and timeout", "A"): (flow, tcp["rtt_ms"]),
        (run, "Round-trip time and timeout", "B"): (flow, tcp["rto_ms"]),
        (run, "Round-trip time and timeout", "C"): (flow, tcp["backoff"]),
        (run, "State of congestion control", "A"): (flow, states(one)),
        (run, "Segments sent again", "A"): (flow, tcp["retransmits"]),
        (run, "Segments sent again", "B"): (flow, tcp["timeouts"]),
        (run, "Held for split connections", "A"): (
            ("node", "flow", "role"),
            shown(one, "split", "buffered"),
        ),
        (run, "Flows, once they are over", "A"): (flow, flows(one, "goodput_kbps")),
        (run, "Waiting in radios", "A"): (station, node["queue_len"]),
        (run, "Dropped by queues", "A"): (station, node["queue_drops"]),
        (run, "Dropped by queues", "B"): (wired, column(two, "queues", "drops")),
        (run, "Waiting in Linux's Wi-Fi queues", "A"): (
            queued,
            column(two, "wifi_queues", "backlog_packets"),
        ),
        (run, "Wait in Linux's Wi-Fi queues", "A"): (
            queued,
            column(two, "wifi_queues", "sojourn_ms"),
        ),
        (run, "Waiting at wired links", "A"): (wired, column(two, "queues", "backlog_packets")),
        (run, "Tries after the first", "A"): (station, growth(node["retries"])),
        (run, "Tries after the first", "B"): (station, growth(node["failed"])),
        (run, "Busy air", "A"): (station, busy(one)),
        (run, "Energy", "A"): (station, node["energy_j"]),
        (run, "Map", "nodes"): (("fixedx", "fixedy", "id", "title", "mainstat"), place(one)),
        (run, "Map", "edges"): (("source", "target", "mainstat"), edges(one)),
        (run, "Frames by link", "A"): (("src", "dst"), last(column(one, "link_samples", "frames"))),
        (run, "Frames by link", "B"): (("src", "dst"), undelivered(one)),
        (run, "Events", "A"): (("source", "kind"), events(one)),
        (health_board, "Trustworthy", "A"): ((), of_run(1)),
        (health_board, "System calls a frame", "A"): (
            (),
            of_run(one.manifest.medium["system_calls"]["per_frame"]),
        ),
        (health_board, "Unaccounted frames", "A"): ((), of_run(0)),
        (health_board, "Frames and their outcomes", "A"): (items, health(one, r"frames\..*")),
        (health_board, "Kernel, system calls and lateness", "A"): (
            items,
            health(one, r"(?!frames\.).*"),
        ),
        (compare, "Flows", "A"): (("run", "flow"), both_flows(one, two, "goodput_kbps")),
        (compare, "Flows", "B"): (("run", "flow"), both_flows(one, two, "retransmits")),
        (health_board, "Speed", "A"): (("run",), {("first",): {}}),
        (health_board, "Wall time", "A"): (("run",), {("first",): {}}),
        ("hoplab-sweep", "Runs", "A"): ((), of_run(6)),
    }
    for title, combine in (("$result over $parameter", (mean, min, max)),):
        for ref, function in zip("BCD", combine, strict=True):
            expected["hoplab-sweep", title, ref] = (
                ("p_window",),
                swept(s.sweep, "goodput_kbps", function),
            )
    for ref, function in zip("BCD", (mean, deviation, len), strict=True):
        expected["hoplab-sweep", "Mean, spread and number of runs", ref] = (
            ("p_window",),
            swept(s.sweep, "goodput_kbps", function),
        )
    for title in ("$result over $parameter", "Mean, spread and number of runs"):
        expected["hoplab-sweep", title, "A"] = (("p_window",), swept(s.sweep, "window", mean))
    for ref, fate in zip("ABCDEFG", fates, strict=True):
        total = sum(value[-1.0] for value in last(column(one, "link_samples", fate)).values())
        expected[run, "Frames by fate", ref] = ((), of_run(total))
    for ref, which in (("A", one), ("B", two)):
        expected[compare, "Goodput", ref] = (
            (),
            added(growth(column(which, "tcp", "delivered_bytes"), 8)),
        )
        for title, table, name, combine in (
            ("Congestion window", "tcp", "cwnd", mean),
            ("Round-trip time", "tcp", "rtt_ms", mean),
            ("Segments sent again", "tcp", "retransmits", sum),
            ("Busy air", "nodes", "busy_fraction", mean),
            ("Energy", "nodes", "energy_j", sum),
        ):
            expected[compare, title, ref] = ((), added(column(which, table, name), combine))
    return expected


OF_SECOND = "hoplab_queues", "hoplab_wifi_queues"
"""Tables of wired links and of FQ-CoDel, which only the second run has."""


def test_every_query_has_the_tables_values(streamed: Streamed) -> None:
    expected = expectations(streamed)
    asked = dict(queries())
    assert sorted(asked) == sorted(expected)
    for name, (labels, series) in expected.items():
        assert series, name
        second = any(table in asked[name]["expr"] for table in OF_SECOND)
        found = answer(streamed, asked[name], labels, second)
        assert sorted(found) == sorted(series), name
        for key, values in series.items():
            for t_s, value in values.items():
                assert found[key].get(t_s) == pytest.approx(value, rel=1e-9, abs=1e-9), (
                    name,
                    key,
                    t_s,
                )


def answer(streamed: Streamed, target: dict[str, Any], labels: Key, second: bool) -> Series:
    """What the database says, by scenario time, and the last at -1."""
    run, start_s = (
        (streamed.second, streamed.starts[1])
        if second
        else (
            streamed.first,
            streamed.starts[0],
        )
    )
    expr = filled(target["expr"], streamed, "second" if second else "first")
    end_s = start_s + run.scenario["duration_s"]
    if "hoplab_sweep" in expr:
        end_s = float(int(time.time()) + 2)
        start_s = end_s - 10
    if target.get("instant"):
        ends = [
            start + run.scenario["duration_s"]
            for start, run in zip(streamed.starts, (streamed.first, streamed.second), strict=True)
        ]
        rows = streamed.database.now(expr, max(end_s, *ends))
        assert len(by(labels, rows)) == len(rows), "labels do not tell the rows apart"
        return {key: {-1.0: value} for key, value in by(labels, rows).items()}
    series = streamed.database.over_time(expr, start_s, end_s, STEP_S)
    return {
        key: {round(t - start_s, 3): v for t, v in values.items()} | {-1.0: values[max(values)]}
        for key, values in by(labels, series).items()
    }


def by(labels: Key, found: list[tuple[Labels, Any]]) -> dict[Key, Any]:
    return {tuple(series.get(label, "") for label in labels): value for series, value in found}


def test_variables_offer_what_there_is(streamed: Streamed) -> None:
    """The newest run is the second."""
    wanted = {
        "run": ["newest", "second", "first"],
        "shown": ["first"],
        "other": ["newest other", "second"],
        "against": ["second"],
        "shift": [f"{shift_ms(streamed):.0f}"],
        "until": [f"{streamed.starts[0] + 8:.0f}"],
        "flow": ["flow0", "flow1"],
        "station": ["n0", "n1", "n2", "n3"],
        "sweep": ["windows"],
        "parameter": ["p_window", "p_cc"],
        "result": ["energy_j", "goodput_kbps", "retransmits"],
    }
    seen = set()
    for board in built().values():
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                seen.add(variable["name"])
                assert offered(streamed, variable) == wanted[variable["name"]], variable["name"]
    assert seen == set(wanted)


@pytest.mark.parametrize(
    ("chosen", "shown", "against"),
    [
        ({"run": "newest", "other": "newest other"}, "second", "first"),
        ({"run": "first", "other": "newest other"}, "first", "second"),
        ({"run": "second", "other": "first"}, "second", "first"),
        ({"run": "no such run", "other": "second"}, None, "second"),
    ],
)
def test_two_runs_are_compared_whichever_is_the_later(
    streamed: Streamed, chosen: dict[str, str], shown: str | None, against: str
) -> None:
    """As it is opened, and with each of both first: either has its lines on one axis."""
    board = built()["hoplab-compare.json"]
    values: dict[str, str | None] = dict(chosen)
    for variable in board["templating"]["list"]:
        if variable["type"] == "query" and variable["name"] not in values:
            values[variable["name"]] = next(iter(offered(streamed, variable, values)), None)
    assert (values["shown"], values["against"]) == (shown, against)
    if shown is None:
        return
    runs = {"first": streamed.first, "second": streamed.second}
    start_s = dict(zip(runs, streamed.starts, strict=True))[shown]
    panel = next(panel for panel in board["panels"] if panel["title"] == "Congestion window")
    for target, run in zip(panel["targets"], (runs[shown], runs[against]), strict=True):
        expr = put_in(target["expr"], values)
        ((_, found),) = streamed.database.over_time(expr, start_s, start_s + 6, STEP_S)
        times = {round(t - start_s, 3): value for t, value in found.items()}
        for t_s, value in added(column(run, "tcp", "cwnd"), mean)[()].items():
            if t_s <= 6:
                assert times[t_s] == pytest.approx(value), (run, t_s)


def put_in(expr: str, values: dict[str, str | None]) -> str:
    """Variables' values in their places, longest names first, as nothing else tells their end."""
    for name in sorted(values, key=len, reverse=True):
        for form in (f"${{{name}}}", f"${name}"):
            expr = expr.replace(form, values[name] or "")
    return expr


def offered(
    streamed: Streamed, variable: dict[str, Any], values: dict[str, str | None] | None = None
) -> list[str]:
    """As Grafana's data source for Prometheus does what a variable asks for."""
    query = put_in(variable["query"], values or {})
    function, argument = re.fullmatch(r"(\w+)\((.*)\)", filled(query, streamed)).groups()  # type: ignore[union-attr]
    database = streamed.database
    span = {"start": streamed.starts[0] - 60, "end": time.time() + 60}
    if function == "label_values":
        match, _, label = argument.rpartition(", ")
        names = database.api(f"label/{label}/values", **{"match[]": match}, **span)
    elif function == "metrics":
        names = database.api("label/__name__/values", **span)
        names = [name for name in names if re.search(argument, name)]
    else:
        assert function == "query_result"
        at_s = time.time() + 60
        names = [as_text(*found, at_s) for found in database.now(argument, at_s)]
    if variable.get("regex"):
        found = (re.search(variable["regex"].strip("/"), name) for name in names)
        names = [match[1] for match in found if match is not None]
    assert len(set(names)) == len(names)
    return list(names)


def as_text(labels: Labels, value: float, at_s: float) -> str:
    """A row of a query's answer, as variables are given it."""
    told = ",".join(f'{name}="{label}"' for name, label in labels.items() if name != "__name__")
    return f"{labels.get('__name__', '')}{{{told}}} {value:.12g} {at_s * 1000:.0f}"


@pytest.mark.parametrize("step_s", [0.1, 1.7])
def test_annotations_are_the_events_at_their_times(streamed: Streamed, step_s: float) -> None:
    run, (start_s, _) = streamed.first, streamed.starts
    events, scenario = (
        entry
        for entry in built()["hoplab-run.json"]["annotations"]["list"]
        if entry.get("expr") is not None
    )

    def told(annotation: dict[str, Any], *labels: str) -> dict[Key, set[float]]:
        assert annotation["useValueForTime"]
        expr = filled(annotation["expr"].replace("$__interval", f"{step_s:g}s"), streamed)
        found = streamed.database.over_time(expr, start_s, start_s + 10, step_s)
        return {
            key: {round(value / 1000 - start_s, 2) for value in values.values()}
            for key, values in by(labels, found).items()
        }

    wanted: dict[Key, set[float]] = {}
    for row in run.rows("events"):
        if row["source"] in ("scenario", "medium", "elfn"):
            key: Key = (row["source"], row["kind"], row["node"])
            wanted.setdefault(key, set()).add(round(row["t_s"], 2))
    assert {event[0] for event in wanted} >= {"scenario", "elfn"}
    got = told(events, "source", "kind", "node")
    assert got.keys() == wanted.keys()
    for key, times in got.items():
        # Of several in one step the last one counts.
        assert times <= wanted[key] and max(times) == max(wanted[key]), key
    assert told(scenario, "kind", "node") == {("move", "n2"): {4.0, 6.0}}
