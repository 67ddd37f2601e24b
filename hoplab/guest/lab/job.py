# SPDX-License-Identifier: Apache-2.0
"""One run inside a kernel: build the network, start daemons and traffic, measure, stop.

Runs as root in whichever kernel it is started in: ``python -m hoplab.guest.lab FOLDER`` reads
FOLDER/scenario.json (a resolved scenario) and writes FOLDER/raw and FOLDER/logs. Progress goes
to stdout as one JSON object a virtual second; the verdict to FOLDER/raw/verdict.json.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import traceback
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from hoplab.guest.lab import branched, standby
from hoplab.guest.lab.account import Account
from hoplab.guest.lab.built import Maker, built
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.planned import Planned, planned
from hoplab.guest.lab.started import Started, started
from hoplab.guest.system import signals
from hoplab.model import writing
from hoplab.model.errors import HoplabError, ResultsError
from hoplab.model.keys.dsr import DsrFile, DsrSettings
from hoplab.model.keys.medium_file import RadioStation, Records
from hoplab.model.keys.resolved import Resolved, ResolvedMedium
from hoplab.model.network.plan import Plan, plan
from hoplab.model.reading import OTHER_KINDS, content

REAL_TIME = "--real-time"
PR_SET_NAME, PR_SET_TIMERSLACK = 15, 29
NAME = b"hoplab-lab"
"""The process's own, by which `hoplab.host.runs.suspects` tells it from programs in Python."""
MODELS: tuple[type[BaseModel], ...] = (
    Resolved,
    ResolvedMedium,
    RadioStation,
    Records,
    DsrFile,
    DsrSettings,
)
"""Each takes some ten milliseconds to make. Images and copies of a guest then have them."""
PROBE_BYTES = 1 << 16
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
Arrange = Callable[[Started, CleanUp], Planned]
"""The last stage: it leads the run from time 0 to its end."""
Course = Callable[[CleanUp], Planned]
"""All stages of a run but the last."""


def load_models(*more: type[BaseModel]) -> None:
    """Make the models that most runs check documents with, and ``more``."""
    for model in (*MODELS, *more):
        model.model_rebuild()


def prepare(out: Path, seed: int | None = None) -> Plan:
    """Return the plan of the scenario in ``out``, or of the same with another ``seed``. Makes the
    folders for records and logs."""
    for folder in ("raw", "logs", "captures"):
        (out / folder).mkdir(exist_ok=True)
    scenario = Resolved.model_validate_json(content(out / "scenario.json"))
    return plan(scenario if seed is None else scenario.model_copy(update={"seed": seed}))


def main(arguments: list[str]) -> int:
    """``FOLDER [--real-time]``; returns the exit status."""
    signals.raise_on_signals()
    real_time = REAL_TIME in arguments
    if not real_time:
        load_models()
        # What has been loaded stays. A copy that looked through it would copy its pages.
        gc.freeze()
        standby.stand_by()
    return perform(Path(arguments[0]), real_time)


def perform(
    out: Path,
    real_time: bool,
    make: Maker | None = None,
    ready: Callable[[int], None] = lambda begin_ns: None,
    arrange: Arrange = planned,
    control: Path | None = None,
) -> int:
    """Perform the run in the folder ``out`` and return the exit status. ``make`` is as for `built`,
    and ``control`` as for `started`. ``ready`` receives CLOCK_MONOTONIC of time 0, just before that
    time."""
    account = Account()

    def course(undo: CleanUp) -> Planned:
        whole = prepare(out)
        if whole.scenario.branch is not None:
            return branched.course(out, account, whole, undo)
        if not real_time:
            standby.begin(whole.scenario.seed)
        made = built(whole, out, account, undo, make)
        stage = started(made, real_time, undo, control)
        run = arrange(stage, undo)
        ready(stage.clock.epoch_ns)
        return run

    return conduct(out, account, course)


def conduct(out: Path, account: Account, course: Course) -> int:
    """Perform the run of ``course`` in the folder ``out``. Returns the exit status."""
    # Otherwise the kernel wakes every process up to 50 us late. Child processes inherit the
    # setting.
    library = ctypes.CDLL(None)
    library.prctl(PR_SET_TIMERSLACK, 1)
    library.prctl(PR_SET_NAME, NAME)
    account.status, account.error = _verdict(out, course)
    with contextlib.suppress(OSError):  # the exit status says it too
        account.write(out)
    return account.status


def _verdict(out: Path, course: Course) -> tuple[int, str | None]:
    """Perform the run. Returns the exit status and the error message."""
    try:
        with CleanUp() as undo:
            course(undo).follow()
    except HoplabError as error:
        if (reason := _no_space(out)) is not None:  # then a daemon cannot even log it
            return ResultsError.exit_status, reason
        _log_notes(out, error)
        return error.exit_status, str(error)
    except signals.Stopped as stopped:
        return stopped.exit_status, stopped.word
    except Exception as error:
        if isinstance(error, OSError) and (reason := _of_a_file(out, error)) is not None:
            return ResultsError.exit_status, reason
        with contextlib.suppress(OSError):
            writing.write_text(out / "logs" / "lab.log", traceback.format_exc())
        return 1, f"lab: {type(error).__name__}: {error}; see logs/lab.log"
    return 0, None


def _of_a_file(out: Path, error: OSError) -> str | None:
    """Return why a file of the run's folder cannot be used, or None for other errors."""
    if error.errno in DISK_ERRORS:
        return _unwritable(error)
    if error.errno in OTHER_KINDS and (path := Path(str(error.filename))).is_relative_to(out):
        where = path.relative_to(out)
        return f"{where}: cannot be used: {error.strerror}; let no program put one there"
    return None


def _unwritable(error: OSError) -> str:
    return f"results: cannot be written: {error.strerror}; free some space"


def _no_space(out: Path) -> str | None:
    """Return why the run's folder cannot be written, or None if it can."""
    probe = out / "raw" / "probe"
    try:
        with writing.new(probe) as file:
            file.write(bytes(PROBE_BYTES))
    except OSError as error:
        return _unwritable(error) if error.errno in DISK_ERRORS else None
    finally:
        probe.unlink(missing_ok=True)
    return None


def _log_notes(out: Path, error: Exception) -> None:
    """Log the errors of clearing up."""
    notes = getattr(error, "__notes__", [])
    if notes:
        with contextlib.suppress(OSError):
            text = "\n".join([str(error), *notes]) + "\n"
            writing.write_text(out / "logs" / "lab.log", text)
