# SPDX-License-Identifier: Apache-2.0
"""A page for as long as a run lasts."""

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
from hoplab.model.scenario.model import Scenario
from hoplab.show.live.server import Act, Server
from hoplab.show.live.sink import PageSink
from hoplab.show.live.view import View

WAIT_S = 30.0
"""How long a run waits for somebody to look before it starts."""
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
"""Where neither is set, a browser that opens would be one for terminals, in this one."""
LEAD_ON = """<!DOCTYPE html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>Hoplab</title>
<p><a href="{url}">The live page</a></p>
"""


class Shown:
    """A page that is up: what the run gives it, and what it becomes."""

    def __init__(self, view: View, server: Server) -> None:
        self.view = view
        self.sink = PageSink(view)
        self.report: Path | None = None
        """Set once it is there."""
        self._server = server

    @property
    def url(self) -> str:
        """Where it is."""
        return self._server.url


@contextmanager
def shown(
    scenario: Scenario,
    say: Callable[[str], None],
    act: Act | None = None,
    wait_s: float = WAIT_S,
) -> Iterator[Shown]:
    """A page while inside, opened in the user's browser where there is one, and told in any case;
    waits for somebody to look. With ``act`` the page takes part, and the run has no planned end."""
    _settled()
    view = View(scenario, endless=act is not None)
    server = Server(view, act)
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
    """Arrow imports pandas, where there is one, at its first conversion: when the run's tables are
    made. Plotly, which draws in the server's thread, would meanwhile take it half imported."""
    pa.array([0])


def _open(url: str, folder: Path) -> None:
    """Show the page in the user's browser. What stands on a command line all users of this
    computer can read, so that the browser is given a file of this user's alone, which leads on."""
    file = folder / "live.html"
    file.touch(mode=0o600)
    file.write_text(LEAD_ON.format(url=html.escape(url)), encoding="utf-8")
    webbrowser.open(file.as_uri())
