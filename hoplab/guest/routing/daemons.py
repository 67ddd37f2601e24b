# SPDX-License-Identifier: Apache-2.0
"""The routing protocols that are programs of their own: how each is started."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

from hoplab.guest.network import batadv, ipv6, mesh
from hoplab.guest.network.build import counted
from hoplab.guest.network.namespaces import Namespaces
from hoplab.guest.system.processes import Daemon, Daemons, program, wait_for, wait_until
from hoplab.model.keys import documents
from hoplab.model.keys.dsr import DsrFile, DsrSettings
from hoplab.model.keys.routers import ROUTERS, settings_of
from hoplab.model.network.plan import WIRELESS, Plan

DSR_INTERFACE = "dsr0"
OF_HOPLAB = ("dsr", *ROUTERS)
"""Protocols whose daemons are of this project. They say when they are ready."""
BATMAND_SOCKET = "/batmand.socket"


def start(plan: Plan, namespaces: Namespaces, out: Path, epoch_ns: int, daemons: Daemons) -> None:
    """Start the scenario's routing protocol at every station; its processes join ``daemons``."""
    protocol = plan.scenario.routing.protocol
    if protocol == "batman-adv":
        _batman_adv(plan, namespaces)
        return
    if protocol == "hwmp":
        mesh.join(plan, namespaces)
        return
    command = {
        "batmand": _batmand,
        "babeld": _babeld,
        "dsr": dsr_command,
        **dict.fromkeys(ROUTERS, router_command),
    }[protocol]
    started = []
    for station in counted(plan, "starts routing daemons", list(plan.address)):
        log = out / "logs" / f"{protocol}-{station}.log"
        ours = protocol in OF_HOPLAB
        given = command(plan, station, out, epoch_ns)
        is_resident = ours and plan.scenario.network.routing == "kernel"
        process = namespaces.serve(station, given, log, is_resident)
        daemon = Daemon(f"{protocol} at {station}", process, log, leaves_tables=ours)
        started.append(daemons.add(daemon))
        if protocol == "batmand":
            # All bind a socket of one name, which each removes first. Two at once may undo that.
            wait_for(daemon, partial(_has_bound, daemon))
    if protocol in OF_HOPLAB:
        for daemon in started:
            wait_until(daemon, b"ready")
    if protocol == "dsr":
        for station in plan.address:
            _through_dsr(plan, namespaces, station)


def _through_dsr(plan: Plan, namespaces: Namespaces, station: str) -> None:
    """Add routes with metrics beside the route to the network that came with the daemon's
    interface."""
    for destination, metrics in plan.metrics[station].items():
        namespaces.netlink(station).route(
            "add",
            dst=f"{plan.address[destination]}/32",
            oif=namespaces.index(station, DSR_INTERFACE),
            prefsrc=plan.address[station],
            scope=253,
            metrics=metrics,
        )


def _has_bound(daemon: Daemon) -> bool:
    """Whether a batmand has its socket, in the table of its own namespace."""
    with contextlib.suppress(OSError):  # it has ended
        table = Path("/proc", str(daemon.process.pid), "net/unix")
        return BATMAND_SOCKET in table.read_text(encoding="utf-8", errors="replace")
    return False


def _settings(plan: Plan) -> list[str]:
    """Return a foreign daemon's settings, which are its own command-line options: ``o = 500``."""
    options: list[str] = []
    for key, value in plan.scenario.routing.settings.items():
        flag = f"-{key}" if len(key) == 1 else f"--{key}"
        options += [flag] if value is True else [flag, str(value)]
    return options


def _batmand(plan: Plan, station: str, out: Path, epoch_ns: int) -> list[str]:
    return [program("batmand"), "-d", "3", *_settings(plan), WIRELESS]


def _babeld(plan: Plan, station: str, out: Path, epoch_ns: int) -> list[str]:
    state = out / "raw" / f"babeld-{station}"
    of_ipv6 = []
    if station in plan.address_6:
        of_ipv6 = ["-C", f"redistribute local ip {plan.address_6[station]}/128 allow"]
    # At level 1 it would write its whole table at each change: gigabytes, of thirty stations.
    return [
        program("babeld"),
        *("-I", f"{state}.pid", "-S", f"{state}.state", "-d", "0"),
        *("-C", f"redistribute local ip {plan.address[station]}/32 allow"),
        *of_ipv6,
        *("-C", "redistribute local deny"),
        *("-C", "default type wireless"),
        *_settings(plan),
        WIRELESS,
    ]


def _station(plan: Plan, station: str, out: Path, epoch_ns: int) -> dict[str, Any]:
    """Return what the daemons of Hoplab have in common at ``station``."""
    raw, protocol = out / "raw", plan.scenario.routing.protocol
    return {
        "interface": plan.interface[station],
        "address": f"{plan.address[station]}/{plan.network_prefix(station)}",
        "seed": plan.scenario.seed,
        "name": station,
        "epoch_ns": epoch_ns,
        "duration_s": plan.end_s,
        "events": str(raw / f"events-{protocol}-{station}.jsonl"),
        "counters": str(raw / f"routing-{station}.jsonl"),
        "resident": plan.scenario.network.routing != "daemon",
    }


def dsr_command(plan: Plan, station: str, out: Path, epoch_ns: int) -> list[str]:
    """Return the command of ``station``'s daemon, with its part in Split-TCP."""
    raw = out / "raw"
    given = DsrFile(
        **_station(plan, station, out, epoch_ns),
        tun=DSR_INTERFACE,
        elfn=station in plan.standing_by,
        connection=plan.split_connections,
        split_table=str(raw / f"split-{station}.jsonl"),
        split_interval_s=plan.scenario.measure.interval_s,
        settings=DsrSettings.model_validate(plan.scenario.routing.settings),
    )
    document = documents.write(raw / f"dsr-{station}.json", given.document())
    return [program("hoplab-dsr"), str(document)]


def router_command(plan: Plan, station: str, out: Path, epoch_ns: int) -> list[str]:
    """Return the command of ``station``'s daemon of a protocol whose routes the kernel has."""
    protocol = plan.scenario.routing.protocol
    kind = ROUTERS[protocol]
    given = _station(plan, station, out, epoch_ns)
    if "elfn" in kind.model_fields:
        given["elfn"] = station in plan.standing_by
    settings = settings_of(protocol).model_validate(plan.scenario.routing.settings)
    whole = kind(**given, settings=settings).document()
    document = documents.write(out / "raw" / f"{protocol}-{station}.json", whole)
    return [program(f"hoplab-{protocol}"), str(document)]


def _batman_adv(plan: Plan, namespaces: Namespaces) -> None:
    """bat0 over wlan0; the station's address moves to bat0."""
    for station, address in plan.address.items():
        netlink = namespaces.netlink(station)
        wlan = namespaces.index(station, WIRELESS)
        netlink.addr("del", index=wlan, address=address, prefixlen=plan.subnet)
        netlink.link("add", ifname="bat0", kind="batadv")
        bat = namespaces.index(station, "bat0")
        batadv.without_loop_avoidance(station, bat)
        netlink.link("set", index=wlan, master=bat)
        netlink.link("set", index=bat, state="up")
        network = {"address": address, "prefixlen": plan.subnet, "broadcast": plan.broadcast}
        netlink.addr("add", index=bat, **network)
        if plan.address_6:
            ipv6.move(plan, netlink, station, wlan, bat)
