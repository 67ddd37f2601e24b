# SPDX-License-Identifier: Apache-2.0
"""Tools and resources of the server. Runs are processes of their own, which a limit of wall time
ends, and of which standard output never mixes with the protocol's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import tomli_w
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError

from hoplab import __version__
from hoplab.front.context import answers
from hoplab.front.context.place import SWEEPS, Place
from hoplab.front.mininet.movement import walk
from hoplab.front.pages.keys import SCHEMA
from hoplab.many.sweep import points as sweeps
from hoplab.model.errors import HoplabError
from hoplab.model.reading import MAX_BYTES, read_text
from hoplab.model.resources import DOCS

Answer = dict[str, Any]
GRACE_S = 60.0
"""After a run's limit of wall time, for its tables and its report."""
STARTED = [sys.executable, "-P", "-m", "hoplab"]
INSTRUCTIONS = """Hoplab runs real Linux TCP over a simulated multi-hop Wi-Fi network, in virtual
time; one scenario, seed and machine give the same bytes each time. Read hoplab://keys for what a
scenario may have, hoplab://tables for columns of results, and hoplab://docs for all pages. 'check'
a scenario first, then 'run' it, 'explain' the run, change one key and 'compare'. Lengths are in
virtual seconds: a minute of four stations takes seconds."""


def server(place: Place) -> MCPServer:
    """Return a server over a folder."""
    made = MCPServer("hoplab", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    tools = _Tools(place)
    for tool in (
        *(tools.check, tools.run, tools.runs, tools.explain, tools.compare),
        *(tools.sweep, tools.tables, tools.table),
    ):
        made.tool()(tool)
    made.resource("hoplab://keys", mime_type="application/schema+json")(_keys)
    made.resource("hoplab://tables", mime_type="text/markdown")(_page_of("tables"))
    made.resource("hoplab://docs", mime_type="text/plain")(_pages)
    made.resource("hoplab://docs/{+page}", mime_type="text/markdown")(_page)
    return made


@contextmanager
def _told() -> Iterator[None]:
    """Turn every known failure into the tool's error, in one line."""
    try:
        yield
    except HoplabError as error:
        raise ToolError(str(error)) from None


class _Tools:
    """The tools. Their docstrings are what a model reads of them."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._one = anyio.CapacityLimiter(1)
        """Runs are made one after the other: each takes a core."""

    async def check(self, scenario: str, set: list[str] | None = None) -> Answer:
        """Check a scenario: TOML text, or the name of a file in the folder.

        ``set`` overrides keys: ["flow.0.window=8", "routing.protocol=babeld"]. A mistake is the
        error; its lines have key, value and what is allowed.
        """
        with _told():
            path, found = await anyio.to_thread.run_sync(
                partial(self._place.scenario, scenario, set or [])
            )
        return {
            "valid": True,
            "file": path.name,
            "stations": [station.name for station in found.station],
            "flows": [f"{flow.source} to {flow.destination}" for flow in found.flow],
            "duration_s": found.duration_s,
        }

    async def run(
        self, scenario: str, name: str, set: list[str] | None = None, seed: int | None = None
    ) -> Answer:
        """Run a scenario under a new ``name``, by which other tools know the run.

        Returns flows, warnings and the digest. Read the warnings before you trust the result.
        """
        with _told():
            path, _ = self._place.scenario(scenario, set or [])
            out = self._place.new(name)
            self._place.require_room()
            words = ["run", str(path), "--out", str(out), "--json"]
            words += ["--wall-limit", f"{self._place.limits.wall_s:g}"]
            words += [word for one in set or [] for word in ("--set", one)]
            words += [] if seed is None else ["--seed", str(seed)]
        return await self._performed(words)

    async def runs(self) -> list[str]:
        """The runs of the folder by name, the newest last."""
        return self._place.runs()

    async def explain(self, run: str) -> Answer:
        """What a run's tables tell about its goodput.

        That is: warnings, flows, links that lose frames with the shares by fate, retries, full
        queues, events and routing's counters. Evidence, not a verdict: change the suspected key,
        run again and compare.
        """
        with _told():
            return answers.explained(self._place.run(run))

    async def compare(self, first: str, second: str) -> Answer:
        """What two runs differ in: keys of the scenario, machine, results, tables."""
        with _told():
            return answers.compared(self._place.run(first), self._place.run(second))

    async def sweep(
        self, scenario: str, name: str, axes: dict[str, list[Any]], seeds: int = 3
    ) -> Answer:
        """Run a scenario for every combination of values: axes {"flow.0.window": [4, 8, 16]}.

        Returns means with 95 % intervals over ``seeds``. Runs that were made before are taken from
        the folder's store.
        """
        with _told():
            path, _ = self._place.scenario(scenario, [])
            out = self._place.new(name, SWEEPS)
            self._place.require_room()
            axis = [{"key": key, "values": values} for key, values in axes.items()]
            try:
                text = tomli_w.dumps({"scenario": path.name, "seeds": seeds, "axis": axis})
            except TypeError as error:
                raise ToolError(f"axes: {error}; expected numbers, texts, true, false") from None
            file = self._place.written("sweep", text)
            self._place.sweep(sweeps.read(file, walk))
            store = self._place.folder / "store"
            words = ["sweep", str(file), "--out", str(out), "--json", "--store", str(store)]
        return await self._performed([*words, "--workers", "1"])

    async def tables(self, run: str) -> Answer:
        """The tables of a run that have rows, with their numbers of rows."""
        with _told():
            return answers.listed(self._place.run(run))

    async def table(
        self,
        run: str,
        table: str,
        columns: list[str] | None = None,
        where: str | None = None,
        rows: int = 50,
    ) -> Answer:
        """Rows of a run's table, such as where = "flow == 'flow0' and t_s > 5".

        hoplab://tables says what each column is.
        """
        most = max(1, min(rows, self._place.limits.rows))
        with _told():
            return answers.rows(self._place.run(run), table, columns or [], where, most)

    async def _performed(self, words: list[str]) -> Answer:
        """Return what a command prints as JSON. A command that takes too long ends, with the
        results so far."""
        async with self._one:
            done = await _ended([*STARTED, *words], self._place.folder, self._place.limits.wall_s)
        lines = done.stdout.decode(errors="replace").strip().splitlines()
        if done.returncode or not lines:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-5:]
            raise ToolError("\n".join(last) or f"ended with status {done.returncode}")
        found: Answer = json.loads(lines[-1])
        return found


async def _ended(
    command: list[str], folder: Path, wall_s: float
) -> subprocess.CompletedProcess[bytes]:
    process = await anyio.open_process(command, cwd=folder, stdin=subprocess.DEVNULL)
    said = {"stdout": b"", "stderr": b""}

    async def gather(name: str) -> None:
        async for part in getattr(process, name):
            said[name] = (said[name] + part)[-MOST_SAID:]

    try:
        with anyio.move_on_after(wall_s + GRACE_S):
            async with anyio.create_task_group() as both:
                both.start_soon(gather, "stdout")
                both.start_soon(gather, "stderr")
            await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:  # the limit, or the client gave up
                os.kill(process.pid, signal.SIGTERM)
                with anyio.move_on_after(GRACE_S):
                    await process.wait()
            if process.returncode is None:
                process.kill()
            await process.aclose()
    status = process.returncode
    return subprocess.CompletedProcess(command, -1 if status is None else status, **said)


MOST_SAID = 4 << 20
"""Octets of a command's output that are kept."""


def _keys() -> str:
    """The JSON Schema of a scenario: every key with its meaning, unit and allowed values."""
    return read_text(SCHEMA, MAX_BYTES, "the schema")


def _pages() -> str:
    """The names of all pages, for hoplab://docs/NAME."""
    return "\n".join(sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")))


def _page(page: str) -> str:
    """A page of the documentation, or an example's scenario."""
    path = (DOCS / page).resolve()
    inside = path.is_relative_to(DOCS.resolve()) and path.suffix in (".md", ".toml")
    if not inside or not path.is_file():
        raise ResourceNotFoundError(f"{page[:64]!r}: is no page; hoplab://docs lists them")
    return read_text(path, MAX_BYTES, "a page")


def _page_of(name: str) -> Any:
    """Return a function that reads one page. The SDK takes its docstring as a description."""

    def found() -> str:
        """Every table of a run, with its columns, units and meanings."""
        return _page(f"{name}.md")

    return found


def served(place: Place) -> None:
    """Serve on standard input and output until the client goes."""
    server(place).run("stdio")
