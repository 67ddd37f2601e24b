# SPDX-License-Identifier: Apache-2.0
"""Contradictions in a resolved scenario, each refused in one line."""
