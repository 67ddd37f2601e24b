# SPDX-License-Identifier: Apache-2.0
"""The tables of a run, and how to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hoplab.model.lazily import lazily

if TYPE_CHECKING:
    from hoplab.host.results.reader import Results, load

__all__ = ["Results", "load"]

# The reader needs Arrow. A run needs manifests before its guest starts, and tables when it has
# ended.
__getattr__ = lazily(__name__, dict.fromkeys(__all__, "hoplab.host.results.reader"))
