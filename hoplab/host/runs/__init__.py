# SPDX-License-Identifier: Apache-2.0
"""A run from outside: started in a machine, its results collected."""
