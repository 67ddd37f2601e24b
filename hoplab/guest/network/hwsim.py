# SPDX-License-Identifier: Apache-2.0
"""Create `mac80211_hwsim` radios over generic netlink (drivers/net/wireless/virtual)."""

from __future__ import annotations

import contextlib
from pathlib import Path

from hoplab.guest.network import generic
from hoplab.guest.network.generic import Generic
from hoplab.guest.network.netlink import Refused, octets, text, u32
from hoplab.model.errors import MissingTool
from hoplab.model.keys.radio import BAND_2_GHZ, BAND_6_GHZ

VERSION = 1
CMD_NEW_RADIO = 4
ATTR_REG_CUSTOM_REG, ATTR_DESTROY_RADIO_ON_CLOSE = 12, 16
ATTR_RADIO_NAME, ATTR_PERM_ADDR = 17, 22
"""Of MAC80211_HWSIM (drivers/net/wireless/virtual/mac80211_hwsim.h)."""
REGULATORY_WITH_5_GHZ = 0
"""The first of hwsim's own regulatory domains: channels 1 to 11, 36 to 48 and 149 to 165. Without
it, the kernel's world domain allows no initial transmission at 5 GHz."""
REGULATORY_WITH_6_GHZ = 2
"""The third domain, which also has all of 6 GHz, up to 320 MHz wide."""
REGULATORY_WITH_80_MHZ = 3
"""The fourth domain, which also has 80 MHz on channels 36 to 48 and 149 to 161."""
WIDEST_OF_OTHERS_MHZ = 40


LIMIT = Path("/sys/module/mac80211_hwsim/parameters/medium_limit")
"""A parameter of the guest's kernel only (kernel-modules/guest/c/hwsim_medium.h)."""
FLOWS = Path("/sys/module/mac80211/parameters/fq_flows")
"""Another one (kernel-modules/guest/c/fq_flows.h)."""
FEW_FLOWS = 64


def hold_back(frames: int) -> None:
    """Let radios made from now on take this many frames of an access category ahead. The rest stays
    in mac80211's queues."""
    try:
        LIMIT.write_text(str(frames), encoding="ascii")
    except OSError:
        raise MissingTool(
            'radio.queue: "fq_codel", but the radios of this kernel take every frame at once; run '
            'with --machine uml, or set "fifo"'
        ) from None


def tell_few_flows_apart() -> None:
    """Let queues of radios made from now on have memory for few flows. That may change the order
    of frames of different flows, so only large networks do it."""
    with contextlib.suppress(OSError):  # only memory is at stake
        FLOWS.write_text(str(FEW_FLOWS), encoding="ascii")


def need_no_agreements() -> None:
    """Raise `MissingTool` unless the kernel leaves block ack agreements to the medium, protected
    ones too."""
    if not LIMIT.exists():
        raise MissingTool(
            'security: "wpa3" with radio.rules = "edca", but this kernel encrypts its block ack '
            'requests; run with --machine uml, or set "wpa2" below 6 GHz'
        )


def family() -> int:
    """Return the number that generic netlink gives hwsim's messages."""
    try:
        return generic.number_of("MAC80211_HWSIM")
    except (Refused, OSError):
        raise MissingTool(
            "mac80211_hwsim: this kernel has no simulated radios; load the module with "
            "'modprobe mac80211_hwsim radios=0', or run with --machine uml"
        ) from None


class Radios:
    """Radios that live as long as this object. The kernel destroys them when its socket closes, so
    even a killed run leaves none behind."""

    def __init__(self) -> None:
        self._family = family()
        self.over = Generic(None, "radios")
        """The socket, for other requests about them too."""

    def create(self, name: str, mac: str, band_ghz: float, width_mhz: int = 20) -> int:
        """Make a radio called ``name`` with address ``mac`` that may use channels of this width in
        a band. Returns its wiphy index."""
        given = {
            ATTR_RADIO_NAME: text(name),
            ATTR_PERM_ADDR: octets(mac),
            ATTR_DESTROY_RADIO_ON_CLOSE: b"",
        }
        if band_ghz != BAND_2_GHZ:
            given[ATTR_REG_CUSTOM_REG] = u32(_domain(band_ghz, width_mhz))
        try:
            self.over.request(self._family, CMD_NEW_RADIO, given.items(), VERSION)
        except Refused as refused:
            # The driver answers with the new radio's number, where others answer 0, or with a
            # negative error.
            if refused.errno > 0:
                raise
        return int((Path("/sys/class/ieee80211") / name / "index").read_text())

    def close(self) -> None:
        self.over.close()


def _domain(band_ghz: float, width_mhz: int) -> int:
    """Return the regulatory domain that allows initial transmissions on channels of this width."""
    if band_ghz == BAND_6_GHZ:
        return REGULATORY_WITH_6_GHZ
    return REGULATORY_WITH_80_MHZ if width_mhz > WIDEST_OF_OTHERS_MHZ else REGULATORY_WITH_5_GHZ
