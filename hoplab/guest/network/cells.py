# SPDX-License-Identifier: Apache-2.0
"""Cells: access points by hostapd, clients by wpa_supplicant, over the radios of stations."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from pathlib import Path
from typing import NoReturn

from hoplab.guest.network import distribution, wifi
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.network.netlink import u32
from hoplab.guest.network.nl80211 import Attr, Command, Wireless, wireless
from hoplab.guest.system.processes import READY_POLL_S, Daemon, Daemons, last_line, program
from hoplab.model.checks.categories import TXOP_UNIT_US
from hoplab.model.errors import DaemonDied, MissingTool
from hoplab.model.keys.cells import TWT, U_APSD
from hoplab.model.keys.radio import (
    BAND_2_GHZ,
    BAND_6_GHZ,
    HE_STANDARDS,
    HT_STANDARDS,
    RATES_OF_STANDARD,
    Categories,
)
from hoplab.model.keys.resolved import ResolvedCell, ResolvedRadio
from hoplab.model.network.channels import START_MHZ, centre_mhz
from hoplab.model.network.plan import BRIDGE, Plan
from hoplab.model.network.reach import ETHERNET_MTU
from hoplab.model.network.wlans import Wlan

BEACON_INTERVAL_TU = 100
MODES = {"802.11": "b", "802.11b": "b"}
"""hostapd's names of standards before OFDM; the others' go by the band."""
POWER_SAVE_OFF, POWER_SAVE_ON = 0, 1
DOZES_AFTER_S = 0.3
"""mac80211's timeout is 0.1 s, after a packet anew."""
PS_TIMEOUT = Path("/sys/module/mac80211/parameters/ps_timeout_ms")
"""A parameter of the guest's kernel only (kernel-modules/guest/hooks/ps-timeout.patch)."""
HOSTAPD, SUPPLICANT = "hostapd", "wpa_supplicant"
READY = {HOSTAPD: b"state=ENABLED", SUPPLICANT: b"wpa_state=COMPLETED"}
"""What each program says when its station is ready: it sends beacons, or it has its keys."""
HT_MCS_BYTES = 10
"""Octets of the set of MCS that a station takes (IEEE 802.11-2020 9.4.2.55.4)."""
AIRTIME_STATIC = 1
"""The one of hostapd's ways to weigh air time that uses only the weights of its file."""
CLASSES_AT_6_GHZ = {20: 131, 40: 132, 80: 133, 160: 134}
"""Operating classes by width (802.11ax-2021 table E-4), by which hostapd knows the band."""
WIDTHS = {20: 0, 40: 0, 80: 1, 160: 2}
"""hostapd's numbers of the widths of VHT and HE."""
HASH_TO_ELEMENT = "sae_pwe=1"
"""SAE at 6 GHz makes its password element by hash to element (802.11ax-2021 12.12.2)."""
LARGEST_REPLY_BYTES = 4096


def settle(namespaces: Namespaces, wlan: Wlan, phy_index: int, radio: ResolvedRadio) -> None:
    """Make the radio with this wiphy the interface ``wlan`` of its station, for hostapd or
    wpa_supplicant."""
    links = namespaces.links(wlan.station)
    with wireless(wlan.station) as iw:
        index = iw.interface_of(phy_index)
        links.set(index, up=False)
        links.set(index, name=wlan.interface, mtu=ETHERNET_MTU)
        links.set(index, up=True)
        wifi.limits(iw, phy_index, radio)
        _save_power(iw, index, POWER_SAVE_OFF)
        if radio.standard in HT_STANDARDS and not radio.is_adaptive:
            wifi.fix_scheme(iw.wiphys()[phy_index], radio)
        elif radio.rate_mbps is not None and not radio.is_adaptive:
            wifi.fix_legacy_rate(iw.wiphys()[phy_index], float(radio.rate_mbps))


def _save_power(iw: Wireless, index: int, state: int) -> None:
    iw.request(Command.SET_POWER_SAVE, {Attr.IFINDEX: u32(index), Attr.PS_STATE: u32(state)})


def _never_say_awake(cell: ResolvedCell) -> None:
    """Let clients whose power save is switched on next doze always, as far as their access point
    knows (`ps-timeout.patch`).

    Raises `MissingTool` if the kernel cannot do that.
    """
    try:
        PS_TIMEOUT.write_text("0", encoding="ascii")
    except OSError:
        raise MissingTool(
            f'cell: power_save = "{cell.power_save}", but this kernel\'s clients can only say that '
            "they are awake; use true, or run with a machine that has the patch ps-timeout"
        ) from None


def _own_mcs(plan: Plan) -> dict[str, int]:
    """Return the MCS of each client that has its own."""
    return {each.name: each.mcs for each in plan.scenario.station if each.mcs is not None}


def associate(
    plan: Plan, namespaces: Namespaces, out: Path, daemons: Daemons, deadline_s: float
) -> None:
    """Start every access point and every client. Returns when all clients are associated and have
    their keys. Raises `HoplabError` if one is not by ``deadline_s`` of CLOCK_MONOTONIC."""
    radio, mcs = plan.scenario.radio, _own_mcs(plan)
    points, clients = [], []
    for cell in plan.scenario.cell:
        point = plan.wlan_in(cell.access_point, cell)
        points.append(Member(HOSTAPD, point, _hostapd(plan, cell)))
        clients += [
            Member(SUPPLICANT, plan.wlan_in(name, cell), _supplicant(plan, cell, mcs.get(name)))
            for name in cell.clients
        ]
    # Start them one after the other. Clients that begin at the same instant of virtual time would
    # send the same frames at the same instants, and collide endlessly.
    for member in points:
        member.start(namespaces, out, daemons)
        member.wait(deadline_s)
        member.adapt(radio)
    for cells in plan.scenario.networks:
        if schemes := {mcs[name] for cell in cells for name in cell.clients if name in mcs}:
            schemes.add(radio.mcs)
            for cell in cells:
                point = plan.wlan_in(cell.access_point, cell)
                wifi.allow_schemes(point, radio.channel, tuple(schemes))
    if plan.scenario.roams:
        for cell in plan.scenario.cell:
            if cell.roaming is not None:
                distribution.reflect(namespaces, plan.wlan_in(cell.access_point, cell))
    for member in clients:
        member.start(namespaces, out, daemons)
        member.wait(deadline_s)
        member.adapt(radio)
    for cell in plan.scenario.cell:
        for name in cell.clients if cell.power_save else ():
            index = namespaces.index(name, plan.wlan_in(name, cell).interface)
            with wireless(name) as iw:
                _save_power(iw, index, POWER_SAVE_ON)
                if cell.power_save is not True:
                    # At each change mac80211 tells of its antennas, by a frame that says that it is
                    # awake. With a timeout of 0 that frame may follow the null frame. That of a
                    # client that dozes says that it goes on dozing, and off sends no null frame.
                    time.sleep(DOZES_AFTER_S)
                    _never_say_awake(cell)
                    for state in (POWER_SAVE_OFF, POWER_SAVE_ON):
                        _save_power(iw, index, state)


class Member:
    """A station of a cell with the program that makes it one."""

    def __init__(self, name: str, wlan: Wlan, settings: list[str]) -> None:
        self._program, self._wlan, self._settings = name, wlan, settings
        self._folder = Path(f"/run/hoplab-{os.getpid()}-{wlan.name}")
        """Folder of the program's control socket, which the program removes. The path of a run's
        folder may be too long for a socket."""

    def start(self, namespaces: Namespaces, out: Path, daemons: Daemons) -> None:
        """Start the program; it ends with ``daemons``."""
        name = f"{self._program}-{self._wlan.name}"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        settings, log = out / "logs" / f"{name}.conf", _log(out, self._program, self._wlan)
        lines = [f"ctrl_interface={self._folder}", *self._settings]
        settings.write_text("\n".join(lines) + "\n", encoding="ascii")
        # Write dates, and each line at once.
        command = [program(self._program), "-t", "-f", str(log)]
        if self._program == SUPPLICANT:
            command += ["-D", "nl80211", "-i", self._wlan.interface, "-c"]
        command.append(str(settings))
        process = namespaces.spawn(self._wlan.station, command, log)
        self._daemon = daemons.add(Daemon(name, process, log))

    def adapt(self, radio: ResolvedRadio) -> None:
        """If minstrel chooses among MCS, limit the MCS. The program's set-up has erased what the
        interface knew before."""
        if radio.is_adaptive and radio.standard in HT_STANDARDS:
            wifi.adapt(self._wlan, radio)

    def wait(self, deadline_s: float) -> None:
        """Return when the program says that the station is ready. Each of its events is a reason to
        ask."""
        own = self._folder / "lab"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(str(own))
            self._connect(sock, deadline_s)
            reply = b""
            try:
                sock.send(b"ATTACH")
                sock.send(b"STATUS")
                while READY[self._program] not in reply.splitlines():
                    sock.settimeout(max(deadline_s - time.monotonic(), 1e-3))
                    reply = sock.recv(LARGEST_REPLY_BYTES)
                    if reply.startswith(b"<"):
                        sock.send(b"STATUS")
                sock.send(b"DETACH")
            except TimeoutError:
                self._fail(f"is not ready at time 0 ({_state(reply)}); raise warm_up_s:")
            except OSError:
                self._fail("did not start:")
        own.unlink()

    def _connect(self, sock: socket.socket, deadline_s: float) -> None:
        while True:
            try:
                sock.connect(str(self._folder / self._wlan.interface))
                return
            except OSError:
                if self._daemon.process.poll() is not None or time.monotonic() > deadline_s:
                    self._fail("did not start:")
                time.sleep(READY_POLL_S)

    def _fail(self, how: str) -> NoReturn:
        log = self._daemon.log
        raise DaemonDied(f"{self._daemon.name}: {how} {last_line(log)}; see logs/{log.name}")


def log_of(out: Path, client: Wlan) -> Path:
    """Return the log of a client's program."""
    return _log(out, SUPPLICANT, client)


def _log(out: Path, name: str, wlan: Wlan) -> Path:
    return out / "logs" / f"{name}-{wlan.name}.log"


def _state(reply: bytes) -> str:
    """Return the state that a reply to STATUS names."""
    lines = reply.decode("ascii", "replace").splitlines()
    return next((line for line in lines if line.startswith(("state=", "wpa_state="))), "no answer")


def _hostapd(plan: Plan, cell: ResolvedCell) -> list[str]:
    """Return hostapd.conf(5) of the access point."""
    point = plan.wlan_in(cell.access_point, cell)
    radio = plan.radio_of(point)
    standard = str(radio.standard)
    ht = standard in HT_STANDARDS
    announced = cell.edca or radio.edca
    mode = "g" if radio.band == BAND_2_GHZ else "a"
    return [
        f"interface={point.interface}",
        "driver=nl80211",
        f"ssid2={_hex(cell)}",
        f"hw_mode={MODES.get(standard, mode)}",
        f"channel={radio.channel}",
        f"beacon_int={BEACON_INTERVAL_TU}",
        *([f"dtim_period={cell.dtim_period}"] if cell.power_save else []),
        f"supported_rates={_rates(*RATES_OF_STANDARD[standard])}",
        f"basic_rates={_rates(radio.basic_rate_mbps)}",
        f"preamble={int(radio.preamble == 'short')}",
        f"wmm_enabled={int(ht)}",
        *(["uapsd_advertisement_enabled=1"] if cell.power_save in (U_APSD, TWT) else []),
        *(_high_throughput(radio) if ht else []),
        *([] if announced is None else _wmm(announced)),
        *_airtime(plan, cell),
        "auth_algs=1",
        *_keys(cell),
        *([HASH_TO_ELEMENT] if radio.band == BAND_6_GHZ else []),
        *([] if cell.roaming is None else _roaming(plan, cell)),
    ]


def _roaming(plan: Plan, cell: ResolvedCell) -> list[str]:
    """Return an access point's settings for roaming to the others of its network."""
    lines = [f"bridge={BRIDGE}", "ap_isolate=1"]
    if cell.roaming != "802.11r":
        return lines
    key = hashlib.sha256(f"{cell.ssid}/{cell.passphrase}".encode()).hexdigest()
    lines += [
        f"nas_identifier={cell.name}",
        f"mobility_domain={key[:4]}",
        "ft_over_ds=0",
        "pmk_r1_push=1",
    ]
    network = next(cells for cells in plan.scenario.networks if cell in cells)
    for other in network:
        if other != cell:
            mac = _bssid(plan, other)
            lines += [f"r0kh={mac} {other.name} {key}", f"r1kh={mac} {mac} {key}"]
    return lines


def _rates(*mbps: float) -> str:
    """Return rates in units of 100 kbit/s."""
    return " ".join(str(round(rate * 10)) for rate in mbps)


def _high_throughput(radio: ResolvedRadio) -> list[str]:
    width_mhz = wifi.kernel_width_mhz(radio)
    if radio.band == BAND_6_GHZ:
        # There are neither HT nor VHT (802.11ax-2021 27.1.1).
        return [f"op_class={CLASSES_AT_6_GHZ[width_mhz]}", *_high_efficiency(radio)]
    capable = "[SHORT-GI-20]"
    if width_mhz > 20:
        centre = centre_mhz(radio.band, radio.channel, 40, radio.secondary)
        above = centre > wifi.frequency_mhz(radio)
        capable += f"[HT40{'+' if above else '-'}][SHORT-GI-40]"
    lines = ["ieee80211n=1", f"ht_capab={capable}"]
    if radio.standard != "802.11n" and radio.band != BAND_2_GHZ:
        lines += ["ieee80211ac=1", "vht_capab=[SHORT-GI-80]", *_operation("vht", radio)]
    return [*lines, *_high_efficiency(radio)] if radio.standard in HE_STANDARDS else lines


def _high_efficiency(radio: ResolvedRadio) -> list[str]:
    return ["ieee80211ax=1", *_operation("he", radio)]


def _wmm(categories: Categories) -> list[str]:
    """Return the element by which the access point says how categories contend (WMM 2.2.2), equal
    to the medium's settings of its clients. The element has windows as exponents, and a TXOP in
    units of 32 us."""
    lines = []
    for name, category in zip(("vo", "vi", "be", "bk"), categories.complete(), strict=True):
        lines += [
            f"wmm_ac_{name}_aifs={category.aifsn}",
            f"wmm_ac_{name}_cwmin={category.cw_min.bit_length()}",
            f"wmm_ac_{name}_cwmax={category.cw_max.bit_length()}",
            f"wmm_ac_{name}_txop_limit={round(category.txop_us / TXOP_UNIT_US)}",
            f"wmm_ac_{name}_acm=0",
        ]
    return lines


def _airtime(plan: Plan, cell: ResolvedCell) -> list[str]:
    """Return weights of clients' air time. hostapd hands a weight to the kernel as its client
    associates."""
    network = next(cells for cells in plan.scenario.networks if cell in cells)
    members = {name for each in network for name in each.clients}
    weights = {
        station.name: station.airtime_weight
        for station in plan.scenario.station
        if station.name in members and station.airtime_weight is not None
    }
    if not weights:
        return []
    macs = {
        name: plan.mac[plan.wlan_in(name, each).name] for each in network for name in each.clients
    }
    lines = [f"airtime_sta_weight={macs[name]} {one}" for name, one in weights.items()]
    return [f"airtime_mode={AIRTIME_STATIC}", *lines]


def _operation(prefix: str, radio: ResolvedRadio) -> list[str]:
    """The channel's width and centre, of VHT or HE."""
    width_mhz = wifi.kernel_width_mhz(radio)
    lines = [f"{prefix}_oper_chwidth={WIDTHS[width_mhz]}"]
    if width_mhz >= 80 or radio.band == BAND_6_GHZ:
        centre = (wifi.kernel_centre_mhz(radio) - START_MHZ[radio.band]) // 5
        lines.append(f"{prefix}_oper_centr_freq_seg0_idx={centre}")
    return lines


def _keys(cell: ResolvedCell) -> list[str]:
    if cell.security == "open":
        return []
    lines = ["wpa=2", "rsn_pairwise=CCMP", f"wpa_passphrase={cell.passphrase}"]
    if cell.security == "wpa2":
        return [*lines, f"wpa_key_mgmt={_management(cell)}"]
    # WPA3 asks for protected management frames.
    return [*lines, f"wpa_key_mgmt={_management(cell)}", "ieee80211w=2"]


def _management(cell: ResolvedCell) -> str:
    """Return how keys are agreed on, and whether access points hand them on (FT)."""
    name = {"open": "NONE", "wpa2": "WPA-PSK", "wpa3": "SAE"}[cell.security]
    if cell.roaming != "802.11r":
        return name
    return f"{name} FT-{name.removeprefix('WPA-')}"


def _supplicant(plan: Plan, cell: ResolvedCell, mcs: int | None) -> list[str]:
    """Return wpa_supplicant.conf(5) of a client. It looks for access points on its network's
    channels only. If ``mcs`` is given, it takes only that MCS of HT."""
    network = next(cells for cells in plan.scenario.networks if cell in cells)
    points = [plan.wlan_in(each.access_point, each) for each in network]
    on = {wifi.frequency_mhz(plan.radio_of(point)): None for point in points}
    frequencies = " ".join(map(str, on))
    lines = [
        "p2p_disabled=1",
        *([HASH_TO_ELEMENT] if plan.scenario.radio.band == BAND_6_GHZ else []),
        "network={",
        f"ssid={_hex(cell)}",
        *([] if cell.roaming is not None else [f"bssid={_bssid(plan, cell)}"]),
        f"scan_freq={frequencies}",
        f"freq_list={frequencies}",
        f"key_mgmt={_management(cell)}",
    ]
    if cell.roaming is not None:
        values = cell.bgscan_short_s, cell.bgscan_dbm, cell.bgscan_long_s
        lines.append(f'bgscan="simple:{":".join(map(str, values))}"')
    if cell.security != "open":
        lines += ["proto=RSN", "pairwise=CCMP", "group=CCMP", f'psk="{cell.passphrase}"']
    if cell.security == "wpa3":
        lines.append("ieee80211w=2")
    if mcs is not None:
        bits = (1 << mcs).to_bytes(HT_MCS_BYTES, "little")
        lines.append(f'ht_mcs="{bits.hex(" ")}"')
    return [*lines, "}"]


def _bssid(plan: Plan, cell: ResolvedCell) -> str:
    """Return the access point's MAC."""
    return plan.mac[plan.wlan_in(cell.access_point, cell).name]


def _hex(cell: ResolvedCell) -> str:
    """Return the network's name in a form that both programs read, whatever its characters."""
    return cell.ssid.encode().hex()
