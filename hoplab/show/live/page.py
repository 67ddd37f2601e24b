# SPDX-License-Identifier: Apache-2.0
"""The live page's HTML; messages bring its contents."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hoplab.show.live.view import View


def page(view: View, takes_part: bool, has_futures: bool = False) -> str:
    """Return the page. With ``takes_part`` it has the controls of `hoplab shell --live`. If it
    ``has_futures``, it has those for another future of an earlier time."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("live.html.j2")
    return template.render(about=view.about, takes_part=takes_part, has_futures=has_futures)
