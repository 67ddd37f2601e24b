# SPDX-License-Identifier: Apache-2.0
"""The transfers of a scenario."""
