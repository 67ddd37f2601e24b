# SPDX-License-Identifier: Apache-2.0
"""Tests as other projects have them, with their own tools, on Hoplab's pytest plugin."""
