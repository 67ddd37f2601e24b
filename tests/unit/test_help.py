# SPDX-License-Identifier: Apache-2.0
"""The list of commands: groups and examples in ``--help``, the same groups on their page, and the
documentation's examples."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from hoplab.front import catalogue
from hoplab.front.commands import cli, listed
from hoplab.front.commands import run as running
from hoplab.front.commands.cli import app
from hoplab.model.errors import ScenarioError
from hoplab.model.resolve.file import load
from hoplab.model.resources import EXAMPLES, PROJECT

NAMES = {name: (group, entry) for group, name, entry in listed.all_listed()}


def help_of(*words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    return done.output


def test_help_has_each_command_in_its_group_once() -> None:
    panels: dict[str, list[str]] = {}
    group = ""
    for line in help_of().splitlines():
        if head := re.match(r"╭─ (\w+) ", line):
            group = head[1]
        elif found := re.match(r"│ (\w+) ", line):
            panels.setdefault(group, []).append(found[1])
    panels.pop("Options", None)
    assert panels == {group: list(commands) for group, commands in listed.GROUPS.items()}


def test_the_page_of_commands_has_the_same_groups() -> None:
    text = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8")
    parts = re.findall(r"^(\w+):\n\n((?:    .+\n)+)", text, re.MULTILINE)
    told = {group: re.findall(r"^    hoplab (\w+)", lines, re.MULTILINE) for group, lines in parts}
    assert told == {group: list(commands) for group, commands in listed.GROUPS.items()}


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_an_example_that_the_command_takes(name: str) -> None:
    _, entry = NAMES[name]
    for words, example in (((name,), entry.example), *(((name, n), e) for n, e in entry.below)):
        assert f"Example: {example}" in " ".join(help_of(*words).split())
        taken(example)


def taken(example: str) -> None:
    """Raises click's error where the command line does not take an example as it stands."""
    words = shlex.split(example.partition(" > ")[0])
    words = words[words.index("hoplab") + 1 :]
    found = cli.command()
    context = typer.Context(found, info_name="hoplab")
    name: str | None = None
    while hasattr(found, "commands"):
        name, found, words = found.resolve_command(context, words)
        context = typer.Context(found, info_name=name, parent=context)
    found.make_context(name, list(words), parent=context.parent)


def test_every_subcommand_has_an_example() -> None:
    for name, (_, entry) in NAMES.items():
        below = getattr(cli.command().commands[name], "commands", {})
        assert sorted(below) == sorted(name for name, _ in entry.below)


def test_a_former_name_works_and_is_in_no_list() -> None:
    former, name = (help_of(word).splitlines() for word in ("init", "new"))
    assert former[2:] == name[2:]  # all but the usage
    assert set(listed.FORMER.values()) <= set(NAMES)
    assert not set(listed.FORMER) & set(NAMES)


def test_the_catalogue_has_every_example() -> None:
    assert set(catalogue.examples()) == {path.stem for path in EXAMPLES.glob("*.toml")}
    for one in catalogue.examples().values():
        assert one.overrides and all("=" in override for override in one.overrides), one
        load(one.file)


def test_a_change_of_two_keys_is_two_overrides() -> None:
    assert catalogue.named("roaming").overrides == (
        "cell.0.bgscan_dbm=-95",
        "cell.1.bgscan_dbm=-95",
    )
    assert catalogue.named("red").words == "--set 'topology.queue={kind=\"droptail\", packets=50}'"


@pytest.mark.parametrize("changed", [False, True])
def test_an_example_is_run_as_it_is_or_changed(
    changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(running, "run_files", lambda *a: asked.append(a))
    words = ["examples", "hops", "--seed", "3", *(["--changed"] if changed else [])]
    done = CliRunner().invoke(app, words)
    ((files, options),) = asked
    assert files == [EXAMPLES / "hops.toml"]
    assert options.seed == 3
    assert options.overrides == (["flow.0.destination=n1"] if changed else None)
    assert ("hoplab examples hops --changed" in done.stdout) is not changed


def test_the_list_shows_every_example() -> None:
    told = CliRunner().invoke(app, ["examples"]).stdout
    assert all(re.search(rf"^{name}\b", told, re.MULTILINE) for name in catalogue.examples())


def test_a_copied_example_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    CliRunner().invoke(app, ["examples", "quic", "--copy", str(folder)])
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {
        *("quic.toml", "packages.lock", "fetch.py", "serve.py")
    }
    with pytest.raises(ScenarioError, match="File exists; name another folder"):
        cli.command()(["examples", "quic", "--copy", str(folder)], standalone_mode=False)
    with pytest.raises(ScenarioError, match="Not a directory"):
        words = ["examples", "hops", "--copy", str(folder / "quic.toml" / "x")]
        cli.command()(words, standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["hiden"], "'hiden': is no example; did you mean 'hidden-terminals'?"),
        (["zzz"], "'zzz': is no example; 'hoplab examples' lists them"),
        (["../hops"], "'../hops': is no example; did you mean 'hops'?"),
        (["--changed"], "are for one example; name it"),
        (["--seed", "3"], "are for one example; name it"),
    ],
)
def test_what_is_no_example_is_a_line(words: list[str], line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        cli.command()(["examples", *words], standalone_mode=False)
    assert line in str(caught.value) and "\n" not in str(caught.value)
