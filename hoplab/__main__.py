# SPDX-License-Identifier: Apache-2.0
"""Entry point of the command ``hoplab``. From here on a signal prints its one line, also while the
rest is being loaded."""

from __future__ import annotations

import gc
import os
import resource
import sys

from hoplab.guest.system import signals

LEAST_BYTES = 512 << 20
"""Data memory that a process must be allowed to have. With less, libraries end the process without
a message."""
REMEDY = "raise the limits of this shell: ulimit -d unlimited; ulimit -v unlimited"
SYSTEMS_OWN = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _require_memory() -> None:
    for name, limit in (("-d", resource.RLIMIT_DATA), ("-v", resource.RLIMIT_AS)):
        allowed = resource.getrlimit(limit)[0]
        if allowed != resource.RLIM_INFINITY and allowed < LEAST_BYTES:
            told = f"hoplab: memory: ulimit {name} allows {allowed >> 20} MiB; expected "
            told += f"{LEAST_BYTES >> 20} at least; {REMEDY}\n"
            sys.stderr.write(told)
            sys.exit(3)


def main() -> None:
    """Run the command line."""
    signals.raise_on_signals()
    try:
        _require_memory()
        if not os.environ.get("PATH"):  # programs that are started look for others
            os.environ["PATH"] = SYSTEMS_OWN
        # While a module is loaded, libraries make other errors of a signal's exception.
        with signals.postponed():
            from hoplab.front.commands.cli import main as commands

        commands()
    except signals.Stopped as stopped:
        signals.say(stopped)
        sys.exit(stopped.exit_status)
    except MemoryError:
        sys.stderr.write(f"hoplab: memory: there is not enough; {REMEDY}\n")
        sys.exit(3)
    finally:
        signals.end()
        gc.freeze()  # the interpreter's last collections would look at all that was imported


if __name__ == "__main__":
    main()
