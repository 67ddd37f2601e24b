# SPDX-License-Identifier: Apache-2.0
"""What a guest's kernel finds: descriptors that are open, and its personality."""

CONSOLE_FD = 3
"""A separate channel for kernel messages, so that they do not mix with other output."""
LINE_FD = 20
"""The end of the line to a session, or to the host that decides at a run's steps: con3, or
HOST_DESCRIPTOR of kernel-modules/guest/c/host.c."""
IMAGE_FD = 21
"""The image that the kernel starts from, if any: IMAGE_DESCRIPTOR of
kernel-modules/guest/c/image_on_host.h."""
ADDR_NO_RANDOMIZE = 0x0040000
"""Kernels of 7.x start themselves anew without random addresses, unless they have none. They
then need a /proc, which a sealed machine's root may lack. A start from an image needs the addresses
of the guest that it is of."""
