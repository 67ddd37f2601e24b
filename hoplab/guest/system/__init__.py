# SPDX-License-Identifier: Apache-2.0
"""Processes, signals, and a record of what to undo."""
