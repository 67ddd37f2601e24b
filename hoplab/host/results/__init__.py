# SPDX-License-Identifier: Apache-2.0
"""A run's tables, and how they are read back."""

from hoplab.host.results.reader import Results, load

__all__ = ["Results", "load"]
