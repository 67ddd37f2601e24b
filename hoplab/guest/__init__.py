# SPDX-License-Identifier: Apache-2.0
"""What runs as root inside the kernel under test."""
