# SPDX-License-Identifier: Apache-2.0
"""What MkDocs asks while it builds the site: the page of options, and studies' places in the
navigation, which nobody keeps by hand."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.cli import get_docs_for_click

from hoplab.cli import app

OPTIONS = "options.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A name with a star in the navigation stands for the pages of its folder."""
    assert config.nav is not None
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Every command with its options, as ``--help`` has them."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="hoplab")
    text = get_docs_for_click(
        obj=command, ctx=context, name="hoplab", title="Commands and their options"
    )
    files.append(File.generated(config, OPTIONS, content=html.unescape(text)))
    return files


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
