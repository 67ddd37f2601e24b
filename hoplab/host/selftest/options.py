# SPDX-License-Identifier: Apache-2.0
"""The kernel for a collection of tests: that of the tree, with the options of the collection's file
``config``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from hoplab.host.machine import kernels, store
from hoplab.host.machine.kernels import Wanted
from hoplab.host.machine.sealed import Machine
from hoplab.host.selftest.tree import SELFTESTS, Tree
from hoplab.model.errors import MissingTool

OPTION = re.compile(r"(CONFIG_\w+)=(.+)|# (CONFIG_\w+) is not set")
NAMED = re.compile(r"CONFIG_\w+")
REFUSED = re.compile("refused (CONFIG_.*)|lost (CONFIG_.*?), which Hoplab needs")
"""What the kernel's build says of options that cannot be as asked."""


def wished(config: str) -> dict[str, str]:
    """Return the options of a collection's ``config``. A guest has no modules but Hoplab's, so "m"
    becomes "y"."""
    found = {}
    for line in config.splitlines():
        if named := OPTION.fullmatch(line.strip()):
            value = (named[2] or "n").strip()
            found[named[1] or named[3]] = "y" if value == "m" else value
    return found


def config(copy: Path, collection: str) -> str:
    """Return the text of a collection's ``config``; empty if it has none."""
    path = copy / SELFTESTS / collection / "config"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def machine(
    own: Machine, tree: Tree, collection: str, text: str, say: Callable[[str], None]
) -> Machine:
    """Return ``own`` with the tree's kernel and the options of ``text``, a collection's ``config``.
    It is built if it is missing, and kept by a name.

    Left out, and named in a line, are options that User-Mode Linux cannot have, or that Hoplab has
    otherwise.
    """
    wishes = wished(text)
    name = called(tree, collection)
    place = store.cache() / "selftests" / "options"
    place.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(f"{tree.name} {collection} {text}".encode()).hexdigest()[:16]
    options, refused = place / f"{key}.config", place / f"{key}.refused"
    left_out = set(refused.read_text(encoding="ascii").split()) if refused.is_file() else set()
    while True:
        kept = [f"{key}={value}\n" for key, value in wishes.items() if key not in left_out]
        options.write_text("".join(kept), encoding="utf-8")
        try:
            files = (options,) if kept else ()
            made = kernels.build(own, Wanted(tree.release, tree.folder, options=files), name, say)
            break
        except MissingTool as error:
            found = _refused(str(error)) & set(wishes) - left_out
            if not found:
                raise
            left_out |= found
            refused.write_text("\n".join(sorted(left_out)), encoding="ascii")
    if left_out:
        say(f"{collection}: without {', '.join(sorted(left_out))}: the kernel here cannot have it")
    return made


def called(tree: Tree, collection: str) -> str:
    """Return the name of the machine, for ``--machine``."""
    first = tree.release or re.sub(r"[^A-Za-z0-9._-]", "_", Path(tree.name).name).lstrip("._-")
    return f"{first or 'tree'}-{collection.replace('/', '-')}"[:64]


def _refused(message: str) -> set[str]:
    found = REFUSED.search(message)
    return set(NAMED.findall(found[1] or found[2])) if found else set()
