# SPDX-License-Identifier: Apache-2.0
"""Programs of a run that end, stop or never get ready. Hoplab reports them in one line, with a
status of their own, and never a goodput of 0 that looks like a result."""

import subprocess
from pathlib import Path

import pytest

from tests.emulation.conftest import Hoplab, chain


def on_host(hoplab: Hoplab, tmp_path: Path, script: str) -> subprocess.CompletedProcess[str]:
    """As root on a fresh machine in real time; ``$run`` is a run of half a minute."""
    (tmp_path / "chain.toml").write_text(chain(2).replace("= 10", "= 30", 1))
    return hoplab(
        *("exec", "--realtime", "--writable", "--", "sh", "-c"),
        'run="hoplab run chain.toml --machine host --out out"; ' + script,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (" --set flow.0.generator=iperf3", "unable to set TCP_CONGESTION"),
        ("", "congestion control tahoe: No"),
        (
            " --set flow.0.packets=10 --set flow.0.packet_bytes=1000",
            "congestion control tahoe: No",
        ),
    ],
)
def test_a_client_that_cannot_start(tmp_path: Path, hoplab: Hoplab, extra: str, words: str) -> None:
    """A kernel without the module: what is said is what the program says itself."""
    script = f"rmmod tcp_tahoe; $run --set flow.0.congestion_control=tahoe{extra}"
    done = on_host(hoplab, tmp_path, script)
    assert done.returncode == 4, done.stderr
    assert "flow flow0: its client ended at" in done.stderr and words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_medium_that_is_stopped(tmp_path: Path, hoplab: Hoplab) -> None:
    """It must not end with status 0, and its end must not be waited for without end."""
    done = on_host(
        hoplab,
        tmp_path,
        "$run & until [ -s out/raw/tcp.jsonl ]; do sleep 0.2; done; "
        "pkill -STOP -x hoplab-medium; wait $!; s=$?; ip netns list >left; exit $s",
    )
    assert done.returncode == 4, done.stderr
    assert "medium: was stopped by a signal at" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "left").read_text() == ""


def test_a_start_that_fails_half_way(tmp_path: Path, hoplab: Hoplab) -> None:
    """One routing daemon of two is missing. The other is not forgotten, nothing is left, and the
    report names the cause. Nobody waits for its routes until time 0."""
    done = on_host(
        hoplab,
        tmp_path,
        # Asked for its version, it says none.
        'printf \'#!/bin/sh\\n[ "$1" != -V ] || exit 0\\nmkdir /tmp/once || exec nosuch\\n'
        "exec sleep 1000\\n' >/tmp/babeld; chmod +x /tmp/babeld; "
        "mount --bind /tmp/babeld $(command -v babeld); $run --set routing.protocol=babeld; s=$?; "
        "pgrep -x sleep >left; ip netns list >>left; "
        "find /run/hoplab /sys/fs/cgroup -name '*.json' -o -name 'hoplab-*' >>left; exit $s",
    )
    assert done.returncode == 4, done.stderr
    assert ": ended with status 127 at -" in done.stderr and "babeld at n" in done.stderr
    assert (tmp_path / "left").read_text() == ""


def test_a_medium_that_never_gets_ready(tmp_path: Path, hoplab: Hoplab) -> None:
    done = on_host(
        hoplab,
        tmp_path,
        # Asked for its version, it says none.
        "printf '#!/bin/sh\\n[ \"$1\" != --version ] || exit 0\\nexec sleep 1000\\n' >/tmp/m; "
        "chmod +x /tmp/m; "
        'medium=$(python3 -c "from hoplab.guest.system.processes import program; '
        "print(program('hoplab-medium'))\"); mount --bind /tmp/m $medium; "
        "$run; s=$?; pgrep -x sleep >left; exit $s",
    )
    assert done.returncode == 4, done.stderr
    assert "medium: was not ready within 10 s" in done.stderr
    assert (tmp_path / "left").read_text() == ""
