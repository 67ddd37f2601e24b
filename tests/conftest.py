# SPDX-License-Identifier: Apache-2.0
"""What holds for every test. A skipped test hides a gap, so it fails; but for those of
Mininet-WiFi, which no registry has. `limit` ends those that hang. Tests that share
a costly fixture go to one worker of pytest-xdist, so that it is made once."""

import signal
from collections.abc import Generator
from typing import Any

import pytest

pytest_plugins = ["tests.limit"]
MAY_BE_MISSING = "Mininet-WiFi"


def pytest_configure() -> None:
    """A shell starts what is in the background with both ignored; so would be what tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


SHARED = ("session", "package", "module", "class")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A group for all that use a fixture which outlives a test; a test may also name its own."""
    for item in items:
        group = _shared(item)
        if group is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))


def _shared(item: pytest.Item) -> str | None:
    """Where the widest of such fixtures of ours is defined."""
    info = getattr(item, "_fixtureinfo", None)
    found = [chain[-1] for chain in info.name2fixturedefs.values()] if info else []
    ours = [one for one in found if one.scope in SHARED and one.baseid.startswith("tests/")]
    return min(ours, key=lambda one: SHARED.index(one.scope)).baseid if ours else None


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
