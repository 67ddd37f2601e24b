# SPDX-License-Identifier: Apache-2.0
"""Scenarios and movement files that try to break the lab, each with what must become of it."""
