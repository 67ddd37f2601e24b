# SPDX-License-Identifier: Apache-2.0
"""The half of the plugin that pytest loads in a guest: what became of the test goes outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOLDER = "HOPLAB_PYTEST_REPORTS"
"""In the environment of a guest's pytest: the folder that it shares with the one outside."""
REPORTS = "reports.jsonl"
OPTIONS = frozenset({"radios", "seed", "realtime", "memory_mb"})
"""That a marker may name."""


def report(config: pytest.Config, folder: Path) -> None:
    """Have reports written to ``folder``. Under ``-s`` what the test prints is on the user's
    terminal, and pytest's own words are not: the one outside says them."""
    config.pluginmanager.register(Reporter(folder))
    if config.getoption("capture") == "no":
        config.pluginmanager.unregister(name="terminalreporter")


class Reporter:
    """Writes every report, as pytest writes it for other processes, a line each."""

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

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        assert self.config is not None
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data, default=str) + "\n")
