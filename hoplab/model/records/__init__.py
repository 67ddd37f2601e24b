# SPDX-License-Identifier: Apache-2.0
"""What a run records: the schema of every table, and writers."""
