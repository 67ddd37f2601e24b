# SPDX-License-Identifier: Apache-2.0
"""The program between `hoplab.host.machine.uml` and a guest's kernel, run as ``python -I -S
__main__.py``."""
