# SPDX-License-Identifier: Apache-2.0
"""JSON files that can still record a run's end when the disk is full."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from hoplab.model.writing import over


def write(path: Path, value: Any, room: int = 0) -> None:
    """Write ``value`` over the old contents. If the text is no longer than the file was, it needs
    no space. ``room`` blanks follow it.

    Raises `OSError` if there is no space. The file is then damaged, but as long as it was.
    """
    text = json.dumps(value, indent=1).encode() + b" " * room + b"\n"
    descriptor = over(path)
    try:
        if os.pwrite(descriptor, text, 0) < len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.ftruncate(descriptor, len(text))
    finally:
        os.close(descriptor)
