# SPDX-License-Identifier: Apache-2.0
"""Many runs: kept, swept, studied."""
