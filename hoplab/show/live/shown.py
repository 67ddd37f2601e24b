# SPDX-License-Identifier: Apache-2.0
"""A page that stays as long as a run lasts."""

from __future__ import annotations

import contextlib
import html
import os
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from hoplab.host.machine import private
from hoplab.model.keys.resolved import Resolved
from hoplab.show.live.server import Act, Page, Server
from hoplab.show.live.sink import PageSink
from hoplab.show.live.view import View

WAIT_S = 30.0
"""Seconds that a run waits for a page to open before it starts."""
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
"""If neither is set, only a browser for terminals could open, in this terminal."""
LEAD_ON = """<!DOCTYPE html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>Hoplab</title>
<p><a href="{url}">The live page</a></p>
"""


class Future:
    """The page of another future, beside that of its run."""

    def __init__(self, address: str, view: View, page: Page) -> None:
        self.address = address
        """Where it is, from its run's page."""
        self.sink = PageSink(view)
        self._page = page

    def finish(self, report: Path | None) -> None:
        """Its run is over: the page becomes the report, if there is one."""
        self._page.finish(report)


class Shown:
    """A page that is served: the run's stream to it, and the report that replaces it."""

    def __init__(self, view: View, server: Server) -> None:
        self.view = view
        self.sink = PageSink(view)
        self.report: Path | None = None
        """The report, once it exists."""
        self._server = server

    @property
    def url(self) -> str:
        """Address of the page."""
        return self._server.url

    def future(self, scenario: Resolved, title: str) -> Future:
        """Serve the page of another future too."""
        view = View(scenario)
        view.about["title"] = title
        address, page = self._server.add(view)
        return Future(address, view, page)


@contextmanager
def shown(
    scenario: Resolved,
    say: Callable[[str], None],
    act: Act | None = None,
    wait_s: float = WAIT_S,
    has_futures: bool = False,
) -> Iterator[Shown]:
    """Serve a page inside the block. It opens in the user's browser if there is one, and its
    address is printed in any case. Waits until a page is open. With ``act`` the page takes part,
    and the run has no planned end. If it ``has_futures``, it may only ask for these."""
    _settled()
    view = View(scenario, endless=act is not None and not has_futures)
    server = Server(view, act, has_futures)
    page = Shown(view, server)
    server.start()
    with contextlib.ExitStack() as stack:
        stack.callback(server.close)
        say(f"live: {page.url}")
        if os.environ.get("BROWSER") or any(os.environ.get(name) for name in SCREENS):
            _open(page.url, stack.enter_context(private.guest_folder()))
        else:
            say(f"live: open that address in a browser; the run starts then, or in {wait_s:g} s")
        server.wait_for_page(wait_s)
        try:
            yield page
        finally:
            server.finish(page.report)


def _settled() -> None:
    """Make Arrow import pandas now, if it is installed. Arrow does so at its first conversion, when
    the run's tables are made. Plotly, which draws in the server's thread, would then find pandas
    half imported."""
    pa.array([0])


def _open(url: str, folder: Path) -> None:
    """Show the page in the user's browser. All users of this computer can read a command line. The
    browser therefore opens a file that only this user can read, which leads to the page."""
    file = folder / "live.html"
    file.touch(mode=0o600)
    file.write_text(LEAD_ON.format(url=html.escape(url)), encoding="utf-8")
    webbrowser.open(file.as_uri())
