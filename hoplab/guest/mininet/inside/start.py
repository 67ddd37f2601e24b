# SPDX-License-Identifier: Apache-2.0
"""In the guest: prepare what Mininet-WiFi expects of a computer, run the script, see to its end.

``python3 -I start.py INTERPRETER SCRIPT [ARGS]``; only the standard library.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = Path("/run/hoplab/bin")
PACKAGES = Path("/run/hoplab/python")
"""Folder in which a script finds Hoplab, without its neighbours."""
MEDIUM = "wmediumd"
CONTROLLER = ("controller", "ovs-testcontroller", "--protocols=OpenFlow10")
"""Mininet's Controller is Stanford's, which nobody packages: "Cannot find required executable
controller". ovs-testcontroller takes the same arguments. It must speak OpenFlow 1.0. For later
versions it sets a rule that matches every packet, with the priority 0 that scripts give their own
rules."""
END_S = 5.0
"""Virtual seconds that a medium has to write its records."""


def main(arguments: list[str]) -> int:
    PROGRAMS.mkdir(parents=True)
    # Mininet-WiFi finds its medium by this name, and ends it by the same name.
    (PROGRAMS / MEDIUM).symlink_to(os.environ["HOPLAB_MEDIUM_PROGRAM"])
    own = Path(__file__).with_name("bin")
    for program in own.iterdir():
        (PROGRAMS / program.name).symlink_to(program)
    stand_in(*CONTROLLER)
    PACKAGES.mkdir()
    (PACKAGES / "hoplab").symlink_to(Path(__file__).resolve().parents[3])
    shutil.copytree(os.environ["HOPLAB_FONTS"], os.environ["MPLCONFIGDIR"])
    Path("/var/run").mkdir(exist_ok=True)
    status = subprocess.call(arguments)
    subprocess.call(["pkill", MEDIUM])
    limit = time.monotonic() + END_S
    while time.monotonic() < limit and subprocess.call(["pgrep", "-x", MEDIUM], stdout=-3) == 0:
        time.sleep(0.01)
    return status if status >= 0 else 128 - status


def stand_in(name: str, other: str, *options: str) -> None:
    """If the program ``name`` is missing, make it a script that starts ``other`` with these
    options."""
    found = shutil.which(other)
    if shutil.which(name) is None and found is not None:
        program = PROGRAMS / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join([found, *options])} "$@"\n')
        program.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
