# SPDX-License-Identifier: Apache-2.0
"""What ns-2.35 gave, as text tables under version control, so that comparing does not need it.

A row of ``tests/ns2/recorded/NAME.tsv`` is a run: its options and its figures. A row that is
missing is made by running ns-2; ``make validate NS2=run`` makes all of them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hoplab.model.errors import HoplabError, MissingTool

SCRIPTS = Path(__file__).parents[1] / "ns2"
FOLDER = SCRIPTS / "recorded"
HEADING = "# ns-2.35 (Debian ns2 2.35+dfsg): ns tests/ns2/{script} OPTIONS. Made by: {command}"
COMMAND = "make validate NS2=run"
renew = False
"""Whether rows that are there are made anew."""

Row = tuple[float, ...]
_made: set[tuple[str, str]] = set()


def rows(
    name: str,
    columns: Sequence[str],
    options: Sequence[str],
    run: Callable[[str], Row],
    folder: Path = FOLDER,
) -> list[Row]:
    """The figures ``columns`` of each run in ``options``; ``run`` makes a row.

    Raises `HoplabError` where a row is missing and ns-2 is too, or where a table is damaged.
    """
    path = folder / f"{name}.tsv"
    known = _read(path, columns)
    wanted = [key for key in options if key not in known or (renew and (name, key) not in _made)]
    if wanted:
        with ThreadPoolExecutor(2) as pool:
            try:
                known |= dict(zip(wanted, pool.map(run, wanted), strict=True))
            except MissingTool as error:
                raise MissingTool(f"{path}: lacks {wanted[0]!r}, and {error}") from None
        _made.update((name, key) for key in wanted)
        _write(path, columns, known)
    return [known[key] for key in options]


def _read(path: Path, columns: Sequence[str]) -> dict[str, Row]:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    table = [line.split("\t") for line in lines if not line.startswith("#")]
    if not table or table[0] != ["options", *columns]:
        raise HoplabError(
            f"{path}: has not the columns {', '.join(columns)}; delete it and {COMMAND}"
        )
    return {words[0]: tuple(float(word) for word in words[1:]) for words in table[1:]}


def _write(path: Path, columns: Sequence[str], known: dict[str, Row]) -> None:
    script = f"{path.stem}.tcl"
    lines = [HEADING.format(script=script, command=COMMAND), "\t".join(["options", *columns])]
    lines += ["\t".join([key, *(f"{value:g}" for value in row)]) for key, row in known.items()]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def words(options: str) -> dict[str, str]:
    """``-a 1 -b 2`` as a mapping."""
    parts = options.split()
    return {
        key.removeprefix("-"): value for key, value in zip(parts[::2], parts[1::2], strict=True)
    }
