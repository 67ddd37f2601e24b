# SPDX-License-Identifier: Apache-2.0
"""Checks of this computer: which runs are possible, and what is missing for the rest."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hoplab.front import surroundings
from hoplab.front.mininet import found as mininet_wifi
from hoplab.guest.system.processes import program
from hoplab.host.machine import confined, guests, memory, private, select, uml
from hoplab.host.machine.guests import Boot, SealedGuest
from hoplab.host.machine.sealed import SHORT
from hoplab.model.errors import HoplabError


@dataclass(frozen=True)
class Check:
    """``found`` says what exists, or what to do if ``ok`` is false. Runs work without a check that
    is not ``needed``."""

    subject: str
    purpose: str
    ok: bool
    found: str
    needed: bool = True


RESULTS_MB = 100
CONFINEMENTS = {
    "landlock": "Landlock: a guest writes to its run's folder only",
    "namespace": "user and mount namespace: a guest writes to its run's folder only",
    "none": "none: what runs as root in a guest can write wherever you can; needs Linux 6.2 with "
    "Landlock, or user namespaces",
}
PROGRAMS = {
    "iperf3": "TCP traffic",
    "hoplab-traffic": "UDP traffic",
    "hoplab-medium": "radios",
    "hoplab-dsr": "DSR",
    "hoplab-aodv": "AODV",
    "hoplab-olsr": "OLSR",
    "hoplab-dsdv": "DSDV",
    "hoplab-split": "Split-TCP",
    "batmand": "B.A.T.M.A.N.",
    "babeld": "Babel",
}
"""Programs of the host, for `hoplab shell` and ``--machine host``. A run takes its machine's."""


def checks() -> Iterator[Check]:
    """Yield every check, the most basic first."""
    machine = platform.machine()
    yield Check("processor", "guests", machine == "x86_64", machine)
    yield replace(_try("kernel", "guests", surroundings.sandbox), needed=False)
    yield _try("system calls", "guests", surroundings.profile)
    yield _try("tracing", "guests", surroundings.tracing)
    yield replace(_try("memory limit", "guests", surroundings.memory_limit), needed=False)
    yield _try("guest kernel", "guests", lambda: str(guests.open_kernel()))
    yield _try("private folder", "guests", lambda: str(private.folder()))
    yield _try("guest memory", "guests", _memory)
    yield replace(_try("/dev/shm", "guests", surroundings.shared_memory), needed=False)
    yield _try("confinement", "guests", _confinement)
    yield _room()
    yield _try("machine", "runs", lambda: select.chosen().id[:SHORT])
    yield _try("guest", "runs", _boot)
    for name, purpose in PROGRAMS.items():
        found = _try(name, f"shell and host: {purpose}", partial(program, name))
        yield replace(found, needed=False)
    mininet = _try("Mininet-WiFi", "hoplab mininet", _mininet)
    yield replace(mininet, needed=False)
    root = os.geteuid() == 0
    yield Check("root", "--machine host", root, "yes" if root else "no; use sudo", needed=False)
    hwsim = Path("/sys/module/mac80211_hwsim").exists()
    yield Check(
        "mac80211_hwsim",
        "--machine host",
        hwsim,
        "loaded" if hwsim else "not loaded; 'modprobe mac80211_hwsim radios=0'",
        needed=False,
    )


def _confinement() -> str:
    """Return what confines a guest, and if nothing does, the setting that could change it."""
    mode = confined.confinement()
    remedy = surroundings.user_namespaces() if mode == "none" else None
    return CONFINEMENTS[mode] + (f" ({remedy})" if remedy else "")


def _mininet() -> str:
    """Return where Mininet-WiFi is, and which programs for networks with access points are
    missing."""
    found = mininet_wifi.find()
    lacking = mininet_wifi.sometimes()
    place = str(found.tree or found.python)
    return place + (f"; for access points also {', '.join(lacking)}" if lacking else "")


def _memory() -> str:
    """Return where a guest's memory can be. The check tries the places as for a guest."""
    with private.guest_folder() as folder:
        memory.attach(folder, memory.SMALLEST_MB)
        place = (folder / private.MEMORY).readlink().parent
        free_mb = shutil.disk_usage(place).free >> 20
        return f"{place}, {free_mb} MB free, programs may run there"


def _room() -> Check:
    """Check the space for results in their default place."""
    free_mb = shutil.disk_usage(Path.cwd()).free >> 20
    found = f"{free_mb} MB free in {Path.cwd()}"
    enough = free_mb >= RESULTS_MB
    return Check(
        "disk",
        "results",
        enough,
        found if enough else f"{found}; free some, or use --out elsewhere",
    )


def _boot() -> str:
    """Boot a sealed guest, as a run does."""
    result = uml.run_guest(SealedGuest(select.chosen()), ["true"], Boot(memory.SMALLEST_MB))
    return f"boots and ends in {result.wall_s:.1f} s"


def _try(subject: str, purpose: str, find: Callable[[], str]) -> Check:
    try:
        return Check(subject, purpose, True, find())
    except HoplabError as error:
        return Check(subject, purpose, False, str(error))
