# SPDX-License-Identifier: Apache-2.0
"""``hoplab plot``: figures of runs and sweeps for papers, in the format that their file says."""

import itertools
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hoplab.front.commands import plot
from hoplab.host.results import arrow, load
from hoplab.host.runs.push import DATASET
from hoplab.host.statistics.samples import Sample
from hoplab.many.sweep import charts as of_sweep
from hoplab.many.sweep.charts import Choice
from hoplab.model.records.schema import TABLES
from hoplab.show.paper import drawing, of_runs
from hoplab.show.paper.chart import Chart, Series, distribution
from hoplab.show.paper.form import Form
from hoplab.show.report.multiples import roles
from tests.unit.test_report import _row, _run

MAGIC = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG"}
LOSSES, VARIANTS, FLOWS = [0.001, 0.01, 0.1], ["newreno", "$cubic"], ["_a", "b"]


def told(*words: Any) -> str:
    """The message of a command that is refused, in one line; "" where it is not."""
    done = CliRunner().invoke(plot.app, list(map(str, words)))
    message = "" if done.exception is None else str(done.exception)
    assert "\n" not in message
    return message


def goodput(loss: float, variant: str, flow: str, seed: int) -> float:
    return 100 * (1 + LOSSES.index(loss)) + 10 * VARIANTS.index(variant) + (flow == "b") + seed


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """The dataset of a sweep over losses and variants, with two flows and three seeds."""
    flows = [column.with_nullable(True) for column in arrow.schema(TABLES["flows"])]
    parameters = [pa.field("loss", pa.float64()), pa.field("variant", pa.string())]
    about = [pa.field("seed", pa.int64()), pa.field("error", pa.string())]
    rows = []
    for loss, variant, flow, seed in itertools.product(LOSSES, VARIANTS, FLOWS, (1, 2, 3)):
        value = goodput(loss, variant, flow, seed)
        row = _row("flows", flow=flow, goodput_kbps=value, rtt_ms_mean=5.0, protocol="tcp")
        rows.append(row | {"loss": loss, "variant": variant, "seed": seed, "error": None})
    rows.append(dict.fromkeys(rows[0]) | {"loss": 0.1, "seed": 4, "error": "it failed"})
    folder = tmp_path / "sweep"
    folder.mkdir()
    table = pa.Table.from_pylist(rows, schema=pa.schema([*parameters, *about, *flows]))
    pq.write_table(table, folder / DATASET)
    return folder


def test_a_file_is_in_the_format_of_its_name(tmp_path: Path, sweep: Path) -> None:
    run = _run(tmp_path / "run", 2, 2).run_dir
    for source, (suffix, magic) in itertools.product((run, sweep), MAGIC.items()):
        out = tmp_path / f"plot{suffix}"
        assert told(source, "--out", out, "--size", "120x200") == ""
        first = out.read_bytes()
        assert first.startswith(magic)
        assert told(source, "--out", out, "--size", "120x200") == ""
        assert out.read_bytes() == first  # the same each time
    assert told(run, "--out", tmp_path / "plot.html") == ""
    assert (tmp_path / "plot.html").read_text().lstrip().startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["plot.gif", "plot", "plot.svg.bak", "plot.jpeg"])
def test_another_suffix_is_refused(name: str, tmp_path: Path) -> None:
    run = _run(tmp_path / "run", 2, 1).run_dir
    assert "expected a name that ends in .html, .svg, .pdf or .png" in told(
        run, "--out", tmp_path / name
    )
    assert not (tmp_path / name).exists()


def test_a_figure_has_the_size_and_the_font_of_a_paper(tmp_path: Path, sweep: Path) -> None:
    out = tmp_path / "plot.svg"
    words = ("--size", "100x150", "--font", "serif", "--font-size", 9.5, "--log", "xy")
    assert told(sweep, "--out", out, *words, "--lines", "flow") == ""
    text = out.read_text()
    found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', text)
    assert found is not None
    sizes = [float(points) / 72 * 25.4 for points in found.groups()]
    assert sizes == pytest.approx([100, 150], abs=0.01)
    assert "font-size: 9.5px; font-family: 'DejaVu Serif'" in text
    # Names stand there as they are: not as formulas, nor left out of the legend.
    assert ">variant $cubic<" in text and ">_a<" in text
    for value in LOSSES:
        assert f">{value:g}<" in text


def test_a_sweeps_means_have_their_intervals_and_flows_are_not_joined(sweep: Path) -> None:
    first, second = of_sweep.charts(sweep, None, Choice())
    # Loss along x, variants as lines, a panel for each flow.
    assert (first.kind, first.x_label, first.title) == ("lines", "loss", "flow _a")
    assert second.title == "flow b"
    assert [one.name for one in first.series] == VARIANTS
    a = first.series[0]
    drawn = [Sample.of([goodput(x, "newreno", "_a", seed) for seed in (1, 2, 3)]) for x in LOSSES]
    assert (a.x, a.y) == (LOSSES, [sample.mean for sample in drawn])
    assert a.half_widths == [sample.half_width for sample in drawn]
    # Words along x make bars, and with one loss flows are side by side.
    (bars,) = of_sweep.charts(sweep, None, Choice(only=[("loss", "0.01")]))
    assert (bars.kind, bars.x_label) == ("bars", "variant")
    assert bars.words == VARIANTS and [one.name for one in bars.series] == FLOWS
    (alone,) = of_sweep.charts(sweep, None, Choice(only=[("loss", "0.01"), ("variant", "newreno")]))
    assert (alone.kind, alone.x_label) == ("bars", "flow")


def test_flows_are_along_x_only_where_nothing_else_varies() -> None:
    variants, flows = ["a", "b"], ["c", "d", "e", "f"]
    assert (roles([variants, flows], 1).x, roles([variants, flows], 1).line) == (0, 1)
    assert roles([["a"], flows], 1).x == 1


def test_a_distribution_ends_at_one(sweep: Path) -> None:
    assert distribution([3.0, None, 1.0, 3.0, 2.0]) == ([1, 1, 2, 3, 3], [0, 0.25, 0.5, 0.75, 1])
    assert distribution([None]) == ([], [])
    (chart,) = of_sweep.charts(
        sweep, "cdf", Choice(lines="variant", only=[("flow", "b"), ("loss", "0.1")])
    )
    assert [one.name for one in chart.series] == VARIANTS
    assert [one.y[-1] for one in chart.series] == [1.0, 1.0]
    assert chart.series[1].x[-1] == goodput(0.1, "$cubic", "b", 3)


def test_runs_are_drawn_over_time_as_distributions_and_as_bars(tmp_path: Path) -> None:
    runs = [_run(tmp_path / name, 2, 2).run_dir for name in ("one", "two")]
    out = tmp_path / "plot.svg"
    assert told(*runs, "--y", "goodput", "--out", out) == ""
    assert "Goodput (kbit/s)" in out.read_text() and ">two: flow1<" in out.read_text()
    assert told(*runs, "--kind", "cdf", "--y", "round-trip-time", "--out", out) == ""
    assert "share of samples" in out.read_text()
    assert told(*runs, "--kind", "bars", "--y", "timeouts", "--out", out) == ""
    assert ">flow1<" in out.read_text() and ">timeouts<" in out.read_text()


def test_what_cannot_be_drawn_is_said_in_a_line(tmp_path: Path, sweep: Path) -> None:
    run, out = _run(tmp_path / "run", 2, 1).run_dir, tmp_path / "plot.svg"
    page = tmp_path / "plot.html"
    refused = {
        ("--y", "speed"): "--y: 'speed' is no panel of these runs; one of: goodput, ",
        ("--y", "protocol", "--kind", "bars"): "--y: 'protocol' is no column of numbers of flows",
        ("--x", "loss"): "--x: is for a sweep, and ",
        ("--kind", "pie"): "--kind: 'pie' is not known; one of: lines, bars, cdf",
        ("--log", "z"): "--log: 'z' is not known; one of: x, y, xy",
        ("--size", "3cm"): "--size: '3cm' is no size; expected WIDTH or WIDTHxHEIGHT in mm",
        ("--size", "12"): "have no room for 3 panels with their names; take more",
        ("--font-size", "0"): "--font-size: 0 is not between 2 and 72 points",
        ("--font", "Nope"): "--font: there is no 'Nope' here; expected serif, ",
    }
    for words, message in refused.items():
        assert message in told(run, *words, "--out", out), words
    assert "--log: is for SVG, PDF and PNG" in told(run, "--log", "x", "--out", page)
    assert "is a sweep, which is drawn alone" in told(run, sweep, "--out", out)
    assert "sweep/index.html; expected a name" in told(sweep, "--out", page)
    of_a_sweep = {
        ("--only", "loss"): "--only: 'loss' is no KEY=VALUE",
        ("--only", "seed=1"): "--only: 'seed' does not vary; one of: loss, variant, flow",
        ("--only", "loss=7"): "--only: no run has loss=7; there are: 0.001, 0.01, 0.1",
        ("--x", "rate"): "--x: 'rate' does not vary; one of: loss, variant, flow",
        ("--x", "loss", "--lines", "loss"): "--lines: is loss as --x is; name another",
        ("--y", "flow"): "--y: 'flow' is no column of numbers",
    }
    for words, message in of_a_sweep.items():
        assert message in told(sweep, *words, "--out", out), words
    (sweep / DATASET).write_bytes(b"no table")
    assert "results.parquet: cannot be read: " in told(sweep, "--out", out)
    assert "cannot be written" in told(run, "--out", tmp_path / "no" / "plot.svg")


def test_a_gap_stays_a_gap(tmp_path: Path) -> None:
    lines = Chart("x", "y", series=[Series("s", [1, 2, 3], [1.0, None, 2.0])])
    bars = Chart("x", "y", "bars", series=[Series("s", ["a", "b"], [None, 2.0], [0.0, 1.0])])
    drawing.write([lines, bars], tmp_path / "plot.svg", Form())
    assert ">b<" in (tmp_path / "plot.svg").read_text()


def test_datagrams_of_many_flows_leave_their_panels_whole(tmp_path: Path) -> None:
    """Half of a flow's delays is a line, 95 % a dashed one, which the legend explains once. A run
    alone needs no name. Panels keep their height however many flows there are."""

    def panels(flows: int) -> tuple[list[str], list[float]]:
        run = _run(tmp_path / f"{flows}", 2, flows)
        names = [f"client:{40_000 + i}<n{i}:9000" for i in range(flows)]
        known = {"latency_ms_p50": 5.0, "latency_ms_p95": 9.0, "jitter_ms": 1.0}
        counts = {"received": 9, "lost": 1, "delivered_bytes": 900}
        rows = [
            _row("udp", t_s=t, flow=name, **known, **counts) for t in (1.0, 2.0) for name in names
        ]
        pq.write_table(arrow.from_rows("udp", rows, "test"), run.run_dir / "tables/udp.parquet")
        charts = of_runs.charts({"run": load(run.run_dir)}, "lines", ["one-way-delay", "jitter"])
        figure = drawing._figure(charts, Form())
        figure.draw_without_rendering()
        (legend,) = figure.legends
        height_mm = figure.get_figheight() * drawing.MM_PER_INCH
        return (
            [text.get_text() for text in legend.get_texts()],
            [axis.get_position().height * height_mm for axis in figure.axes],
        )

    few, heights = panels(1)
    assert few == ["run", "95 %"]
    many, others = panels(12)
    assert many == [*(f"client < n{i}:9000" for i in range(12)), "95 %"]
    assert others == pytest.approx(heights, rel=0.1)


def test_what_never_came_lies_on_an_axis_from_zero() -> None:
    nothing: tuple[list[float | None], ...] = ([0.0, 0.0], [None, None])
    for y in nothing:
        chart = Chart("time (s)", "Goodput (kbit/s)", "lines", series=[Series("a", [1, 2], y)])
        (axis,) = drawing._figure([chart], Form()).axes
        assert -0.1 < axis.get_ylim()[0] <= 0 < axis.get_ylim()[1] == 1
