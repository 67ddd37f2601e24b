# SPDX-License-Identifier: Apache-2.0
"""Figures beside references: intervals, verdicts, and figures that vanish."""

import ast
import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from hoplab.host.machine import select
from hoplab.host.statistics.samples import Sample, combined, difference, relative, t_95
from hoplab.many.study.figures import Figure, figure
from hoplab.model.errors import HoplabError, MissingTool, ScenarioError
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PROJECT
from tests.validate import __main__ as validate
from tests.validate import (
    chain,
    collapse,
    contention,
    dumbbell,
    fates,
    line,
    mobile,
    ns3,
    ns3_program,
    recorded,
    round_trips,
    runs,
)


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (4, 2.776), (30, 2.042), (60, 2.0003)])
def test_quantiles_of_students_t(freedom: int, t: float) -> None:
    assert t_95(freedom) == pytest.approx(t, abs=5e-4)


def test_an_interval_by_hand() -> None:
    """1, 2, 3: standard deviation 1, of the mean 1/sqrt 3, times 4.302653."""
    sample = Sample.of([1, 2, 3])
    assert (sample.mean, sample.n) == (2, 3)
    assert sample.half_width == pytest.approx(4.302653 / 3**0.5)


def test_a_ratio_and_its_error_by_hand() -> None:
    """120 ± 3 over 100 ± 4: the relative errors of 2.5 and 4 % add as squares."""
    ratio = relative(Sample(120, 3, 10), Sample(100, 4, 10))
    assert ratio.mean == pytest.approx(0.2)
    assert ratio.error == pytest.approx(1.2 * (0.025**2 + 0.04**2) ** 0.5)
    assert ratio.positive and not ratio.scaled(-1).positive
    assert not relative(Sample(120), Sample(100)).positive, "single draws show nothing"


def test_a_mean_of_settings_is_as_sure_as_all_of_them_together() -> None:
    """Six of three draws each, equally spread: 6 x 2 degrees of freedom."""
    mean = combined([Sample(float(i), 0.6, 3) for i in range(6)], [1 / 6] * 6)
    assert (mean.mean, mean.n) == (pytest.approx(2.5), 13)
    assert mean.error == pytest.approx(0.6 / 6**0.5)


def test_intervals_hold_the_mean_19_times_in_20() -> None:
    draw = random.Random(5)
    held = 0
    for _ in range(2000):
        a = Sample.of([draw.gauss(7, 2) for _ in range(5)])
        b = Sample.of([draw.gauss(4, 1) for _ in range(8)])
        apart = difference(a, b)
        held += abs(apart.mean - 3) <= apart.half_width
    # Welch's interval is a little wide; 0.95 of 2000 with a deviation of 10.
    assert 1870 <= held <= 1950


@pytest.mark.parametrize(
    ("measured", "reference", "limit", "verdict"),
    [
        (104, 100, 0.05, "ok"),
        (106, 100, 0.05, "FAIL"),
        (94, 100, 0.05, "FAIL"),
        (0, 0, 0, "ok"),
        (1, 0, 0, "FAIL"),
        (106, 100, None, "info"),
        ([103, 104, 103, 104], 100, 0.05, "ok"),
        # The mean is inside, its interval is not.
        ([100, 106, 103, 107], 100, 0.05, "FAIL"),
        # The interval reaches beyond the limit and holds the reference, but is too wide to say.
        ([80, 120, 90, 110], 100, 0.05, "FAIL"),
        # It holds the reference and is narrow.
        ([98, 105, 99, 105], 100, 0.065, "ok"),
        # The reference is drawn too.
        ([108, 109, 110, 109], [105, 113, 101, 117], 0.12, "ok"),
    ],
)
def test_what_decides(
    measured: float | list[float], reference: float | list[float], limit: float, verdict: str
) -> None:
    assert figure("name", measured, reference, limit).verdict == verdict


def test_a_line_tells_means_intervals_and_numbers_of_draws() -> None:
    line = str(figure("a/b_kbps", [98, 102, 100], 101, 0.1))
    assert line == "ok   a/b_kbps 100±5(n=3) 101 -1.0±4.9% 10%"


def _figures() -> Iterator[Figure]:
    yield figure("one", 1, 1, 0.1)
    yield figure("two", 1, 2, None)


def _validate(monkeypatch: pytest.MonkeyPatch, *names: str) -> int:
    part = next(iter(validate.PARTS))
    monkeypatch.setattr(validate, "expected", lambda: {part: list(names)})
    return validate.main([part], lambda _: _figures)


def test_a_figure_that_vanishes_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _validate(monkeypatch, "one", "two") == 0
    assert _validate(monkeypatch, "one", "two", "three") == 1
    assert "FAIL three: is expected and was not measured" in capsys.readouterr().out
    assert _validate(monkeypatch, "one") == 1


def test_another_kernel_measures_every_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is none of that name, each part fails with a line that names it."""
    monkeypatch.setattr(runs, "kernel", None)
    monkeypatch.setattr(select, "named", refuse := Mock(side_effect=ScenarioError("machine 'x'")))
    document = {"duration_s": 1, "topology": {"kind": "pair"}}

    def measured() -> Iterator[Figure]:
        yield runs.measure(document, lambda _: figure("one", 1, 1, 0.1))

    part = next(iter(validate.PARTS))
    assert validate.main(["--machine", "x", part], lambda _: measured) == 1
    assert f"FAIL {part}: machine 'x'" in capsys.readouterr().out
    refuse.assert_called_with("x")


def test_a_parts_name_asks_for_it_alone_and_a_beginning_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validate, "expected", dict)
    measured: list[str] = []

    def nothing(part: str) -> Callable[[], Iterator[Figure]]:
        measured.append(part)
        return lambda: iter(())

    validate.main(["wifi/ns-3"], nothing)
    assert measured == ["wifi/ns-3"]
    validate.main(["wifi/ns"], nothing)
    assert measured[1:] == ["wifi/ns-3", "wifi/ns-3-line"]


def test_a_part_that_breaks_off_fails_and_loses_its_figures() -> None:
    def breaks() -> Iterator[Figure]:
        yield figure("one", 1, 1, 0.1)
        raise HoplabError("guest: panicked")

    lines = [line for line, _ in validate.check("part", breaks, ["one", "two"])]
    assert lines[1:] == [
        "FAIL part: guest: panicked",
        "FAIL two: is expected and was not measured",
    ]


def test_every_part_expects_figures() -> None:
    assert set(validate.expected()) == set(validate.PARTS)


def test_figures_that_the_engine_does_not_print_are_named() -> None:
    cases = [(n, rts) for n in contention.ENGINE_STATIONS for rts in ("false", "true")]
    lines = [
        f'{{"stations": {n}, "rts": {rts}, "frames_per_s": 142.6, "collisions": 0.05}}'
        for n, rts in cases
    ]
    assert contention.read_engine("\n".join(lines))[2, True] == contention.Share(142.6, 0.05)
    with pytest.raises(HoplabError, match="prints no figures of 50 stations, RTS on"):
        contention.read_engine("\n".join(lines[:-1]))
    with pytest.raises(HoplabError, match="saturated: '1 true'"):
        contention.read_engine("1 true")


def test_recorded_runs_of_ns_2_are_read_and_missing_ones_made(tmp_path: Path) -> None:
    made: list[str] = []

    def run(options: str) -> recorded.Row:
        made.append(options)
        return (float(recorded.words(options)["seed"]), 0.5)

    def rows(*options: str) -> list[recorded.Row]:
        return recorded.rows("script", ("a", "b"), options, run, tmp_path)

    assert rows("-seed 1", "-seed 2") == [(1, 0.5), (2, 0.5)]
    assert rows("-seed 2", "-seed 3") == [(2, 0.5), (3, 0.5)]
    assert made == ["-seed 1", "-seed 2", "-seed 3"]

    def lacks(options: str) -> recorded.Row:
        raise MissingTool("ns: is not installed")

    with pytest.raises(MissingTool, match=r"script\.tsv: lacks '-seed 4', and ns: is not"):
        recorded.rows("script", ("a", "b"), ["-seed 4"], lacks, tmp_path)


def test_comparing_with_ns_2_does_not_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run that a figure is compared with is recorded."""
    monkeypatch.setenv("PATH", "")
    assert len(chain.ns2_kbps("static")) == len(chain.ns2_kbps("dsr")) == len(chain.HOPS)
    for hops in collapse.HOPS:
        chain.ns2_accounts(collapse.PROFILE, hops, collapse.NS2_SEEDS)
    for profile, hops in itertools.product(chain.NS2_RADIOS, chain.SHORT):
        chain.ns2_accounts(profile, hops, chain.NS2_SHORT_SEEDS)
    assert len(mobile.in_ns2([(v, s) for v in mobile.SPEEDS_MPS for s in mobile.SEEDS])) == 48
    assert len(dumbbell.ns2_alone()) == 20
    assert len(dumbbell.ns2_pairs()) == 4
    for variant, far_ms in itertools.product(round_trips.VARIANTS, round_trips.FAR_MS):
        for seed in round_trips.SEEDS:
            round_trips.ns2_share(variant, far_ms, seed)
    for far_ms, change in itertools.product(round_trips.FAR_MS, round_trips.CHANGES):
        round_trips.changed("sack", far_ms, change)


def test_the_fate_of_a_packet_in_ns_2_is_its_last_drop_unless_it_arrives(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text(
        "s 1.0 _0_ AGT --- 1 cbr 64\ns 1.0 _0_ AGT --- 2 cbr 64\ns 1.0 _0_ AGT --- 3 cbr 64\n"
        "D 1.1 _0_ IFQ ARP 1 cbr 64\nr 1.2 _9_ AGT --- 2 cbr 64\nD 1.3 _4_ RTR NRTE 2 cbr 64\n"
        "D 1.4 _0_ IFQ ARP 4 DSR 64\nSSendFailure _3_\n"
    )
    assert fates.read_ns2(trace) == {"IFQ ARP": 1, fates.ARRIVED: 1, fates.UNKNOWN: 1}


def test_comparing_with_ns_3_does_not_need_it() -> None:
    """As with ns-2; a table of ns-3's names ns-3."""
    for name, asked in (("wifi", ns3.asked()), ("line", line.asked())):
        table = ns3_program.FOLDER / "recorded" / f"{name}.tsv"
        lines = table.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("# ns-3.37 ") and f"tests/ns3/{name}.cc" in lines[0]
        known = {row.split("\t")[0] for row in lines[2:]}
        assert set(asked) <= known


def test_where_half_is_received_lies_between_two_distances() -> None:
    assert line.half_m({104.0: 0.0, 100.0: 0.75, 102.0: 0.25, 98.0: 1.0}) == 101.0
    with pytest.raises(ValueError, match="no distance loses half"):
        line.half_m({98.0: 1.0, 100.0: 0.9})


def test_the_package_imports_nothing_of_the_tests() -> None:
    for path in (PROJECT / "hoplab").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(name.split(".")[0] == "tests" for name in names), path


CHAIN = {
    "topology": {"kind": "chain"},
    "flow": [{"source": "n0", "destination": "n3", "protocol": "udp", "rate_kbps": 10}],
}


def test_a_preset_is_under_the_settings_given() -> None:
    routing = {"protocol": "dsr", "preset": "monarch", "settings": {"arp_queue_packets": 7}}
    settings = resolve(parse({**CHAIN, "routing": routing}, "test")).routing.settings
    assert (settings["learning"], settings["arp_queue_packets"]) == ("onward", 7)
    with pytest.raises(ScenarioError, match="preset counts only where protocol"):
        resolve(parse({**CHAIN, "routing": {"preset": "monarch"}}, "test"))


def test_spacing_is_for_constant_rates() -> None:
    flow = {"source": "n0", "destination": "n3", "spacing": "random"}
    with pytest.raises(ScenarioError, match="spacing"):
        parse({**CHAIN, "flow": [flow]}, "test")
