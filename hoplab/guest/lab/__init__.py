# SPDX-License-Identifier: Apache-2.0
"""One run inside a kernel, in stages: built, started, running. Each is complete once there."""
