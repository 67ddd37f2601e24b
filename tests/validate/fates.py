# SPDX-License-Identifier: Apache-2.0
"""What becomes of the packets that ten flows send among thirty moving stations, beside ns-2.35.

    python -m tests.validate.fates SPEED_MPS SEEDS

prints the share of packets that arrive, and of those that each cause takes. The cases here are the
one-packet queue of ns-2's ARP, Linux's queue, and addresses by ARP alone that never age. The others
are ns-2, and ns-2 with stations that know each other's addresses from the start. Packets without a
cause were on their way at the end, or waited for an ARP answer that never came. The table is in
`docs/dsr.md`.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hoplab.host.results.reader import Results
from hoplab.many.study import ns2
from hoplab.model.reading import opened
from tests.validate import mobile, recorded
from tests.validate.runs import measure_all

ARRIVED, UNKNOWN = "arrived", "no cause"
SETTINGS: dict[str, dict[str, Any]] = {
    "here": {},
    "queue of 101": {"arp_queue_packets": 101},
    "ARP alone": {"resolution": "arp", "arp_timeout_s": 86_000},
}
KNOWN = {"ns-2.35": 0, "addresses known": 1}
"""Option of ns-2's script."""
Fates = Counter[str]


def read(results: Results) -> Fates:
    """Packets of a run by their fate."""
    tally = mobile.read(results)
    fates = Fates({ARRIVED: tally.delivered})
    for row in results.rows("events"):
        if row["kind"] == "drop" and "protocol=17 " in row["detail"]:
            fates[row["detail"].split()[0].removeprefix("cause=")] += 1
    fates[UNKNOWN] = tally.sent - fates.total()
    return fates


def read_ns2(trace: Path) -> Fates:
    """The same of ns-2's trace: an unread packet's last drop, by layer and reason."""
    causes: dict[str, str] = {}
    with opened(trace) as lines:
        for line in lines:
            # Kind, time, station, layer, reason, number, type.
            words = line.decode("ascii", "replace").split(maxsplit=7)
            if len(words) < 7 or words[6] != "cbr":
                continue
            kind, layer, reason, number = words[0], words[3], words[4], words[5]
            if kind == "s" and layer == "AGT":
                causes[number] = UNKNOWN
            elif kind == "r" and layer == "AGT":
                causes[number] = ARRIVED
            elif kind == "D" and causes.get(number) != ARRIVED:
                causes[number] = f"{layer} {reason}"
    return Fates(causes.values())


def main(speed_mps: int, seeds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="hoplab-validate-") as folder:
        files = [(seed, Path(folder) / f"{seed}.ns2") for seed in range(1, seeds + 1)]
        for seed, file in files:
            mobile.write_movement(file, speed_mps, mobile.DURATION_S, seed)
        for title, settings in SETTINGS.items():
            documents = [mobile.scenario(file, mobile.DURATION_S, seed) for seed, file in files]
            for document in documents:
                document["routing"]["settings"] = settings
            tell(title, measure_all(documents, read))
        for title, known in KNOWN.items():
            tell(title, [in_ns2(file, seed, known) for seed, file in files])


def in_ns2(movement_file: Path, seed: int, known: int) -> Fates:
    """Packets of a run of ns-2 by their fate."""
    trace = movement_file.with_suffix(".trace")
    options = {"time": mobile.DURATION_S, "seed": seed, "known": known, "trace": trace}
    ns2.run(recorded.SCRIPTS / "mobile.tcl", **mobile.ns2_options(movement_file), **options)
    fates = read_ns2(trace)
    trace.unlink()
    return fates


def tell(title: str, fates: list[Fates]) -> None:
    total = sum(fates, Fates())
    shares = (f"{cause} {100 * n / total.total():.2f} %" for cause, n in total.most_common())
    print(f"{title}: {', '.join(shares)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
