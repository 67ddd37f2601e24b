# SPDX-License-Identifier: Apache-2.0
"""What MkDocs asks while it builds the site. Nobody keeps the page of options, the gallery and the
studies' places in the navigation by hand. A page must load nothing from elsewhere."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.cli import get_docs_for_click

from hoplab.front import catalogue
from hoplab.front.catalogue import Example
from hoplab.front.commands import cli
from hoplab.model.resources import PROJECT

OPTIONS = "options.md"
GALLERY = "gallery.md"
WORKER = "iframe-worker.js"
MATHJAX = re.compile(r'<script[^>]*src="https://cdnjs[^"]*mathjax[^"]*"[^>]*></script>')
"""Plotly's notebooks load it for formulas in figures, of which there are none."""
FOREIGN = re.compile(r'<(?:script|img|iframe)[^>]*\bsrc="(https?://[^"]*)"')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A name with a star in the navigation stands for the pages of its folder."""
    assert config.nav is not None
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Every command with its options, as ``--help`` has them."""
    command = cli.command()
    context = typer.Context(command, info_name="hoplab")
    text = get_docs_for_click(
        obj=command, ctx=context, name="hoplab", title="Commands and their options"
    )
    files.append(File.generated(config, OPTIONS, content=html.unescape(text)))
    shown = [one for one in catalogue.examples().values() if report_of(one).is_file()]
    for one in shown:
        files.append(
            File.generated(config, f"gallery/{one.name}.html", abs_src_path=str(report_of(one)))
        )
    files.append(File.generated(config, GALLERY, content=gallery(shown)))
    return files


def report_of(example: Example) -> Path:
    """Return where ``make gallery`` writes an example's report."""
    return PROJECT / "build" / "gallery" / example.name / "report.html"


def gallery(shown: list[Example]) -> str:
    """Return the page of reports that open in the browser."""
    head = "# Gallery\n\nYou can look at reports before you install anything. "
    if not shown:
        return f"{head}This copy of the site has none: run `make gallery docs`.\n"
    rows = [f"| [{one.name}](gallery/{one.name}.html) | {one.shows} |" for one in shown]
    return "\n".join(
        [
            f"{head}Each is one file, and needs no network. `hoplab examples NAME` makes it.\n",
            "| report | what it shows |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The site needs nothing from elsewhere."""
    output = MATHJAX.sub("", output)
    if foreign := FOREIGN.search(output):
        raise PluginError(f"{page.file.src_path}: loads {foreign[1]}; keep it with the site")
    return output


@event_priority(-200)  # after the plugin "offline"
def on_post_build(config: MkDocsConfig) -> None:
    """Search works from disk, too: by an index that is a script, and a worker that is a frame."""
    site = Path(config.site_dir)
    for name in ("search/search_index.js", WORKER):
        if not (site / name).exists():
            raise PluginError(f"{name}: is not in the site, which would have no search from disk")
    if WORKER not in (site / "index.html").read_text(encoding="utf-8"):
        raise PluginError(f"{WORKER}: no page loads it; keep it in mkdocs.yml, extra.polyfills")


def _expanded(entry: Any, docs: Path) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(below, docs) for title, below in entry.items()}
    if not isinstance(entry, list):
        return entry
    found: list[Any] = []
    for below in entry:
        if isinstance(below, str) and "*" in below:
            pages = sorted(page.relative_to(docs).as_posix() for page in docs.glob(below))
            found += [page for page in pages if page not in entry]
        else:
            found.append(_expanded(below, docs))
    return found
