# SPDX-License-Identifier: Apache-2.0
"""What runs a guest, or this kernel, and evaluates what it leaves."""
