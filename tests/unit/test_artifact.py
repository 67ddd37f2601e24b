# SPDX-License-Identifier: Apache-2.0
"""Runs as files: nothing is believed of a stranger's, and what it lacks is reported in a line."""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hoplab.host.machine import assemble, pack, store
from hoplab.host.results import digests
from hoplab.host.results.manifest import VERSION
from hoplab.host.runs import again, artifact, launch
from hoplab.model.errors import Damaged, HoplabError, ResultsError
from hoplab.model.resources import PROJECT
from tests.unit.test_machine import make

Member = tuple[str, bytes]
RUN: list[Member] = [("run/manifest.json", b"{}"), ("run/scenario.json", b"{}")]
DIGEST = digests.Digests({}, {}).digest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPLAB_CACHE", str(tmp_path / "cache"))


def forged(
    file: Path, members: list[Member], change: Callable[[tarfile.TarInfo], None] | None = None
) -> Path:
    """A genuine machine, and any files of a run; ``change`` spoils the last one."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        pack.add_machine(tar, make(), artifact.MACHINE)
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if change is not None and name == members[-1][0]:
                change(member)
            tar.addfile(member, io.BytesIO(content) if member.size <= len(content) else None)
    file.write_bytes(pa.Codec("zstd").compress(plain.getvalue(), asbytes=True))
    return file


def of_type(kind: bytes) -> Callable[[tarfile.TarInfo], None]:
    def change(member: tarfile.TarInfo) -> None:
        member.type, member.linkname, member.size = kind, "/etc/passwd", 0

    return change


def as_said(member: tarfile.TarInfo) -> None:
    """Leave it as it is."""


def enormous(member: tarfile.TarInfo) -> None:
    member.size = artifact.LARGEST_BYTES + 1


HOSTILE: list[tuple[str, Callable[[tarfile.TarInfo], None], str]] = [
    ("run/../../escaped", as_said, "is damaged"),
    ("run/tables/../../../escaped", as_said, "is damaged"),
    ("/tmp/escaped", as_said, "is damaged"),
    ("run/tables/deeper/escaped", as_said, "is damaged"),
    ("run/escaped", as_said, "is damaged"),
    ("machine/linux", as_said, "is damaged"),
    ("run/manifest.json", as_said, "is damaged"),
    ("run/tables", of_type(tarfile.SYMTYPE), "is damaged"),
    ("run/tables/escaped", of_type(tarfile.SYMTYPE), "is damaged"),
    ("run/tables/escaped", of_type(tarfile.LNKTYPE), "is damaged"),
    ("run/tables/escaped", of_type(tarfile.FIFOTYPE), "is damaged"),
    ("run/tables/escaped", of_type(tarfile.CHRTYPE), "is damaged"),
    ("run/tables/large", enormous, "holds more than 16 GiB"),
]


@pytest.mark.parametrize(("name", "change", "message"), HOSTILE)
def test_a_hostile_run_writes_nothing_elsewhere(
    name: str, change: Callable[[tarfile.TarInfo], None], message: str, tmp_path: Path
) -> None:
    file = forged(tmp_path / "run.tar.zst", [*RUN, (name, b"x")], change)
    folder = tmp_path / "taken" / "run"
    folder.mkdir(parents=True)
    with pytest.raises(Damaged, match=message) as told:
        artifact.read(file, folder)
    assert "\n" not in str(told.value)
    assert not [path for path in tmp_path.rglob("*") if path.name in ("escaped", "large")]
    assert not Path("/tmp/escaped").exists()
    assert {path.name for path in folder.rglob("*")} == {"manifest.json", "scenario.json"}


@pytest.mark.parametrize("missing", [0, 1])
def test_a_run_without_its_manifest_or_scenario(missing: int, tmp_path: Path) -> None:
    name, _ = RUN[missing]
    file = forged(tmp_path / "run.tar.zst", [RUN[1 - missing]])
    with pytest.raises(Damaged, match=f"it has no {name.removeprefix('run/')}"):
        again.verify(file, print)


FINISHED = {
    "version": VERSION,
    "machine": "uml",
    "digest": DIGEST,
    "tables": {},
    "captures": {},
}


@pytest.mark.parametrize(
    ("manifest", "scenario", "message"),
    [
        ([], {}, "is no JSON object"),
        ({}, {}, "is not that of a finished run"),
        # A stranger's scenario does not get at the host's own kernel.
        ({**FINISHED, "machine": "host"}, {}, "was not run on a sealed machine"),
        ({**FINISHED, "captures": {"/dev/zero": "0"}}, {}, "is no run's manifest"),
        ({**FINISHED, "tables": {"../../tables": "0"}}, {}, "is no run's manifest"),
        ({**FINISHED, "digest": "0"}, {}, "its digest is not that of its tables"),
        (FINISHED, {"duration_s": -1}, "scenario.json"),
        (FINISHED, [], "scenario.json"),
    ],
)
def test_what_a_stranger_may_say_of_a_run(
    manifest: Any, scenario: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "perform", lambda *a, **k: pytest.fail("was run"))
    members = [
        ("run/manifest.json", json.dumps(manifest).encode()),
        ("run/scenario.json", json.dumps(scenario).encode()),
    ]
    with pytest.raises(HoplabError, match=message):
        again.verify(forged(tmp_path / "run.tar.zst", members), lambda line: None, given=True)


def test_json_too_deep_to_read(tmp_path: Path) -> None:
    members = [("run/manifest.json", b"[" * 100_000), RUN[1]]
    with pytest.raises(ResultsError, match="is not JSON"):
        again.verify(forged(tmp_path / "run.tar.zst", members), print)


def test_a_full_disk_is_no_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = forged(tmp_path / "run.tar.zst", RUN)
    monkeypatch.setenv("HOPLAB_CACHE", "/proc/nonesuch")
    with pytest.raises(ResultsError, match="/proc/nonesuch/machines: cannot be written: No such"):
        again.verify(file, print)
    with pytest.raises(ResultsError, match="HOPLAB_CACHE"):
        assemble.make_base()
    # What the buffer still holds is written when the file is closed.
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda path, mode: real(Path("/dev/full"), "wb"))
    with (
        pytest.raises(ResultsError, match="No space left on device; make room there, or let X"),
        pack.new_file(tmp_path / "file", "X") as write,
    ):
        write(b"x")


HOLDER = """
import sys
from hoplab.host.machine import store
store.hold(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_machine_that_a_process_holds_stays(tmp_path: Path) -> None:
    """Of a build that takes an hour, while other checkouts make machines."""
    held, other = "a" * 64, "b" * 64
    for identity in (held, other):
        (store.folder() / identity).mkdir(parents=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, held],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=PROJECT,
    )
    with holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        assert store.remove(other) and not store.remove(held)
        assert {path.name for path in store.folder().iterdir()} == {held}
        holder.stdin.close()
    assert store.remove(held)
    assert store.remove("") and store.folder().is_dir(), "of a note that was cut off"


def test_machines_that_are_used_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many notes name one, and one that is in use without being new."""
    monkeypatch.setattr(assemble, "KEPT", 2)
    notes = tmp_path / "cache" / "assembled"
    notes.mkdir(parents=True)
    for age, name in enumerate(["a", "a", "a", "b", "c", "a", "d", "e"]):
        machine = name * 64
        (notes / str(age)).write_text(machine)
        os.utime(notes / str(age), (1000 - age, 1000 - age))
        (store.folder() / machine).mkdir(parents=True, exist_ok=True)
    store.hold("d" * 64)
    assemble._prune(notes)
    assert {path.name[0] for path in store.folder().iterdir()} == {"a", "b", "d"}
    assert {path.name for path in notes.iterdir()} == {"0", "1", "2", "3", "5", "6"}


def test_bases_that_are_used_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the root's recipe makes another base; the cache does not grow forever."""
    bases = tmp_path / "bases"
    for age in range(6):
        (bases / str(age)).mkdir(parents=True)
        os.utime(bases / str(age), (1000 - age, 1000 - age))
    (bases / "new-other").mkdir()
    assemble._prune_bases(bases)
    assert {path.name for path in bases.iterdir()} == {"0", "1", "2", "new-other"}
