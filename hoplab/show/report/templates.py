# SPDX-License-Identifier: Apache-2.0
"""Compiled templates of pages, in the user's cache: compiling the report's takes as long as the
report."""

from __future__ import annotations

import contextlib

from jinja2.bccache import Bucket, BytecodeCache, FileSystemBytecodeCache

from hoplab.host.machine import private, store


class _Kept(FileSystemBytecodeCache):
    """A page needs no cache. What keeps this one from being read or written is no failure."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def kept() -> BytecodeCache | None:
    """Return the cache; None where there can be none of this user's own. Its files are code."""
    folder = store.cache() / "templates"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        private.require_own(folder)
    except OSError:
        return None
    return _Kept(str(folder))
