# SPDX-License-Identifier: Apache-2.0
"""What commands say where no guest is needed."""

import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.cli import get_docs_for_click
from typer.testing import CliRunner

from hoplab.front.commands import cli, start
from hoplab.front.commands import run as running
from hoplab.front.commands import study as command
from hoplab.front.commands.cli import app
from hoplab.host import results
from hoplab.host.machine import confined, select
from hoplab.host.machine.sealed import Machine
from hoplab.host.machine.watch import Limits
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs.kinds import Sealed, Watched
from hoplab.many.study import expected
from hoplab.many.study.folder import Study, names
from hoplab.many.study.swept import Runs
from hoplab.model.errors import GuestFailed
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.show.report import summary

SCENARIO = """
seed = 7
[topology]
kind = "chain"
stations = 2
[[flow]]
source = "n0"
destination = "n1"
"""


def test_help_breaks_no_word_and_names_no_type_of_a_switch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["--help"], ["run", "--help"], ["new", "--help"]):
        cli.command()(args=words, standalone_mode=False)
    said = capsys.readouterr().out
    assert "<bool>" not in said
    assert {"random-waypoint,", "ns2-wavelan,"} <= set(said.split())


def test_the_page_of_options_has_whole_sentences() -> None:
    made = cli.command()
    import typer

    text = get_docs_for_click(obj=made, ctx=typer.Context(made), name="hoplab", title="Options")
    assert "..." not in re.sub(r"^\$ .*$|^\* `[^`]*`", "", text, flags=re.MULTILINE)


def test_what_would_be_run_is_printed_and_nothing_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SCENARIO)
    paths = {"kernel": Path("/m/linux"), "root": Path("/m/root.cpio")}
    machine = SimpleNamespace(**paths, id="abc", files={})
    monkeypatch.setattr(select, "chosen", lambda file=None: machine)
    facts = {"confinement": "x", "environment": {"A": "b c"}}
    monkeypatch.setattr(confined, "_facts", lambda: facts)
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["run", str(file), "--show-command"]).stdout.splitlines()
    words = shlex.split(said[1])
    assert words[:5] == ["env", "-i", "A=b c", "/m/linux", "mem=320M"]
    assert words[-1] == "entropy_seed=1" and "initrd=root.cpio" in words
    assert said[3] == "python3 -S -P -m hoplab.guest.lab /out"
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


def test_what_is_printed_is_what_a_run_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's command line, and the job in its guest."""
    started: list[list[str]] = []
    jobs: list[str] = []

    def process(begun: confined.Start, *descriptors: int | None) -> None:
        started.append([*begun.command])
        jobs.append((begun.folder / "job").read_text().removeprefix("set -- ").rstrip())
        raise GuestFailed("was started")

    monkeypatch.setattr(confined, "_facts", lambda: {"confinement": "x", "environment": {}})
    monkeypatch.setattr(confined.Start, "process", process)
    scenario = resolve(parse({"topology": {"kind": "chain", "stations": 2}, "seed": 5}, "test"))
    machine = Sealed(Machine(tmp_path, "abc", {"packages": [], "hoplab": "1", "files": {}}))
    with pytest.raises(GuestFailed, match="was started"):
        machine.run(scenario, tmp_path, Watched(print, Limits()))
    said = machine.shown(scenario).splitlines()
    assert shlex.split(said[1]) == ["env", "-i", *started[0]]
    assert said[3] == jobs[0]


def test_a_title_holds_nothing_that_an_override_changes() -> None:
    title = start.text(start.Start(congestion_control="vegas")).splitlines()[1]
    assert title.startswith('title = "TCP over a chain network"')


def test_every_study_is_listed_with_a_sentence() -> None:
    rows = list(zip(*(column.cells for column in command.listing().columns), strict=True))
    assert [str(name) for name, _ in rows] == names()
    assert all(str(sentence).endswith(".") for _, sentence in rows)


ANALYSIS = '''"""A study of nothing."""
from hoplab.many.study.findings import Claim, Findings

def analyse(runs, published):
    claim = Claim("falls", "It falls.", "confirmed", "table")
    return Findings(claims=[claim], values={"goodput": 7.0})
'''


@pytest.mark.parametrize(
    ("machine", "how"),
    [
        ("m", "to the digit, on the same machine"),
        ("another", "within their limits, on another machine"),
    ],
)
def test_a_quick_study_says_that_it_compared_and_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, how: str
) -> None:
    study = tmp_path / "tiny"
    study.mkdir()
    (study / "analysis.py").write_text(ANALYSIS)
    runs = Runs([SimpleNamespace(machine="m")])
    monkeypatch.setattr(command, "gather", lambda *arguments: runs)
    findings = Study("tiny", study).analysis().analyse(runs, {})
    expected.Expected.of(machine, [findings, findings]).write(study / "expected.json")
    words = ["study", str(study), "--quick", "--out", str(tmp_path / "out")]
    said = CliRunner().invoke(app, words).stdout
    assert "claims: 1 confirmed" in said
    told = f"passed: 1 values and 1 verdicts are as committed in {study}/expected.json, {how}"
    assert said.splitlines()[-1] == told


def test_the_json_of_a_run_names_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "a.toml", tmp_path / "results"
    file.write_text(SCENARIO)
    following = SimpleNamespace(warnings=list, accounts=[])
    done = running.Done(Manifest(), folder / "report.html", following)
    monkeypatch.setattr(running, "performed", lambda *arguments: done)
    monkeypatch.setattr(results, "load", lambda folder: None)
    monkeypatch.setattr(summary, "summary_of", lambda found: {"digest": "d"})
    said = CliRunner().invoke(app, ["run", str(file), "--json"]).stdout
    assert json.loads(said) == {"digest": "d", "folder": str(folder), "streams": []}
