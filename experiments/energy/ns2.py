# SPDX-License-Identifier: Apache-2.0
"""Write ``ns2.toml``: in which state each station spends how long a Mbit, in ns-2.35.

``python experiments/energy/ns2.py``, half an hour on a core; needs the Debian package ``ns2``. An
accounting puts its powers on these times: `analysis.py`.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from hoplab.many.study import ns2

HERE = Path(__file__).parent
SEEDS = range(1, 21)
FEWER = range(1, 6)
"""Where only a sum over the settings counts."""
AGENTS = {"reno": "Reno", "newreno": "Newreno", "sack": "Sack1"}
LOSSES: tuple[float | str, ...] = (0.01, 0.05, 0.1, "burst")
RECEIVERS = {"each": 0, "second": 1}
"""Whether the receiver acknowledges each segment or every second one."""
PLACES = {
    "packets": ("packets", "all"),
    "frames": ("frames", "all"),
    "end": ("frames", "n3"),
}
"""What is lost where: packets above the MAC of every station, frames at every one, at the last."""
STATES = re.compile(
    r"_(?P<station>\d)_.*\[energy \S+ ei \S+ es \S+ et (?P<tx>\S+) er (?P<rx>[^]]+)"
)
BEFORE_S = 1.0
"""The flow starts then; until then all idle."""
LASTS_S = 40
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Seconds in a state for each Mbit of payload in ns-2.35 (Debian's 2.35+dfsg), stations n0 to n3,
# all of seeds 1 to 20, or 1 to 5; kbps is their mean goodput, kbps_error its standard error.
# Made by: python experiments/energy/ns2.py
"""


class Setting(NamedTuple):
    receiver: str
    place: str
    variant: str
    rts: str
    mtu: int
    loss: float | str


def settings() -> list[Setting]:
    """The study's 42 with both receivers, losses of packets or of frames; Reno's with losses of
    frames at the last station only."""
    found = []
    for receiver, place, variant in product(RECEIVERS, PLACES, AGENTS):
        if place != "end" or variant == "reno":
            for rts, mtu, loss in product(("on", "off"), (512, 1500), LOSSES):
                if mtu == 1500 or loss != "burst":
                    found.append(Setting(receiver, place, variant, rts, mtu, loss))
    return found


def seeds(setting: Setting) -> range:
    """More of the study's own world, whose settings are compared one by one."""
    return SEEDS if (setting.place, setting.receiver) == ("packets", "second") else FEWER


def seconds(setting: Setting, seed: int) -> tuple[float, list[list[float]]]:
    """Mbit delivered, and for each state the seconds of each station."""
    layer, at = PLACES[setting.place]
    with tempfile.TemporaryDirectory(prefix="hoplab-ns2-") as folder:
        trace = Path(folder) / "trace"
        printed = ns2.run(
            HERE / "ns2.tcl",
            tcp=AGENTS[setting.variant],
            rts=0 if setting.rts == "on" else 2347,
            bytes=setting.mtu,
            rate=0 if setting.loss == "burst" else setting.loss,
            burst=int(setting.loss == "burst"),
            layer=layer,
            at=at,
            delack=RECEIVERS[setting.receiver],
            trace=trace,
            seed=seed,
        ).split()
        last: dict[int, tuple[float, float]] = {}
        with trace.open(encoding="ascii", errors="replace") as lines:
            for line in lines:
                if found := STATES.search(line):
                    last[int(found["station"])] = float(found["tx"]), float(found["rx"])
    mbit = float(printed[printed.index("mbit") + 1])
    first = printed.index("joules") + 1
    used = [float(word) for word in printed[first : first + len(last)]]
    tx, rx = ([last[i][k] for i in sorted(last)] for k in (0, 1))
    idle = [u - t - r - BEFORE_S for u, t, r in zip(used, tx, rx, strict=True)]
    return mbit, [tx, rx, idle]


def row(setting: Setting, draws: list[tuple[float, list[list[float]]]]) -> dict[str, Any]:
    """A setting's seconds of all draws over its Mbit of all draws."""
    mbit = sum(one for one, _ in draws)
    states = {
        f"{name}_s": [
            round(sum(times[k][i] for _, times in draws) / mbit, 4)
            for i in range(len(draws[0][1][k]))
        ]
        for k, name in enumerate(("tx", "rx", "idle"))
    }
    kbps = [1000 * one / LASTS_S for one, _ in draws]
    goodput = {
        "seeds": len(kbps),
        "kbps": round(fmean(kbps), 1),
        "kbps_error": round(stdev(kbps) / math.sqrt(len(kbps)), 2),
    }
    return {**setting._asdict(), **goodput, **states}


def write(rows: list[dict[str, Any]]) -> None:
    """A line a setting: strings, numbers and lists of them are in TOML as in JSON."""
    lines = [
        "    { " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in one.items()) + " },\n"
        for one in rows
    ]
    text = f"{HEAD}settings = [\n{''.join(lines)}]\n"
    (HERE / "ns2.toml").write_text(text, encoding="utf-8")


def main() -> None:
    runs = [(setting, seed) for setting in settings() for seed in seeds(setting)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        drawn = zip(runs, pool.map(lambda one: seconds(*one), runs), strict=True)
        of_setting = groupby(drawn, key=lambda one: one[0][0])
        write([row(setting, [draw for _, draw in own]) for setting, own in of_setting])


if __name__ == "__main__":
    main()
