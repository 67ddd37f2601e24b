# SPDX-License-Identifier: Apache-2.0
"""The report's page for few and many flows and stations: what can be seen without a browser."""

import json
import random
import re
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from plotly.offline import get_plotlyjs_version
from typer.testing import CliRunner

from hoplab.front.commands import cli
from hoplab.host.results import arrow, load
from hoplab.host.results.reader import Results
from hoplab.model.errors import ResultsError
from hoplab.model.records.schema import TABLES
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.show import report
from hoplab.show.report import data, figures, labels, on_map, overlay, page
from hoplab.show.report.figures import library

EVENTS = [{"at_s": 1.0, "kind": "move", "station": "n1", "x_m": 500.0, "y_m": 7.0}]


def _row(table: str, **values: Any) -> dict[str, Any]:
    zero = {"string": "x", "integer": 1, "float": 1.0}
    columns = TABLES[table].columns
    blank = {c.name: zero[c.type] if c.null is None else None for c in columns}
    return {**blank, **values}


def _run(folder: Path, stations: int, flows: int, **more: Any) -> Results:
    """A run's folder as one of so many stations and flows would leave it."""
    names = [f"n{i}" for i in range(stations)]
    document = {
        "duration_s": 2,
        "topology": {"kind": "chain", "stations": stations},
        "flow": [
            {"source": names[i % stations], "destination": names[(i + 1) % stations]}
            for i in range(flows)
        ],
        **more,
    }
    scenario = resolve(parse(document, "test"))
    rows = {
        "flows": [_row("flows", flow=f"flow{i}", protocol="tcp") for i in range(flows)],
        # As the lab samples them, but the last flow first.
        "tcp": [
            _row("tcp", t_s=t, flow=f"flow{i}", ca_state="Open", cwnd=2, delivered_bytes=int(t) * i)
            for t in (1.0, 2.0)
            for i in reversed(range(flows))
        ],
        "radios": [_row("radios", node=name) for name in names],
        "links": [_row("links", src=a, dst=b) for a in names for b in names if a != b],
    }
    (folder / "tables").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"run": "test", "seed": 1}))
    (folder / "scenario.json").write_text(scenario.model_dump_json(exclude_none=True))
    for name, found in rows.items():
        pq.write_table(arrow.from_rows(name, found, "test"), folder / "tables" / f"{name}.parquet")
    return load(folder)


class _Tables(HTMLParser):
    """Of each table that folds, its attributes and the number of its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str | None], int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.found.append((dict(attrs), -1))
        elif tag == "tr":
            attributes, rows = self.found[-1]
            self.found[-1] = (attributes, rows + 1)


def _page(folder: Path) -> str:
    return report.render(folder).read_text(encoding="utf-8")


def _over_time(results: Results) -> dict[str, Any]:
    """The figure as its JSON in the page."""
    text = str(figures.over_time(data.figures(results)))
    start = text.index("Plotly.newPlot(")
    values = text[text.index("[", start) :]
    decoder = json.JSONDecoder()
    traces, end = decoder.raw_decode(values)
    layout, _ = decoder.raw_decode(values[end:].lstrip(", \n"))
    return {"traces": traces, "layout": layout}


@pytest.mark.parametrize("flows", [1, 4, 11])
def test_the_legend_is_below_the_plots_and_has_its_own_room(tmp_path: Path, flows: int) -> None:
    layout = _over_time(_run(tmp_path / "run", 12, flows))["layout"]
    legend = layout["legend"]
    assert (legend["yref"], legend["y"], legend["yanchor"]) == ("container", 0, "bottom")
    rows = -(-flows // figures.LEGEND_COLUMNS)
    assert layout["margin"]["b"] >= figures.AXIS_PX + rows * figures.LEGEND_PX
    # Titles of panels are no further down than the panels themselves, and none overlaps another.
    tops = [layout[axis]["domain"][1] for axis in sorted(k for k in layout if k[:5] == "yaxis")]
    assert [title["y"] for title in layout["annotations"]] == pytest.approx(tops)
    height = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    bottoms = [layout[axis]["domain"][0] for axis in sorted(k for k in layout if k[:5] == "yaxis")]
    for above, below in zip(bottoms, tops[1:], strict=False):
        assert (above - below) * height == pytest.approx(figures.GAP_PX, abs=1)


def test_flows_have_their_own_colours_in_the_scenarios_order(tmp_path: Path) -> None:
    traces = _over_time(_run(tmp_path / "run", 12, 11))["traces"]
    shown = [trace for trace in traces if trace.get("showlegend")]
    assert [trace["name"] for trace in shown] == [f"flow{i}" for i in range(11)]
    assert len({trace["line"]["color"] for trace in shown}) == 11


def test_what_two_programs_measure_at_both_ends_counts_once() -> None:
    def row(flow: str, node: str, port: int, peer: str, peer_port: int) -> dict[str, Any]:
        ends = {"node": node, "port": port, "peer": peer, "peer_port": peer_port}
        return {"flow": flow, "protocol": "udp", **ends}

    camera, screen = row("camera", "a", 4000, "b", 9000), row("screen", "b", 9000, "a", 4000)
    other = row("screen", "b", 9000, "c", 4000)
    flows = [{"flow": name} for name in ("flow0", "camera", "screen", "idle")]
    names = lambda *rows: [one["flow"] for one in page.seen_once(flows, list(rows))]  # noqa: E731
    assert names(camera, screen) == ["flow0", "camera", "idle"]
    assert names(camera, screen, other) == names(camera) == ["flow0", "camera", "screen", "idle"]


@pytest.mark.parametrize(
    ("cards", "wide", "medium"), [(4, 4, 4), (5, 5, 3), (6, 6, 3), (7, 4, 4), (8, 4, 4)]
)
def test_no_tile_is_left_alone(cards: int, wide: int, medium: int) -> None:
    rows = [page._in_row(cards, most) for most in page.CARDS_IN_ROW]
    assert rows == [wide, medium]
    assert all(cards % row != 1 for row in rows)


def test_tables_of_many_stations_fold_and_sort(tmp_path: Path) -> None:
    _run(tmp_path / "run", 30, 11)
    text = _page(tmp_path / "run")
    tables = _Tables()
    tables.feed(text)
    assert [rows for _, rows in tables.found] == [11, 30, 30, page.MAX_ROWS]
    for attributes, _ in tables.found:
        assert attributes["data-fold"] == str(page.FOLD)
    # The style sheet hides what the script folds, and paper shows all.
    assert f".folded tbody tr:nth-child(n + {page.FOLD + 1}) {{ display: none; }}" in text
    assert "aria-sort" in text and "aria-expanded" in text


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    _run(tmp_path / "run", 4, 1)
    text = _page(tmp_path / "run")
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", text)
    assert "prefers-color-scheme: dark" in text


def test_the_small_bundle_is_of_plotly_s_version() -> None:
    """Figures are written for the script that Plotly's package has."""
    assert f"v{get_plotlyjs_version()} " in str(library())[:200].replace("\n", " ")


def test_a_report_is_small(tmp_path: Path) -> None:
    _run(tmp_path / "run", 30, 10)
    assert len(_page(tmp_path / "run").encode()) < 1_500_000


def test_tables_are_exported_as_csv(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", 2, 1)
    commands = CliRunner()
    done = commands.invoke(cli.app, ["export", str(run.run_dir), "--csv"])
    assert done.exit_code == 0, done.output
    names = {path.stem for path in (run.run_dir / "csv").iterdir()}
    assert names == {"flows", "tcp", "radios", "links"}
    rows = pyarrow.csv.read_csv(run.run_dir / "csv" / "tcp.csv").to_pylist()
    assert [row["t_s"] for row in rows] == [1, 2] and rows[0]["flow"] == "flow0"
    other = tmp_path / "other"
    done = commands.invoke(cli.app, ["export", str(run.run_dir), "--out", str(other)])
    assert {path.stem for path in other.iterdir()} == names
    taken = str(run.run_dir / "manifest.json")
    done = commands.invoke(cli.app, ["export", str(run.run_dir), "--csv", "--out", taken])
    assert "cannot be written" in str(done.exception)


def test_runs_over_each_other_are_told_apart(tmp_path: Path) -> None:
    one, two = _run(tmp_path / "one", 2, 1), _run(tmp_path / "two", 3, 2)
    found = overlay.overlaid({"one": one, "two": two})
    goodput = next(panel for panel in found["panels"] if panel["title"] == "Goodput")
    assert [line["group"] for line in goodput["lines"]] == ["one", "two: flow0", "two: flow1"]
    overlay.write({"one": one, "two": two}, tmp_path / "plot.html")
    text = (tmp_path / "plot.html").read_text()
    assert "two: flow1" in text and not re.search(r"<(script|link|img)[^>]*(src|href)=", text)
    with pytest.raises(ResultsError, match="cannot be written"):
        overlay.write({"one": one}, tmp_path)


def test_a_change_of_the_network_is_marked_where_all_runs_have_it(tmp_path: Path) -> None:
    moved = _run(tmp_path / "moved", 3, 1, event=EVENTS)
    again = _run(tmp_path / "again", 3, 1, event=EVENTS)
    calm = _run(tmp_path / "calm", 3, 1)
    assert overlay.overlaid({"a": moved, "b": again})["marks"] == data.figures(moved)["marks"]
    assert overlay.overlaid({"a": moved, "b": calm})["marks"] == []


def test_a_station_that_is_moved_by_an_event_is_where_it_was_put(tmp_path: Path) -> None:
    found = data.figures(_run(tmp_path / "run", 3, 1, event=EVENTS))
    track = next(s["track"] for s in found["map"]["stations"] if s["name"] == "n1")
    assert track == [[0.0, 200.0, 0.0], [1.0, 200.0, 0.0], [1.0, 500.0, 7.0]]
    assert found["marks"] == [{"t": 1.0, "kind": "move", "what": "n1"}]


def test_a_map_of_a_report_has_the_interferers(tmp_path: Path) -> None:
    oven = {"name": "oven", "kind": "microwave", "power_dbm": 20.0, "x_m": 40.0, "y_m": -30.0}
    band = {"low_mhz": 2440.0, "high_mhz": 2470.0}
    still = _run(tmp_path / "still", 3, 1, interferer=[{**oven, **band}])
    moving = _run(tmp_path / "moving", 3, 1, event=EVENTS, interferer=[{**oven, **band}])
    for run in (still, moving):
        text = str(figures.station_map(data.figures(run)))
        assert "star-triangle-up" in text and "oven (microwave)" in text
        assert "Triangles are interferers" in _page(run.run_dir)
    assert '"traces":[' in text
    plain = _run(tmp_path / "plain", 3, 1)
    assert "star-triangle-up" not in str(figures.station_map(data.figures(plain)))
    assert "Triangles" not in _page(plain.run_dir)


def test_names_on_a_map_of_thirty_stations_keep_clear_of_each_other() -> None:
    lots = random.Random(4)
    points = [(f"n{i}", lots.uniform(0, 1500), lots.uniform(0, 300)) for i in range(30)]
    places = {name: (x, y) for name, x, y in points}
    metres = on_map.metres(places.values())
    at = labels.placed(points, metres)
    shown = [point for point, side in zip(points, at, strict=True) if side is not None]
    assert len(shown) >= 28 and len(set(at)) > 2
    boxes = [
        labels._box(name, x / metres, y / metres, side)
        for (name, x, y), side in zip(points, at, strict=True)
        if side is not None
    ]
    assert not any(labels._meet(a, b) for a, b in combinations(boxes, 2))
    # The pointer shows a name that has no room.
    crowd = on_map.stations({f"n{i}": (0.0, 0.0) for i in range(20)}, ["n0"], (), 1.0)
    assert "" in crowd["text"] and crowd["hovertext"][19] == "n19"


@pytest.mark.parametrize(
    ("side_m", "range_m", "circles"),
    [(600.0, 250.0, True), (200.0, 250.0, True), (8.0, 100.0, False)],
)
def test_a_map_takes_its_scale_from_the_stations(
    side_m: float, range_m: float, circles: bool, tmp_path: Path
) -> None:
    """Whatever they reach: those of a home are not in one place."""
    stations = [
        {"name": f"n{i}", "x_m": x, "y_m": y}
        for i, (x, y) in enumerate([(0.0, 0.0), (side_m / 3, 0.0), (side_m, side_m / 2)])
    ]
    document = {"station": stations, "topology": {"kind": "explicit"}}
    run = _run(tmp_path / "run", 3, 1, radio={"range_m": range_m}, **document)
    text = str(figures.station_map(data.figures(run)))
    ranges = [
        [float(end) for end in found.split(",")]
        for found in re.findall(r'"range":\[([^]]*)\]', text)
    ]
    width = ranges[0][1] - ranges[0][0]
    assert side_m / width >= 0.25
    assert ('"type":"circle"' in text) is circles
    assert ("dotted circles show" in _page(run.run_dir)) is circles
    if circles:  # they are there as a whole
        assert ranges[0][0] <= -range_m and ranges[0][1] >= side_m + range_m


@pytest.mark.parametrize("duration_s", [0.5, 3.0, 40.0, 200.0, 1234.5])
def test_a_map_of_moving_stations_stops_at_round_times(duration_s: float) -> None:
    times = figures.moments(duration_s)
    assert times[0] == 0 and times[-1] == duration_s and times == sorted(set(times))
    assert 20 < len(times) <= figures.MAP_STEPS + 1
    step = f"{times[1]:g}".replace(".", "").lstrip("0").rstrip("0")
    assert step in ("1", "2", "5")


def test_lost_frames_take_room_by_their_causes() -> None:
    one = figures.losses_figure({"collided": 5}).layout.height
    five = figures.losses_figure(dict.fromkeys(["collided", "too weak", "a", "b", "c"][:2], 1))
    assert one < 120 and five.layout.height == one + on_map.BARS_PX


def test_a_programs_connections_are_one_entry_of_the_legend(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", 2, 1)
    rows = [
        _row("tcp", t_s=t, flow=f"client:{port}<n1:80", ca_state="Open", cwnd=2, delivered_bytes=9)
        for t in (1.0, 2.0)
        for port in range(40_000, 40_011)
    ]
    table = arrow.from_rows("tcp", [*run.rows("tcp"), *rows], "test")
    pq.write_table(table, run.run_dir / "tables" / "tcp.parquet")
    traces = _over_time(load(run.run_dir))["traces"]
    assert [t["name"] for t in traces if t["showlegend"]] == ["flow0", "client < n1:80"]
    told = {t["hovertemplate"].split(" ")[0] for t in traces}
    assert {"flow0", "client:40000<n1:80", "client:40010<n1:80"} <= told


def test_energy_is_told_to_those_who_ask(tmp_path: Path) -> None:
    quiet = _run(tmp_path / "quiet", 2, 1)
    asked = _run(tmp_path / "asked", 2, 1, radio={"energy": {"battery_j": 100}})
    labels = [
        [card["label"] for card in page._cards(run.manifest, run.rows("flows"), radios, run)]
        for run in (quiet, asked)
        for radios in [[{**row, "energy_tx_j": 3.0} for row in run.rows("radios")]]
    ]
    assert "Energy" not in labels[0]
    assert "Energy" in labels[1]


@pytest.mark.parametrize(
    ("machine", "shown"), [("uml", "Virtual time"), ("host", "Real time"), ("shell", "Real time")]
)
def test_time_is_called_what_it_was(tmp_path: Path, machine: str, shown: str) -> None:
    _run(tmp_path / "run", 3, 1)
    file = tmp_path / "run" / "manifest.json"
    manifest = json.loads(file.read_text())
    file.write_text(json.dumps({**manifest, "machine": machine, "virtual_s": 2.0, "wall_s": 4.0}))
    text = _page(tmp_path / "run")
    assert {name for name in ("Virtual time", "Real time") if name in text} == {shown}


def test_a_drag_is_one_mark_where_it_ended(tmp_path: Path) -> None:
    drag = [(at, "n1") for at in (0.1, 0.2, 0.3)] + [(0.4, "n2"), (0.5, "n1"), (1.9, "n1")]
    moves = [{"at_s": at, "kind": "move", "station": n, "x_m": at, "y_m": 0} for at, n in drag]
    marks = data.figures(_run(tmp_path / "run", 3, 1, event=moves))["marks"]
    ends = [(0.3, "n1"), (0.4, "n2"), (0.5, "n1"), (1.9, "n1")]
    assert [(mark["t"], mark["what"]) for mark in marks] == ends


def test_a_handover_is_a_row_and_a_mark(tmp_path: Path) -> None:
    calm = _run(tmp_path / "calm", 3, 1)
    assert "Handovers" not in _page(tmp_path / "calm") and data.figures(calm)["marks"] == []
    values = {"node": "n1", "old": "n0", "new": "n2", "last_s": 1.0, "first_s": 1.25, "gap_ms": 250}
    rows = [_row("handovers", **values)]
    found = _run(tmp_path / "run", 3, 1)
    path = tmp_path / "run" / "tables" / "handovers.parquet"
    pq.write_table(arrow.from_rows("handovers", rows, "test"), path)
    assert data.figures(found)["marks"] == [{"t": 1.25, "kind": "goes to n2", "what": "n1"}]
    text = _page(tmp_path / "run")
    row = re.search(r"<tr><th>n1</th><td>n0 → n2</td>.*?</tr>", text)
    assert row is not None and ">250.0<" in row[0] and "n1 goes to n2 at 1.2 s" in text


def test_a_scenario_of_another_version_is_one_line(tmp_path: Path) -> None:
    _run(tmp_path / "run", 3, 1)
    (tmp_path / "run" / "scenario.json").write_text('{"stations": []}')
    with pytest.raises(ResultsError, match=r"scenario\.json: 'warm_up_s': missing; .* another ver"):
        report.render(tmp_path / "run")


@pytest.mark.parametrize("spoilt", ["octets", "mode", "file"])
def test_kept_templates_that_are_spoilt_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoilt: str
) -> None:
    """Compiled templates are code: only those in a folder of this user's own are read."""
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path))
    folder = tmp_path / "templates"

    def made() -> str:
        page.environment.cache_clear()
        return page.environment().from_string("{{ 1 + 1 }}").render()

    def whole() -> object:
        page.environment.cache_clear()
        return page.environment().get_template("report.html.j2")

    assert whole()
    (kept,) = folder.iterdir()
    whole_octets = kept.read_bytes()
    if spoilt == "octets":
        kept.write_bytes(whole_octets[:-100])
    elif spoilt == "mode":
        folder.chmod(0o777)
        kept.write_bytes(b"")
    else:
        kept.unlink()
        folder.rmdir()
        folder.write_text("")
    assert whole() and made() == "2"
    if spoilt == "octets":
        assert kept.read_bytes() == whole_octets
    page.environment.cache_clear()
