# SPDX-License-Identifier: Apache-2.0
"""A run from the outside: launched in a machine, its results collected."""
