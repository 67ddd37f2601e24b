# SPDX-License-Identifier: Apache-2.0
"""Print a line a figure, beside its reference; fail if one fails, or is missing.

    python -m tests.validate [--json FILE] [--quick] [--ns-2] [--ns-3] [--expect] [--machine NAME]
        [PART…]

A PART is one of `PARTS` or the beginning of one; without any, all, or those of `QUICK`. A figure is
a mean over seeds with its 95 % interval: ``verdict name measured reference deviation limit``
(`hoplab.many.study.figures` says what decides). "info" lines decide nothing. ``expected.txt`` lists
the figures of each part: one that a part does not print any more has failed. ``--expect`` writes
that list anew, ``--ns-2`` runs ns-2.35 instead of reading its recorded figures, ``--ns-3``
ns-3.37.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hoplab.many.study.figures import HEADING, Figure
from hoplab.model.errors import HoplabError
from tests.validate import recorded, runs

PARTS = {
    "medium/maximum": "throughput:items",
    "wifi/aggregation": "aggregation:items",
    "wifi/ns-3": "ns3:items",
    "wifi/ns-3-line": "line:items",
    "wifi/window": "window:items",
    "wifi/minstrel": "minstrel:items",
    "wifi/airtime": "airtime:items",
    "wifi/he": "high_efficiency:items",
    "wifi/multilink": "multilink:items",
    "wifi/emlsr": "emlsr:items",
    "wifi/ofdma": "ofdma:items",
    "wifi/ofdma-curves": "ofdma_curves:items",
    "wifi/bsrp": "bsrp:items",
    "wifi/mu-mimo": "mu_mimo:items",
    "wifi/eht-ofdma": "eht_ofdma:items",
    "wifi/widths": "widths:items",
    "wifi/puncture": "puncture:items",
    "wifi/2-ghz": "two_ghz:items",
    "wifi/power-save": "power_save:items",
    "wifi/roaming": "roaming:items",
    "wifi/bianchi": "classes:bianchi_items",
    "wifi/edca": "edca:items",
    "wifi/edca-three": "classes:voice_items",
    "medium/bianchi": "contention:items",
    "medium/terminals": "terminals:items",
    "medium/exact": "exactness:items",
    "medium/air": "air:items",
    "medium/shadowing": "air:shadowing_items",
    "medium/chain": "chain:static",
    "dsr/chain": "chain:dsr",
    "dsr/collapse": "collapse:items",
    "dsr/30-stations": "mobile:items",
    "routing/aodv": "routing:aodv_items",
    "routing/olsr": "routing:olsr_items",
    "routing/dsdv": "routing:dsdv_items",
    "tcp/fall-floyd": "fall_floyd:items",
    "tcp/estimates": "estimates:items",
    "tcp/loss-law": "loss_law:items",
    "tcp/dumbbell": "dumbbell:items",
    "tcp/round-trips": "round_trips:items",
    "tcp/generators": "generators:items",
    "tcp/queues": "queues:items",
    "tcp/links": "links:items",
    "tcp/mptcp": "multipath:items",
    "tcp/l4s": "l4s:items",
}
QUICK = (
    "medium/maximum",
    "wifi/minstrel",
    "wifi/airtime",
    "wifi/roaming",
    "medium/bianchi",
    "medium/terminals",
    "medium/exact",
    "medium/chain",
    "tcp/estimates",
)
"""Parts that together take less than 20 minutes on two cores, by the same rules as all."""
EXPECTED = Path(__file__).parent / "expected.txt"

Items = Callable[[], Iterable[Figure]]


def items(part: str) -> Items:
    """The function that gives a part's figures."""
    module, _, function = PARTS[part].partition(":")
    found: Items = getattr(importlib.import_module(f"tests.validate.{module}"), function)
    return found


def expected(path: Path = EXPECTED) -> dict[str, list[str]]:
    """Names of the figures that each part must give."""
    names: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            part, name = line.split()
            names.setdefault(part, []).append(name)
    return names


def check(part: str, source: Items, wanted: list[str]) -> Iterator[tuple[str, Figure | None]]:
    """Lines to print, each with its figure, or None for what went wrong instead."""
    missing = dict.fromkeys(wanted)
    try:
        for figure in source():
            yield str(figure), figure
            if figure.name not in missing:
                yield f"FAIL {figure.name}: twice, or not in {EXPECTED.name}; see --expect", None
            missing.pop(figure.name, None)
    except HoplabError as error:
        yield f"FAIL {part}: {str(error).splitlines()[0]}", None
    for name in missing:
        yield f"FAIL {name}: is expected and was not measured", None


def _asks(word: str, part: str) -> bool:
    """A part's name asks for it alone, the beginning of several names for all of them."""
    return part == word if word in PARTS else part.startswith(word)


def main(arguments: list[str], source: Callable[[str], Items] = items) -> int:
    parser = argparse.ArgumentParser(prog="validate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the figures, for programs")
    parser.add_argument("--quick", action="store_true", help="the parts that take little time")
    parser.add_argument("--ns-2", action="store_true", help="run ns-2.35 anew")
    parser.add_argument("--ns-3", action="store_true", help="run ns-3.37 anew")
    parser.add_argument("--expect", action="store_true", help="these are the figures to expect")
    parser.add_argument("--machine", metavar="NAME", help="a machine with another kernel")
    options = parser.parse_args(arguments)
    runs.kernel = options.machine
    asked = {recorded.NS2: options.ns_2, recorded.NS3: options.ns_3}
    recorded.renew = {peer for peer, anew in asked.items() if anew}
    asked_for = tuple(options.parts) or (QUICK if options.quick else ("",))
    chosen = [part for part in PARTS if any(_asks(word, part) for word in asked_for)]
    unknown = [word for word in options.parts if not any(p.startswith(word) for p in PARTS)]
    if unknown:
        print(f"validate: {unknown[0]!r} is not known; one of: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    wanted = expected()
    figures: list[Figure] = []
    failures = 0
    print(HEADING)
    for i, part in enumerate(chosen, start=1):
        began_s = time.monotonic()
        print(f"{part} ({i} of {len(chosen)})", file=sys.stderr, flush=True)
        own: list[Figure] = []
        for line, figure in check(part, source(part), wanted.get(part, [])):
            if figure is not None:
                own.append(figure)
                failures += figure.verdict == "FAIL"
            elif options.expect:
                continue
            else:
                failures += 1
            print(line, flush=True)
        figures += own
        wanted[part] = [figure.name for figure in own]
        print(f"  {part}: {time.monotonic() - began_s:.0f} s", file=sys.stderr, flush=True)
    if options.json:
        rows = [figure.row() for figure in figures]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.expect:
        _write_expected(wanted)
    counts = [sum(f.verdict == verdict for f in figures) for verdict in ("ok", "info")]
    print(f"{counts[0]} ok, {failures} failed, {counts[1]} for information")
    return 1 if failures else 0


def _write_expected(names: dict[str, list[str]]) -> None:
    lines = ["# The figures that each part gives: python -m tests.validate --expect [PART…]"]
    lines += [f"{part} {name}" for part in PARTS for name in names.get(part, [])]
    EXPECTED.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
