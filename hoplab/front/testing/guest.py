# SPDX-License-Identifier: Apache-2.0
"""The half of the plugin that pytest loads in a guest. It sends the test's reports outside.

pytest collects the test's whole file. Then the guest stands by: it goes on itself, or copies of it
do, each with one test of the file. The test's seed acts from there on.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from hoplab.guest.lab import standby
from hoplab.guest.system import leaving
from hoplab.model import writing
from hoplab.model.reading import content

FOLDER = "HOPLAB_PYTEST_REPORTS"
"""Variable of a guest's pytest: the folder that it shares with the pytest outside."""
REPORTS = "reports.jsonl"
WANTED = "test.json"
OPTIONS = frozenset({"radios", "seed", "realtime", "memory_mb"})
"""Options of a marker."""


@dataclass(frozen=True)
class Wanted:
    """The test that a guest is for, by its name in its file. Without a seed time is real."""

    name: str
    seed: int | None

    def write(self, folder: Path) -> None:
        """Leave it where the guest looks."""
        writing.write_text(folder / WANTED, json.dumps(asdict(self)))


def _wanted(folder: Path) -> Wanted:
    return Wanted(**json.loads(content(folder / WANTED)))


def report(config: pytest.Config, folder: Path) -> None:
    """Write reports to ``folder``. Under ``-s`` the test prints to the user's terminal. pytest's
    own output is suppressed, because the pytest outside prints it."""
    config.pluginmanager.register(Reporter(folder))
    if config.getoption("capture") == "no":
        config.pluginmanager.unregister(name="terminalreporter")


def leave(config: pytest.Config, status: int) -> NoReturn:
    """End pytest, and this process."""
    config._ensure_unconfigure()
    leaving.leave(status)


class Reporter:
    """Writes every report as a line, in the form that pytest uses between processes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / REPORTS
        self.config: pytest.Config | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.config = session.config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Stand by, then run the one test."""
        if session.testsfailed:
            return None
        if any("network" in getattr(item, "fixturenames", ()) for item in session.items):
            importlib.import_module("hoplab.front.testing.network").load()  # what copies share
        standby.keep()
        standby.stand_by(until_told=True)
        wanted = _wanted(self.path.parent)
        if wanted.seed is not None:
            standby.begin(wanted.seed)
        random.seed()  # by the kernel's numbers, which depend on the seed from here on
        for item in session.items:
            if item.nodeid.partition("::")[2] == wanted.name:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                # Nobody reads the summary here, for which plug-ins import what no test needs.
                item.config.pluginmanager.unregister(name="terminalreporter")
                return True
        sys.stderr.write(f"{wanted.name}: is no test of its file in a guest\n")
        return True

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        assert self.config is not None
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data, default=str) + "\n")
