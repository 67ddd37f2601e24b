# SPDX-License-Identifier: Apache-2.0
"""Means over seeds with their intervals."""
