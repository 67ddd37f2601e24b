# SPDX-License-Identifier: Apache-2.0
"""Other programs that simulate the same, in turns with this one."""
