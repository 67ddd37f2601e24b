# SPDX-License-Identifier: Apache-2.0
"""`make flaky`: tests again and again on a host that is slowed down."""
