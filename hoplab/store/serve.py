# SPDX-License-Identifier: Apache-2.0
"""A sweep's page on the loopback address; a run's report is made when it is asked for."""

from __future__ import annotations

import re
import tempfile
import threading
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hoplab.errors import HoplabError, ResultsError
from hoplab.store import again
from hoplab.store.files import Store

REPORT = re.compile(r"/runs/([0-9a-f]{8,64})/report\.html")
_one_at_a_time = threading.Lock()
"""Two clicks shall not start two guests for one report."""


class _Handler(SimpleHTTPRequestHandler):
    """The folder's files, and reports that are not there yet."""

    def __init__(self, *arguments: Any, store: Store, folder: Path, **more: Any) -> None:
        self._store, self._folder = store, folder
        super().__init__(*arguments, directory=str(folder), **more)

    def do_GET(self) -> None:
        # A page from elsewhere that a browser has open may not have runs made: it would name
        # itself by another host.
        host = self.headers.get("Host", "").partition(":")[0]
        if host not in ("127.0.0.1", "localhost"):
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        found = REPORT.fullmatch(self.path)
        if found is not None:
            try:
                made(self._store, self._folder, found[1])
            except HoplabError as error:
                body = str(error).encode()
                self.send_response(HTTPStatus.NOT_FOUND)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
        super().do_GET()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def made(store: Store, folder: Path, start: str) -> Path:
    """The report of the run whose key begins with ``start``, below a sweep's folder."""
    target = folder / "runs" / start
    with _one_at_a_time:
        if not (target / "report.html").is_file():
            entry = store.find(start)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as name:
                    new = Path(name) / "run"
                    again.make(entry, new)
                    new.rename(target)
            except OSError as error:
                raise ResultsError(f"{target}: cannot be written: {error.strerror}") from None
    return target / "report.html"


def server(store: Store, folder: Path, port: int) -> ThreadingHTTPServer:
    """Serves ``folder`` on the loopback address; ``port`` 0 takes any."""
    if not (folder / "index.html").is_file():
        raise ResultsError(f"{folder}: has no index.html; name the folder of a sweep's results")
    handler = partial(_Handler, store=store, folder=folder)
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise ResultsError(
            f"port {port}: cannot be used: {error.strerror}; --port names another"
        ) from None
