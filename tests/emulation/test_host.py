# SPDX-License-Identifier: Apache-2.0
"""``--machine host``: the same code in real time. A guest in real time is such a host."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hoplab.guest.network.hwsim import Radios
from hoplab.model.errors import MissingTool
from tests.emulation.conftest import Hoplab, chain


@pytest.fixture
def on_a_host(tmp_path: Path, hoplab: Hoplab) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a shell script as root on a fresh machine with hwsim, in ``tmp_path``, for keeps."""

    def run(script: str) -> subprocess.CompletedProcess[str]:
        return hoplab(
            *("exec", "--realtime", "--writable", "--", "sh", "-c", script),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )

    return run


def test_the_same_scenario_in_real_time(tmp_path: Path, on_a_host: Hoplab) -> None:
    """A hop of 2 Mbit/s carries 1538 kbit/s (test_runs.py, with its 2 % for the backoffs drawn).
    Even a machine that has to compete for its processor carries more than half of it."""
    (tmp_path / "chain.toml").write_text(chain(2))
    done = on_a_host(
        "hoplab run chain.toml --machine host --out out --json && "
        "ip netns list >left && ls /run/hoplab >>left"
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert 0.5 * 1538 < answer["flows"][0]["goodput_kbps"] < 1.02 * 1538
    assert (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "left").read_text() == ""


def test_a_daemon_that_dies_in_mid_run(tmp_path: Path, on_a_host: Hoplab) -> None:
    (tmp_path / "chain.toml").write_text(chain(3))
    done = on_a_host(
        "hoplab run chain.toml --machine host --out out & "
        "until [ -s out/raw/tcp.jsonl ]; do sleep 0.2; done; "
        "pkill -KILL -x hoplab-medium; wait $!; s=$?; ip netns list >left; exit $s"
    )
    assert done.returncode == 4, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "medium: was ended by SIGKILL at" in done.stderr
    assert (tmp_path / "out" / "tables" / "tcp.parquet").exists()
    assert (tmp_path / "left").read_text() == ""


def test_clean_removes_a_crashed_run_and_nothing_else(tmp_path: Path, on_a_host: Hoplab) -> None:
    (tmp_path / "chain.toml").write_text(chain(3))
    done = on_a_host(
        "ip netns add mine; ip netns exec mine sleep 100 & "
        "hoplab run chain.toml --machine host --out out 2>/dev/null & run=$!; "
        "until [ -s out/raw/tcp.jsonl ]; do sleep 0.2; done; "
        "pkill -KILL -P $run; kill -KILL $run; sleep 0.5; "
        "ip netns list >before; hoplab clean; hoplab clean; ip netns list >after; "
        "pgrep -x iperf3 >>after; pgrep -x hoplab-medium >>after; pgrep -x sleep >alive; true"
    )
    assert done.returncode == 0, done.stderr
    before = {line.split()[0] for line in (tmp_path / "before").read_text().splitlines()}
    assert before == {"mine", "n0", "n1", "n2"}
    assert (tmp_path / "after").read_text() == "mine\n"
    assert (tmp_path / "alive").read_text() != ""
    assert "removed namespace n0" in done.stdout
    assert done.stdout.splitlines()[-1] == "nothing was left behind"


def test_a_tool_that_is_missing(tmp_path: Path, on_a_host: Hoplab) -> None:
    (tmp_path / "chain.toml").write_text(chain(2))
    done = on_a_host("rm /usr/bin/iperf3; hoplab run chain.toml --machine host --out out")
    assert done.returncode == 3
    assert done.stderr == "hoplab: iperf3: not found; install it with 'apt-get install iperf3'\n"


def test_without_privileges(tmp_path: Path, on_a_host: Hoplab) -> None:
    (tmp_path / "chain.toml").write_text(chain(2))
    done = on_a_host(
        "mkdir -m 777 /tmp/x; cp chain.toml /tmp/x; cd /tmp/x; "
        "setpriv --reuid=65534 --clear-groups hoplab run chain.toml --machine host --out out"
    )
    assert done.returncode == 3, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "needs root" in done.stderr


def test_a_kernel_without_hwsim(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyroute2.netlink.generic import GenericNetlinkSocket

    def bind(self: object, name: str, message: object) -> None:
        raise KeyError(name)

    monkeypatch.setattr(GenericNetlinkSocket, "bind", bind)
    with pytest.raises(MissingTool, match="modprobe mac80211_hwsim"):
        Radios()


def test_programs_in_real_time(tmp_path: Path, on_a_host: Hoplab) -> None:
    """They know stations by name, and the host's own names stay as they are."""
    (tmp_path / "wired.toml").write_text(PROGRAMS)
    done = on_a_host(
        "cat /etc/hosts >before && hoplab run wired.toml --machine host --out out && "
        "cmp /etc/hosts before && ip netns list >left && ls /run/hoplab >>left"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "left").read_text() == ""
    (row,) = map(json.loads, (tmp_path / "out/raw/connections.jsonl").read_text().splitlines())
    assert (row["flow"], row["peer"], row["peer_port"]) == ("client", "pb", 80)
    page = (tmp_path / "out/programs/client/page").read_text()
    assert "Directory listing" in page
    assert len(page) < row["received_bytes"] < len(page) + 500


PROGRAMS = """
duration_s = 5
link = [{ ends = ["pa", "pb"], rate_mbps = 10, delay_ms = 5 }]
station = [{ name = "pa", radio = false }, { name = "pb", radio = false }]
[topology]
kind = "explicit"
[[program]]
name = "server"
station = "pb"
run = "python3 -m http.server 80"
ready = { port = 80, limit_s = 10 }
[[program]]
name = "client"
station = "pa"
run = '''python3 -c "import urllib.request as u; u.urlretrieve('http://pb/', 'page')"'''
measure = true
"""
