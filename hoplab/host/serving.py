# SPDX-License-Identifier: Apache-2.0
"""A web server on the loopback address, for clients with its token.

Other users of this host, and other pages in the user's browser, can reach the port. The token keeps
the users out, and checks of Host and Origin the pages (DNS rebinding, requests across sites). An
incomplete request ends its connection after a time. The number of simultaneous requests is limited.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
import threading
import time
from typing import Any

import h11
import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from hoplab.model.errors import HoplabError

HOST = "127.0.0.1"
TOKEN_BYTES = 24
MAX_CONNECTIONS = 64
REQUEST_LIMIT_S = 5.0
"""Seconds within which a request's header, and its body, must arrive."""
START_LIMIT_S = 10.0
LARGEST_PORT = 65535
SILENT = logging.CRITICAL + 1
"""Log level that prints nothing: clients' input is not for the user's terminal."""
COMMON = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def listening(port: int = 0) -> socket.socket:
    """Return a socket on ``port``, 0 for any. Raises `HoplabError` if it is not available."""
    if not 0 <= port <= LARGEST_PORT:
        raise HoplabError(f"port {port}: is no port; expected 0 (any) to {LARGEST_PORT}")
    try:
        return socket.create_server((HOST, port), backlog=MAX_CONNECTIONS)
    except OSError as error:
        raise HoplabError(
            f"port {port}: cannot be used: {error.strerror}; --port names another"
        ) from None


class Serving:
    """An application below the path ``/TOKEN``, served from `start` to `close`."""

    def __init__(self, what: str, port: int = 0) -> None:
        self._what = what
        self.base = f"/{secrets.token_urlsafe(TOKEN_BYTES)}"
        self._socket = listening(port)
        self.port: int = self._socket.getsockname()[1]
        self._uvicorn: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        """Address of the application. Anyone who has it may use it."""
        return f"http://{HOST}:{self.port}{self.base}/"

    def start(self, app: ASGIApp) -> None:
        """Serve ``app``, whose routes begin with `base`. Returns when it answers."""
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                _Guard(app, self.base, self.port),
                http=_Impatient,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level=SILENT,
                access_log=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                h11_max_incomplete_event_size=16_384,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=1,
            )
        )
        self._thread.start()
        deadline = time.monotonic() + START_LIMIT_S
        while not self._uvicorn.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise HoplabError(f"{self._what}: its server did not start on {HOST}:{self.port}")
            time.sleep(0.01)

    def close(self) -> None:
        """End every connection."""
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
            self._thread.join(5.0)
        self._socket.close()

    def _serve(self) -> None:
        # A separate loop. In a thread uvicorn leaves signals alone.
        with contextlib.suppress(SystemExit):
            asyncio.run(self._serve_quietly())

    async def _serve_quietly(self) -> None:
        assert self._uvicorn is not None
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await self._uvicorn.serve(sockets=[self._socket])


def refused(reason: str, status: int) -> Response:
    """Return an answer that ends the connection. Further input of the client, however long, is not
    read."""
    return PlainTextResponse(reason, status, headers={"Connection": "close"})


class _Guard:
    """Admits only requests with the token that come from this page."""

    def __init__(self, app: ASGIApp, base: str, port: int) -> None:
        self._app = app
        self._base = base.encode()
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        reason = self._reason(scope)
        if reason is not None:
            await refused(reason, 403)(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.lower().encode(), value.encode())
                        for name, value in COMMON.items()
                        if name.lower().encode() not in given
                    ),
                ]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _reason(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return "this server goes by 127.0.0.1 and localhost only"
        start = scope["path"].encode()[: len(self._base)]
        if not secrets.compare_digest(start, self._base):
            return "wrong or missing token: use the whole address that hoplab printed"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "requests of other pages are refused"
        if scope["method"] != "GET" and origin is None:
            return "a request that changes something must come from the page"
        return None


class _Impatient(H11Protocol):
    """Ends connections that do not send a whole request's header in time."""

    _watched = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._watch()

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            self.loop.call_later(REQUEST_LIMIT_S, self._check)

    def _check(self) -> None:
        self._watched = False
        begun = self.cycle is None or bool(self.conn.trailing_data[0])
        if self.conn.their_state is h11.IDLE and begun and not self.transport.is_closing():
            self.transport.close()
