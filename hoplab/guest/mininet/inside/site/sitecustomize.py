# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""Hooks into Mininet and Mininet-WiFi, each with the symptom that it cures; no file is changed.

The interpreter imports this module by its name when it starts. Every interpreter that the script
starts does the same. The module therefore imports little (importlib.abc alone takes 0.1 s in a
guest).
"""

import importlib.machinery
import importlib.util
import os
import sys
import time
import types

OVS_UPTIME_S = 11.0
SHORTEST_WAIT_S = 0.01
APART_S = 0.05
DESCRIPTORS = 1024


def older_mininet(module):
    """mn_wifi.net imports fmtBps, which Debian's Mininet 2.3.0 lacks: ImportError."""
    if hasattr(module, "fmtBps"):
        return

    def fmtBps(bps, fmt="%.1f %sbps", prefixes=("", "K", "M", "G", "T")):
        for prefix in prefixes[:-1]:
            if bps < 1000:
                return fmt % (bps, prefix)
            bps /= 1000.0
        return fmt % (bps, prefixes[-1])

    module.fmtBps = fmtBps


def waiting(module):
    """Loops read the clock until a time has come. In virtual time a reading takes 256 ns, so a
    virtual second costs 60 s of the processor's time. The hook sleeps before each reading. Naps of
    0.1 ms in other loops become as long."""
    sleep, clock = time.sleep, time.time

    def read():
        sleep(SHORTEST_WAIT_S)
        return clock()

    def nap(seconds):
        sleep(max(seconds, SHORTEST_WAIT_S))

    for name, value in (("time", read), ("sleep", nap)):
        if callable(getattr(module, name, None)):
            setattr(module, name, value)


def open_vswitch(kind):
    """Nobody has started Open vSwitch in a guest. If it starts within the first 10 s, it takes the
    computer for one without processors. Every packet that needs it is then lost."""
    before = kind.setup.__func__

    def setup(cls):
        start_open_vswitch()
        before(cls)

    kind.setup = classmethod(setup)


def path(name):
    """Import the module on its first use, because every interpreter of a script loads this file."""
    from pathlib import Path

    return Path(name)


def start_open_vswitch():
    import subprocess

    program = "/usr/share/openvswitch/scripts/ovs-ctl"
    running = subprocess.call(["pgrep", "-x", "ovs-vswitchd"], stdout=subprocess.DEVNULL) == 0
    if running or not path(program).exists():
        return
    time.sleep(max(0.0, OVS_UPTIME_S - time.clock_gettime(time.CLOCK_BOOTTIME)))
    for folder in ("/etc/openvswitch", "/var/lib/openvswitch", "/var/log/openvswitch"):
        path(folder).mkdir(parents=True, exist_ok=True)
    subprocess.call(
        [program, "start", "--system-id=hoplab", "--no-monitor"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def few_descriptors(kind):
    """A node takes 0.3 s of the processor's time to start. mnexec closes, one by one, all the 16384
    descriptors that Mininet allows itself. The node's shell gets that limit once it runs."""
    import resource

    limit = resource.RLIMIT_NOFILE
    start = kind.startShell

    def start_shell(self, *arguments, **options):
        soft, hard = resource.getrlimit(limit)
        needed = max(int(entry.name) for entry in path("/proc/self/fd").iterdir()) + 64
        resource.setrlimit(limit, (min(soft, max(needed, DESCRIPTORS)), hard))
        try:
            start(self, *arguments, **options)
        finally:
            resource.setrlimit(limit, (soft, hard))
        resource.prlimit(self.shell.pid, limit, (soft, hard))

    kind.startShell = start_shell


def nodes(module):
    few_descriptors(module.Node)
    open_vswitch(module.OVSSwitch)


def each_port_once(kind):
    """An access point with several radios gets no bridge. Some ports are listed twice, under their
    old number and under another, and ovs-vsctl refuses the whole command."""
    start = kind.start

    def start_bridge(self, controllers):
        radios = self.params["wlan"]
        if len(radios) > 1:
            wired = {port: intf for port, intf in self.intfs.items() if intf.name not in radios}
            wireless = dict(enumerate(map(self.nameToIntf.get, radios), 1))
            for port, intf in wireless.items():
                self.ports[intf] = port
            self.intfs = wired | wireless
        start(self, controllers)

    kind.start = start_bridge


def access_points(module):
    open_vswitch(module.OVSAP)
    each_port_once(module.OVSAP)


def medium(module):
    """Without a medium a frame takes no time and no frames collide. Half of upstream's examples
    name no medium, since netem delays their links. They get a medium, unless they are to stay as
    written. The hook also disables plots: nobody sees them, and they take 5 s of the processor's
    time a second."""
    kind = module.Mininet_wifi
    begin = kind.__init__

    def init(self, *arguments, **options):
        if "link" not in options:
            options["link"] = module.wmediumd
            options.setdefault("wmediumd_mode", module.interference)
        begin(self, *arguments, **options)

    def plot_nothing(self, **options):
        for key, value in options.items():
            setattr(self, key, value)

    if os.environ.get("HOPLAB_MEDIUM") == "always":
        kind.__init__ = init
    if not os.environ.get("DISPLAY"):
        kind.plotGraph = plot_nothing


def apart(module):
    """Stations never associate. Commands take no virtual time, so all stations come up in one
    instant and scan in step. Their probe requests then collide at every access point."""
    kind = module.IntfWireless
    command = kind.ipLink

    def later(self, *words):
        if words == ("up",):
            time.sleep(APART_S)
        return command(self, *words)

    kind.ipLink = later


def parted(module):
    """A station walks away and says goodbye where its access point does not hear it. The access
    point would send it packets for five more minutes. The hook informs it, as a distribution system
    does (IEEE 802.11-2020 4.5.3.4)."""
    kind = module.IntfWireless
    disconnected = kind.setDisconnected

    def forgotten(self, ap_intf):
        disconnected(self, ap_intf)
        ap_intf.node.pexec(f"iw dev {ap_intf.name} station del {self.mac}")

    kind.setDisconnected = forgotten


def passphrases(module):
    """A station with several radios has one passphrase for each, separated by commas. Without the
    hook each radio would get the whole list."""
    kind = module.IntfWireless
    write = kind.wpaFile

    def write_own(self, ap_intf):
        every = self.passwd
        own = (every or "").split(",")
        if 1 < len(own) == len(self.node.params["wlan"]):
            self.passwd = own[self.id]
        try:
            write(self, ap_intf)
        finally:
            self.passwd = every

    kind.wpaFile = write_own


def links(module):
    apart(module)
    parted(module)
    passphrases(module)


HOOKS = {
    "mininet.util": older_mininet,
    "mininet.node": nodes,
    "mn_wifi.node": access_points,
    "mn_wifi.link": links,
    "mn_wifi.mobility": waiting,
    "mn_wifi.replaying": waiting,
    "mn_wifi.net": medium,
}


class Hooked:
    """Loads a module by its own loader, then lets the hook have it."""

    def __init__(self, loader, hook):
        self.loader = loader
        self.hook = hook

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.hook(module)


class Finder:
    def find_spec(self, name, path, target=None):
        hook = HOOKS.get(name)
        if hook is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = Hooked(spec.loader, hook)
        return spec


class Absent:
    """mn_wifi.net imports FlightRadar24: ModuleNotFoundError. Only scripts with aircraft of today's
    sky need more of it than the name. This finder comes last, if no other has the module."""

    def find_spec(self, name, path, target=None):
        if name != "FlightRadar24":
            return None
        return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.FlightRadar24API = type("FlightRadar24API", (), {})
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
sys.meta_path.append(Absent())
