# SPDX-License-Identifier: Apache-2.0
"""What holds for every test. A skipped test hides a gap, so it fails; but for those of
Mininet-WiFi, which no registry has. `limit` ends those that hang."""

import signal
from collections.abc import Generator
from typing import Any

import pytest

pytest_plugins = ["tests.limit"]
MAY_BE_MISSING = "Mininet-WiFi"


def pytest_configure() -> None:
    """A shell starts what is in the background with the first two ignored, nohup with the last; so
    would be what tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = _reason(report.longrepr)
        if MAY_BE_MISSING not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped, which hides a gap; install what it lacks: {reason}"
    return report


def _reason(longrepr: Any) -> str:
    """Of a skip: file, line, reason."""
    return str(longrepr[2] if isinstance(longrepr, tuple) else longrepr)
