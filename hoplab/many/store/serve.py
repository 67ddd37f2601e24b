# SPDX-License-Identifier: Apache-2.0
"""A sweep's page on the loopback address. A run's report is made on request."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hoplab.host.serving import Serving, refused
from hoplab.many.store import again
from hoplab.many.store.files import Store
from hoplab.model.errors import HoplabError, ResultsError

KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".csv": "text/csv",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".parquet": "application/octet-stream",
    ".toml": "text/plain",
}
"""Types of the files in a sweep's folder that are served; other files are not."""
MAX_FILE_BYTES = 512 << 20
MAX_PARTS = 4
SHORTEST_KEY, LONGEST_KEY = 8, 64
_one_at_a_time = threading.Lock()
"""Two clicks must not start two guests for one report."""


class Server:
    """Serves a sweep's ``folder`` until `close`. ``given`` is the user's trust in other people's
    machines."""

    def __init__(self, store: Store, folder: Path, port: int, given: bool = False) -> None:
        if not (folder / "index.html").is_file():
            raise ResultsError(f"{folder}: has no index.html; name the folder of a sweep's results")
        self._store, self._folder, self._given = store, folder, given
        self._serving = Serving("sweep's page", port)
        self._turn = asyncio.Lock()

    @property
    def url(self) -> str:
        """Address of the page. Anyone who has it may use it."""
        return self._serving.url

    def start(self) -> None:
        """Start the server; returns when it answers."""
        base = self._serving.base
        routes = [
            Route(f"{base}/", self._file),
            Route(f"{base}/runs/{{key:str}}/report.html", self._report),
            Route(f"{base}/{{path:path}}", self._file),
        ]
        self._serving.start(Starlette(routes=routes))

    def close(self) -> None:
        """End every connection."""
        self._serving.close()

    async def _report(self, request: Request) -> Response:
        key = request.path_params["key"]
        if not SHORTEST_KEY <= len(key) <= LONGEST_KEY or set(key) - set("0123456789abcdef"):
            return refused("there is no such run", 404)
        async with self._turn:
            try:
                await _in_thread(lambda: made(self._store, self._folder, key, self._given))
            except HoplabError as error:
                return refused(str(error), 404)
        return await self._content(f"runs/{key}/report.html")

    async def _file(self, request: Request) -> Response:
        return await self._content(request.path_params.get("path") or "index.html")

    async def _content(self, name: str) -> Response:
        kind = KINDS.get(Path(name).suffix)
        try:
            if kind is None:
                raise OSError
            content = await asyncio.to_thread(_read, self._folder, name.split("/"))
        except (OSError, ValueError):
            return refused("there is no such file", 404)
        return Response(content, media_type=kind)


async def _in_thread(work: Callable[[], object]) -> None:
    """Run ``work`` in a thread that does not keep the program alive: Ctrl-C ends its guest too."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def told(error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as failed:
            error = failed
        loop.call_soon_threadsafe(told, error)

    threading.Thread(target=run, daemon=True).start()
    await done


def _read(folder: Path, parts: list[str]) -> bytes:
    """Return a regular file below ``folder``. Raises OSError for links, hidden files and everything
    else."""
    if len(parts) > MAX_PARTS or any(not part or part.startswith(".") for part in parts):
        raise OSError
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            inner = os.open(part, flags, dir_fd=place)
            os.close(place)
            place = inner
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        found = os.open(parts[-1], flags, dir_fd=place)
    finally:
        os.close(place)
    with os.fdopen(found, "rb") as file:
        about = os.fstat(found)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_BYTES:
            raise OSError
        return file.read(MAX_FILE_BYTES)


def made(store: Store, folder: Path, start: str, given: bool = False) -> Path:
    """Return the report of the run whose key begins with ``start``, below a sweep's folder."""
    target = folder / "runs" / start
    with _one_at_a_time:
        if not (target / "report.html").is_file():
            entry = store.find(start)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as name:
                    new = Path(name) / "run"
                    again.make(entry, new, given)
                    new.rename(target)
            except OSError as error:
                raise ResultsError(f"{target}: cannot be written: {error.strerror}") from None
    return target / "report.html"
