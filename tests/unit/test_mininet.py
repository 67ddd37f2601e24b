# SPDX-License-Identifier: Apache-2.0
"""What `hoplab mininet` looks for, and its hooks into others' code, on packages that stand in."""

import importlib
import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from hoplab.front.commands.cli import app
from hoplab.front.mininet import found as find
from hoplab.front.mininet import launch
from hoplab.guest.mininet.inside import start
from hoplab.model.errors import MissingTool

NODE = """
import subprocess
class Node:
    def startShell(self, mnopts=None):
        self.options = mnopts
        self.shell = subprocess.Popen(
            ["sh", "-c", "ulimit -Sn; read go; ulimit -Sn"],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        self.began_with = int(self.shell.stdout.readline())
class OVSSwitch:
    asked = []
    @classmethod
    def setup(cls):
        cls.asked.append("setup")
class OVSBridge(OVSSwitch):
    pass
"""
NET = """
from mininet.util import fmtBps
from FlightRadar24 import FlightRadar24API
wmediumd, interference = "a medium", "a mode"
class Mininet_wifi:
    def __init__(self, topology=None, link=None, wmediumd_mode=None):
        self.topology, self.link, self.mode = topology, link, wmediumd_mode
    def plotGraph(self, **options):
        raise AssertionError("nobody looks at it")
"""
CLOCK = """
from time import sleep, time
def until(moment):
    readings = 1
    while time() < moment:
        readings += 1
    return readings
def nap(seconds):
    sleep(seconds)
"""
LINK = """
class Node:
    def __init__(self):
        self.params, self.done = {"wlan": []}, []
    def pexec(self, command):
        self.done.append(command)
class IntfWireless:
    def __init__(self, node=None, name="", mac="", passwd=None):
        self.node, self.name, self.mac, self.passwd = node or Node(), name, mac, passwd
        self.id, self.associatedTo = len(self.node.params["wlan"]), None
        self.node.params["wlan"].append(name)
    def ipLink(self, *words):
        return " ".join(words)
    def setDisconnected(self, ap_intf):
        self.associatedTo = None
    def wpaFile(self, ap_intf):
        self.node.done.append(self.passwd)
"""
NODE_WIFI = """
from mininet.node import OVSSwitch
class Intf:
    def __init__(self, name):
        self.name = name
class OVSAP(OVSSwitch):
    def __init__(self, *radios):
        self.params = {"wlan": list(radios)}
        self.intfs, self.ports, self.nameToIntf = {}, {}, {}
    def add(self, name, port):
        self.intfs[port] = self.nameToIntf[name] = Intf(name)
        self.ports[self.intfs[port]] = port
    def start(self, controllers):
        intfs = [self.intfs[port] for port in sorted(self.intfs)]
        self.bridge = [(i.name, self.ports[i]) for i in intfs if self.ports[i]]
"""
STAND_INS = {
    "mininet/__init__.py": "",
    "mininet/util.py": "",
    "mininet/node.py": NODE,
    "mn_wifi/__init__.py": "",
    "mn_wifi/link.py": LINK,
    "mn_wifi/net.py": NET,
    "mn_wifi/mobility.py": CLOCK,
    "mn_wifi/replaying.py": CLOCK,
    "mn_wifi/node.py": NODE_WIFI,
}
HOOKED = ("mininet", "mn_wifi", "FlightRadar24")


class Clock:
    """Virtual time: reading it takes none, waiting takes what is asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock.time)
    monkeypatch.setattr(time, "sleep", clock.sleep)
    monkeypatch.setattr(time, "clock_gettime", lambda which: clock.now)
    return clock


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The hooks in force, over packages that stand in for Mininet and Mininet-WiFi."""
    for name, text in STAND_INS.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    kept = {name: module for name, module in sys.modules.items() if _belongs(name)}
    for name in kept:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        "hooks", launch.INSIDE / "site" / "sitecustomize.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in [name for name in sys.modules if _belongs(name)]:
        del sys.modules[name]
    sys.modules.update(kept)


def _belongs(name: str) -> bool:
    return name.split(".")[0] in HOOKED


def test_the_stand_in_fails_without_hooks(hooks: ModuleType) -> None:
    """As upstream's does with Debian's Mininet: the tests below could not fail otherwise."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _ours(finder, hooks)]
    with pytest.raises(ImportError, match="fmtBps"):
        importlib.import_module("mn_wifi.net")


def _ours(finder: Any, hooks: ModuleType) -> bool:
    return isinstance(finder, (hooks.Finder, hooks.Absent))


def test_what_debians_mininet_lacks(hooks: ModuleType) -> None:
    util = importlib.import_module("mininet.util")
    assert [util.fmtBps(bps) for bps in (0, 999, 2.5e6, 7e13)] == [
        "0.0 bps",
        "999.0 bps",
        "2.5 Mbps",
        "70.0 Tbps",
    ]


def test_a_mininet_that_has_it_keeps_its_own(hooks: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "mininet" / "util.py").write_text("fmtBps = 'its own'\n")
    assert importlib.import_module("mininet.util").fmtBps == "its own"


def test_flight_radar_is_stood_in_for_where_nobody_has_it(
    hooks: ModuleType, tmp_path: Path
) -> None:
    assert importlib.import_module("mn_wifi.net").FlightRadar24API() is not None
    del sys.modules["FlightRadar24"]
    (tmp_path / "FlightRadar24.py").write_text("FlightRadar24API = 'the real one'\n")
    importlib.invalidate_caches()
    assert importlib.import_module("FlightRadar24").FlightRadar24API == "the real one"


@pytest.mark.parametrize("name", ["mn_wifi.mobility", "mn_wifi.replaying"])
def test_loops_on_the_clock_let_time_pass(hooks: ModuleType, clock: Clock, name: str) -> None:
    """A reading costs 10 ms: without the hook the loop would not end."""
    module = importlib.import_module(name)
    assert module.until(1.0) == pytest.approx(100, abs=1)
    clock.naps.clear()
    module.nap(0.0001)
    module.nap(3.0)
    assert clock.naps == [0.01, 3.0]


def test_a_net_without_a_medium_gets_one(
    hooks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPLAB_MEDIUM", "always")
    net = importlib.import_module("mn_wifi.net")
    given = net.Mininet_wifi("tree")
    assert (given.topology, given.link, given.mode) == ("tree", "a medium", "a mode")
    own = net.Mininet_wifi(link="another link")
    assert (own.link, own.mode) == ("another link", None)


def test_as_written_is_left_alone(hooks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPLAB_MEDIUM", "as-written")
    net = importlib.import_module("mn_wifi.net")
    assert net.Mininet_wifi().link is None


def test_plots_are_drawn_where_there_is_a_screen(
    hooks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = importlib.import_module("mn_wifi.net").Mininet_wifi()
    net.plotGraph(max_x=100)
    assert net.max_x == 100
    monkeypatch.setenv("DISPLAY", ":0")
    del sys.modules["mn_wifi.net"]
    with pytest.raises(AssertionError, match="looks"):
        importlib.import_module("mn_wifi.net").Mininet_wifi().plotGraph()


@pytest.mark.parametrize(
    ("module", "kind"), [("mininet.node", "OVSBridge"), ("mn_wifi.node", "OVSAP")]
)
def test_open_vswitch_is_started_once_after_its_first_seconds(
    hooks: ModuleType, clock: Clock, monkeypatch: pytest.MonkeyPatch, module: str, kind: str
) -> None:
    commands: list[tuple[float, list[str]]] = []

    def call(command: list[str], **_: Any) -> int:
        started = any("start" in words for _, words in commands)
        commands.append((clock.now, command))
        return 0 if command[0] != "pgrep" or started else 1

    monkeypatch.setattr(subprocess, "call", call)
    monkeypatch.setattr(Path, "exists", lambda _: True)
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
    clock.now = 4.0
    switch = getattr(importlib.import_module(module), kind)
    for _ in range(2):
        switch.setup()
    starts = [(at, words[1]) for at, words in commands if words[0].endswith("ovs-ctl")]
    assert starts == [(hooks.OVS_UPTIME_S, "start")]
    assert switch.asked == ["setup", "setup"]


@pytest.mark.usefixtures("hooks")
def test_an_access_point_with_several_radios_has_each_at_one_port() -> None:
    kind = importlib.import_module("mn_wifi.node").OVSAP
    one, two = kind("ap-wlan1"), kind("ap-wlan1", "ap-mp2")
    for node, added in (
        (one, [("lo", 0), ("ap-wlan1", 1), ("ap-eth2", 2), ("ap-wlan1", 0)]),
        (two, [("ap-wlan1", 1), ("ap-mp2", 2), ("ap-eth3", 3), ("ap-wlan1", 0), ("ap-mp2", 1)]),
    ):
        for name, port in added:
            node.add(name, port)
        node.start([])
    assert one.bridge == [("ap-wlan1", 1), ("ap-eth2", 2)]
    assert two.bridge == [("ap-wlan1", 1), ("ap-mp2", 2), ("ap-eth3", 3)]


def test_a_nodes_shell_begins_with_few_descriptors(hooks: ModuleType) -> None:
    """mnexec closes each that there could be; afterwards the limit is as it was."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wide = min(hard, 4 * hooks.DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wide, hard))
    try:
        node = importlib.import_module("mininet.node").Node()
        node.startShell(mnopts="-p")
        told, _ = node.shell.communicate("go\n")
        assert (node.options, node.began_with, int(told)) == ("-p", hooks.DESCRIPTORS, wide)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (wide, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A computer whose interpreters lack these modules, and which has every program."""

    def have(*absent: str) -> None:
        def lacks(python: str, names: list[str]) -> list[str]:
            return [name for name in names if name in absent]

        monkeypatch.delenv(find.VARIABLE, raising=False)
        monkeypatch.setattr(find, "_lacks", lacks)
        monkeypatch.setattr(find, "program", lambda name: f"/usr/bin/{name}")

    return have


def test_a_script_of_mininet_alone_needs_no_more(
    tmp_path: Path, lacking: Callable[..., None]
) -> None:
    lacking("mn_wifi", "numpy")
    plain, wireless = tmp_path / "plain.py", tmp_path / "wireless.py"
    plain.write_text("from mininet.net import Mininet\n")
    wireless.write_text("from mn_wifi.net import Mininet_wifi\n")
    assert find.find(plain) == find.Found(find.SYSTEM_PYTHON, None)
    for script in (wireless, None):
        with pytest.raises(MissingTool, match=r"Mininet-WiFi: not found; clone .*mininet-wifi"):
            find.find(script)
    lacking("mn_wifi", "mininet")
    with pytest.raises(MissingTool, match=r"^Mininet: needs more; 'apt-get install mininet'$"):
        find.find(plain)


def test_a_mininet_wifi_that_lacks_modules(tmp_path: Path, lacking: Callable[..., None]) -> None:
    lacking("numpy", "six")
    with pytest.raises(MissingTool, match="'apt-get install python3-numpy python3-six'"):
        find.find()


def test_what_access_points_lack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(find, "program", lambda name: None if name == "hostapd" else name)
    monkeypatch.setattr(find, "REGULATORY", tmp_path / "regulatory.db")
    assert find.sometimes() == ["hostapd", "wireless-regdb"]
    (tmp_path / "regulatory.db").touch()
    assert find.sometimes() == ["hostapd"]


@pytest.mark.parametrize(
    "there", [["ovs-testcontroller"], ["ovs-testcontroller", "controller"], []]
)
def test_a_controller_is_stood_in_for_where_nobody_has_it(
    there: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "PROGRAMS", tmp_path)
    monkeypatch.setattr(
        start.shutil, "which", lambda name: f"/usr/bin/{name}" if name in there else None
    )
    start.stand_in(*start.CONTROLLER)
    programs = [path.read_text().splitlines()[1] for path in tmp_path.iterdir()]
    command = 'exec /usr/bin/ovs-testcontroller --protocols=OpenFlow10 "$@"'
    assert programs == ([command] if len(there) == 1 else [])


@pytest.mark.usefixtures("hooks")
def test_stations_come_up_one_after_another(clock: Clock) -> None:
    link = importlib.import_module("mn_wifi.link")
    assert link.IntfWireless().ipLink("down") == "down" and clock.now == 0
    assert [link.IntfWireless().ipLink("up") for _ in range(3)] == ["up"] * 3
    assert clock.naps == [0.05] * 3


@pytest.mark.usefixtures("hooks")
def test_an_access_point_forgets_a_station_that_left() -> None:
    link = importlib.import_module("mn_wifi.link")
    station = link.IntfWireless(name="sta1-wlan0", mac="02:00:00:00:00:00")
    point = link.IntfWireless(name="ap1-wlan1")
    station.associatedTo = point
    station.setDisconnected(point)
    assert station.associatedTo is None
    assert point.node.done == ["iw dev ap1-wlan1 station del 02:00:00:00:00:00"]


@pytest.mark.usefixtures("hooks")
def test_each_radio_has_a_passphrase_of_its_own() -> None:
    link = importlib.import_module("mn_wifi.link")
    node = link.Node()
    radios = [link.IntfWireless(node, f"sta1-wlan{i}", passwd="12345678,abcdefgh") for i in (0, 1)]
    for radio in radios:
        radio.wpaFile(None)
    assert node.done == ["12345678", "abcdefgh"]
    assert radios[0].passwd == "12345678,abcdefgh"
    alone = link.IntfWireless(passwd="with,comma")
    alone.wpaFile(None)
    link.IntfWireless(alone.node).wpaFile(None)
    assert alone.node.done == ["with,comma", None]


def test_each_cell_that_was_refused_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `inside/bin/iw` noted, on standard error, and the script's own status."""
    line = "sta1-wlan0: joined no ad hoc cell at 5200 MHz: no-IR"

    def script(found: Any, request: Any, out: Path, warn: Any) -> int:
        (out / launch.REFUSED).write_text(f"{line}\n{line}\nsta2-wlan0: another\n")
        return 3

    monkeypatch.setattr(find, "find", lambda script: None)
    monkeypatch.setattr(launch, "run", script)
    done = CliRunner().invoke(app, ["mininet", "cell.py", "--out", str(tmp_path)])
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        f"hoplab: warning: {line}",
        "hoplab: warning: sta2-wlan0: another",
        "hoplab: the script used no medium",
    ]


IW = """#!/bin/sh
case "$*" in
*join*) echo "command failed: Operation not permitted (-1)"; exit 255 ;;
*"dev w info") echo "	wiphy 3" ;;
*"phy phy3 info") echo "			* 5200.0 MHz [40] (20.0 dBm) (no IR)" ;;
"reg get") echo "country 00: DFS-UNSET" ;;
esac
"""


def test_iw_notes_why_a_cell_was_refused(tmp_path: Path) -> None:
    """The words and the status are iw's; a line is for the user, with the cause if it is known."""
    (tmp_path / "iw").write_text(IW)
    (tmp_path / "iw").chmod(0o755)
    noted = tmp_path / launch.REFUSED
    environment = {"PATH": f"/run/hoplab/bin:{tmp_path}:/usr/bin:/bin", "HOPLAB_REFUSED": noted}
    for mhz in ("5200", "2412"):
        done = subprocess.run(
            ["sh", launch.INSIDE / "bin" / "iw", *f"dev w ibss join cell {mhz}".split()],
            env={name: str(value) for name, value in environment.items()},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 255
        assert done.stdout == "command failed: Operation not permitted (-1)\n"
    assert launch.refused(tmp_path) == [
        "w: joined no ad hoc cell at 5200 MHz: regulatory domain 00 lets no radio begin there "
        "(no-IR); take a channel of 2.4 GHz",
        "w: joined no ad hoc cell at 2412 MHz: command failed: Operation not permitted (-1)",
    ]


def test_a_script_whose_stations_are_silent_is_warned_of() -> None:
    doubts = ["frames were lost"]
    assert launch.doubts({"doubts": doubts, "frames": {"accepted": 3}}) == doubts
    told = launch.doubts({"doubts": doubts, "frames": {"accepted": 0}})
    assert told[:-1] == doubts and told[-1].startswith("no station sent a frame; ")
