# SPDX-License-Identifier: Apache-2.0
"""Machines with other kernels, built for real: they repeat, and bisection finds a commit."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hoplab.host.machine import kernel, store
from hoplab.model.resources import KERNEL_BUILD
from tests.emulation.conftest import HOPLAB
from tests.proof.__main__ import SCENARIOS

sys.path.insert(0, str(KERNEL_BUILD.parent))
from building import source

OTHERS = [name for name in source.locked() if name != kernel.default()]
SLOW_START = "u32 cwnd = min(tcp_snd_cwnd(tp) + acked, tp->snd_ssthresh);"
"""Of net/ipv4/tcp_cong.c. With it the wired flow carries 9139 kbit/s on 6.12 and 7.3 alike, without
it 8037 on 6.12 and 8040 on 7.3."""


def hoplab(*words: str, cwd: Path) -> str:
    done = subprocess.run([HOPLAB, *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=OTHERS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    name: str = request.param
    hoplab("machine", "build", "--kernel", name, cwd=tmp_path_factory.mktemp("build"))
    return name


@pytest.mark.nightly  # compiles a kernel
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_another_kernel_gives_the_same_tables_each_time(
    built: str, scenario: str, tmp_path: Path
) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIOS[scenario])
    told = [
        json.loads(
            hoplab("run", "scenario.toml", "--machine", built, "--json", "--out", out, cwd=tmp_path)
        )
        for out in ("first", "second")
    ]
    assert told[0]["digest"] == told[1]["digest"]
    assert all(flow["delivered_bytes"] > 10_000 for flow in told[0]["flows"])
    manifest = json.loads((tmp_path / "first" / "manifest.json").read_text())
    assert manifest["kernel"].startswith(built)
    assert manifest["guest_kernel"]["tiers"] and not manifest["guest_kernel"]["without"]


@pytest.fixture
def history(tmp_path: Path) -> Iterator[Path]:
    """The default kernel's source as a repository of five commits; the third stops slow start."""
    package = source.package(kernel.default(), store.cache() / "packages")
    kernel.fetch(kernel.default())
    tree = tmp_path / "tree"
    tree.mkdir()
    package.unpack(tree)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "gc.auto=0"]

    def commit(subject: str) -> None:
        # Debian's source ignores all but what Debian adds.
        for words in (["add", "--all", "--force"], ["commit", "-qm", subject]):
            subprocess.run(["git", *who, *words], cwd=tree, env=environment, check=True)

    subprocess.run(["git", "init", "-q"], cwd=tree, env=environment, check=True)
    file = tree / "net/ipv4/tcp_cong.c"
    for number in range(5):
        if number == 2:
            text = file.read_text()
            assert SLOW_START in text
            file.write_text(text.replace(SLOW_START, SLOW_START.replace("+ acked", "+ 0 * acked")))
        elif number:
            (tree / "README").write_text(f"{number}\n")
        commit(f"commit {number}")
    yield tree


@pytest.mark.nightly  # compiles a kernel
def test_git_bisect_finds_the_commit_that_breaks_tcp(history: Path, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIOS["wired-dumbbell"])
    subprocess.run(["git", "bisect", "start", "HEAD", "HEAD~4"], cwd=history, check=True)
    expect = ["--expect", "goodput_kbps > 8600"]
    done = subprocess.run(
        ["git", "bisect", "run", HOPLAB, "bisect", str(tmp_path / "scenario.toml"), *expect],
        cwd=history,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first_bad = ["git", "show", "-s", "--format=%s", "refs/bisect/bad"]
    found = subprocess.run(first_bad, cwd=history, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "commit 2"
