# SPDX-License-Identifier: Apache-2.0
"""Processes, signals, and notes of what was made."""
