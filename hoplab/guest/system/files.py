# SPDX-License-Identifier: Apache-2.0
"""Settings of a kernel, which are files that take one short text."""

from __future__ import annotations

import os


def put(path: str, text: str) -> None:
    """Write the text to the existing file ``path``. `Path.write_text` makes twice the system calls,
    and a station has thirty settings. Raises `OSError`."""
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode("ascii"))
    finally:
        os.close(file)
