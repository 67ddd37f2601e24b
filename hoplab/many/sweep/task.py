# SPDX-License-Identifier: Apache-2.0
"""One run, from a resolved scenario's text to the store's entry: the work of a worker."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path

import pyarrow as pa

from hoplab import __version__
from hoplab.host import results
from hoplab.host.machine import pack, sealed, select
from hoplab.host.machine import store as machines
from hoplab.host.machine.originals import Originals
from hoplab.host.machine.sealed import Machine
from hoplab.host.results import manifest as manifests
from hoplab.host.results.manifest import Manifest
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.many.store import entry as entries
from hoplab.many.store.key import evaluation
from hoplab.model.errors import OF_THIS_PLACE, Damaged, HoplabError, MissingTool, ResultsError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.resources import IS_CHECKOUT
from hoplab.show import report


@dataclass(frozen=True)
class Request:
    """A run to be made. ``tables`` are those to keep; ``folder`` requests the run's folder too."""

    key: str
    machine: str
    scenario: str
    tables: tuple[str, ...]
    evaluation: str
    folder: bool = False
    cold: bool = False
    """Whether a guest has to boot for it."""


@dataclass(frozen=True)
class Answer:
    """The result of a request. It holds the bytes of the store's entry, and of the run's folder if
    requested. Or it says that the machine is missing at this worker, or why the worker cannot run
    it."""

    entry: bytes | None = None
    folder: bytes | None = None
    lacks_machine: str | None = None
    problem: str | None = None
    exit_status: int = 1


QUICK = 3
"""Zstandard's level for bytes that are sent once: a second of work instead of ten, 4 MiB more."""

_machines: dict[str, Machine] = {}
"""Machines that this process has checked, which each worker does once."""


def machine(identity: str) -> Machine | None:
    """Return the machine on this computer, its files checked once; None if it is not here."""
    known = _machines.get(identity)
    if known is not None and known.kernel.is_file():
        return known
    found = _here(identity)
    if found is not None:
        sealed.check(found, machines.stamps())
        _machines[identity] = found
    return found


def _here(identity: str) -> Machine | None:
    with contextlib.suppress(MissingTool, Damaged):
        return machines.find(identity)
    if not IS_CHECKOUT:  # a checkout would have to build its own
        with contextlib.suppress(MissingTool, Damaged):
            own = select.chosen()
            return own if own.id == identity else None
    return None


def knows(identity: str) -> bool:
    """Return whether this process has checked a machine."""
    return identity in _machines


def know(found: Machine) -> None:
    """Register a machine that was checked already, wherever it lies."""
    _machines[found.id] = found


def packed(found: Machine) -> bytes:
    """Return a machine as bytes, for workers that lack it."""
    with tempfile.TemporaryDirectory(prefix="hoplab-machine-") as name:
        file = Path(name) / "machine.tar.zst"
        pack.pack(found, file, QUICK)
        return file.read_bytes()


def receive(content: bytes) -> str:
    """Put a `packed` machine into this computer's cache. Returns its identity."""
    with tempfile.TemporaryDirectory(prefix="hoplab-machine-") as name:
        file = Path(name) / "machine.tar.zst"
        file.write_bytes(content)
        return pack.unpack(file).id


def work(request: Request, scratch: str | None = None) -> Answer:
    """Make the run in a folder below ``scratch``, which is then removed."""
    if request.evaluation != evaluation():
        return Answer(problem="has another version of hoplab; install the same one on all workers")
    try:
        own = machine(request.machine)
        if own is None:
            return Answer(lacks_machine=scratch or "here")
        return make(request, own, scratch)
    except HoplabError as error:  # an error of this computer, not of the run
        return Answer(problem=str(error), exit_status=error.exit_status)
    except Exception as error:  # some exceptions cannot be sent, and the client would wait forever
        return Answer(problem=f"{type(error).__name__}: {str(error)[:500]}; this is a bug")


def make(request: Request, own: Machine, scratch: str | None = None) -> Answer:
    """Make the run as `work` does, with a machine at hand. Raises the errors `OF_THIS_PLACE`, which
    say nothing about the run."""
    began_cpu_s, began_s = _cpu_s(), time.monotonic()
    scenario = Resolved.model_validate_json(request.scenario)
    room, originals = _room(scratch)
    with tempfile.TemporaryDirectory(dir=room) as name:
        out = Path(name) / "run"
        error: HoplabError | None = None
        try:
            copied = None if request.cold else originals
            machine = Sealed(own, originals=copied, is_cold=request.cold)
            perform(RunRequest(scenario, machine, out=out))
        except OF_THIS_PLACE:
            raise
        except HoplabError as found:
            error = found
        manifest = _manifest(out)
        head = {
            "format": 1,
            "key": request.key,
            "machine": own.id,
            "evaluation": request.evaluation,
            "hoplab_version": __version__,
            "scenario": json.loads(request.scenario),
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "virtual_s": manifest.virtual_s,
            "warnings": manifest.verdict.warnings,
            "wall_s": round(time.monotonic() - began_s, 3),
            "cpu_s": round(_cpu_s() - began_cpu_s, 3),
        }
        if error is not None:
            reason = manifest.verdict.error or str(error)
            entry = entries.failed(head, reason, error.exit_status)
        else:
            head |= {"digest": manifest.digest, "digests": manifest.tables}
            entry = entries.made(head, _tables(out, request, manifest))
        folder = _archive(out) if request.folder else None
        return Answer(entries.pack(entry), folder)


@cache
def _room(scratch: str | None) -> tuple[Path, Originals]:
    """Return this process's folder for runs, and the guests of which these are copies."""
    made = tempfile.TemporaryDirectory(prefix="hoplab-sweep-", dir=scratch)
    name = _rooms.enter_context(made)
    return Path(name), _rooms.enter_context(contextlib.closing(Originals(Path(name))))


def clear() -> None:
    """Remove this process's folders for runs, and end the guests of which these were copies."""
    _rooms.close()


_rooms = contextlib.ExitStack()
Finalize(None, clear, exitpriority=1)  # at the end of one of `multiprocessing`'s processes too


def _tables(out: Path, request: Request, manifest: Manifest) -> dict[str, pa.Table]:
    run = results.load(out)
    return {name: run.table(name) for name in request.tables if name in (manifest.tables or {})}


def _manifest(out: Path) -> Manifest:
    """Return the manifest, even of a run that failed before it had one."""
    try:
        return manifests.read(out / manifests.NAME)
    except ResultsError:
        return Manifest()


def _cpu_s() -> float:
    """Return the processor time of this process and its children, all of which have ended."""
    return sum(os.times()[:4])


def _archive(out: Path) -> bytes:
    """Return the run's folder with its report, without the raw records."""
    report.render(out)
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        for path in _files(out):
            tar.add(path, path.relative_to(out), recursive=False)
    plain = sink.getvalue()
    squeezed: bytes = pa.compress(plain, codec="zstd", asbytes=True)
    return len(plain).to_bytes(8, "little") + squeezed


def _files(out: Path) -> Iterator[Path]:
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.relative_to(out).parts[0] != "raw":
            yield path


def _lay(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Extract one file of an archive from the network: no link, and no path out of ``folder``."""
    content = tar.extractfile(member) if member.isreg() else None
    if content is None or not sealed.NAME.fullmatch(member.name):
        raise ResultsError(f"a worker sent {member.name[:80]!r}, which has no place in a run")
    target = folder / member.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.read())


def extract(content: bytes, target: Path) -> None:
    """Extract a run's folder that a worker sent: whole or not at all."""
    plain = pa.decompress(content[8:], int.from_bytes(content[:8], "little"), codec="zstd")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as name:
            made = Path(name) / "run"
            with tarfile.open(fileobj=io.BytesIO(plain), mode="r") as tar:
                for member in tar:
                    _lay(tar, member, made)
            if not target.exists():
                made.rename(target)
    except OSError as error:
        raise ResultsError(f"{target}: cannot be written: {error.strerror}") from None
