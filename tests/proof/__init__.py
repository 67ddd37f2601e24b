# SPDX-License-Identifier: Apache-2.0
"""The same machine gives the same digests wherever it runs: ``python -m tests.proof``."""
