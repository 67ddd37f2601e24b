# SPDX-License-Identifier: Apache-2.0
"""Descriptors that a guest's kernel finds open."""

CONSOLE_FD = 3
"""A separate channel for kernel messages, so that they do not mix with other output."""
LINE_FD = 20
"""The end of the line to a session, or to the host that decides at a run's steps: con3, or
HOST_DESCRIPTOR of kernel-modules/guest/c/host.c."""
IMAGE_FD = 21
"""The image that the kernel starts from, if any: IMAGE_DESCRIPTOR of
kernel-modules/guest/c/image_on_host.h."""
