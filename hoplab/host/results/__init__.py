# SPDX-License-Identifier: Apache-2.0
"""The tables of a run, and how to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoplab.host.results.reader import Results, load

__all__ = ["Results", "load"]


def __getattr__(name: str) -> Any:
    """Import the reader at its first use, and Arrow with it (PEP 562). A run needs manifests before
    its guest starts, and tables when it has ended."""
    if name in __all__:
        from hoplab.host.results import reader

        return getattr(reader, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
