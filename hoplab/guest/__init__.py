# SPDX-License-Identifier: Apache-2.0
"""Code that runs as root inside the kernel under test."""
