# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
"""Hooks into Mininet and Mininet-WiFi, each with the symptom that it cures; no file is changed.

The interpreter imports this module by its name when it starts, and so does each that the script
starts: it imports little (importlib.abc alone takes 0.1 s in a guest).
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
    """mn_wifi.net imports fmtBps, which Debian's Mininet 2.3.0 has not: ImportError."""
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
    """Loops that read the clock until a time has come: in virtual time a reading takes 256 ns of
    it, and 60 s of the processor's a second. As if each reading came some time after the last; and
    naps of 0.1 ms, which others of its loops take, are as long."""
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
    """Nobody has started Open vSwitch in a guest; and started within the first 10 s, it takes the
    computer for one without processors, and every packet that needs it is lost."""
    before = kind.setup.__func__

    def setup(cls):
        start_open_vswitch()
        before(cls)

    kind.setup = classmethod(setup)


def path(name):
    """Imported when first used: every interpreter of a script's loads this file."""
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
    """A node takes 0.3 s of the processor's to start: mnexec closes, one by one, all the 16384
    descriptors that Mininet lets itself have. Its shell gets that limit once it runs."""
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
    """An access point with several radios gets no bridge: some are there twice, under the number
    they had and under another, and ovs-vsctl refuses the whole command."""
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
    """Without a medium every frame takes no time and none collides. Half of upstream's examples
    name none (their links' delays are netem's): they get one, unless told to stay as they are
    written. And nobody looks at a plot, which takes 5 s of the processor's a second."""
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
    """Stations never associate: commands take no time in virtual time, so that all come up in one
    instant, scan in step, and their probe requests collide at every access point."""
    kind = module.IntfWireless
    command = kind.ipLink

    def later(self, *words):
        if words == ("up",):
            time.sleep(APART_S)
        return command(self, *words)

    kind.ipLink = later


def parted(module):
    """A station that walks away says goodbye where its access point does not hear it, and that
    would send it packets for five minutes more. A distribution system tells it (IEEE 802.11-2020
    4.5.3.4)."""
    kind = module.IntfWireless
    disconnected = kind.setDisconnected

    def forgotten(self, ap_intf):
        disconnected(self, ap_intf)
        ap_intf.node.pexec(f"iw dev {ap_intf.name} station del {self.mac}")

    kind.setDisconnected = forgotten


def passphrases(module):
    """A station with several radios has a passphrase for each, separated by commas; all of them
    together would be each radio's."""
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
    """mn_wifi.net imports FlightRadar24, of which only scripts with aircraft of today's sky need
    more than the name: ModuleNotFoundError. Asked last, where nobody has it."""

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
