# SPDX-License-Identifier: Apache-2.0
"""A sealed machine, in the folder ``machine`` beside this file; `hoplab` finds it there."""
