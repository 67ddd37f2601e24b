# SPDX-License-Identifier: Apache-2.0
"""The live page's HTML; messages bring its contents."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hoplab.show.live.view import View


def page(view: View, takes_part: bool) -> str:
    """Return the page. With ``takes_part`` it has the controls of `hoplab shell --live`."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("live.html.j2").render(about=view.about, takes_part=takes_part)
