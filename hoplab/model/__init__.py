# SPDX-License-Identifier: Apache-2.0
"""The description of a run. Nothing here starts a process, opens a socket or reads a clock."""
