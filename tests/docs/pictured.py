# SPDX-License-Identifier: Apache-2.0
"""What the pictures of README and documentation show, as text and figures.

A picture itself cannot be compared: other fonts make other dots. ``docs/figures/pictures.json`` has
the words of each when it was made, and the figures of its run. Tests hold both against today's
pages and runs.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import hoplab
from hoplab.host.statistics.samples import Sample
from hoplab.model.resolve.file import load
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PROJECT
from hoplab.show.live import page
from hoplab.show.live.view import View

FIGURES = PROJECT / "docs" / "figures"
KEPT = FIGURES / "pictures.json"
LESSON = PROJECT / "experiments" / "lessons" / "hidden-terminals.toml"
UNSHOWN = ("script", "style", "svg", "title", "option")
VOLATILE = ("small",)
"""Elements whose text depends on the day and on the computer."""

Shown = dict[str, Any]


class _Words(HTMLParser):
    """The words of the header (0) and of each section, without what no one sees or what changes
    with each run; the scripts in them."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[list[str]] = [[]]
        self.tags: list[list[str]] = [[]]
        """The element of each word."""
        self.scripts: list[str] = [""]
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self.words.append([])
            self.tags.append([])
            self.scripts.append("")
        if tag in ("meta", "link", "input", "br"):
            return
        told = dict(attrs).get("class") or ""
        self._open.append("small" if "sub" in told.split() else tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if "script" in self._open:
            self.scripts[-1] += data
        elif not {*UNSHOWN, *VOLATILE, "head"} & {*self._open} and (text := " ".join(data.split())):
            self.words[-1].append(text)
            self.tags[-1].append(self._open[-1])


def _parsed(text: str) -> _Words:
    found = _Words()
    found.feed(text)
    return found


def _figure(script: str) -> list[str]:
    """The words of a Plotly figure: titles of panels and axes, names in the legend."""
    decoder = json.JSONDecoder()
    values = script[script.index("[", script.index("Plotly.newPlot(")) :]
    traces, end = decoder.raw_decode(values)
    layout, _ = decoder.raw_decode(values[end:].lstrip(", \n"))
    names = [trace["name"] for trace in traces if trace.get("showlegend", True)]
    panels = [note["text"] for note in layout.get("annotations", ())]
    axes = [
        axis["title"]["text"]
        for name, axis in sorted(layout.items())
        if re.fullmatch(r"[xy]axis\d*", name) and "title" in axis
    ]
    menus = [menu["buttons"][0]["label"] for menu in layout.get("updatemenus", ())]
    return [*panels, *axes, *names, *menus]


def report(run: Path) -> Shown:
    """The head of a run's report with its cards, and its figure over time."""
    found = _parsed((run / "report.html").read_text(encoding="utf-8"))
    cards = list(zip(found.tags[1], found.words[1], strict=True))
    labels = [word for tag, word in cards if tag == "h2"]
    numbers = [float(word.replace(" ", "")) for tag, word in cards if tag == "b"]
    words = [*found.words[0], *labels, *found.words[2], *_figure(found.scripts[2])]
    return {"words": words, "figures": dict(zip(labels, numbers, strict=True))}


def over_time(run: Path) -> Shown:
    """The figure over time of a run of one flow, and what the flow did."""
    found = _parsed((run / "report.html").read_text(encoding="utf-8"))
    (flow,) = hoplab.load(run).rows("flows")
    told = ("goodput_kbps", "retransmits", "timeouts", "rtt_ms_mean")
    words = [*found.words[2], *_figure(found.scripts[2])]
    return {"words": words, "figures": {name: flow[name] for name in told}}


def sweep(folder: Path) -> Shown:
    """The figure of a sweep over one parameter, and the mean goodput for each of its values."""
    found = _parsed((folder / "index.html").read_text(encoding="utf-8"))
    table = pq.read_table(folder / "results.parquet")
    rows = table.to_pylist()
    parameter = table.column_names[0]
    values = {
        str(value): Sample.of([r["goodput_kbps"] for r in rows if r[parameter] == value]).mean
        for value in dict.fromkeys(row[parameter] for row in rows)
    }
    return {"words": [*found.words[2], *_figure(found.scripts[2])], "figures": values}


def live() -> Shown:
    """The words of the page of a session, before anything happens."""
    return _of_a_page(LESSON, endless=True, takes_part=True)


def future() -> Shown:
    """The words of the page of a run that can go back, before anything happens."""
    return _of_a_page(LESSON.with_name("what-if.toml"), endless=False, has_futures=True)


def _of_a_page(file: Path, endless: bool, takes_part: bool = False, **more: bool) -> Shown:
    view = View(resolve(load(file), file.parent), endless)
    found = _parsed(page.page(view, takes_part, **more))
    return {"words": [word for section in found.words for word in section]}
