# SPDX-License-Identifier: Apache-2.0
"""From a file to a resolved scenario."""
