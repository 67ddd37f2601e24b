# SPDX-License-Identifier: Apache-2.0
"""The records of a run: the schema of every table, and writers."""
