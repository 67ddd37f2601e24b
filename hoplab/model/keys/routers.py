# SPDX-License-Identifier: Apache-2.0
"""The routing protocols whose daemon is `daemons/router`, by name."""

from typing import Any

from hoplab.model.keys.aodv import AodvFile
from hoplab.model.keys.dsdv import DsdvFile
from hoplab.model.keys.olsr import OlsrFile
from hoplab.model.keys.router import RouterFile, RouterSettings

ROUTERS: dict[str, type[RouterFile]] = {"aodv": AodvFile, "olsr": OlsrFile, "dsdv": DsdvFile}
"""What the daemon of each is to do."""


def settings_of(name: str) -> type[RouterSettings]:
    """Return the settings of the protocol ``name``."""
    found: Any = ROUTERS[name].model_fields["settings"].annotation
    kind: type[RouterSettings] = found
    return kind
