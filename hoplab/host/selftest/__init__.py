# SPDX-License-Identifier: Apache-2.0
"""The kernel's own tests (``tools/testing/selftests``) in guests, in virtual time."""
