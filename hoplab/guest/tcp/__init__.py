# SPDX-License-Identifier: Apache-2.0
"""TCP as the studies mean it: variants, settings of stations, windows of single flows."""
