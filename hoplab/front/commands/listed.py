# SPDX-License-Identifier: Apache-2.0
"""Every command: the module that has it, its group in ``--help``, and an example."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Listed:
    """A command of the list. ``below`` has an example for each of its subcommands. ``guest`` is set
    where most calls start a guest."""

    module: str
    example: str
    below: tuple[tuple[str, str], ...] = ()
    guest: bool = False


_STORE = (
    ("ls", "hoplab store ls"),
    ("gc", "hoplab store gc --unused-days 30"),
    ("verify", "hoplab store verify --sample 3"),
    ("report", "hoplab store report 3f2a --out sweeps/window"),
    ("serve", "hoplab store serve sweeps/window"),
)
_MACHINE = (
    ("list", "hoplab machine list"),
    ("build", "hoplab machine build --kernel 7.3"),
    ("pack", "hoplab machine pack machine.tar.zst"),
    ("unpack", "hoplab machine unpack machine.tar.zst"),
    ("diff", "hoplab machine diff 89638d2a 4cc98556"),
)
GROUPS: dict[str, dict[str, Listed]] = {
    "Run": {
        "run": Listed(
            "run", "hoplab run scenario.toml --set flow.0.window=8 --out runs/window-8", guest=True
        ),
        "branch": Listed(
            "branch", "hoplab branch scenario.toml --at 20 --set-at 20 flow.0.window=2", guest=True
        ),
        "new": Listed("new", "hoplab new first.toml --topology chain --stations 8"),
        "examples": Listed("examples", "hoplab examples hidden-terminals --changed"),
        "check": Listed("check", "hoplab check scenario.toml --print"),
        "schema": Listed("check", "hoplab schema > scenario.schema.json"),
        "lock": Listed("lock", "hoplab lock scenario.toml"),
        "movement": Listed("movement", "hoplab movement city.xml city.ns2 --stations 30"),
        "import": Listed("importing", "hoplab import meshviewer.json city.toml"),
        "exec": Listed("execute", "hoplab exec --radios 3 -- iw dev", guest=True),
        "mininet": Listed("mininet", "hoplab mininet adhoc.py --out results"),
        "shell": Listed("shell", "hoplab shell scenario.toml --live"),
    },
    "Look": {
        "ls": Listed("runs", "hoplab ls"),
        "show": Listed("export", "hoplab show runs/first flows --columns flow,goodput_kbps"),
        "report": Listed("report", "hoplab report runs/first"),
        "plot": Listed("plot", "hoplab plot runs/one runs/two --y goodput --out goodput.pdf"),
        "diff": Listed("runs", "hoplab diff runs/one runs/two"),
        "export": Listed("export", "hoplab export runs/first --out tables"),
        "trace": Listed("runs", "hoplab trace runs/first > first.tr"),
        "finish": Listed("report", "hoplab finish runs/killed"),
    },
    "Many": {
        "sweep": Listed("sweep", "hoplab sweep sweep.toml --dry-run", guest=True),
        "store": Listed("store", "hoplab store ls", _STORE),
        "study": Listed("studies", "hoplab study energy --quick", guest=True),
    },
    "Share": {
        "verify": Listed("runs", "hoplab verify runs/first", guest=True),
        "pack": Listed("runs", "hoplab pack runs/first first.tar.zst"),
        "mcp": Listed("context", "hoplab mcp ~/lab --wall 120"),
        "push": Listed("stream", "hoplab push runs/first --influx http://127.0.0.1:8428"),
    },
    "Machines": {
        "doctor": Listed("upkeep", "hoplab doctor"),
        "clean": Listed("upkeep", "hoplab clean"),
        "machine": Listed("machine", "hoplab machine list", _MACHINE),
        "selftest": Listed("selftest", "hoplab selftest 7.3 net/mptcp:simult_flows.sh"),
        "bisect": Listed("bisect", "git bisect run hoplab bisect scenario.toml"),
    },
    "Daemons": {
        "medium": Listed("daemon", "hoplab medium medium.toml"),
        "dsr": Listed("daemon", "hoplab dsr dsr.toml"),
        "aodv": Listed("daemon", "hoplab aodv aodv.toml"),
        "olsr": Listed("daemon", "hoplab olsr olsr.toml"),
        "dsdv": Listed("daemon", "hoplab dsdv dsdv.toml"),
        "split": Listed("daemon", "hoplab split split.toml"),
    },
}
"""By their groups, in the order of ``--help``."""
OF_GUESTS = {name for some in GROUPS.values() for name, entry in some.items() if entry.guest}
FORMER = {"init": "new"}
"""Names that a command had before. They work, and no list shows them."""


def all_listed() -> Iterator[tuple[str, str, Listed]]:
    """Yield group, name and entry of each command."""
    for group, commands in GROUPS.items():
        for name, entry in commands.items():
            yield group, name, entry
