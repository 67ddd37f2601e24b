# SPDX-License-Identifier: Apache-2.0
"""The page's server: loopback only, for clients with the token (`hoplab.host.serving`).

Requests may be hostile and must be small. A body that is too long ends its connection. The server
forgets pages beyond the number that users open.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from hoplab.host.serving import REQUEST_LIMIT_S, Serving, refused
from hoplab.model.errors import HoplabError
from hoplab.show.live.page import page
from hoplab.show.live.view import Cursor, View
from hoplab.show.report.figures import library

LOOK_S = 0.05
"""Seconds between two checks for news of a page."""
HOLD_S = 10.0
"""Seconds after which a page without news gets an empty answer."""
MAX_BODY_BYTES = 1024
"""More than any request of a page needs; see `hoplab.host.runs.session.LONGEST_REQUEST`."""
MAX_PAGES = 8
"""Pages that follow a run. With one more, the server forgets the page that has not asked for
longest."""
MAX_NAME = 32
LINGER_S = 10.0
"""Seconds that a run which is over waits for its pages to take the report."""
GONE_S = 30.0
"""A page without a request for this many seconds counts as closed."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; "
    "form-action 'none'"
)
FILES = (
    *(("live", name) for name in ("live.js", "drag.js", "future.js", "live.css")),
    *(("report", name) for name in ("figures.js", "report.css")),
)
"""What a page loads, by the package that has it."""

Act = Callable[[dict[str, Any]], dict[str, Any]]
"""Carries out a page's request and returns the answer. Raises `HoplabError` with the reason if it
does not."""


@dataclass
class _Follower:
    """A page that is open."""

    told: int
    """Number of messages sent to the page."""
    cursor: Cursor = field(default_factory=Cursor)
    asked: float = 0.0
    holds: bool = False
    """Whether its user looks at what was, so that the run's end can wait."""


class Page:
    """One run's page. Without ``act`` it can change nothing."""

    def __init__(self, view: View, act: Act | None = None, has_futures: bool = False) -> None:
        self._view = view
        self._act = act
        self._has_futures = has_futures
        self._report: Path | None = None
        self._is_over = False
        self._is_taken = False
        self._followers: dict[str, _Follower] = {}

    @property
    def is_open(self) -> bool:
        """Whether somebody has looked at it."""
        return bool(self._followers)

    def finish(self, report: Path | None) -> None:
        """End it: it becomes ``report``."""
        self._report = report
        self._view.tell("over" if report else "failed", str(report) if report else "no report")
        self._is_over = True

    def is_wanted(self, is_late: bool) -> bool:
        """Return whether the server is to go on for this page: its run does, or its user has not
        taken the report. Without a report, pages show first that the run failed. If it ``is_late``,
        only a user who looks at what was is waited for."""
        if not self._is_over:
            return True
        if self._is_taken:
            return False
        now = time.monotonic()
        here = [f for f in list(self._followers.values()) if now - f.asked < GONE_S]
        if self._report is None:
            return not is_late and any(f.cursor.status != "failed" for f in here)
        return any(f.holds or not is_late for f in here)

    def routes(self, base: str) -> list[Route]:
        """Return what is served of it, below ``base``."""
        return [
            Route(f"{base}/", self._page),
            Route(f"{base}/plotly.js", self._library),
            *(Route(f"{base}/{name}", _file(room, name)) for room, name in FILES),
            Route(f"{base}/news", self._news),
            Route(f"{base}/moment", self._moment),
            Route(f"{base}/report", self._whole),
            Route(f"{base}/do", self._do, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        takes_part = self._act is not None and not self._has_futures
        text = page(self._view, takes_part, self._has_futures)
        return Response(text, media_type="text/html", headers={"Content-Security-Policy": POLICY})

    async def _library(self, request: Request) -> Response:
        return Response(str(library()), media_type="text/javascript")

    async def _news(self, request: Request) -> Response:
        """Return what the page ``page`` lacks, soon or when there is news. The page says how many
        messages it ``has``, and whether its user looks at what was.

        A page asks again when it has drawn the last answer, so a slow page gets more at a time. A
        pushed stream would pile up in it.
        """
        name, has = request.query_params.get("page", ""), request.query_params.get("has", "")
        if not 0 < len(name) <= MAX_NAME or not has.isdecimal() or len(has) > MAX_NAME:
            return refused("page, has: expected a name and a number", 400)
        follower = self._follower(name, int(has))
        follower.asked = time.monotonic()
        follower.holds = "holds" in request.query_params
        deadline = follower.asked + HOLD_S
        while (message := self._view.message(follower.cursor)) is None:
            if time.monotonic() > deadline:
                return Response("null", media_type="application/json")
            await asyncio.sleep(LOOK_S)
        follower.told += 1
        return Response(message, media_type="application/json")

    def _follower(self, name: str, has: int) -> _Follower:
        """Return the page of this name. A new page, or one that missed an answer, gets everything
        again."""
        found = self._followers.pop(name, None)
        if found is None or found.told != has:
            found = _Follower(told=has)
        self._followers[name] = found
        if len(self._followers) > MAX_PAGES:
            del self._followers[next(iter(self._followers))]
        return found

    async def _moment(self, request: Request) -> Response:
        try:
            t_s = float(request.query_params.get("t", ""))
        except ValueError:
            return refused("t: is no time in s", 400)
        if not 0 <= t_s < 1e9:
            return refused("t: is no time of this run", 400)
        return Response(self._view.moment(t_s), media_type="application/json")

    async def _whole(self, request: Request) -> Response:
        if self._report is None:
            return refused("the run is not over", 404)
        # Taken when all of it is sent: the server may end then.
        taken = BackgroundTask(self._take)
        return FileResponse(self._report, media_type="text/html", background=taken)

    async def _take(self) -> None:
        self._is_taken = True

    async def _do(self, request: Request) -> Response:
        if self._act is None:
            return refused("this page only shows; 'hoplab shell FILE --live' takes part", 403)
        try:
            body = await asyncio.wait_for(_body(request), REQUEST_LIMIT_S)
            asked = _asked(body)
        except _Malformed as error:
            return refused(str(error), 400)
        except TimeoutError:
            return refused("the request did not come in time", 408)
        except OverflowError:
            return refused(f"the request is longer than {MAX_BODY_BYTES} bytes", 413)
        except (ValueError, RecursionError):
            return refused("the request is not JSON", 400)
        try:
            answer = await asyncio.to_thread(self._act, asked)
        except HoplabError as error:
            return refused(str(error), 422)
        return Response(json.dumps(answer), media_type="application/json")


class Server:
    """Serves the page of a run, and those of its futures, until `close`."""

    def __init__(self, view: View, act: Act | None = None, has_futures: bool = False) -> None:
        """Without ``act`` the page can change nothing. If it ``has_futures``, it may only ask for
        another future of what was."""
        self._serving = Serving("live page")
        self._pages = [Page(view, act, has_futures)]
        self._app = Starlette(routes=self._pages[0].routes(self._serving.base))

    @property
    def url(self) -> str:
        """Address of the page. Anyone who has it may use it."""
        return self._serving.url

    def start(self) -> None:
        """Start the server; returns when it answers."""
        self._serving.start(self._app)

    def add(self, view: View) -> tuple[str, Page]:
        """Serve the page of another run too. Returns its address below `url`, and the page."""
        name = f"future{len(self._pages)}"
        made = Page(view)
        self._pages.append(made)
        self._app.router.routes.extend(made.routes(f"{self._serving.base}/{name}"))
        return f"{name}/", made

    def wait_for_page(self, limit_s: float) -> bool:
        """Wait until a page is open. Returns False if none opens in time."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if self._pages[0].is_open:
                return True
            time.sleep(0.05)
        return False

    def finish(self, report: Path | None, limit_s: float = LINGER_S) -> None:
        """End the run's page, which becomes ``report``. Returns when all pages have theirs, or when
        nobody has asked for long."""
        self._pages[0].finish(report)
        late = time.monotonic() + limit_s
        while any(page.is_wanted(time.monotonic() > late) for page in list(self._pages)):
            time.sleep(LOOK_S)

    def close(self) -> None:
        """End every connection."""
        self._serving.close()


class _Malformed(Exception):
    """A request that no page sends; its text is the answer, in one line."""


def _asked(body: bytes) -> dict[str, Any]:
    """Return the request: an object of texts, finite numbers and switches. Raises `_Malformed` for
    other objects, and ValueError or RecursionError for what is no JSON."""
    asked = json.loads(body)
    if not isinstance(asked, dict):
        raise _Malformed("the request is no JSON object")
    for name, value in asked.items():
        if not _is_plain(value):
            raise _Malformed(
                f"{name!a:.40}: {value!a:.40} is no value; expected a number, a text, true or false"
            )
    return asked


def _is_plain(value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) <= sys.float_info.max  # not NaN either
    return isinstance(value, bool | str)


async def _body(request: Request) -> bytes:
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > MAX_BODY_BYTES:
            raise OverflowError
    return bytes(parts)


def _file(room: str, name: str) -> Callable[[Request], Awaitable[Response]]:
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    text = resources.files(f"hoplab.show.{room}").joinpath(name).read_text("utf-8")

    async def serve(request: Request) -> Response:
        return Response(text, media_type=kind)

    return serve
