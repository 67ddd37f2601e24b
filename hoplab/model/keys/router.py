# SPDX-License-Identifier: Apache-2.0
"""What every routing daemon has whose routes are the kernel's: `daemons/router`."""

from __future__ import annotations

from typing import Any, Literal, Self

from hoplab.model.keys.declare import Switch, Table, Text, Wait, key
from hoplab.model.keys.dsr import Network
from hoplab.model.keys.measure import Seeded
from hoplab.model.keys.split import Started


class RouterSettings(Table):
    """What the settings of each such protocol have."""

    resolution: Literal["learned", "arp"] = key(
        "learned",
        "the kernel learns neighbours' link-layer addresses from the protocol's messages, or by "
        "ARP alone",
    )
    neighbour_timeout_s: Wait = key(
        55.0, "silence after which a neighbour is new to mac80211; Linux's is 60 s", unit="s"
    )

    def computed(self) -> dict[str, Any]:
        """Return the defaults that follow from other settings."""
        return {}

    def completed(self) -> Self:
        """Return the settings with the defaults that follow from others."""
        given = {name: value for name, value in self if value is not None}
        return type(self).model_construct(**{**self.computed(), **given})


class RouterFile(Started, Seeded):
    """What such a daemon is to do at one station."""

    interface: Text = key(..., "wireless interface", min_length=1)
    address: Network = key(..., "of the station, with its network's length: 10.0.0.1/24")
    counters: Text | None = key(None, "file: the counters, once, at the end")
    control: Text = key("", "control socket; @ begins an abstract name")
    tun: Text = key("", "TUN interface for packets without a route", min_length=1)
    resident: Switch = key(
        True, "run in the guest's kernel, if that offers it (virtual time); `false`: as a process"
    )
    settings: RouterSettings

    def document(self) -> dict[str, Any]:
        """The daemon's document."""
        address, _, prefix = self.address.partition("/")
        whole = self.model_copy(update={"settings": self.settings.completed()})
        made = super(RouterFile, whole).document()
        return {**made, "address": address, "prefix": int(prefix)}


def control(name: str) -> Any:
    """Declare the control socket of the protocol ``name``."""
    return key(f"@hoplab-{name}", "control socket; @ begins an abstract name")


def tun(name: str) -> Any:
    """Declare the TUN interface of the protocol ``name``."""
    return key(f"{name}0", "TUN interface for packets without a route", min_length=1)
