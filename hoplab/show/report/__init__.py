# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one HTML file that needs nothing else, online or off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hoplab.model.lazily import lazily

if TYPE_CHECKING:
    from hoplab.show.report.page import prepare, render
    from hoplab.show.report.summary import summary_html, summary_of, summary_table

__all__ = ["prepare", "render", "summary_html", "summary_of", "summary_table"]

# Plotly takes a while. A run has that while its guest boots.
_SUMMARIES = ("summary_html", "summary_of", "summary_table")
__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("prepare", "render"), "hoplab.show.report.page"),
        **dict.fromkeys(_SUMMARIES, "hoplab.show.report.summary"),
    },
)
