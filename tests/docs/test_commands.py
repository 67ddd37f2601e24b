# SPDX-License-Identifier: Apache-2.0
"""Every command of README and documentation: run, or, where a reason stands here, checked against
the program that it names."""

import importlib.util
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import typer
import typer.main

from hoplab.front.commands.cli import app
from hoplab.model.keys.routers import ROUTERS
from hoplab.model.resources import PROJECT
from tests.docs import shown
from tests.docs.shown import Command, Shown

DAEMONS = ("hoplab-dsr", *(f"hoplab-{name}" for name in ROUTERS), "hoplab-medium", "hoplab-split")
NOT_RUN = {
    "make setup": "done before any test",
    "make demo": ".ci/run runs it",
    "make test": "what runs this",
    "make lint": ".ci/run runs it",
    "make fuzz *": ".ci/run runs it, for seconds",
    "make validate*": "hours; each part by itself before a release",
    "make study *": "the same as 'hoplab study', which .ci/run runs by 'make studies-quick'",
    "*python -m tests.validate*": "minutes to hours, and writes the figures of docs/",
    "*experiments/agent/*": "minutes of training, and of looking ahead",
    "make -C kernel-modules*": "for the kernel of a host that has its headers",
    "sudo make -C kernel-modules *": "installs modules on the host",
    "cargo *": "'make test' runs the workspace's tests; a benchmark needs a quiet computer",
    "hoplab machine build *": "compiles a kernel; tests/emulation/test_kernels.py, nightly",
    "hoplab bisect *": "of a tree of yours; tests/emulation/test_kernels.py, nightly",
    "hoplab selftest *": "compiles a kernel; tests/emulation/test_selftest.py does without",
    "git bisect *": "of a tree of yours; the same test",
    "hoplab clean": "takes away what others of this user may look at; tests/unit has it",
    "hoplab study": "lists the checkout's studies only; tests/unit has it",
    "hoplab study *": ".ci/run runs the short versions by 'make studies-quick', others take hours",
    "hoplab sweep experiments/*": "minutes to an hour",
    "hoplab run experiments/mobile/*": "a minute; tests/unit holds its study's scenario",
    "hoplab trace runs/starving *": "of that run",
    "hoplab * --live*": "waits for a browser; tests/page opens one",
    "hoplab run * --save-at *": "stays until it is ended; tests/emulation/test_saving.py",
    "*hoplab shell *": "waits for a person; tests/emulation/test_shell.py types to it",
    "python experiments/faults/* make *": "ten runs; tests/emulation/test_faults.py",
    "* --influx http://127.0.0.1:8428 *": "needs a database; tests/emulation/test_dashboards.py",
    "HOPLAB_MININET_WIFI=*": "needs Mininet-WiFi, which no package registry has",
    "wmediumd *": "needs radios of mac80211_hwsim; tests/emulation/test_mininet.py",
    "docker *": "CI has no containers",
    "apt *": "changes the host",
    "apt-get *": "changes the host",
    "victoria-metrics *": "serves until it is ended; tests/emulation/victoria.py starts one",
    "cp *dashboards/*": "into folders of a Grafana that is installed",
    "systemctl *": "of a Grafana that is installed",
    "hoplab verify run.tar.zst": "of a form, the line before; the tutorial verifies",
    "hoplab dsr dsr.toml*": "needs an interface; tests/emulation/test_routing.py starts it",
    "hoplab aodv aodv.toml": "needs an interface; tests/emulation/test_aodv.py starts it",
    "hoplab olsr olsr.toml": "needs an interface; as AODV's, by the same code",
    "hoplab dsdv dsdv.toml": "needs an interface; as AODV's, by the same code",
    "hoplab-split ctl": "needs its daemon; tests/emulation/test_split_transfer.py",
    "packaging/ci/install wheels *": "compiles everything; tried in bare roots (docs/ci.md)",
    "cp gentle/*": "would change the checkout, and so the machine of all other tests",
    "echo 'obj-m *": "the same",
    "hoplab run * --set flow.0.congestion_control=gentle": "the same",
}
"""Commands by pattern, and why they are not run: costly, destructive, or run elsewhere."""

TUTORIAL = PROJECT / "docs" / "tutorial.md"
"""Its results are looked at as well: test_tutorial.py."""


OF_THE_CHECKOUT = (
    *(".venv", "Makefile", "dashboards", "docs", "experiments", "kernel-modules", "packaging"),
    *("scripts", "tests", "topologies"),
)
"""What commands may name. Not the package: pytest would import it from there."""


def of(page: Path) -> list[Command]:
    return [step for step in shown.steps(page) if isinstance(step, Command)]


COMMANDS = [command for page in shown.pages() for command in of(page)]


def reason(command: Command) -> str | None:
    """Why it is not run; nothing where it is."""
    if command.is_form:
        return "a form, with places to fill in"
    if command.text in ("hoplab store", "hoplab machine"):
        return "a group of commands"
    return next((why for pattern, why in NOT_RUN.items() if fnmatch(command.text, pattern)), None)


def run_page(page: Path, folder: Path) -> list["subprocess.CompletedProcess[str]"]:
    """Do what a page shows, in ``folder``, which looks like the checkout; what commands said."""
    for name in OF_THE_CHECKOUT:
        (folder / name).symlink_to(PROJECT / name)
    first = next(s for s in shown.steps(PROJECT / "README.md") if isinstance(s, Shown))
    (folder / first.name).write_text(first.text, encoding="utf-8")  # which every page may use
    # The programs are those of this checkout; runs are made, not taken from the user's store.
    path = [PROJECT / ".venv" / "bin", PROJECT / "build" / "bin", os.environ["PATH"]]
    environment = {
        **os.environ,
        "PATH": ":".join(map(str, path)),
        "HOPLAB_STORE": str(folder / "store"),
    }
    done = []
    for step in shown.steps(page):
        if isinstance(step, Shown):
            if not step.name.startswith("."):
                (folder / step.name).parent.mkdir(exist_ok=True)
                (folder / step.name).write_text(step.text, encoding="utf-8")
        elif reason(step) is None:
            command = ["bash", "-euo", "pipefail", "-c", step.text]
            ended = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, f"{step}\n{ended.stdout}{ended.stderr}"
            done.append(ended)
    return done


def runs(page: Path) -> bool:
    return any(reason(command) is None for command in of(page))


@pytest.mark.parametrize(
    "page",
    [page for page in shown.pages() if runs(page) and page != TUTORIAL],
    ids=lambda page: str(page.relative_to(PROJECT)),
)
def test_what_a_page_shows_runs(page: Path, tmp_path: Path) -> None:
    assert run_page(page, tmp_path)


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_every_command_exists(command: Command) -> None:
    """Its program, options, targets, files and modules do, whether it is run or not."""
    checked(command)


def test_commands_in_the_text_exist_too() -> None:
    for page in shown.pages():
        for command in shown.inline(page):
            _named(command, shlex.split(command.text)[1:])


def test_reasons_are_of_commands() -> None:
    idle = [why for why in NOT_RUN if not any(fnmatch(c.text, why) for c in COMMANDS)]
    assert not idle, "no page shows such a command; take it out"


def checked(command: Command) -> None:
    """Raises `AssertionError` where something that it names does not exist."""
    text = re.sub(r"^\w+=\$\(([^)]*)\) && ", "", shown.ASSIGNMENTS.sub("", command.text))
    words = [w.removeprefix(".venv/bin/") for w in shlex.split(text, comments=True)]
    program, arguments = words[0], words[1:]
    if program == "sudo":
        program, arguments = arguments[0], arguments[1:]
    if program == "hoplab":
        _hoplab(command, arguments)
    elif program in DAEMONS:
        known = _help(program)
        for word in arguments:
            if word.startswith("--"):
                assert re.search(rf"{word}\b", known), f"{command}: {program} has no {word}"
    elif program == "make":
        _make(command, arguments)
    elif program in ("python", "pytest"):
        _python(command, arguments)


def _hoplab(command: Command, words: list[str]) -> None:
    if command.is_form or not words or words[0].startswith("-"):
        _named(command, words)
    else:
        _parsed(command, words)


def _named(command: Command, words: list[str]) -> None:
    """Of a form or a mention: there are such commands and options."""
    group = typer.main.get_command(app)
    names = [word for word in words if word != "…"]
    while names and hasattr(group, "commands") and not names[0].startswith("-"):
        for name in names if "|" in names[1:2] else names[:1]:
            assert name == "|" or name in group.commands, f"{command}: there is no {name!r}"
        group, names = group.commands[names[0]], names[1:]
    options = {flag for found in group.params for flag in (*found.opts, *found.secondary_opts)}
    for name in names[: names.index("--") if "--" in names else None]:
        flag = name.strip("[]").partition("=")[0]
        known = {*options, *EVERYWHERE}
        assert not flag.startswith("--") or flag in known, f"{command}: there is no {flag}"


EVERYWHERE = ("--help", "--debug", "--version", "--install-completion", "--show-completion")


def _parsed(command: Command, words: list[str]) -> None:
    """Of a whole command: it is taken as it stands."""
    group = typer.main.get_command(app)
    words = words[: next((n for n, word in enumerate(words) if word[0] in ">|"), None)]
    context = typer.Context(group, info_name="hoplab")
    name: str | None = "hoplab"
    found = group
    try:
        while hasattr(found, "commands") and words:
            name, found, words = found.resolve_command(context, words)
            context = typer.Context(found, info_name=name, parent=context)
        if not hasattr(found, "commands"):
            found.make_context(name, list(words), parent=context.parent)
    except Exception as error:
        raise AssertionError(f"{command}: {error}") from None


@cache
def _help(program: str) -> str:
    asked = [PROJECT / "build" / "bin" / program, "--help"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def _make(command: Command, words: list[str]) -> None:
    folder = PROJECT
    if "-C" in words:
        at = words.index("-C")
        if "$" in words[at + 1]:
            return  # the kernel's own
        folder = PROJECT / words[at + 1]
        words = words[:at] + words[at + 2 :]
    text = (folder / "Makefile").read_text(encoding="utf-8")
    for word in words:
        name, equals, _ = word.partition("=")
        # W and C are the kernel's own, of every build of modules.
        there = rf"\b{name}\b" if equals else rf"^{name}:"
        known = name in ("W", "C") or re.search(there, text, re.MULTILINE)
        assert known, f"{command}: {folder.name}/Makefile has no {name}"


def _python(command: Command, words: list[str]) -> None:
    if words[0] == "-m":
        assert importlib.util.find_spec(words[1]), f"{command}: there is no module {words[1]}"
    elif words[0].endswith(".py"):
        page = PROJECT / command.page
        files = {step.name for step in shown.steps(page) if isinstance(step, Shown)}
        assert words[0] in files or (PROJECT / words[0]).exists(), f"{command}: no {words[0]}"


def test_what_is_wrong_is_found() -> None:
    """The checks above can fail."""
    for text, told in WRONG.items():
        with pytest.raises(AssertionError, match=told):
            checked(Command("page", 1, text))


WRONG: Mapping[str, str] = {
    "hoplab rnu FILE": "there is no 'rnu'",
    "hoplab run FILE --sed 3": "there is no --sed",
    "hoplab run a.toml --seed x": "valid integer",
    "hoplab run": "Missing",
    "hoplab store list": "No such command",
    "make demmo": "has no demmo",
    "make validate OLNY=tcp": "has no OLNY",
    "python -m tests.validte": "there is no module",
    "hoplab-dsr --interface x": "has no --interface",
}
