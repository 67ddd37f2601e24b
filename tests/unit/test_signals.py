# SPDX-License-Identifier: Apache-2.0
"""A signal ends a command wherever its exception is raised."""

import subprocess
import sys
from textwrap import indent

import pytest

PROGRAM = """
import signal, time
from hoplab.front.commands import cli

def come(**_):
{where}
    time.sleep(60)

cli.command = lambda: come
cli.main()
"""
SENT = "signal.raise_signal(signal.SIGTERM)"
IN_A_DESTRUCTOR = f'type("Gone", (), {{"__del__": lambda _: {SENT}}})()'
IN_A_LIBRARY = f"""
try:
    {SENT}
except BaseException:
    raise ValueError("a library's own") from None
"""


@pytest.mark.parametrize("where", [SENT, IN_A_DESTRUCTOR, IN_A_LIBRARY])
def test_a_signal_ends_a_command_wherever_it_comes(where: str) -> None:
    program = PROGRAM.format(where=indent(where, "    "))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (143, "hoplab: terminated\n")
