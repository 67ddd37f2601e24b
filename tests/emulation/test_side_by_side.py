# SPDX-License-Identifier: Apache-2.0
"""Guests that one process starts from several threads, as sweeps and validations do."""

import subprocess
import sys

import pytest

from hoplab.model.resources import PROJECT

pytestmark = pytest.mark.chance

NUMBER_FREED = """
import os, subprocess
from hoplab.host.machine import guests, uml
CONSOLE_FD = 3
os.dup2(os.open(os.devnull, os.O_RDONLY), CONSOLE_FD)
fork_exec = subprocess._fork_exec
closed = []
def another_thread_closes_first(*arguments):
    if any("panic=-1" in os.fsdecode(argument) for argument in arguments[0]):
        closed.append(CONSOLE_FD)
        os.close(CONSOLE_FD)
    return fork_exec(*arguments)
subprocess._fork_exec = another_thread_closes_first
assert uml.run_guest(guests.OpenGuest(), ["sh", "-c", "exit 7"]).exit_status == 7
assert closed
"""
START_MANY = """
import subprocess
popen = subprocess.Popen
def without_python_after_fork(*arguments, preexec_fn=None, **options):
    assert preexec_fn is None  # another thread may hold what it needs
    return popen(*arguments, **options)
subprocess.Popen = without_python_after_fork
from concurrent.futures import ThreadPoolExecutor
from hoplab.host.machine.guests import OpenGuest
from hoplab.host.machine.uml import run_guest
def exit_status(n):
    return run_guest(OpenGuest(), ["sh", "-c", f"exit {n}"]).exit_status
with ThreadPoolExecutor(8) as pool:
    many = pool.map(exit_status, range(24))
    assert list(many) == list(range(24))
"""


@pytest.mark.parametrize("program", [NUMBER_FREED, START_MANY])
def test_guests_need_no_descriptor_of_their_process(program: str) -> None:
    """Other threads open and close files: whether a number is in use is chance."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
