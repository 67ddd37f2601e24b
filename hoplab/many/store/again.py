# SPDX-License-Identifier: Apache-2.0
"""Make a run of the store again, to verify it or to get its report."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hoplab.host.machine import private, sealed, select, trust
from hoplab.host.machine import store as machines
from hoplab.host.machine.originals import Originals
from hoplab.host.machine.sealed import SHORT, Machine
from hoplab.host.runs.kinds import Sealed
from hoplab.host.runs.launch import Observers, RunRequest, perform
from hoplab.many.store.entry import Entry
from hoplab.many.store.files import Store
from hoplab.many.store.key import evaluation
from hoplab.model.errors import OF_THIS_PLACE, HoplabError, MissingTool, NotReproduced, ResultsError
from hoplab.model.resolve.file import parse_resolved
from hoplab.show import report


@dataclass(frozen=True)
class Verdict:
    """The result for one run. ``ok`` is None if this computer cannot make the run again. ``told``
    is the message."""

    key: str
    ok: bool | None
    told: str


def machine_of(entry: Entry) -> Machine:
    """Return the machine of a run. Raises `MissingTool` if it is not here."""
    identity = str(entry.head["machine"])
    try:
        found = machines.find(identity)
    except MissingTool:
        own = select.chosen()
        if own.id != identity:
            raise MissingTool(
                f"{entry.called}: its machine {identity[:SHORT]} is not here any more; "
                "'hoplab machine unpack' its file, or run the scenario again"
            ) from None
        return own
    sealed.check(found, machines.stamps())
    return found


def make(entry: Entry, out: Path, given: bool = False, originals: Originals | None = None) -> None:
    """Run it again into the new folder ``out``, with its report. ``given`` is the user's trust in
    other people's machines. Without ``originals`` a guest boots.

    Raises `NotReproduced` if its tables differ this time.
    """
    if entry.error is None and entry.head["evaluation"] != evaluation():
        raise ResultsError(
            f"{entry.called}: its tables were made by another version of hoplab; run it "
            "again by its sweep"
        )
    scenario = parse_resolved(entry.scenario, entry.called)
    own = machine_of(entry)
    trust.require(own, entry.called, given, programs=bool(scenario.program))
    try:
        manifest = perform(
            RunRequest(
                scenario, Sealed(own, originals=originals, is_cold=originals is None), out=out
            ),
            Observers(on_results=report.render),
        )
    except OF_THIS_PLACE:
        raise
    except HoplabError as error:
        if entry.error is None:
            raise
        raise ResultsError(f"{entry.called}: failed again: {error}") from None
    if entry.error is None and manifest.digest != entry.digest:
        raise NotReproduced(
            f"{entry.called}: digest {str(entry.digest)[:SHORT]}… became "
            f"{(manifest.digest or '')[:SHORT]}…"
        )


def verify(
    store: Store,
    keys: list[str],
    say: Callable[[str], None] = lambda line: None,
    given: bool = False,
    cold: bool = False,
) -> Iterator[Verdict]:
    """Check each run's tables, then make it again and compare the digests. If ``cold``, a guest
    boots for each."""
    with private.temporary("verify") as room, contextlib.closing(Originals(room)) as originals:
        yield from _verdicts(store, keys, say, given, room, None if cold else originals)


def _verdicts(
    store: Store,
    keys: list[str],
    say: Callable[[str], None],
    given: bool,
    room: Path,
    originals: Originals | None,
) -> Iterator[Verdict]:
    for key in keys:
        entry = store.get(key)
        if entry is None:
            yield Verdict(key, False, "its file is damaged; the next sweep makes it again")
            continue
        damage = entry.damage()
        if damage is not None:
            yield Verdict(key, False, damage)
            continue
        if entry.error is not None:
            yield Verdict(key, None, f"failed: {entry.error}")
            continue
        with tempfile.TemporaryDirectory(dir=room) as place:
            say(f"run {key[:SHORT]} …")
            try:
                make(entry, Path(place) / "run", given, originals)
            except NotReproduced as error:
                yield Verdict(key, False, str(error))
            except OF_THIS_PLACE as error:
                yield Verdict(key, None, str(error))
            else:
                yield Verdict(key, True, f"reproduced, digest {str(entry.digest)[:SHORT]}…")
