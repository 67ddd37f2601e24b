# SPDX-License-Identifier: Apache-2.0
"""Files inside a scenario: text, or octets in base64."""

from __future__ import annotations

import base64
import binascii

from hoplab.model.errors import ScenarioError

OCTETS = "base64:"
"""Begins the text of a file whose content is not text."""


def octets_of(text: str, what: str = "file") -> bytes:
    """Return the content of a file as a scenario writes it. Raises `ScenarioError`."""
    if not text.startswith(OCTETS):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix(OCTETS), validate=True)
    except (binascii.Error, ValueError):
        raise ScenarioError(f"{what}: is not base64 after {OCTETS!r}") from None
