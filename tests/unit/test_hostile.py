# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a scenario: it is accepted, or refused in one line that names the mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hoplab.front.commands.cli import app
from hoplab.front.commands.options import scenario_of
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve.file import load
from hoplab.model.resolve.resolve import resolve
from tests.hostile import movements, scenarios

LONGEST_LINE = 1200


def refusal(path: Path) -> str | None:
    """What is said of the scenario; None where it is accepted."""
    try:
        once = resolve(load(path), path.parent)
    except ScenarioError as error:
        return str(error)
    assert resolve(once) == once
    return None


def judge(told: str | None, words: tuple[str, ...] | None) -> None:
    if words is None:
        assert told is None
        return
    assert told is not None, "accepted"
    lines = told.splitlines()
    assert len({line.partition(": ")[0] for line in lines}) == len(lines) <= 2, "a line a key"
    assert all(len(line) < LONGEST_LINE for line in lines)
    for word in words:
        assert word in told


@pytest.mark.parametrize("number", range(len(scenarios.CASES)))
def test_a_scenario_is_accepted_or_refused_in_one_line(tmp_path: Path, number: int) -> None:
    text, words = scenarios.CASES[number]
    path = tmp_path / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    judge(refusal(path), words)


@pytest.mark.parametrize("number", range(len(movements.CASES)))
def test_a_movement_file_is_accepted_or_refused_in_one_line(tmp_path: Path, number: int) -> None:
    name, content, words = movements.CASES[number]
    (tmp_path / name).write_bytes(content)
    path = tmp_path / "scenario.toml"
    path.write_text(f'duration_s = 5\n[topology]\nkind = "trace"\nmovement = "{name}"\n')
    judge(refusal(path), words)


def test_there_are_enough() -> None:
    assert len(scenarios.CASES) + len(movements.CASES) >= 250


def test_of_many_mistakes_the_first_few_and_a_count(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("[[flow]]\nwindow = 0\n" * 20_000)
    with pytest.raises(ScenarioError) as error:
        load(path)
    lines = str(error.value).splitlines()
    assert len(lines) <= 11
    assert lines[-1].endswith("more") or "250" in lines[0]

    path.write_text("".join(f"key{i} = 1\n" for i in range(100_000)))
    with pytest.raises(ScenarioError) as error:
        load(path)
    lines = str(error.value).splitlines()
    assert len(lines) == 11
    assert lines[-1].endswith("and 99990 more")
    with pytest.raises(ScenarioError) as error:
        scenario_of(path, None, None)  # as commands do
    assert str(error.value).splitlines() == lines


def test_check_ends_with_status_2_and_a_line(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("duration_s = 0\n")
    with pytest.raises(ScenarioError) as error:
        CliRunner().invoke(app, ["check", str(path)], catch_exceptions=False)
    assert error.value.exit_status == 2


@pytest.mark.parametrize(
    "override",
    [
        *(
            "x",
            "=",
            "=1",
            ".=1",
            "a..b=1",
            "flow.9.window=1",
            "flow.-1.window=1",
            "flow.².window=1",
        ),
        *("seed.x=1", "flow.0=1", "flow.window=1", "seed=" + "9" * 5000, "seed=" + "[" * 5000),
        *("radio.nic.x.y=1", "title=", "seed=[", "measure.captures.0=n0"),
    ],
)
def test_overrides_are_refused_in_one_line(tmp_path: Path, override: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(scenarios.CHAIN)
    if override == "title=":  # an empty word
        assert load(path, [override]).title == ""
        return
    with pytest.raises(ScenarioError) as error:
        resolve(load(path, [override]))
    assert len(str(error.value).splitlines()) == 1
