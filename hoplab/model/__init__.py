# SPDX-License-Identifier: Apache-2.0
"""What a run is. Nothing here starts a process, opens a socket or reads a clock."""
