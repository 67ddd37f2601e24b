# SPDX-License-Identifier: Apache-2.0
"""The file with the code of all modules that the lab imports at its start; see
`hoplab.guest.system.loading`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hoplab.host.machine import root
from hoplab.model.errors import MissingTool

NAME = "hoplab/hoplab/guest/system/modules.marshal"
"""Its place in the root (`hoplab.guest.system.loading.FILE`)."""
GATHER = """
import importlib, sys
base, tree, site = sys.argv[1:]
at_start = set(sys.modules)
sys.path[:0] = [tree + "/hoplab", base + site]
from hoplab.guest.system import loading
loading.shorten()
for name in ("hoplab.guest.lab.job", "hoplab.guest.lab.stepped"):
    importlib.import_module(name)
kept = {}
for name in sorted(set(sys.modules) - at_start):
    spec = getattr(sys.modules[name], "__spec__", None)
    if spec is None or not spec.has_location or spec.name != name:
        continue  # built into the interpreter, or another name of a module
    compiled, code = spec.cached or spec.origin, None
    if compiled.endswith(".pyc"):
        with open(compiled, "rb") as file:
            code = file.read()[16:]  # after the header (PEP 552)
    path = spec.origin.removeprefix(tree).removeprefix(base)
    kept[name] = path, spec.submodule_search_locations is not None, code
sys.stdout.buffer.write(loading.packed(kept))
"""
"""Run by the machine's interpreter on its root and on the lab's folder."""


def gathered(base: Path, tree: Path) -> bytes:
    """Return the content of the file for the lab in ``tree``, where it is compiled, and the root
    ``base``. Raises `MissingTool` if the lab cannot be imported there."""
    done = subprocess.run(
        [*root.python(base), "-S", "-P", "-c", GATHER, str(base), str(tree), f"/{root.SITE}"],
        env={**root.environment(base), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or "it said nothing"
        why = said.splitlines()[-1]
        raise MissingTool(f"machine: its interpreter cannot import the lab: {why}")
    return done.stdout
