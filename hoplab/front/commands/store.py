# SPDX-License-Identifier: Apache-2.0
"""``hoplab store``: the runs in the store."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hoplab.host.machine import select
from hoplab.host.machine import store as machines
from hoplab.host.machine.sealed import SHORT
from hoplab.host.terminal import messages, output
from hoplab.many.store import again, apart, serve
from hoplab.many.store.files import Store, discard
from hoplab.model.errors import HoplabError, NotReproduced

app = typer.Typer(
    no_args_is_help=True, help="Runs that are kept by the hash of scenario and machine."
)

StoreFolder = Annotated[
    Path | None,
    typer.Option("--store", help="Its folder; HOPLAB_STORE or this user's cache by default."),
]
Trust = Annotated[bool, typer.Option("--trust", help="Run machines of others without asking.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
MOST_ROWS = 50
MOST_KEYS = 4
"""Keys in a line that distinguish a run from others."""
DAY_S = 86_400.0


@app.command("ls")
def show(
    store: StoreFolder = None,
    most: Annotated[int, typer.Option(help="Runs to list, the newest first.")] = MOST_ROWS,
    as_json: Json = False,
) -> None:
    """List the newest runs, and what there is in all."""

    place = Store(store)
    dated = []
    size = 0
    for key in place:
        try:
            found = place.path(key).lstat()
        except OSError:
            continue  # another process has just removed it
        size += found.st_size
        dated.append((found.st_mtime, key))
    dated.sort(reverse=True)
    rows: list[dict[str, Any]] = []
    for _, key in dated[:most]:
        entry = place.get(key)
        if entry is None:
            rows.append({"key": key, "error": "damaged; 'hoplab store gc' removes it"})
            continue
        rows.append(
            {
                "key": key,
                "title": str(entry.scenario.get("title", "")),
                "scenario": entry.scenario,
                "seed": entry.scenario.get("seed"),
                "machine": entry.head["machine"],
                "made": entry.head.get("made"),
                "tables": list(entry.tables),
                "digest": entry.digest,
                "error": entry.error,
            }
        )
    whole = [row for row in rows if "title" in row]
    for row, keys in zip(whole, apart.keys([row.pop("scenario") for row in whole]), strict=True):
        row["differs_in"] = keys
    if as_json:
        print(
            json.dumps(
                {"store": str(place.folder), "count": len(dated), "bytes": size, "runs": rows}
            )
        )
        return
    table = Table(box=None, pad_edge=False)
    for name in ("key", "made (UTC)", "title", "differs in", "seed", "digest or error"):
        table.add_column(name, overflow="fold")
    for row in rows:
        ended = row.get("error") or str(row.get("digest"))[:SHORT]
        made = str(row.get("made") or "").replace("T", " ").removesuffix("Z")
        told = list(row.get("differs_in", {}).items())
        differs = ", ".join(f"{key} {_told(value)}" for key, value in told[:MOST_KEYS])
        more = f" and {len(told) - MOST_KEYS} more" if len(told) > MOST_KEYS else ""
        cells = [str(row["key"])[:SHORT], made, row.get("title", ""), differs + more]
        cells += [row.get("seed", ""), ended]
        table.add_row(*(Text(str(cell)) for cell in cells))
    if rows:
        output.print(table)
    each = f", {size // len(dated)} bytes a run" if dated else ""
    output.print(f"{place.folder}: {len(dated)} runs, {size / 1e6:.1f} MB{each}", soft_wrap=True)


def _told(value: Any) -> str:
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)


@app.command()
def gc(
    store: StoreFolder = None,
    other_machines: Annotated[
        bool, typer.Option(help="Runs of machines that are not on this computer.")
    ] = False,
    unused_days: Annotated[
        float | None, typer.Option(help="Runs that nobody has asked for in so many days.")
    ] = None,
    failed: Annotated[bool, typer.Option(help="Runs that failed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
) -> None:
    """Remove what is damaged or was left half-written, and the runs that are named."""

    place = Store(store)
    here = {machine.id for machine in machines.machines()}
    with contextlib.suppress(HoplabError):
        here.add(select.chosen().id)
    gone: Counter[str] = Counter()
    freed = 0
    for path in list(place.leftovers()):
        gone["half-written"] += 1
        freed += path.lstat().st_size
        if not dry_run:
            discard(path)
    for key in list(place):
        path = place.path(key)
        about = path.lstat()
        idle_days = (time.time() - about.st_mtime) / DAY_S
        entry = place.read(key)
        if entry is None:
            reason = "damaged"
        elif failed and entry.error is not None:
            reason = "failed"
        elif other_machines and entry.head["machine"] not in here:
            reason = "of other machines"
        elif unused_days is not None and idle_days >= unused_days:
            reason = "unused"
        else:
            continue
        gone[reason] += 1
        freed += about.st_size
        if not dry_run:
            place.remove(key)
    verb = "would go" if dry_run else "removed"
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(gone.items())) or "nothing"
    output.print(f"{place.folder}: {verb}: {told}, {freed / 1e6:.1f} MB", soft_wrap=True)


@app.command()
def verify(
    store: StoreFolder = None,
    sample: Annotated[int, typer.Option(min=1, help="Runs to make again, drawn by lot.")] = 5,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    key: Annotated[list[str] | None, typer.Option(help="This run; its first digits do.")] = None,
    trust: Trust = False,
    cold: Annotated[
        bool, typer.Option("--cold", help="Boot a guest for every run, instead of a copy.")
    ] = False,
) -> None:
    """Check runs' tables, make them again and compare the digests."""

    place = Store(store)
    if key:
        keys = [place.find(start).key for start in key]
    else:
        keys = list(place)
        if not all_ and len(keys) > sample:
            keys = sorted(random.sample(keys, sample))
    counts: Counter[bool | None] = Counter()

    def say(line: str) -> None:
        messages.print(line, markup=False, highlight=False, soft_wrap=True)

    for verdict in again.verify(place, keys, given=trust, cold=cold):
        counts[verdict.ok] += 1
        word = {True: "ok  ", False: "FAIL", None: "    "}[verdict.ok]
        say(f"{word} {verdict.key[:SHORT]} {verdict.told}")
    told = f"{counts[True]} of {len(keys)} runs reproduced"
    if counts[None]:
        told += f", {counts[None]} could not be made again here"
    if counts[False]:
        raise NotReproduced(f"{place.folder}: {told}, {counts[False]} not; see above")
    output.print(f"{place.folder}: {told}", soft_wrap=True, markup=False)


@app.command()
def report(
    key: Annotated[str, typer.Argument(metavar="KEY", help="A run's; its first digits do.")],
    out: Annotated[
        Path, typer.Option(help="A sweep's folder; its page links to what is made.")
    ] = Path(),
    store: StoreFolder = None,
    trust: Trust = False,
) -> None:
    """Make a run's folder and report, below OUT/runs, by running it again."""

    place = Store(store)
    start = place.find(key).key[:SHORT]
    output.print(f"report: {serve.made(place, out, start, trust)}", soft_wrap=True, markup=False)


@app.command("serve")
def show_page(
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="A sweep's results.")],
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 0,
    store: StoreFolder = None,
    trust: Trust = False,
) -> None:
    """Show a sweep's page on this computer; a run's report is made when its link is followed."""

    server = serve.Server(Store(store), folder, port, trust)
    server.start()
    try:
        output.print(f"{server.url} (Ctrl-C ends it)", soft_wrap=True, markup=False)
        threading.Event().wait()
    finally:
        server.close()
