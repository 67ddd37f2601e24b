# SPDX-License-Identifier: Apache-2.0
"""What this machine can run, and what is missing for the rest."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hoplab.errors import HoplabError
from hoplab.machine import kernel, uml
from hoplab.processes import program


@dataclass(frozen=True)
class Check:
    """``found`` says what is there, or what to do where ``ok`` is false."""

    subject: str
    purpose: str
    ok: bool
    found: str


PROGRAMS = {
    "iperf3": "every run",
    "hoplab-medium": "every run with radios",
    "hoplab-dsr": "routing with DSR",
    "batmand": "routing with B.A.T.M.A.N.",
    "babeld": "routing with Babel",
}


def checks() -> Iterator[Check]:
    """Every check, the most basic first."""
    machine = platform.machine()
    yield Check("processor", "guests", machine == "x86_64", machine)
    yield _try("guest kernel", "--machine uml", lambda: str(kernel.path()))
    yield _try("guest", "--machine uml", _boot)
    for name, purpose in PROGRAMS.items():
        yield _try(name, purpose, lambda name=name: program(name))  # type: ignore[misc]
    root = os.geteuid() == 0
    yield Check("root", "--machine host", root, "yes" if root else "no; use sudo")
    hwsim = Path("/sys/module/mac80211_hwsim").exists()
    yield Check(
        "mac80211_hwsim",
        "--machine host",
        hwsim,
        "loaded" if hwsim else "not loaded; 'modprobe mac80211_hwsim radios=0'",
    )


def _boot() -> str:
    result = uml.run_guest(["true"])
    return f"boots and ends in {result.wall_s:.1f} s"


def _try(subject: str, purpose: str, find: Callable[[], str]) -> Check:
    try:
        return Check(subject, purpose, True, find())
    except HoplabError as error:
        return Check(subject, purpose, False, str(error))
