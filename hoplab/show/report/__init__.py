# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one HTML file that needs nothing else, online or off."""

from __future__ import annotations

from hoplab.show.report.page import prepare, render
from hoplab.show.report.summary import summary_table

__all__ = ["prepare", "render", "summary_table"]
