# SPDX-License-Identifier: Apache-2.0
"""The tables of a run, and how to read them."""

from hoplab.host.results.reader import Results, load

__all__ = ["Results", "load"]
