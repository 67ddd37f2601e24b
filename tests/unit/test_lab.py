# SPDX-License-Identifier: Apache-2.0
"""The lab's parts that need no kernel of their own."""

import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.probes.ends import BySockDiag
from hoplab.guest.probes.sampler import Sampler
from hoplab.guest.probes.wired_queues import WiredQueues
from hoplab.guest.system import processes
from hoplab.guest.system.processes import Daemon, Daemons
from hoplab.guest.tcp import profile, setup
from hoplab.guest.tcp.sack import Sack
from hoplab.guest.traffic import flows
from hoplab.model.errors import DaemonDied, MissingTool
from hoplab.model.keys.queues import Queue
from hoplab.model.keys.scenario import Flow, Link, Scenario, Station, Tcp
from hoplab.model.network.plan import plan
from hoplab.model.resolve.resolve import resolve

PAIR = Scenario(
    station=(Station(name="n0"), Station(name="n1", x_m=100), Station(name="w0", radio=False)),
    link=(Link(ends=("n1", "w0")), Link(ends=("n0", "w0"))),
    flow=(
        Flow(source="n0", destination="w0"),
        Flow(source="n1", destination="n0", protocol="udp", rate_kbps=10),
    ),
)


def test_a_plan_gives_nothing_twice() -> None:
    found = plan(resolve(PAIR))
    ends = [end for cable in found.cables for end in cable.ends]
    addresses = [*found.address.values(), *(end.address for end in ends)]
    assert len(set(addresses)) == len(addresses)
    assert [end.interface for end in found.ends["w0"]] == ["eth0", "eth1"]
    assert {(e.address, e.peer_address) for e in ends} == {
        (e.peer_address, e.address) for e in ends
    }
    ports = [port for c in found.conversations for port in (c.client_port, c.server_port)]
    assert len(set(ports)) == 4
    assert [c.name for c in found.followed] == ["flow1"]
    assert found == plan(resolve(PAIR))


class NoSuchSysctl(Namespaces):
    """Of a kernel before 6.11."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote: dict[str, str] = {}

    def sysctl(self, name: str, values: dict[str, str]) -> list[str]:
        lacking = [key for key in values if key in (profile.MIN_RTO, "net.ipv4.tcp_thin")]
        self.wrote.update({key: values[key] for key in values if key not in lacking})
        return lacking


def test_a_setting_that_was_asked_for_is_made_or_refused() -> None:
    asked = plan(resolve(PAIR.model_copy(update={"tcp": Tcp(min_rto_ms=200)})))
    with pytest.raises(MissingTool, match=r"tcp.min_rto_ms: this kernel has no net\.ipv4"):
        setup.apply(asked, NoSuchSysctl(), Sack(asked))


def test_a_setting_of_the_profile_that_is_lacking_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(profile.CLASSIC, "net.ipv4.tcp_thin", "0")
    classic = plan(resolve(PAIR.model_copy(update={"tcp": Tcp(profile="classic")})))
    applied = setup.apply(classic, NoSuchSysctl(), Sack(classic))
    assert applied.lacking == ("net.ipv4.tcp_thin",)
    assert all("net.ipv4.tcp_thin" not in values for values in applied.values.values())


@pytest.mark.parametrize(
    ("interval_s", "kbps"), [(0.1, 80.0), (0.3, 80.0), (1.0, 80.0), (5.0, 80.0)]
)
def test_progress_is_a_rate_at_any_interval(interval_s: float, kbps: float) -> None:
    """10 000 bytes a second."""
    sampler = Sampler.__new__(Sampler)
    sampler._going, sampler._totals = {}, deque([(0.0, 0)])
    sampler._wired = SimpleNamespace(sample=lambda t_s: None)  # type: ignore[assignment]
    sampler._reader = BySockDiag({})
    sampler._wifi = None
    for step in range(1, 20):
        sampler._last = {"flow0": {"delivered_bytes": round(10_000 * step * interval_s)}}
        sampler.sample(step * interval_s)
        assert sampler.goodput_kbps() == pytest.approx(kbps)


class Listing:
    """A station's netlink socket, whose kernel lists the queues of all interfaces each time."""

    def __init__(self, interfaces: int) -> None:
        self.listed = 0
        self._interfaces = interfaces

    def get_qdiscs(self) -> list["Qdisc"]:
        self.listed += 1
        return [
            Qdisc(index=index, parent=parent)
            for index in range(self._interfaces)
            for parent in (0xFFFFFFFF, 0x10001)
        ]


class Qdisc(dict[str, int]):
    def get_attr(self, name: str) -> Any:
        if name == "TCA_STATS2":
            return self
        about = {"qlen": self["index"], "backlog": 0, "drops": 0}
        return about if name == "TCA_STATS_QUEUE" else {"packets": 7}


def test_a_station_with_many_wires_is_read_once_a_sample() -> None:
    """A hub of 199 links was read 199 times, each time with the queues of all: its run failed for
    want of memory."""
    hub, rows = Listing(200), []
    queues = WiredQueues.__new__(WiredQueues)
    queues._records = SimpleNamespace(add=lambda table, **row: rows.append(row))  # type: ignore[assignment]
    interfaces = {i: f"eth{i}" for i in range(1, 200)}
    queues._queues = {("hub", interface): Queue() for interface in interfaces.values()}
    queues._stations = [("hub", hub, interfaces)]
    queues.sample(1.0)
    assert hub.listed == 1
    assert [(row["interface"], row["backlog_packets"], row["sent_packets"]) for row in rows] == [
        (f"eth{i}", i, 7) for i in range(1, 200)
    ]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("hoplab-nosuch", "make setup"),
        ("libhoplab_nosuch.so", "make setup"),
        ("nosuch", "apt-get install nosuch"),
    ],
)
def test_a_program_that_is_missing(name: str, remedy: str) -> None:
    with pytest.raises(MissingTool, match=remedy):
        processes.program(name)


def test_clearing_up_does_not_hide_the_cause() -> None:
    done: list[str] = []

    def fail() -> None:
        raise OSError("busy")

    with pytest.raises(DaemonDied, match="the cause") as failure, CleanUp() as undo:
        undo.later(lambda: done.append("first"))
        undo.later(fail)
        undo.later(lambda: done.append("last"))
        raise DaemonDied("the cause")
    assert done == ["last", "first"]
    assert "busy" in failure.value.__notes__[0]
    with pytest.raises(OSError, match="busy"), CleanUp() as undo:
        undo.later(fail)


def child(tmp_path: Path, code: str, leaves_tables: bool = True) -> Daemon:
    log = tmp_path / "log"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=log.open("wb"))
    return Daemon("thing", process, log, leaves_tables)


def test_a_daemon_that_does_not_end_as_asked_has_no_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_GRACE_S", 0.2)
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)"
    daemons = Daemons()
    daemon = daemons.add(child(tmp_path, f"{stubborn}; time.sleep(60)"))
    processes.wait_until(daemon, b"up")
    with pytest.raises(DaemonDied, match="thing: did not end as it should"):
        daemons.stop()
    assert daemon.process.returncode == -signal.SIGKILL


def test_children_that_changed_are_found(tmp_path: Path) -> None:
    while processes.changed_child() is not None:  # of other tests
        os.waitpid(-1, os.WNOHANG)
    daemon = child(tmp_path, "import time; time.sleep(60)")
    os.kill(daemon.process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED | os.WNOWAIT)
    change = processes.changed_child()
    assert change is not None and str(change) == "was stopped by a signal"
    daemon.process.kill()
    os.waitid(os.P_PID, daemon.process.pid, os.WEXITED | os.WNOWAIT)
    change = processes.changed_child()
    assert change is not None and str(change) == "was ended by SIGKILL"
    daemon.process.wait()
    assert processes.changed_child() is None


@pytest.mark.parametrize(
    ("fault", "networks"),
    [
        ("unable to read from stream socket: Resource temporarily unavailable", True),
        ("unable to connect to server: Connection timed out", True),
        ("unable to connect to server: No route to host", True),
        (
            "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported",
            False,
        ),
    ],
)
def test_silence_of_the_network_is_a_result(fault: str, networks: bool) -> None:
    """iperf3's words; whatever else ends it is a failure."""
    assert flows.is_networks_doing(fault) == networks


@pytest.mark.parametrize(
    ("release", "sacked", "told"),
    [
        ("6.12.117", True, False),
        ("7.3.4", True, True),
        ("7.3.4", False, False),
        ("7.1.0", True, False),
    ],
)
def test_a_kernel_without_the_classic_loss_detection(
    release: str, sacked: bool, told: bool
) -> None:
    """From 7.2 on RACK cannot be switched off where SACK is on."""
    doubt = profile.doubt(Tcp(profile="classic"), ["flow0"] if sacked else [], release)
    assert (doubt is not None) is told
    assert profile.doubt(Tcp(profile="linux"), ["flow0"], release) is None
