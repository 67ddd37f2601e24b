# SPDX-License-Identifier: Apache-2.0
"""The first stage: a network of stations, set up as the scenario says, at rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hoplab.guest.lab.account import Account
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.mininet import stations as mininet_wifi
from hoplab.guest.network.build import Network, build
from hoplab.guest.network.elfn import Elfn
from hoplab.guest.system import bpf
from hoplab.guest.system.note import Note
from hoplab.guest.tcp import setup, socket_settings
from hoplab.guest.tcp.sack import Sack
from hoplab.model.network.plan import Conversation, Plan


@dataclass(frozen=True)
class Built:
    """Stations, radios, links and settings; nothing runs yet."""

    plan: Plan
    out: Path
    network: Network
    account: Account
    elfn: dict[str, Elfn]
    """The module at every station that sends flows with ELFN."""
    group: socket_settings.Group | None
    sack: Sack

    def prepare(
        self, conversation: Conversation, later: Callable[[Callable[[], None]], None]
    ) -> None:
        """Set up a flow that was not planned: SACK, stand-by, and its windows if the run has a
        control group for them."""
        self.sack.join(conversation, self.network.namespaces, later)
        if self.group is not None:
            self.group.add(setup.settings_of(self.plan, [conversation]))
        setup.stand_by(conversation, self.elfn, later)


Maker = Callable[[Plan, Note], Network]
"""Makes the plan's network, or finds it, and notes what to remove after a crash."""


def _maker(plan: Plan, out: Path) -> Maker:
    """Return the maker that the scenario's `network.built_by` names."""
    if plan.scenario.network.built_by != "mininet-wifi":
        return lambda plan, note: build(plan, note.namespace)
    return lambda plan, note: mininet_wifi.make(out, plan, note.namespace, note.adopted)


def built(
    plan: Plan, out: Path, account: Account, undo: CleanUp, make: Maker | None = None
) -> Built:
    """Build the network of ``plan`` for a run in the folder ``out``.

    ``make`` builds the network if `network.built_by` alone does not say how. Everything is noted as
    soon as it is made, and ``undo`` then holds its removal.
    """
    note = Note()
    undo.later(note.close)
    network = (make or _maker(plan, out))(plan, note)
    plan = replace(plan, mac=plan.mac | network.mac)
    undo.later(network.close)
    sack = Sack(plan)
    applied = setup.apply(plan, network.namespaces, sack)
    sack.install(undo.later)
    account.tcp_settings = applied.values
    if applied.lacking:
        account.warnings.append(f"this kernel has no {', '.join(applied.lacking)}: not set")
    if applied.doubt is not None:
        account.warnings.append(applied.doubt)
    settings = setup.socket_settings(plan)
    note.group(bpf.own_folder())
    group = socket_settings.enter(settings)
    if group is not None:
        undo.later(group.close)
    elfn = setup.elfn(plan, undo.later)
    return Built(plan, out, network, account, elfn, group, sack)
