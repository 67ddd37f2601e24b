# SPDX-License-Identifier: Apache-2.0
"""Scenario texts that many tests begin with: a topology and a flow, which is the last table.

Keys of the scenario go before, keys of the flow and further tables after.
"""

ONE_HOP = """[topology]
kind = "pair"
[[flow]]
source = "n0"
destination = "n1"
"""
TWO_HOPS = """[topology]
kind = "chain"
stations = 3
[[flow]]
source = "n0"
destination = "n2"
"""
