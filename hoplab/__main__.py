# SPDX-License-Identifier: Apache-2.0
"""Entry point of the command ``hoplab``. From here on a signal prints its one line, also while the
rest is being loaded."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator

from hoplab.guest.system import signals
from hoplab.host import memory

SYSTEMS_OWN = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _require_memory() -> None:
    few = memory.limit(memory.LEAST_BYTES)
    if few is not None:
        expected = f"expected {memory.LEAST_BYTES >> 20} at least"
        sys.stderr.write(f"hoplab: memory: {few}; {expected}; {memory.REMEDY}\n")
        sys.exit(3)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Leave the collector of garbage off, and what is loaded inside out of its sight. It would look
    through a growing heap in which nothing ends, for a tenth of a command's start."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def main() -> None:
    """Run the command line."""
    signals.raise_on_signals()
    try:
        _require_memory()
        if not os.environ.get("PATH"):  # programs that are started look for others
            os.environ["PATH"] = SYSTEMS_OWN
        with signals.postponed(), _uncollected():
            # Here, where signals are known already and wait for the end of the imports. Libraries
            # make other errors of a signal's exception meanwhile.
            from hoplab.front.commands.cli import main as commands

        commands()
    except signals.Stopped as stopped:
        signals.say(stopped)
        sys.exit(stopped.exit_status)
    except MemoryError:
        few = memory.limit()
        told = "" if few is None else f" ({few})"
        sys.stderr.write(f"hoplab: memory: there is not enough{told}; {memory.REMEDY}\n")
        sys.exit(3)
    finally:
        signals.end()
        gc.freeze()  # the interpreter's last collections would look at all that was imported


if __name__ == "__main__":
    main()
