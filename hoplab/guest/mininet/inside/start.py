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
"""Where a script finds Hoplab, and nothing that lies beside it."""
MEDIUM = "wmediumd"
CONTROLLER = ("controller", "ovs-testcontroller", "--protocols=OpenFlow10")
"""Mininet's Controller is Stanford's, which nobody packages, and takes the arguments of the other:
"Cannot find required executable controller". It speaks OpenFlow 1.0; for later versions the other
sets a rule that matches every packet, of the priority 0 that scripts give their own rules."""
END_S = 5.0
"""Virtual time that a medium gets to write its records."""


def main(arguments: list[str]) -> int:
    PROGRAMS.mkdir(parents=True)
    # Mininet-WiFi finds its medium by this name, and ends it by it.
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
    """Where nobody has the program, the other is found by its name, with these options."""
    found = shutil.which(other)
    if shutil.which(name) is None and found is not None:
        program = PROGRAMS / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join([found, *options])} "$@"\n')
        program.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
