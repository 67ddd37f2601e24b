# SPDX-License-Identifier: Apache-2.0
"""One run inside a kernel."""
