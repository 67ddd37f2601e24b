# SPDX-License-Identifier: Apache-2.0
"""Hoplab: how real TCP behaves over wireless multi-hop networks, repeatable to the byte."""

__version__ = "0.1.0"
