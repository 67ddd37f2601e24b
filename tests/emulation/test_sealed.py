# SPDX-License-Identifier: Apache-2.0
"""A run has nothing of the host's: what its kernel opens, traced; other hosts, imitated."""

import json
import marshal
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hoplab.host.machine import assemble, modules, select, store
from hoplab.host.machine.guests import SealedGuest
from hoplab.host.machine.sealed import Machine
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import RunRequest, perform
from hoplab.model.resolve.file import load
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PROJECT
from tests.emulation.conftest import BY_DSR, HOPLAB

SCENARIO = f"duration_s = 3\n{BY_DSR}"
DEVICES = {
    "/dev/shm": "the guest's memory, a file without a name",
    "/dev/ptmx": "whether a terminal raises signals, tried at boot",
    "/dev/null": "a console that nobody reads",
    "/proc/cpuinfo": "the host's processor (docs/reproducibility.md)",
    "/proc/mounts": "where there is room for the guest's memory",
}
"""What User-Mode Linux opens beside the machine and the run's folder."""
OPENED = re.compile(r'^(?:open|openat|openat2|creat|execve)\((?:[A-Z_]+, |\d+, )?"([^"]*)"')


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    return file


def traced(machine: Machine, folder: Path, log: Path) -> Machine:
    """The machine with a kernel that runs under strace; without -f, as the kernel is one process
    and traces the guest's processes itself."""
    folder.mkdir()
    for path in machine.folder.iterdir():
        if path.name != "linux":
            (folder / path.name).symlink_to(path)
    kernel = folder / "linux"
    calls = "trace=open,openat,openat2,creat,execve"
    kernel.write_text(
        f'#!/bin/sh\nexec strace -qq -s 4096 -o {log} -e {calls} {machine.kernel} "$@"\n'
    )
    kernel.chmod(0o755)
    return Machine(folder, machine.id, machine.description)


def test_the_machine_names_no_folder_of_the_host() -> None:
    """So the same sources give the same machine on every computer, in whatever folder."""
    files = [file for file in select.chosen().root.parent.rglob("*") if file.is_file()]
    assert len(files) > 3
    for folder in (store.cache(), PROJECT):
        assert [file for file in files if str(folder).encode() in file.read_bytes()] == []


def test_a_guest_opens_nothing_of_the_host(
    tmp_path: Path, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of itself, not because it may not: what traces it reads the host's files."""
    monkeypatch.setattr(SealedGuest, "readable", lambda guest: None)
    assert shutil.which("strace"), "strace: not found; run 'make setup'"
    machine = select.chosen()
    out = tmp_path / "run"
    # A confined guest writes to its run's folder only, and so does what traces it.
    spy = traced(machine, tmp_path / "spy", out / "opened")
    scenario = resolve(load(scenario_file, []), tmp_path)
    perform(RunRequest(scenario, Sealed(spy), out=out))
    lines = (out / "opened").read_text().splitlines()
    found = [match.group(1) for line in lines if (match := OPENED.match(line))]
    opened = {re.sub("^//+", "/", path) for path in found}
    assert f"{machine.kernel}" in opened
    # What is not absolute is in the guest's own folder too, as /proc/self/cwd is.
    own = (f"{machine.folder}/", f"{spy.folder}/", "/proc/self/cwd/")
    assert not {
        path
        for path in opened
        if path.startswith("/") and not path.startswith(own) and path not in DEVICES
    }
    # The test would see it: what the lab wrote came this way.
    assert any(path.endswith("/out/raw/verdict.json") for path in opened)


def test_the_modules_of_the_start_are_in_one_file_that_depends_on_no_host() -> None:
    base = assemble.make_base()
    first, second = assemble._lab(base), assemble._lab(base)
    assert first == second
    found = marshal.loads(first[modules.NAME].content)
    assert {"hoplab.guest.lab.job", "hoplab.guest.lab.stepped", "pydantic.main"} <= set(found)
    for path, _, _ in found.values():
        assert path.startswith(("/hoplab/hoplab/", "/usr/lib/python3")), path
    assert str(base).encode() not in first[modules.NAME].content


def test_a_packed_run_is_verified_by_somebody_else(
    tmp_path: Path, scenario_file: Path, hoplab: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    run, file = tmp_path / "run", tmp_path / "run.tar.zst"
    assert hoplab("run", str(scenario_file), "--out", str(run)).returncode == 0
    assert hoplab("pack", str(run), str(file)).returncode == 0
    # Somebody who has neither this machine nor any other, and elsewhere another environment.
    other = {"PATH": "/usr/bin:/bin", "HOPLAB_CACHE": str(tmp_path / "cache"), "LC_ALL": "C"}
    done = subprocess.run(
        [str(HOPLAB), "verify", "--trust", str(file)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=other,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "reproduced" in done.stdout
    assert done.stderr == ""
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    refused = hoplab("verify", str(file))
    assert refused.returncode == 8
    assert refused.stderr.count("\n") == 1


def test_verify_says_first_that_the_machine_is_another(
    tmp_path: Path, scenario_file: Path, hoplab: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    run = tmp_path / "run"
    assert hoplab("run", str(scenario_file), "--out", str(run)).returncode == 0
    manifest: dict[str, Any] = json.loads((run / "manifest.json").read_text())
    assert "deb iperf3 " in "\n".join(manifest["packages"])
    assert len(manifest["machine_hash"]) == 64
    assert manifest["host"]["features"]
    manifest["machine_hash"] = "0" * 64
    manifest["machine_parts"]["lab"] = "1" * 64
    manifest["packages"] = [
        re.sub(r"^deb iperf3 .*", "deb iperf3 3.9", line) for line in manifest["packages"]
    ]
    (run / "manifest.json").write_text(json.dumps(manifest))
    done = hoplab("verify", str(run))
    first, *differences = done.stderr.splitlines()
    assert "was run on machine 0000000000000000, here is" in first
    assert differences[0].startswith("  deb iperf3: 3.9 and ")
    assert differences[1].startswith("  lab: 1111111111111111 and ")
    assert done.returncode == 0  # the same machine all the same


def test_a_machine_file_is_booted(
    tmp_path: Path, scenario_file: Path, hoplab: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    file = tmp_path / "machine.tar.zst"
    assert hoplab("machine", "pack", str(file)).returncode == 0
    environment = {**os.environ, "HOPLAB_CACHE": str(tmp_path / "cache")}
    arguments = ("run", str(scenario_file), "--machine-file", str(file), "--json")
    done = hoplab(*arguments, "--out", str(tmp_path / "packed"), env=environment)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "cache" / "bases").exists()
    own = hoplab("run", str(scenario_file), "--json", "--out", str(tmp_path / "own"))
    assert json.loads(done.stdout)["digest"] == json.loads(own.stdout)["digest"]
