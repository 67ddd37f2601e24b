# SPDX-License-Identifier: Apache-2.0
"""Runs by the hash of what they are made of: a finished one is never run again.

A run is repeatable to the byte, so its *key*, SHA-256 over the resolved scenario and the machine,
stands for its tables, whoever made them (`hoplab.many.store.key`). A `Store` is a folder with a
file a run (`hoplab.many.store.entry`); several programs may read and write one at once, and being
killed at any instant costs the entry that was being written and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoplab.many.store.entry import TOTALS, Entry
    from hoplab.many.store.files import Store, default_folder
    from hoplab.many.store.key import key_of

__all__ = ["TOTALS", "Entry", "Store", "default_folder", "key_of"]


def __getattr__(name: str) -> Any:
    """Imported when first used: commands that have nothing to do with runs start without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hoplab.many.store import entry, files, key

    return getattr(next(place for place in (entry, files, key) if hasattr(place, name)), name)
