# SPDX-License-Identifier: Apache-2.0
"""Runs a guest, or the lab on this kernel, and evaluates the results."""
