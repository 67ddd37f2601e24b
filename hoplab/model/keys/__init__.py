# SPDX-License-Identifier: Apache-2.0
"""The keys of a scenario, as written and as resolved."""
