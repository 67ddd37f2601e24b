# SPDX-License-Identifier: Apache-2.0
"""Start, configure and read a routing daemon, one file each."""
