# SPDX-License-Identifier: Apache-2.0
"""What a live page has to tell of a large run: thirty stations, sampled ten times a second."""

from hoplab.show.live.view import Cursor, View
from tests.page.conftest import chain, row


def told(seconds: int) -> View:
    """The view after so long, looked at five times a second."""
    view = View(chain(30))
    cursor = Cursor()
    for step in range(10 * seconds):
        t = step / 10
        nodes = [row("nodes", t_s=t, node=f"n{i}", x_m=i * t, y_m=t) for i in range(30)]
        view.add_all("nodes", nodes)
        view.add_all("tcp", [row("tcp", t_s=t, flow="flow0", ca_state="Open")])
        pairs = [(f"n{i}", f"n{j}") for i in range(30) for j in range(i + 1, min(30, i + 5))]
        links = [row("link_samples", t_s=t, src=a, dst=b, frames=step) for a, b in pairs]
        view.add_all("link_samples", links)
        if step % 2:
            assert view.message(cursor) is not None
    return view
