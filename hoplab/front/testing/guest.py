# SPDX-License-Identifier: Apache-2.0
"""The half of the plugin that pytest loads in a guest. It sends the test's reports outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOLDER = "HOPLAB_PYTEST_REPORTS"
"""Variable of a guest's pytest: the folder that it shares with the pytest outside."""
REPORTS = "reports.jsonl"
OPTIONS = frozenset({"radios", "seed", "realtime", "memory_mb"})
"""Options of a marker."""


def report(config: pytest.Config, folder: Path) -> None:
    """Write reports to ``folder``. Under ``-s`` the test prints to the user's terminal. pytest's
    own output is suppressed, because the pytest outside prints it."""
    config.pluginmanager.register(Reporter(folder))
    if config.getoption("capture") == "no":
        config.pluginmanager.unregister(name="terminalreporter")


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

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        assert self.config is not None
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data, default=str) + "\n")
