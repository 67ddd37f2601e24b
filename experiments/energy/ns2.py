# SPDX-License-Identifier: Apache-2.0
"""Write ``ns2.toml``: the study's table in ns-2.35, means over seeds.

``python experiments/energy/ns2.py``, 15 minutes on a core; needs the Debian package ``ns2``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import tomli_w

from hoplab.study import ns2

HERE = Path(__file__).parent
SEEDS = range(1, 11)
AGENTS = {"reno": "Reno", "newreno": "Newreno", "sack": "Sack1"}
POWER_W = 0.281838
PLACES = {
    "every frame, at every station": ("frames", "all"),
    "every frame, at the receiver": ("frames", "n3"),
    "packets above the MAC, at the receiver": ("packets", "n3"),
}
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Energy per Mbit in ns-2.35 (Debian's 2.35+dfsg): 0.281838 W to send and to receive, none idle;
# a station's mean; means over seeds 1 to 10.
# Made by: python experiments/energy/ns2.py
"""


class Setting(NamedTuple):
    variant: str
    rts: int
    bytes: int
    rate: float
    """Of a frame; 0 stands for bursts."""


UNIFORM = [Setting(*one) for one in product(AGENTS, (0, 2347), (512, 1500), (0.01, 0.05, 0.1))]
BURSTS = [Setting(*one) for one in product(AGENTS, (0, 2347), (1500,), (0.0,))]
COLUMNS: dict[str, Callable[[Setting], bool]] = {
    "rts on": lambda s: s.rate > 0 and s.rts == 0,
    "rts off": lambda s: s.rate > 0 and s.rts > 0,
    "512 B": lambda s: s.rate > 0 and s.bytes == 512,
    "1500 B": lambda s: s.rate > 0 and s.bytes == 1500,
    "loss 1 %": lambda s: s.rate == 0.01,
    "loss 5 %": lambda s: s.rate == 0.05,
    "loss 10 %": lambda s: s.rate == 0.1,
    "burst": lambda s: s.rate == 0,
    "all": lambda s: s.rate > 0,
}


def j_per_mbit(setting: Setting, layer: str, at: str, seed: int) -> tuple[float, float]:
    """A station's mean, and the sender's."""
    printed = ns2.run(
        HERE / "ns2.tcl",
        tcp=AGENTS[setting.variant],
        rts=setting.rts,
        bytes=setting.bytes,
        rate=setting.rate,
        burst=int(setting.rate == 0),
        layer=layer,
        at=at,
        tx=POWER_W,
        rx=POWER_W,
        idle=0,
        seed=seed,
    ).split()
    mbit, sender, every = (float(printed[printed.index(k) + 1]) for k in ("mbit", "sender", "all"))
    return every / 4 / mbit, sender / mbit


def table(layer: str, at: str) -> list[dict[str, dict[str, float]]]:
    """By variant and column: a station's mean, and the sender's."""
    settings = [*UNIFORM, *BURSTS]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        drawn = pool.map(
            lambda one: j_per_mbit(one[0], layer, at, one[1]), product(settings, SEEDS)
        )
        values = list(drawn)
    n = len(SEEDS)
    found = {s: values[i * n : (i + 1) * n] for i, s in enumerate(settings)}
    return [
        {
            variant: {
                name: round(
                    fmean(
                        fmean(draw[whose] for draw in draws)
                        for s, draws in found.items()
                        if s.variant == variant and where(s)
                    ),
                    4,
                )
                for name, where in COLUMNS.items()
            }
            for variant in AGENTS
        }
        for whose in (0, 1)
    ]


def main() -> None:
    every, sender = table("frames", "all")
    document: dict[str, object] = {"j_per_mbit": every, "j_per_mbit_sender": sender}
    others = {
        name: table(*place)[0] for name, place in PLACES.items() if place != ("frames", "all")
    }
    document["j_per_mbit_elsewhere"] = others
    (HERE / "ns2.toml").write_text(HEAD + tomli_w.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main()
