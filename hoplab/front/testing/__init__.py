# SPDX-License-Identifier: Apache-2.0
"""Emulation tests with pytest: tests that run in a guest, runs judged over seeds.

`plugin` is what pytest loads by itself where Hoplab is installed: the marker ``hoplab``, the
fixtures ``lab`` and ``network``, the options. `guest` is its other half, in the guest. `judge`
decides by confidence intervals. docs/pytest.md shows them in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoplab.front.testing.judge import assert_faster, assert_within

__all__ = ["assert_faster", "assert_within"]


def __getattr__(name: str) -> Any:
    """The judge, when it is asked for: pytest loads the plug-in whether or not it is used."""
    if name in __all__:
        from hoplab.front.testing import judge

        return getattr(judge, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
