# SPDX-License-Identifier: Apache-2.0
"""The same scenario and seed give the same digest, wherever, whenever and by whomever run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hoplab.host.machine import assemble, kernel, store
from hoplab.model.resources import PROJECT
from tests.emulation.conftest import BY_DSR, HOPLAB, UDP_BACK

NOBODY = 65534
SCENARIO = f"""
duration_s = 5
{BY_DSR}{UDP_BACK}
[measure]
captures = ["n1:wlan0"]
"""


@pytest.fixture(scope="module")
def scenario() -> Iterator[Path]:
    """A scenario file in a folder that everyone may write to."""
    folder = Path(tempfile.mkdtemp(prefix="hoplab-test-"))
    folder.chmod(0o777)
    (folder / "scenario.toml").write_text(SCENARIO)
    yield folder / "scenario.toml"
    shutil.rmtree(folder, ignore_errors=True)


def digest(scenario: Path, name: str, prefix: tuple[str, ...] = (), **options: object) -> str:
    arguments = ["run", str(scenario), "--json", "--out", str(scenario.parent / name)]
    program = str(options.pop("program", HOPLAB))
    done = subprocess.run(
        [*prefix, program, *arguments, *(str(o) for o in options.pop("extra", ()))],  # type: ignore[attr-defined]
        capture_output=True,
        text=True,
        env={**os.environ, **options.pop("env", {})},  # type: ignore[dict-item]
    )
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["digest"])


@pytest.fixture(scope="module")
def expected(scenario: Path) -> str:
    return digest(scenario, "first")


def test_again(scenario: Path, expected: str) -> None:
    assert digest(scenario, "second") == expected


def test_another_seed(scenario: Path, expected: str) -> None:
    assert digest(scenario, "other-seed", extra=("--seed", "2")) != expected


def test_a_run_does_not_depend_on_what_was_before_it() -> None:
    """Random numbers that the boot and the lab's loading draw, clocks that they read, and processes
    that they start."""
    seen = set()
    for before, seed in ((0, 5), (20, 5), (0, 6)):
        script = (
            "import os, sys, time; from hoplab.guest.lab.standby import begin\n"
            "process = lambda: os.posix_spawn('/bin/true', ['true'], {})\n"
            f"for _ in range({before}):\n"
            "  os.urandom(100), time.monotonic(), os.waitpid(process(), 0)\n"
            f"begin({seed}); now_ns = time.monotonic_ns()\n"
            "print(os.urandom(8).hex(), now_ns, process())"
        )
        done = subprocess.run(
            [HOPLAB, "exec", "--", sys.executable, "-c", script],
            capture_output=True,
            text=True,
            cwd=PROJECT,
        )
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 2, seen


def test_on_a_busy_machine(scenario: Path, expected: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda i: digest(scenario, f"busy-{i}"), range(4))
        assert set(found) == {expected}


def test_with_another_hostname(scenario: Path, expected: str) -> None:
    own = ("unshare", "--uts") if os.geteuid() == 0 else ("unshare", "-r", "--uts")
    other = (*own, "sh", "-c", 'hostname elsewhere; exec "$@"', "sh")
    assert digest(scenario, "hostname", other) == expected


def test_as_another_user(scenario: Path, expected: str) -> None:
    if os.geteuid() == 0:
        become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    else:
        become = ("unshare", "--user", f"--map-user={NOBODY}")
    # The cache is the invoking user's own.
    cache = scenario.parent / "cache"
    for source in (kernel.folder(), assemble.make_base()):
        shutil.copytree(source, cache / source.parent.name / source.name, symlinks=True)
    cache.chmod(0o777)
    environment = {"HOPLAB_CACHE": str(cache), "HOME": str(scenario.parent)}
    assert digest(scenario, "user", become, env=environment) == expected


@pytest.mark.nightly  # builds all but the kernel once more
def test_from_a_fresh_copy_in_another_folder(scenario: Path, expected: str) -> None:
    copy = scenario.parent / "copy"
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (PROJECT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, copy / name)
    # All that this checkout has in its cache, but the daemons: those are built in the other place.
    cache = scenario.parent / "without-daemons"
    cache.mkdir()
    for kept in store.cache().iterdir():
        if kept.name != "daemons":
            (cache / kept.name).symlink_to(kept)
    environment = {**os.environ, "HOPLAB_CACHE": str(cache)}
    subprocess.run(["make", "-s", "setup"], cwd=copy, check=True, env=environment)
    assert digest(scenario, "copy-run", program=copy / ".venv" / "bin" / "hoplab") == expected
    # Built in two places, the machines are the same to the bit.
    first, second = (
        json.loads((scenario.parent / name / "manifest.json").read_text())
        for name in ("first", "copy-run")
    )
    assert first["machine_parts"] == second["machine_parts"]
    assert first["machine_hash"] == second["machine_hash"]
