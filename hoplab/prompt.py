# SPDX-License-Identifier: Apache-2.0
"""A prompt on a scenario's running network, in real time: ``n0 ping n3``, ``n2 iw dev``.

``python -m hoplab.prompt FOLDER`` runs as root in whichever kernel it is started in, as
`hoplab.lab` does.
"""

from __future__ import annotations

import cmd
import readline
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from hoplab import signals
from hoplab.errors import HoplabError
from hoplab.lab.account import Account
from hoplab.lab.built import built
from hoplab.lab.cleanup import CleanUp
from hoplab.lab.job import prepare
from hoplab.lab.started import started
from hoplab.network.elfn import Elfn
from hoplab.network.namespaces import inside
from hoplab.scenario.plan import Plan
from hoplab.scenario.reach import neighbours

SEARCHED = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class Prompt(cmd.Cmd):
    """``STATION COMMAND…`` runs a command at a station; names in it become addresses."""

    prompt = "hoplab> "
    intro = "Type 'STATION COMMAND', 'nodes', 'links', 'help' or 'exit'."

    def __init__(self, plan: Plan, elfn: dict[str, Elfn]) -> None:
        super().__init__()
        self._elfn = elfn
        self._scenario = plan.scenario
        self._addresses = plan.address
        self._graph = neighbours(plan.scenario)

    def do_nodes(self, line: str) -> None:
        """nodes: every station with its address and place."""
        for station in self._scenario.station:
            kind = "radio" if station.radio else "wired"
            place = f"{station.x_m:g} m, {station.y_m:g} m"
            print(f"{station.name:8} {self._addresses[station.name]:12} {kind}  {place}")

    def do_links(self, line: str) -> None:
        """links: who reaches whom directly, by place at time 0 and by wire."""
        for name, others in self._graph.items():
            print(f"{name:8} {' '.join(others) or '(nobody)'}")

    def do_elfn(self, line: str) -> None:
        """elfn: connections that stand by or have stood by, and what became of all notices."""
        for station, module in self._elfn.items():
            for c in module.connections():
                now = "stands by" if c.standby else f"went on ({c.reason})"
                print(
                    f"{station:8} {c.local[1]} > {c.remote[0]}:{c.remote[1]}  {now}, "
                    f"{c.standbys} times, {c.standby_s:.3f} s, {c.probes} probes, "
                    f"{c.notices} notices, {c.resent} sent again"
                )
            told = module.counters().items()
            print(f"{station:8} notices: " + ", ".join(f"{count} {name}" for name, count in told))

    def do_exit(self, line: str) -> bool:
        """exit: take the network down and leave; so does Ctrl-D."""
        return True

    def get_names(self) -> list[str]:
        """What help and completion offer."""
        return [name for name in super().get_names() if name != "do_EOF"]

    def do_EOF(self, line: str) -> bool:
        print()
        return True

    def emptyline(self) -> bool:
        return False

    def default(self, line: str) -> None:
        try:
            station, *command = shlex.split(line)
        except ValueError as error:
            print(f"{line}: {error}")
            return
        if station not in self._addresses:
            names = ", ".join(self._addresses)
            print(f"{station}: no such station or command; stations: {names}; or help, exit")
            return
        if not command:
            print(f"{station}: no command given; try '{station} ip address'")
            return
        program, *arguments = command
        arguments = [self._addresses.get(argument, argument) for argument in arguments]
        try:
            with inside(station):
                process = subprocess.Popen([program, *arguments])
        except OSError as error:
            print(f"{program}: {error.strerror}")
            return
        try:
            process.wait()
        except KeyboardInterrupt:
            # The terminal has told the command too.
            process.wait()

    def completenames(self, text: str, *ignored: object) -> list[str]:
        stations = [name for name in self._addresses if name.startswith(text)]
        return [*stations, *super().completenames(text)]

    def completedefault(self, *arguments: object) -> list[str]:
        text, line, begin = str(arguments[0]), str(arguments[1]), int(str(arguments[2]))
        if len(line[:begin].split()) == 1:
            return sorted(
                {
                    entry.name
                    for folder in SEARCHED
                    if Path(folder).is_dir()
                    for entry in Path(folder).glob(f"{text}*")
                }
            )
        return [name for name in self._addresses if name.startswith(text)]

    def run(self) -> None:
        """Until exit; Ctrl-C at the prompt clears the line."""
        readline.set_completer_delims(" \t\n")
        while True:
            try:
                self.cmdloop()
                return
            except KeyboardInterrupt:
                print()
                self.intro = ""


def main(arguments: list[str]) -> int:
    """Bring the network up, prompt, take it down; returns the exit status."""
    signals.raise_on_signals((signal.SIGTERM, signal.SIGHUP))
    out = Path(arguments[0])
    account = Account()
    try:
        plan = replace(prepare(out), end_s=None)
        with CleanUp() as undo:
            stage = started(built(plan, out, account, undo), real_time=True, undo=undo)
            for warning in account.warnings:
                print(f"hoplab: warning: {warning}", file=sys.stderr)
            Prompt(plan, stage.built.elfn).run()
    except HoplabError as error:
        print(f"hoplab: {error}", file=sys.stderr)
        return error.exit_status
    except signals.Stopped as stopped:
        return stopped.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
