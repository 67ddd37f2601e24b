# SPDX-License-Identifier: Apache-2.0
"""Entry point of the command ``hoplab``. From here on a signal prints its one line, also while the
rest is being loaded."""

from __future__ import annotations

import os
import sys
import threading

from hoplab.guest.system import signals
from hoplab.guest.system.leaving import leave
from hoplab.host import memory

SYSTEMS_OWN = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _require_memory() -> None:
    few = memory.limit(memory.LEAST_BYTES)
    if few is not None:
        expected = f"expected {memory.LEAST_BYTES >> 20} at least"
        sys.stderr.write(f"hoplab: memory: {few}; {expected}; {memory.REMEDY}\n")
        sys.exit(3)


def main() -> None:
    """Run the command line, and end this process."""
    try:
        _run()
    except SystemExit as left:
        if not isinstance(left.code, int | None):  # the interpreter prints it
            raise
        threading._shutdown()  # type: ignore[attr-defined] # waits as the interpreter would
        leave(left.code or 0)


def _run() -> None:
    signals.raise_on_signals()
    try:
        _require_memory()
        if not os.environ.get("PATH"):  # programs that are started look for others
            os.environ["PATH"] = SYSTEMS_OWN
        # Pydantic would look for plug-ins in the metadata of every installed package.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        if sys.argv[1:2] == ["run"]:
            # Arrow and Plotly would load NumPy where it is installed. That takes as long as a tenth
            # of a short run, and nothing here computes with it.
            sys.modules["numpy"] = None  # type: ignore[assignment]
        with signals.postponed(), memory.uncollected():
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


if __name__ == "__main__":
    main()
