# SPDX-License-Identifier: Apache-2.0
"""Where commands print: results to standard output, what is said beside them to standard error.

Both are without colour and of a fixed width where they go to a file or a pipe.
"""

from __future__ import annotations

import sys

from rich.console import Console

PLAIN_WIDTH = 120
"""Columns of what goes to a file or a pipe."""

output = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
messages = Console(stderr=True)
