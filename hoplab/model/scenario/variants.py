# SPDX-License-Identifier: Apache-2.0
"""The literature's TCP variants in today's kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """A congestion-control name of the literature in the kernel's terms."""

    congestion_control: str
    sack: bool | None = None


FIXED_WINDOW = "window"
"""The window neither grows nor shrinks: the end-to-end window of a split flow."""

VARIANTS = {
    "tahoe": Variant("tahoe", False),
    "reno": Variant("reno_classic", False),
    "newreno": Variant("reno", False),
    "sack": Variant("reno", True),
    "vegas": Variant("vegas"),
    "westwood": Variant("westwood"),
    "tcpw": Variant("tcpw"),
    FIXED_WINDOW: Variant("window"),
}

OF_THE_KERNEL = ("cubic", "bbr", "bic", "dctcp", "htcp", "illinois", "veno", "yeah")
"""The guest kernel's own variants (kernel-modules/guest/fragments/40-tcp.config)."""
CONGESTION_CONTROLS = (*VARIANTS, *OF_THE_KERNEL)
