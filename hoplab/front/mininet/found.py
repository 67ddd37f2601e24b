# SPDX-License-Identifier: Apache-2.0
"""Find Mininet-WiFi, which no package registry has, and its dependencies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hoplab.guest.mininet import radios
from hoplab.guest.mininet.surroundings import PYTHON, SBIN, VARIABLE
from hoplab.host.runs.builder import Builder
from hoplab.model.errors import MissingTool
from hoplab.model.keys.resolved import Resolved
from hoplab.model.reading import MAX_BYTES, read_bytes

NAME = "mn_wifi"
"""Mininet-WiFi's package."""
SYSTEM_PYTHON = "/usr/bin/python3"
MODULES = {
    "mininet": "mininet",
    "numpy": "python3-numpy",
    "matplotlib": "python3-matplotlib",
    "bitstring": "python3-bitstring",
    "requests": "python3-requests",
    "six": "python3-six",
    "pkg_resources": "python3-pkg-resources",
}
"""Modules that Mininet-WiFi imports, and the Debian package of each."""
PROGRAMS = {"mnexec": "mininet", "ifconfig": "net-tools", "iw": "iw"}
"""Programs for every script."""
SOMETIMES = {
    "hostapd": "hostapd",
    "wpa_supplicant": "wpasupplicant",
    "iwconfig": "wireless-tools",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-testcontroller": "openvswitch-testcontroller",
}
"""Programs for networks with access points."""
REGULATORY = Path("/lib/firmware/regulatory.db")
"""Without it a kernel allows no initial transmission at 5 GHz, so access points there never
send."""
HOW = (
    f"clone https://github.com/intrig-unicamp/mininet-wifi and set {VARIABLE} to its folder, "
    "or install it by its own script"
)
ASK = """
import importlib.util, json, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
print(json.dumps([name for name in sys.argv[1:] if not there(name)]))
"""


@dataclass(frozen=True)
class Found:
    """An interpreter that has Mininet-WiFi, or uses the folder ``tree`` if it is not installed."""

    python: str
    tree: Path | None

    def environment(self) -> dict[str, str]:
        """Return the environment that names it for a lab."""
        tree = {} if self.tree is None else {VARIABLE: str(self.tree)}
        return {PYTHON: self.python, **tree}


def builder(scenario: Resolved) -> Builder:
    """Return Mininet-WiFi, for a scenario whose network it builds.

    Raises `MissingTool` if there is none, and `ScenarioError` if its radios cannot do what the
    scenario asks.
    """
    radios.check(scenario)
    found = find()
    return Builder(found.environment(), () if found.tree is None else (found.tree,))


def find(script: Path | None = None) -> Found:
    """Find the interpreter for ``script``, with Mininet alone if the script does not name
    Mininet-WiFi.

    Raises `MissingTool` if there is none, or if a dependency is missing.
    """
    plain = script is not None and script.is_file() and not speaks_of_wifi(script)
    try:
        found = mininet_wifi()
    except MissingTool:
        if not plain:
            raise
        found = Found(SYSTEM_PYTHON, None)
    lacking = missing(found.python, ["mininet"] if plain else list(MODULES))
    if lacking:
        packages = " ".join(sorted(lacking))
        what = "Mininet" if plain else "Mininet-WiFi"
        raise MissingTool(f"{what}: needs more; 'apt-get install {packages}'")
    return found


def speaks_of_wifi(script: Path) -> bool:
    """Whether the script names Mininet-WiFi's package, imported or not."""
    return NAME.encode() in read_bytes(script, MAX_BYTES, "a script")


def mininet_wifi() -> Found:
    """Return Mininet-WiFi from the variable, else the active environment, else the system."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        tree = Path(named).absolute()
        if not (tree / NAME / "__init__.py").is_file():
            raise MissingTool(f"{VARIABLE}: {named} holds no {NAME}; {HOW}")
        return Found(SYSTEM_PYTHON, tree)
    for python in _interpreters():
        if not _lacks(python, [NAME]):
            return Found(python, None)
    raise MissingTool(f"Mininet-WiFi: not found; {HOW}")


def missing(python: str, modules: list[str]) -> set[str]:
    """Return the Debian packages that ``python`` lacks for these modules, and those for every
    script."""
    lacking = {MODULES[name] for name in _lacks(python, modules)}
    return lacking | {package for name, package in PROGRAMS.items() if not program(name)}


def sometimes() -> list[str]:
    """Return the missing Debian packages for networks with access points."""
    lacking = [package for name, package in SOMETIMES.items() if program(name) is None]
    return lacking + ([] if REGULATORY.exists() else ["wireless-regdb"])


def program(name: str) -> str | None:
    """Return a program's path, also if only root has it in its PATH."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *SBIN]))


def _interpreters() -> Iterator[str]:
    environment = os.environ.get("VIRTUAL_ENV")
    if environment:
        yield str(Path(environment) / "bin" / "python3")
    yield sys.executable
    yield SYSTEM_PYTHON


def _lacks(python: str, names: list[str]) -> list[str]:
    """Return the modules that the interpreter does not find, or all of them if it cannot be run."""
    try:
        answer = subprocess.run(
            [python, "-c", ASK, *names], capture_output=True, text=True, check=True, cwd="/"
        )
        lacking: list[str] = json.loads(answer.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return names
    return lacking
