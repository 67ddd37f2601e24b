# SPDX-License-Identifier: Apache-2.0
"""Run a test function in a guest. Its reports come back as if it had run here."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from hoplab.front.testing import guest
from hoplab.host.machine import private, uml
from hoplab.host.machine.copies import Output, Wish
from hoplab.host.machine.guests import MEMORY_MB as USUAL_MB
from hoplab.host.machine.guests import MOST_RADIOS, Boot, OpenGuest
from hoplab.host.machine.originals import Originals
from hoplab.host.machine.uml import Streams
from hoplab.host.machine.watch import Limits
from hoplab.model.errors import HoplabError, ScenarioError

PASSED_ON = ("tbstyle", "showlocals", "capture", "log_level", "log_format", "log_date_format")
"""Options of pytest that shape a report, by their names in its configuration."""
NOT_THERE = ("cacheprovider", "xdist", "randomly", "rerunfailures", "cov")
"""Plug-ins that work outside. In a guest they would write files, start processes, and choose
tests."""
LOG = "pytest.log"
LAST_LINES = 20
MOST_SEED = 2**63 - 1
MEMORY_MB = ("memory_mb", 64, 1 << 20)
"""A guest with less memory does not start."""
LONGEST_S = 86_400.0
"""Virtual seconds of a test. A test that waits for nothing reaches them within seconds."""
PLUGIN = "hoplab.front.testing.plugin"
"""The entry point has the same name, so that it is not loaded twice."""


def run(item: pytest.Item, marker: pytest.Mark, following: pytest.Item | None) -> None:
    """Log the reports of ``item`` from the guest, or one from here if the guest made none. The
    guest of a ``following`` test may begin meanwhile."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    began = time.monotonic()
    reports = list(_reports(item, marker, following))
    _in_wall_time(reports, time.monotonic() - began)
    for report in reports:
        report.nodeid, report.location = item.nodeid, item.location
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _in_wall_time(reports: list[pytest.TestReport], wall_s: float) -> None:
    """Make the call's duration the guest's wall time, start and end included. The report's property
    ``virtual_s`` has the duration by the guest's clock."""
    virtual_s = sum(report.duration for report in reports if report.when == "call")
    for report in reports:
        if report.when != "setup":
            report.user_properties.append(("virtual_s", round(virtual_s, 6)))
        report.duration = wall_s if report.when == "call" else 0.0


def _reports(
    item: pytest.Item, marker: pytest.Mark, following: pytest.Item | None
) -> Iterator[pytest.TestReport]:
    standing = Standing.of(item.config)
    standing.expects_like = following is not None and _is_alike(item, marker, following)
    place = standing.place()
    folder, log = place.folder, place.folder / LOG
    failure = ""
    try:
        with place.log:
            _start(item, _settings(item, marker), place, standing)
    except (HoplabError, pytest.fail.Exception) as error:  # also what pytest-timeout raises
        failure = str(error)
    found = list(_read(item, folder / guest.REPORTS))
    yield from (report for report in found if isinstance(report, pytest.TestReport))
    if not any(getattr(report, "when", None) == "teardown" for report in found):
        collected = [r for r in found if isinstance(r, pytest.CollectReport)]
        yield from _broken(item, failure, collected, log)
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Place:
    """A test's folder, and its log for writing."""

    folder: Path
    log: BinaryIO


def _is_alike(item: pytest.Item, marker: pytest.Mark, other: pytest.Item) -> bool:
    """Return whether another test's guest may be a copy of the same one as this test's."""
    others = other.get_closest_marker("hoplab")
    if others is None or other.path != item.path:
        return False
    return {**marker.kwargs, "seed": 0} == {**others.kwargs, "seed": 0}


class Standing:
    """What tests in guests share until pytest ends: a folder for theirs, and the guests that theirs
    are copies of. Each of these has one file's tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._stack = contextlib.ExitStack()
        # 'hoplab clean' clears it after a crash.
        self.room = self._stack.enter_context(private.guest_folder())
        self._is_cold = config.getoption("hoplab_cold") or config.getoption("capture") == "no"
        self.expects_like = False
        """Whether the next test's guest may be a copy as this one's."""
        self._ahead: Place | None = None
        self._stack.callback(self._forget_ahead)
        self._originals = Originals(self.room, at_once=True, after=self._after)
        self._stack.callback(self._originals.close)
        config.add_cleanup(self._stack.close)

    @classmethod
    def of(cls, config: pytest.Config) -> Standing:
        """Return the one of this pytest."""
        if STANDING not in config.stash:
            config.stash[STANDING] = cls(config)
        return config.stash[STANDING]

    def place(self) -> Place:
        """Return the place of the next test."""
        if (place := self._ahead) is not None:
            self._ahead = None
            return place
        folder = Path(tempfile.mkdtemp(dir=self.room))
        return Place(folder, (folder / LOG).open("wb"))

    def _after(self, wish: Wish) -> Wish | None:
        if not self.expects_like:
            return None
        self._ahead = self.place()
        number = self._ahead.log.fileno()
        guest = wish.guest.into(self._ahead.folder)
        return replace(wish, guest=guest, output=Output(number, number))

    def _forget_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.log.close()

    def originals(self, item: pytest.Item) -> Originals | None:
        """Return what the test's guest is to be a copy of. None if it is to boot, or if the file
        has no other test for a guest."""
        if self._is_cold:
            return None
        others = (other for other in item.session.items if other.path == item.path)
        marked = [other for other in others if other.get_closest_marker("hoplab") is not None]
        return self._originals if len(marked) > 1 else None


STANDING: pytest.StashKey[Standing] = pytest.StashKey()


def _settings(item: pytest.Item, marker: pytest.Mark) -> dict[str, Any]:
    unknown = sorted(set(marker.kwargs) - guest.OPTIONS)
    if marker.args or unknown:
        what = unknown[0] if unknown else repr(marker.args[0])
        raise ScenarioError(
            f"{item.nodeid}: @pytest.mark.hoplab: {what} is none of its options; "
            f"name them: {', '.join(sorted(guest.OPTIONS))}"
        )
    for name, least, most in (("radios", 0, MOST_RADIOS), ("seed", 0, MOST_SEED), MEMORY_MB):
        value = marker.kwargs.get(name, least)
        if type(value) is not int or not least <= value <= most:
            raise ScenarioError(
                f"{item.nodeid}: @pytest.mark.hoplab: {name} = {value!r:.80}; expected a whole "
                f"number from {least} to {most}"
            )
    if type(marker.kwargs.get("realtime", False)) is not bool:
        raise ScenarioError(
            f"{item.nodeid}: @pytest.mark.hoplab: realtime = "
            f"{marker.kwargs['realtime']!r:.80}; expected True or False"
        )
    return dict(marker.kwargs)


def _start(item: pytest.Item, settings: dict[str, Any], place: Place, standing: Standing) -> None:
    shown = item.config.getoption("capture") == "no"
    seed = getattr(item, "callspec", None) and item.callspec.params.get("hoplab_seed")  # type: ignore[attr-defined]
    seed = seed or settings.get("seed", 1)
    virtual = not settings.get("realtime", False)
    name = item.nodeid.partition("::")[2]
    guest.Wanted(name, seed if virtual else None).write(place.folder)
    output = None if shown else place.log
    streams = Streams(stdout=output, stderr=output)
    if virtual:
        streams = replace(streams, stands_by=True, originals=standing.originals(item))
    uml.run_guest(
        OpenGuest(place.folder, cwd=str(item.config.invocation_params.dir)),
        ["env", f"{guest.FOLDER}=/out", *_environment(), *_command(item)],
        Boot(
            settings.get("memory_mb", USUAL_MB),
            virtual=virtual,
            radios=settings.get("radios", 0),
        ),
        streams,
        Limits(virtual_s=LONGEST_S, tell=partial(_tell, item)),
    )


def _tell(item: pytest.Item, what: str) -> None:
    """Warn of a test that computes without end, but let it go on, as outside a guest."""
    reporter = item.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"{item.nodeid}: {what}; it goes on. Ctrl-C or pytest-timeout ends it")


def _environment() -> list[str]:
    """Return the settings of the caller's interpreter, except those that would make each run
    different."""
    kept = ("PYTHONPATH", "VIRTUAL_ENV")
    return [f"{name}={os.environ[name]}" for name in kept if name in os.environ]


def _command(item: pytest.Item) -> list[str]:
    config = item.config
    # Not from the current folder, where a folder called hoplab would hide this package.
    words = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        str(item.path),
        f"--rootdir={config.rootpath}",
    ]
    # A limit of wall time is for the outer pytest. In a guest it would be one of virtual time.
    words += ["-o", "addopts=", "-o", "timeout=0", "-p", PLUGIN]
    if config.inipath is not None:
        words += ["-c", str(config.inipath)]
    for plugin in NOT_THERE:
        words += ["-p", f"no:{plugin}"]
    for option in PASSED_ON:
        value = config.getoption(option, None)
        flag = "--tb" if option == "tbstyle" else f"--{option.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value not in (None, False):
            words.append(f"{flag}={value}")
    if seeds := config.getoption("hoplab_seeds"):
        words.append(f"--hoplab-seeds={seeds}")
    return words + ["-v"] * config.getoption("verbose")


def _read(item: pytest.Item, path: Path) -> Iterator[pytest.TestReport | pytest.CollectReport]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
        except ValueError:  # a guest that ended in mid-line
            return
        config = item.config
        report = config.hook.pytest_report_from_serializable(config=config, data=data)
        if isinstance(report.longrepr, list):  # of a skip: file, line, why; JSON has no tuples
            report.longrepr = tuple(report.longrepr)
        yield report


def _broken(
    item: pytest.Item, failure: str, collected: list[pytest.CollectReport], log: Path
) -> Iterator[pytest.TestReport]:
    """Report a test for which the guest could not send all reports."""
    lines = [failure or "the guest's pytest ended before the test did"]
    lines += [str(report.longrepr) for report in collected]
    text = log.read_text(encoding="utf-8", errors="replace")
    if not collected and text:
        lines += ["the guest's last lines:", *text.splitlines()[-LAST_LINES:]]
    yield pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed",
        longrepr="\n".join(lines),
        when="call",
        duration=0.0,
    )
