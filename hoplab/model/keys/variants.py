# SPDX-License-Identifier: Apache-2.0
"""The TCP variants of Linux and of the literature, in today's kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """A name in the kernel's terms.

    ``sack`` says whether its flows use selective acknowledgements. None leaves that to the flow;
    Linux uses them by default.
    """

    congestion_control: str
    sack: bool | None = None


FIXED_WINDOW = "window"
"""The window neither grows nor shrinks: the end-to-end window of a split flow."""
LINUX_RENO, CLASSIC_RENO = "linux-reno", "classic-reno"

VARIANTS = {
    LINUX_RENO: Variant("reno"),
    "tahoe": Variant("tahoe", False),
    CLASSIC_RENO: Variant("reno_classic", False),
    "newreno": Variant("reno", False),
    "vegas": Variant("vegas"),
    "westwood": Variant("westwood"),
    "tcpw": Variant("tcpw"),
    FIXED_WINDOW: Variant("window"),
}
PAPERS = {"reno": CLASSIC_RENO, "sack": LINUX_RENO}
"""Other names of two variants: what papers up to 2004 call them."""
_BY_PAPER = {"reno": VARIANTS[CLASSIC_RENO], "sack": Variant("reno", True)}

PRAGUE = "prague"
"""Of L4S; its module is only in kernels with accurate ECN feedback."""
OF_THE_KERNEL = ("cubic", "bbr", "bic", "dctcp", "htcp", "illinois", "veno", "yeah")
"""The guest kernel's own variants (kernel-modules/guest/fragments/40-tcp.config)."""
OFFERED = ("cubic", "bbr", *VARIANTS, *OF_THE_KERNEL[2:])
"""Each variant of the default kernel under its own name, those that a beginner looks for first."""
CONGESTION_CONTROLS = (*OFFERED, PRAGUE, *PAPERS)
DEFAULT = {"linux": "cubic", "classic": "newreno"}
"""A flow's variant by `tcp.profile`."""


def variant(name: str | None) -> Variant | None:
    """Return the variant of this name; None if the kernel knows it by the same name."""
    return VARIANTS.get(name or "") or _BY_PAPER.get(name or "")


def kernel_congestion_control(name: str) -> str:
    """Return the kernel's name for a variant's algorithm."""
    found = variant(name)
    return name if found is None else found.congestion_control


def uses_sack(name: str | None) -> bool:
    """Return whether a flow of this variant uses SACK, if nothing else is asked for. None stands
    for the kernel's default variant."""
    found = variant(name)
    return found is None or found.sack is not False


def difference(flows: Iterable[tuple[str | None, int | None]]) -> str | None:
    """Return a warning if flows of different variants differ in SACK, or None.

    ``flows`` are variants with 1 for a connection that used SACK, 0 for one that did not. A flow of
    which one is not known does not count, nor one with a fixed window.
    """
    having: tuple[dict[str, None], dict[str, None]] = {}, {}
    for name, used in flows:
        if name is not None and name != FIXED_WINDOW and used is not None:
            having[used != 0][name] = None
    without, with_it = map(list, having)
    if not without or not with_it or without == with_it:
        return None
    advice = "set sack alike"
    renos = [name for name in without if name in ("newreno", "reno", CLASSIC_RENO)]
    if renos:
        advice += f', or use "{LINUX_RENO}" instead of "{renos[0]}"'
    return (
        f"flow: compared variants differ in SACK: {', '.join(with_it)} with it, "
        f"{', '.join(without)} without; part of their difference is SACK's: {advice}"
    )


def confusion(name: str | None, profile: str) -> str | None:
    """Return what a paper's name for a variant hides in a scenario of Linux as it is, or None."""
    if profile != "linux" or name not in PAPERS:
        return None
    if name == "reno":
        return (
            f'"reno" is the Reno of RFC 2001, "{CLASSIC_RENO}", without SACK; '
            f'Linux\'s is "{LINUX_RENO}"'
        )
    return f'"{name}" is an old name of Linux\'s Reno, "{PAPERS[name]}"'
