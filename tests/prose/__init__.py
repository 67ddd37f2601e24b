# SPDX-License-Identifier: Apache-2.0
"""The prose of README, CONTRIBUTING and docs/, held to the rules of CONTRIBUTING.md."""
