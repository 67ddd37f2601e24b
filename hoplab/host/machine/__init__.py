# SPDX-License-Identifier: Apache-2.0
"""The machine of a run: a User-Mode Linux guest or this host."""
