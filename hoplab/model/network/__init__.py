# SPDX-License-Identifier: Apache-2.0
"""What follows from a resolved scenario: channels, powers, reach, addresses."""
