# SPDX-License-Identifier: Apache-2.0
"""Ten broken networks with one cause each, and an exact verdict on who finds it.

    python experiments/faults/faults.py make cases           # ten folders: tables of a run
    python experiments/faults/faults.py judge answers.json   # right or wrong, each by a run

An answer names a cause and its place: {"1": ["lossy-link", "n1 n2"], ...}. The judge breaks the
healthy network by the answer and runs it. The answer is right if that run's digest is the case's:
equal scenarios have equal results, to the byte. Which causes there are is no secret; which case has
which is drawn by a seed, so another seed is another benchmark.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyarrow import compute, parquet

import hoplab
from hoplab.front.api import resolved_scenario
from hoplab.model.errors import HoplabError, ScenarioError
from hoplab.model.reading import read_text
from hoplab.model.resolve.file import read

HERE = Path(__file__).parent
NETWORK = HERE / "network.toml"
MAX_ANSWERS = 1 << 16
STATIONS = [f"n{i}" for i in range(5)]
RELAYS = STATIONS[1:-1]
LINKS = [f"{a} {b}" for a, b in pairwise(STATIONS)]
LINKS += [f"{b} {a}" for a, b in pairwise(STATIONS)]
FLOWS = ["long", "short"]
EVERYWHERE = ["network"]

Document = dict[str, Any]
Cause = tuple[list[str], Callable[[Document, str], None]]


def _lossy_link(network: Document, place: str) -> None:
    src, dst = place.split()
    network["loss"] = [{"src": src, "dst": dst, "rate": 0.3}]


def _outages(network: Document, place: str) -> None:
    src, dst = place.split()
    burst = {"kind": "burst", "rate": 1.0, "on_s": 1.0, "period_s": 4.0, "start_s": 2.0}
    network["loss"] = [{"src": src, "dst": dst, **burst}]


def _station_down(network: Document, place: str) -> None:
    times = ((6.0, "down"), (12.0, "up"))
    network["event"] = [{"at_s": at_s, "kind": kind, "station": place} for at_s, kind in times]


def _moved_away(network: Document, place: str) -> None:
    network["event"] = [{"at_s": 10.0, "kind": "move", "station": place, "x_m": 0.0, "y_m": 900.0}]


def _small_window(network: Document, place: str) -> None:
    next(flow for flow in network["flow"] if flow["name"] == place)["window"] = 1


def _cross_traffic(network: Document, place: str) -> None:
    src, dst = place.split()
    load = {"name": "other", "protocol": "udp", "source": src, "destination": dst}
    network["flow"].append({**load, "rate_kbps": 400})


def _radio(**keys: Any) -> Callable[[Document, str], None]:
    return lambda network, place: network["radio"].update(keys)


CAUSES: dict[str, Cause] = {
    "lossy-link": (LINKS, _lossy_link),
    "outages-of-a-link": (LINKS, _outages),
    "station-down": (RELAYS, _station_down),
    "station-moved-away": (RELAYS, _moved_away),
    "window-of-one-segment": (FLOWS, _small_window),
    "cross-traffic": (LINKS, _cross_traffic),
    "queue-of-two-packets": (EVERYWHERE, _radio(queue_packets=2)),
    "half-the-rate": (EVERYWHERE, _radio(rate_mbps=1.0)),
    "short-carrier-sense": (EVERYWHERE, _radio(carrier_sense_m=250.0)),
    "one-try-per-frame": (EVERYWHERE, _radio(retry_short=1, retry_long=1)),
}
"""By name: the places where it may be, and what it does to the network."""


def cases(seed: int) -> dict[str, tuple[str, str]]:
    """Return the cause and the place of each case, by its number."""
    lots = random.Random(seed)
    names = lots.sample(list(CAUSES), len(CAUSES))
    return {str(i): (name, lots.choice(CAUSES[name][0])) for i, name in enumerate(names, 1)}


def broken(cause: str, place: str) -> Document:
    """Return the network with a cause. Raises `ScenarioError` for one that there is not."""
    if cause not in CAUSES:
        raise ScenarioError(f"{cause[:64]!r}: is no cause; one of: {', '.join(CAUSES)}")
    places, act = CAUSES[cause]
    if place not in places:
        raise ScenarioError(f"{cause}: {place[:64]!r} is no place; one of: {', '.join(places)}")
    network = copy.deepcopy(read(NETWORK))
    act(network, place)
    return network


def make(out: Path, seed: int) -> None:
    """Write each case's tables, the healthy network and its run, and what may be named."""
    out.mkdir(parents=True)
    shutil.copy(NETWORK, out)
    named = {cause: places for cause, (places, _) in CAUSES.items()}
    (out / "causes.json").write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")
    networks = {"healthy": read(NETWORK)}
    networks |= {number: broken(*found) for number, found in cases(seed).items()}
    with tempfile.TemporaryDirectory() as folder:
        for name, network in networks.items():
            run = hoplab.run(network, out=Path(folder) / name)
            shutil.copytree(run.run_dir / "tables", out / name)
            _without_the_scenarios_own(out / name / "events.parquet")
            print(f"{name}: {out / name}", flush=True)


def _without_the_scenarios_own(path: Path) -> None:
    """Take the events out of a table that the scenario itself reports: they name the cause."""
    table = parquet.read_table(path)
    parquet.write_table(table.filter(compute.field("source") != "scenario"), path)


def answers(path: Path) -> dict[str, tuple[str, str]]:
    """Return who says what of which case. Raises `ScenarioError` for a file of another form."""
    try:
        found = json.loads(read_text(path, MAX_ANSWERS, "a file of answers"))
    except (ValueError, RecursionError):
        raise ScenarioError(f"{path}: is no JSON") from None
    form = 'expected {"1": ["lossy-link", "n1 n2"], …}'
    if not isinstance(found, dict):
        raise ScenarioError(f"{path}: {form}")
    for number, answer in found.items():
        words = isinstance(answer, list) and all(isinstance(word, str) for word in answer)
        if not words or len(answer) != 2:
            raise ScenarioError(f"{path}: case {number[:16]!r}: {form}")
    return {number: (answer[0], answer[1]) for number, answer in found.items()}


def judge(given: dict[str, tuple[str, str]], seed: int) -> Iterator[tuple[str, str]]:
    """Yield the verdict on each case: right, wrong, or that there is no answer."""
    for number, truth in cases(seed).items():
        if number not in given:
            yield number, "no answer"
            continue
        mine = broken(*given[number])
        if resolved_scenario(mine) == resolved_scenario(broken(*truth)):
            yield number, "right"
            continue
        # Another cause might do the same to the network, and would then be as good an answer.
        digests = {_digest(mine), _digest(broken(*truth))}
        yield number, "right" if len(digests) == 1 else "wrong"


def _digest(network: Document) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return hoplab.run(network, out=Path(folder) / "run").digest


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["make", "judge"])
    parser.add_argument("path", type=Path, help="a new folder, or a file of answers")
    parser.add_argument("--seed", type=int, default=1, help="draws which case has which cause")
    asked = parser.parse_args(arguments)
    try:
        if asked.what == "make":
            make(asked.path, asked.seed)
            return 0
        verdicts = dict(judge(answers(asked.path), asked.seed))
    except FileExistsError:
        print(f"faults: {asked.path}: is there already; name a new folder", file=sys.stderr)
        return 2
    except HoplabError as error:
        print(f"faults: {error}", file=sys.stderr)
        return error.exit_status
    for number, verdict in verdicts.items():
        print(f"case {number}: {verdict}")
    right = sum(verdict == "right" for verdict in verdicts.values())
    print(f"{right} of {len(verdicts)} right, seed {asked.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
