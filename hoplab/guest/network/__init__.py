# SPDX-License-Identifier: Apache-2.0
"""Namespaces, radios, wired links and addresses, all through netlink."""
