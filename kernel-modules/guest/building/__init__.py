# SPDX-License-Identifier: GPL-2.0-only
"""The build of a guest's kernel and its modules, with nothing but Python's own library, so that it
also runs beside an unpacked machine."""

from __future__ import annotations

from pathlib import Path

GUEST = Path(__file__).resolve().parent.parent
"""This folder has hooks, their C files, fragments and ``series.toml``."""


locks: list[int] = []
"""Descriptors of the locks that this process has. Compilers inherit them: they may go on when the
build itself is killed, and the next build waits for their end."""


class Refused(Exception):
    """What the user asked for cannot be built; one line says why and what to do."""

    exit_status = 3


class Failed(Refused):
    """The source itself does not build, or a patch does not fit it. ``git bisect`` skips such a
    commit, by this status."""

    exit_status = 125
