# SPDX-License-Identifier: Apache-2.0
"""The regulatory domain of a guest whose radios need more channels than the kernel's world domain.

The world domain lets no one begin on channels 12 to 14. Japan's rules do: 2402 to 2482 MHz, and
channel 14 for DSSS (wireless-regdb, country JP). The kernel reads a database of rules from a file
(net/wireless/reg.c). This module writes one with these two rules, and asks for that country.
"""

from __future__ import annotations

import struct
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from hoplab.guest.network import hwsim
from hoplab.guest.network.netlink import text, word
from hoplab.guest.network.nl80211 import Attr, Command, Wireless, wireless
from hoplab.guest.system.files import put
from hoplab.model.errors import HoplabError, MissingTool
from hoplab.model.keys.radio import BAND_2_GHZ
from hoplab.model.keys.resolved import ResolvedRadio
from hoplab.model.network.channels import signal_mhz

COUNTRY, WORLD = "JP", "00"
"""The kernel asks a new database for the world first, and for no country unless that is there."""
WORLD_ENDS_MHZ = 2473.0
"""Where channel 11 ends, with DSSS, the widest."""
RULES_MHZ = ((2402, 2482, 40, False), (2474, 2494, 20, True))
"""From, to, the widest channel, and whether only DSSS may send."""
MOST_MBM = 2000
MAGIC, VERSION, NO_OFDM = 0x52474442, 20, 1
SEARCHED = Path("/sys/module/firmware_class/parameters/path")
LIMIT_S, PAUSE_S = 10.0, 0.01


def needed(radios: Iterable[ResolvedRadio]) -> bool:
    """Return whether one of these radios sends above the world domain's channels."""
    return any(
        radio.band == BAND_2_GHZ
        and signal_mhz(radio, radio.channel, radio.width_mhz)[1] > WORLD_ENDS_MHZ
        for radio in radios
    )


def database() -> bytes:
    """Return the rules as `regulatory.db`: header, countries and the list's end, their collection,
    its rules. Pointers count words of four octets."""
    collection = struct.calcsize(">II") + 3 * struct.calcsize(">2sH")
    rules = collection + struct.calcsize(">BBBx2H")
    size = struct.calcsize(">BBHIII")
    found = struct.pack(">II", MAGIC, VERSION)
    for country in (WORLD, COUNTRY):
        found += struct.pack(">2sH", country.encode(), collection // 4)
    found += bytes(4)
    found += struct.pack(">BBBx2H", 3, len(RULES_MHZ), 0, rules // 4, (rules + size) // 4)
    for low, high, widest, only_dsss in RULES_MHZ:
        khz = (1000 * low, 1000 * high, 1000 * widest)
        found += struct.pack(">BBHIII", size, NO_OFDM if only_dsss else 0, MOST_MBM, *khz)
    return found


def allow() -> None:
    """Let radios that follow the kernel's domain begin on channels 12 to 14.

    Raises `MissingTool` outside a guest, whose rules are its own, and `HoplabError` if the kernel
    does not follow them.
    """
    if not hwsim.LIMIT.exists():
        raise MissingTool(
            "radio.channel: above 11 the rules of a country count, which are those of this whole "
            "machine; run with --machine uml, or use a channel up to 11"
        )
    with tempfile.TemporaryDirectory() as folder, wireless(None) as iw:
        Path(folder, "regulatory.db").write_bytes(database())
        put(str(SEARCHED), folder)
        iw.request(Command.RELOAD_REGDB, {})
        iw.request(Command.REQ_SET_REG, {Attr.REG_ALPHA2: text(COUNTRY)})
        deadline = time.monotonic() + LIMIT_S
        while _country(iw) != COUNTRY:
            if time.monotonic() > deadline:
                raise HoplabError(
                    f"radio.channel: above 11, and the kernel's country is still {_country(iw)}, "
                    f"not {COUNTRY}, after {LIMIT_S:g} s; see dmesg"
                )
            time.sleep(PAUSE_S)


def _country(iw: Wireless) -> str:
    """Return the kernel's own domain. A radio with rules of its own may have another."""
    found = next(each for each in list(iw.dump(Command.GET_REG, {})) if Attr.WIPHY not in each)
    return word(found[Attr.REG_ALPHA2])
