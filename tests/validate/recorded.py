# SPDX-License-Identifier: Apache-2.0
"""What ns-2.35 and ns-3.37 gave, as text tables under version control, so that comparing does not
need them.

A row of ``tests/ns2/recorded/NAME.tsv`` is a run: its options and its figures. A row that is
missing is made by running ns-2; ``make validate NS2=run`` makes all of them anew. ns-3's are in
``tests/ns3/recorded`` and made anew by ``NS3=run``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hoplab.model.errors import HoplabError, MissingTool

SCRIPTS = Path(__file__).parents[1] / "ns2"
FOLDER = SCRIPTS / "recorded"


@dataclass(frozen=True)
class Peer:
    """A simulator whose runs are recorded."""

    heading: str
    """Of a table: what made it, from which script."""
    command: str
    """Makes all tables anew."""


NS2 = Peer(
    "# ns-2.35 (Debian ns2 2.35+dfsg): ns tests/ns2/{stem}.tcl OPTIONS. Made by: {command}",
    "make validate NS2=run",
)
NS3 = Peer(
    "# ns-3.37 (Debian libns3-dev 3.37-2): tests/ns3/{stem}.cc OPTIONS. Made by: {command}",
    "make validate NS3=run",
)
renew: set[Peer] = set()
"""Whose rows are made anew, though they are there."""

Row = tuple[float, ...]
_made: set[tuple[str, str]] = set()


def rows(
    name: str,
    columns: Sequence[str],
    options: Sequence[str],
    run: Callable[[str], Row],
    folder: Path = FOLDER,
    peer: Peer = NS2,
) -> list[Row]:
    """The figures ``columns`` of each run in ``options``; ``run`` makes a row.

    Raises `HoplabError` where a row is missing and ``peer`` is too, or where a table is damaged.
    """
    path = folder / f"{name}.tsv"
    known = _read(path, columns, peer)
    anew = peer in renew
    wanted = [key for key in options if key not in known or (anew and (name, key) not in _made)]
    if wanted:
        with ThreadPoolExecutor(2) as pool:
            try:
                known |= dict(zip(wanted, pool.map(run, wanted), strict=True))
            except MissingTool as error:
                raise MissingTool(f"{path}: lacks {wanted[0]!r}, and {error}") from None
        _made.update((name, key) for key in wanted)
        _write(path, columns, known, peer)
    return [known[key] for key in options]


def _read(path: Path, columns: Sequence[str], peer: Peer) -> dict[str, Row]:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    table = [line.split("\t") for line in lines if not line.startswith("#")]
    if not table or table[0] != ["options", *columns]:
        raise HoplabError(
            f"{path}: has not the columns {', '.join(columns)}; delete it and {peer.command}"
        )
    return {words[0]: tuple(float(word) for word in words[1:]) for words in table[1:]}


def _write(path: Path, columns: Sequence[str], known: dict[str, Row], peer: Peer) -> None:
    heading = peer.heading.format(stem=path.stem, command=peer.command)
    lines = [heading, "\t".join(["options", *columns])]
    lines += ["\t".join([key, *(f"{value:g}" for value in row)]) for key, row in known.items()]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def words(options: str) -> dict[str, str]:
    """``-a 1 -b 2`` as a mapping."""
    parts = options.split()
    return {
        key.removeprefix("-"): value for key, value in zip(parts[::2], parts[1::2], strict=True)
    }
