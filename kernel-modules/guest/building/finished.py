# SPDX-License-Identifier: GPL-2.0-only
"""Link a compiled kernel with its engine, and build the modules for it. The hash of a result covers
this file beside the kernel's hash."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from building import GUEST, Failed, Refused
from building.compiled import environment, make
from building.log import first_error

MODULES = ("tcp", "elfn", "link")
"""Folders of ``kernel-modules``."""
ENGINE = GUEST.parent.parent / "build" / "bin" / "hoplab-engine.o"
"""The medium and the DSR daemon, which ``scripts/daemons`` compiles."""
WATCHED = ("time_travel_time", "cpu_tasks", "init_task")
"""Symbols by which a run is watched from outside: virtual time, and who has the processor."""
RELINK = ". ./.link-environment && MAKEFLAGS= scripts/link-vmlinux.sh ld '' '' vmlinux"


def sources() -> list[Path]:
    """Return the inputs of the modules, and the engine."""
    found = []
    for name in MODULES:
        folder = GUEST.parent / name
        found += [*sorted(folder.glob("*.[ch]")), folder / "Kbuild"]
    return [*found, ENGINE, Path(__file__)]


def finish(tree: Path, staging: Path, facts: Mapping[str, Any]) -> None:
    """Put kernel, configuration, modules and their origin into the folder ``staging``."""
    staging.chmod(0o755)
    log = staging / "log"
    _link(tree, staging, log)
    shutil.copyfile(tree / ".config", staging / "config")
    _modules(tree, staging, log)
    log.unlink()
    (staging / "kernel.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    source = facts["source"]
    version = facts["version"]
    if source["kind"] == "tree":
        version += f" {source['sha256'][:20]}"
    if facts["own"]:
        version += f" with {', '.join(facts['own'])}"
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout
    # Kind, name, SHA-256, version.
    (staging / "made-from").write_text(
        f"kernel {source['name']} {source['sha256']} {version[:200]}\n"
        f"compiler gcc - {(compiler.splitlines() or ['unknown'])[0]}\n",
        encoding="utf-8",
    )


def _link(tree: Path, staging: Path, log: Path) -> None:
    # A name that does not say where it lies.
    engine = staging / "engine.o"
    shutil.copyfile(ENGINE, engine)
    with log.open("wb") as file:
        done = subprocess.run(
            ["bash", "-c", RELINK],
            cwd=tree,
            env={**environment(), "HOPLAB_ENGINE": str(engine)},
            stdout=file,
            stderr=file,
        )
    if done.returncode:
        raise Failed(f"linking the kernel with its medium failed: {first_error(log)}")
    engine.unlink()
    keep = [f"--keep-symbol={name}" for name in WATCHED]
    # Kernels from 6.18 on keep what describes their built-in modules.
    _run(
        "strip", "--remove-section=.modinfo", *keep, "-o", str(staging / "linux"), f"{tree}/vmlinux"
    )


def _modules(tree: Path, staging: Path, log: Path) -> None:
    release = (tree / "include" / "config" / "kernel.release").read_text(encoding="ascii").strip()
    # As /lib/modules/VERSION in a guest with a modprobe: what is built in is there, by these lists.
    folder = staging / "tree" / "lib" / "modules" / release
    folder.mkdir(parents=True)
    for name in MODULES:
        work = staging / "source"
        work.mkdir()
        for path in (*(GUEST.parent / name).glob("*.[ch]"), GUEST.parent / name / "Kbuild"):
            shutil.copyfile(path, work / path.name)
        # A WARN names its file, and the same sources give the same module in whatever folder.
        flags = f"KCFLAGS=-fmacro-prefix-map={work}/="
        if make(tree, f"M={work}", "W=1", flags, "modules", log=log):
            raise Failed(f"compiling kernel-modules/{name} failed: {first_error(log)}")
        for module in work.glob("*.ko"):
            shutil.copyfile(module, folder / module.name)
        shutil.rmtree(work)
    _run("strip", "--strip-debug", *map(str, folder.glob("*.ko")))
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copyfile(tree / name, folder / name)
    _run("depmod", "-b", str(staging / "tree"), release)
    folder.rename(staging / "modules")
    shutil.rmtree(staging / "tree")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
