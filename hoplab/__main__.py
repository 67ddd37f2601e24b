# SPDX-License-Identifier: Apache-2.0
"""Where the command ``hoplab`` begins: a signal gets its one line from here on, also while the
rest is being loaded."""

from __future__ import annotations

import sys

from hoplab import signals


def main() -> None:
    """Run the command line."""
    signals.raise_on_signals()
    try:
        from hoplab.cli import main as commands

        commands()
    except signals.Stopped as stopped:
        signals.say(stopped)
        sys.exit(stopped.exit_status)
    finally:
        signals.end()


if __name__ == "__main__":
    main()
