# SPDX-License-Identifier: Apache-2.0
"""Links to the dashboards: the page of a run, over its time."""

from __future__ import annotations

import os
from urllib.parse import urlencode, urlsplit

from hoplab.host.stream.sink import Course
from hoplab.model.errors import ScenarioError

GRAFANA = "HOPLAB_GRAFANA"
DEFAULT = "http://127.0.0.1:3000"
MS_NS = 1_000_000
DAY_MS = 86_400_000


def address() -> str | None:
    """Return Grafana's address: `HOPLAB_GRAFANA`, or None if it is empty. Raises `ScenarioError` if
    it is no address."""
    given = os.environ.get(GRAFANA, DEFAULT).strip()
    if not given:
        return None
    try:
        parts = urlsplit(given)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        right = None
    if not right or not given.isprintable() or " " in given or parts.query or parts.fragment:
        raise ScenarioError(f"{GRAFANA}: {given!r} is no address; expected http://HOST:PORT")
    return given.rstrip("/")


def of_run(course: Course) -> str | None:
    """Return the page of a run, from its time 0 to its end."""
    begin_ms = course.start_ns // MS_NS
    end_ms = -(-course.date_ns(course.scenario.duration_s) // MS_NS)
    return _link("hoplab-run", begin_ms, end_ms, "var-run", course.run)


def of_sweep(name: str, pushed_ns: int) -> str | None:
    """Return the page of a sweep that was pushed at that time, which is the date of all its
    rows."""
    pushed_ms = pushed_ns // MS_NS
    return _link("hoplab-sweep", pushed_ms - DAY_MS, pushed_ms + DAY_MS, "var-sweep", name)


def _link(board: str, begin_ms: int, end_ms: int, variable: str, value: str) -> str | None:
    grafana = address()
    if grafana is None:
        return None
    asked = urlencode({variable: value, "from": begin_ms, "to": end_ms})
    return f"{grafana}/d/{board}?{asked}"
