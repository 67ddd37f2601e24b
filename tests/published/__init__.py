# SPDX-License-Identifier: Apache-2.0
"""Curves that others have published, read from their figures."""
