# SPDX-License-Identifier: Apache-2.0
"""The medium daemon: its configuration and its start."""
