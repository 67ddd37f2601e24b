# SPDX-License-Identifier: Apache-2.0
"""Pipes, devices and links where a file is expected: no command waits for them or writes into
them."""

import ast
import errno
import os
from pathlib import Path

import pytest

from hoplab.guest.lab import job
from hoplab.host.runs import collect
from hoplab.many.sweep import place
from hoplab.model import reading, writing
from hoplab.model.errors import HoplabError, ResultsError
from hoplab.model.records.writer import Records
from hoplab.model.resources import PACKAGE
from hoplab.show import report
from tests.unit.test_habits import _run, hoplab
from tests.unit.test_runs_folder import killed

__all__ = ["killed"]


@pytest.mark.parametrize("name", ["pipe", "/proc/kmsg", "/dev/zero"])
@pytest.mark.parametrize("words", [["verify"], ["sweep", "--dry-run"], ["machine", "unpack"]])
def test_a_command_tells_of_them_at_once(tmp_path: Path, name: str, words: list[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = hoplab(*words, name, cwd=tmp_path)
    assert done.returncode in (2, 6, 8)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"hoplab: {name}: ")
    # The kernel's messages are not for everyone, and some may be there.
    assert "is no regular file" in line or name == "/proc/kmsg"


def test_a_file_that_has_its_reader_wait_is_refused(tmp_path: Path) -> None:
    """Of the files that call themselves regular, /proc/kmsg is one that only root may open."""
    first, other = os.pipe2(os.O_NONBLOCK)
    with os.fdopen(other, "wb"), reading._Regular(first, "rb") as waits:
        with pytest.raises(OSError, match="is no regular file"):
            waits.readinto(bytearray(1))
        with pytest.raises(OSError, match="is no regular file"):
            waits.readall()


PLACES = (
    *("scenario.json", "raw/verdict.json", "raw/tcp.jsonl", "raw/flows.jsonl", "raw/packets.jsonl"),
    *("tables/flows.parquet", "tables/tcp.parquet", "captures/air.pcapng", "raw/medium.json"),
    *("report.html", "manifest.json", "running.pid"),
)


@pytest.mark.parametrize("name", PLACES)
def test_a_runs_end_waits_for_no_pipe(killed: Path, name: str) -> None:
    """As a guest's program can make one in any place of the run's folder."""
    path = killed / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    try:
        collect.finish(killed)
        report.render(killed)
    except HoplabError as error:
        assert len(str(error).splitlines()) == 1
        assert path.name in str(error)
        assert "is no regular file" in str(error)
    else:
        # An account that cannot be read is one that is not there.
        assert name in ("raw/verdict.json", "raw/packets.jsonl", "raw/medium.json")


@pytest.mark.parametrize("name", ["tables/flows.parquet", "report.html", "scenario.json"])
def test_a_finished_run_is_read_and_drawn_without_waiting(tmp_path: Path, name: str) -> None:
    run = _run(tmp_path / "run")
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    with pytest.raises(ResultsError, match="is no regular file"):
        report.render(run)


def test_records_are_written_into_files_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    os.mkfifo(tmp_path / place.LOCK)
    with pytest.raises(OSError, match="is no regular file"):
        Records(tmp_path).add(
            "events", t_s=0.0, node=None, source="scenario", kind="x", detail=None
        )
    with pytest.raises(ResultsError, match="is no regular file"), place.held(tmp_path):
        pass


def test_a_link_leads_no_writer_out_of_a_runs_folder(killed: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("the user's")
    for name in ("raw/flows.jsonl", "report.html"):
        (killed / name).symlink_to(own)
    with pytest.raises(ResultsError, match=r"flows.jsonl: cannot be used: .*symbolic"):
        collect.finish(killed)
    (killed / "raw" / "flows.jsonl").unlink()
    collect.finish(killed)
    with pytest.raises(ResultsError, match=r"report.html: cannot be written: .*symbolic"):
        report.render(killed)
    assert own.read_text() == "the user's"


def test_what_a_pipe_replaced_can_be_finished(killed: Path) -> None:
    os.mkfifo(killed / "raw" / "flows.jsonl")
    with pytest.raises(
        ResultsError, match=r"flows.jsonl: .* no regular file; remove it; .*'hoplab fin"
    ):
        collect.finish(killed)
    (killed / "raw" / "flows.jsonl").unlink()
    assert collect.finish(killed).state == "complete"


def test_a_pipe_in_the_guest_is_no_fault_of_the_labs(tmp_path: Path) -> None:
    """Other errors of the kind are, and those of files elsewhere."""
    os.mkfifo(tmp_path / "sack.jsonl")
    with pytest.raises(OSError, match="is no regular file") as caught:
        writing.added(tmp_path / "sack.jsonl")
    said = job._of_a_file(tmp_path, caught.value)
    assert said == "sack.jsonl: cannot be used: is no regular file; let no program put one there"
    assert job._of_a_file(tmp_path / "other", caught.value) is None
    assert job._of_a_file(tmp_path, OSError(errno.EINVAL, "Invalid argument")) is None


def test_writers_replace_and_add(tmp_path: Path) -> None:
    path = tmp_path / "text"
    writing.write_text(path, "longer")
    writing.write_text(path, "text")
    with writing.added(path) as file:
        file.write(" and more")
    assert path.read_text() == "text and more"


READ = {"read_text", "read_bytes", "OSFile", "memory_map", "read_table", "copyfile", "copy"}
WRITTEN = {"write_text", "write_bytes", "touch"}
DOORS = ("model/reading.py", "model/writing.py")
OWN = (
    # Files of this package, of the kernel's, of the cache, and in new folders of this process.
    *("front/pages/*", "front/commands/check.py", "front/commands/completion.py"),
    "front/catalogue.py",
    *("front/mininet/recorder.py", "front/testing/*", "host/machine/*"),
    *("host/machine/launcher/*", "host/runs/kinds.py"),
    # Copies of a kernel's tests in the cache; the user's own tree is opened by `reading`.
    "host/selftest/*",
    *("host/stream/file.py", "many/store/files.py", "many/store/key.py", "many/store/serve.py"),
    *("many/sweep/task.py", "model/records/schema.py", "model/resolve/resolve.py"),
    "model/resolve/access_links.py",
    *("show/live/server.py", "show/live/shown.py", "show/report/figures.py"),
    # New files that the user names.
    *("front/commands/export.py", "front/commands/new.py", "front/commands/lock.py"),
    *("front/commands/selftest.py", "front/commands/examples.py", "front/commands/importing.py"),
    *("many/study/expected.py", "many/study/pages.py", "many/sweep/dataset.py"),
    "many/sweep/page.py",
    "model/movement/__init__.py",
    *("model/keys/documents.py", "show/report/overlay.py"),
    # The guest's own kernel, stations and terminals.
    *("guest/network/*", "guest/system/*", "guest/tcp/*", "guest/mininet/inside/*"),
    *("guest/lab/prompt.py", "guest/lab/session.py", "guest/lab/stepped.py"),
    "guest/lab/standby.py",
    *("guest/probes/overhead.py", "guest/probes/listeners.py", "guest/probes/connections.py"),
    *("guest/probes/ends.py", "guest/routing/daemons.py"),
    # A program's folder and file, and programs without this package, which have their own doors.
    *("guest/traffic/programs.py", "guest/traffic/processor.py", "guest/traffic/har.py"),
)
"""Modules with openings of their own, by what they open."""
SINGLE = {"host/runs/folder.py": 3, "show/report/page.py": 1}
"""A lock that is looked at without waiting, the user's scenario, a style sheet of this package."""


def _opens(call: ast.Call) -> bool:
    """Whether a call opens a file by its name."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute):
        return False
    of = function.value.id if isinstance(function.value, ast.Name) else ""
    if of in ("reading", "writing", "webbrowser", "tarfile", "gzip", "copy"):
        return False
    return function.attr in (*READ, *WRITTEN, "open")


def test_no_code_opens_what_may_be_others_by_another_door() -> None:
    others: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in DOORS and not any(Path(name).match(own) for own in OWN):
            calls = [n for n in ast.walk(ast.parse(path.read_bytes())) if isinstance(n, ast.Call)]
            if count := sum(map(_opens, calls)):
                others[name] = count
    assert others == SINGLE
