# SPDX-License-Identifier: Apache-2.0
"""Settings of a mesh of B.A.T.M.A.N. advanced, through its generic netlink family."""

from __future__ import annotations

from pyroute2.netlink import NLM_F_ACK, NLM_F_REQUEST, genlmsg
from pyroute2.netlink.generic import GenericNetlinkSocket

from hoplab.guest.network.inside import inside

FAMILY = "batadv"
SET_MESH = 15
"""BATADV_CMD_SET_MESH (linux/batman_adv.h)."""
MESH_IFINDEX, LOOP_AVOIDANCE = 3, 46


class Mesh(genlmsg):  # type: ignore[misc]
    """A message about a mesh, with the two attributes that are used."""

    prefix = "BATADV_ATTR_"
    nla_map = (
        (MESH_IFINDEX, "BATADV_ATTR_MESH_IFINDEX", "uint32"),
        (LOOP_AVOIDANCE, "BATADV_ATTR_BRIDGE_LOOP_AVOIDANCE_ENABLED", "uint8"),
    )


def without_loop_avoidance(station: str, interface: int) -> None:
    """Disable the avoidance of loops through bridges, since nothing is bridged with a mesh here. It
    would hold back every broadcast after a station's first, until claims are exchanged that never
    come."""
    with inside(station):
        sock = GenericNetlinkSocket()
    try:
        sock.bind(FAMILY, Mesh)
        message = Mesh()
        message["cmd"], message["version"] = SET_MESH, 1
        message["attrs"] = [
            ("BATADV_ATTR_MESH_IFINDEX", interface),
            ("BATADV_ATTR_BRIDGE_LOOP_AVOIDANCE_ENABLED", 0),
        ]
        sock.nlm_request(message, msg_type=sock.prid, msg_flags=NLM_F_REQUEST | NLM_F_ACK)
    finally:
        sock.close()
