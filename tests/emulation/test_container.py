# SPDX-License-Identifier: Apache-2.0
"""Runs and tests where nothing is allowed but what a container's default profile allows."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hoplab.host.machine import kernel, pack, select
from hoplab.model.resources import PROJECT
from tests.emulation import container
from tests.scenarios import ONE_HOP

NOBODY = 65534
SCENARIO = f"duration_s = 3\n{ONE_HOP}"
TEST = """
import os, subprocess, pytest

@pytest.mark.hoplab(radios=1)
def test_root_in_a_guest():
    assert os.geteuid() == 0
    subprocess.run(["ip", "netns", "add", "x"], check=True)
"""
BEFORE = [sys.executable, container.__file__]


def _inside(*words: str | Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [*BEFORE, *map(str, words)]
    if os.geteuid() == 0:
        privileges = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        command = ["setpriv", *privileges, "--bounding-set=-all", "--inh-caps=-all", *command]
    environment = {**os.environ, "HOME": str(cwd), "HOPLAB_CACHE": str(cwd / "cache")}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of that user's. Not below pytest's own, which any other pytest closes anew."""
    with tempfile.TemporaryDirectory(prefix="hoplab-test-") as name:
        home = Path(name)
        if os.geteuid() == 0:
            for folder in (home, home / "cache", home / "cache" / "kernel"):
                folder.mkdir(exist_ok=True)
                shutil.chown(folder, NOBODY, NOBODY)
        yield home


@pytest.fixture
def machine(home: Path) -> Path:
    """The machine as one file, which that user can read."""
    file = home / "machine.tar.zst"
    pack.pack(select.chosen(), file)
    file.chmod(0o644)
    return file


def test_the_profile_refuses_what_it_shall(home: Path) -> None:
    assert _inside("unshare", "--user", "true", cwd=home).returncode != 0
    assert _inside("setarch", "--addr-no-randomize", "true", cwd=home).returncode != 0
    assert _inside("sh", "-c", "(true) | cat", cwd=home).returncode == 0


def test_a_run_is_the_same_there(home: Path, machine: Path) -> None:
    file = home / "pair.toml"
    file.write_text(SCENARIO)
    hoplab = PROJECT / ".venv" / "bin" / "hoplab"
    run = ("run", file, "--json", "--machine-file", machine)
    there = _inside(hoplab, *run, "--out", home / "there", cwd=home)
    assert there.returncode == 0, there.stderr
    here = subprocess.run(
        [hoplab, *run, "--out", home / "here"], capture_output=True, text=True, check=True
    )
    assert json.loads(there.stdout)["digest"] == json.loads(here.stdout)["digest"]


def test_a_test_runs_in_a_guest_there(home: Path) -> None:
    (home / "test_it.py").write_text(TEST)
    pytest_here = PROJECT / ".venv" / "bin" / "pytest"
    # A checkout's guests boot the kernel that it built, which lies in its user's cache.
    shutil.copytree(kernel.folder(), home / "cache" / "kernel" / kernel.folder().name)
    words = (pytest_here, "-q", "-p", "no:cacheprovider", "test_it.py")
    done = _inside(*words, cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr
