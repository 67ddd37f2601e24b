# SPDX-License-Identifier: Apache-2.0
"""A prompt on a scenario's running network, in real time: ``n0 ping n3``, ``n2 iw dev``.

``python -m hoplab.guest.lab.prompt FOLDER`` runs as root in whichever kernel it is started in, as
`hoplab.guest.lab` does.
"""

from __future__ import annotations

import cmd
import contextlib
import io
import json
import os
import re
import readline
import signal
import subprocess
import sys
import threading
import time
import traceback
import tty
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from hoplab.guest.lab.account import Account
from hoplab.guest.lab.built import built
from hoplab.guest.lab.channel import Channel
from hoplab.guest.lab.cleanup import CleanUp
from hoplab.guest.lab.job import prepare
from hoplab.guest.lab.present import Present
from hoplab.guest.lab.session import Session
from hoplab.guest.lab.started import Started, started
from hoplab.guest.network.elfn import Elfn
from hoplab.guest.network.hosts import Hosts
from hoplab.guest.network.inside import inside
from hoplab.guest.system import signals
from hoplab.guest.system.note import NOTES
from hoplab.guest.system.processes import program
from hoplab.model import writing
from hoplab.model.errors import HoplabError
from hoplab.model.network.plan import Plan
from hoplab.model.network.proxies import parts

SEARCHED = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


USAGE = """
STATION COMMAND runs COMMAND at a station, as a shell does: n0 ping -c 3 n2 & n1 tcpdump | head
Names of stations are hosts to it, and where they are words of their own they become addresses."""
HANG_UP_S, LOOK_S = 2.0, 0.05
"""Seconds until a process that ignores a hang-up is killed, and seconds between two checks."""


def with_addresses(command: str, addresses: Mapping[str, str]) -> str:
    """Replace stations' names by their addresses where the names are words of their own. Mininet's
    prompt does so too."""
    return re.sub(
        r"(?<!\S)[a-z][a-z0-9]*(?=[\s;&|)]|$)",
        lambda word: addresses.get(word[0], word[0]),
        command,
    )


class Prompt(cmd.Cmd):
    """``STATION COMMAND`` runs a shell's command at a station. Names of stations become addresses
    if they are words of their own. The command itself sees them as names of hosts."""

    prompt = "hoplab> "
    intro = "Type 'STATION COMMAND', 'nodes', 'links', 'help' or 'exit'."

    def __init__(self, plan: Plan, elfn: dict[str, Elfn], present: Present) -> None:
        """``present`` is the network as it is when a command asks."""
        super().__init__()
        self._present = present
        self._elfn = elfn
        self._splitting = _splitting(plan)
        self._addresses = plan.address
        self._host_names = plan.host_names
        self._hosts: Hosts | None = None
        self._at_terminal = True
        self.status = 0
        """Exit status of the last command."""

    def do_nodes(self, line: str) -> None:
        """nodes: every station with its address, and its place now."""
        off = self._present.off()
        for station in self._present.scenario().station:
            kind = "wired" if not station.radio else "off" if station.name in off else "radio"
            place = f"{station.x_m:g} m, {station.y_m:g} m"
            print(f"{station.name:8} {self._addresses[station.name]:12} {kind:5}  {place}")

    def do_links(self, line: str) -> None:
        """links: who reaches whom directly now, by place and by wire."""
        for name, others in self._present.neighbours().items():
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

    def do_split(self, line: str) -> None:
        """split: what each station does for split connections."""
        if not self._splitting:
            print("no flow of this scenario is split")
        for station in self._splitting:
            with inside(station):
                done = subprocess.run(
                    [program("hoplab-split"), "ctl"], capture_output=True, text=True, check=False
                )
            print(f"{station}:")
            print(done.stdout or done.stderr, end="")

    def do_exit(self, line: str) -> bool:
        """exit: take the network down and leave; so does Ctrl-D."""
        return True

    def get_names(self) -> list[str]:
        """Return the commands that help and completion offer."""
        return [name for name in super().get_names() if name != "do_EOF"]

    def do_EOF(self, line: str) -> bool:
        print()
        return True

    def do_help(self, arg: str) -> None:
        """help: this list; help COMMAND: what it does."""
        if not arg:
            print(USAGE)
        super().do_help(arg)

    def onecmd(self, line: str) -> bool:
        self.status = 0
        return bool(super().onecmd(line))

    def emptyline(self) -> bool:
        return False

    def default(self, line: str) -> None:
        station, *rest = line.split(maxsplit=1)
        self.status = 2
        if station not in self._addresses:
            names = ", ".join(self._addresses)
            print(f"{station}: no such station or command; stations: {names}; or help, exit")
            return
        if not rest:
            print(f"{station}: no command given; try '{station} ip address'")
            return
        command = with_addresses(rest[0], self._addresses)
        sys.stdout.flush()
        # A command must not read those that come after it.
        stdin = None if self._at_terminal else subprocess.DEVNULL
        with inside(station), self._names().known():
            process = subprocess.Popen(["sh", "-c", command], stdin=stdin)
        try:
            self.status = process.wait()
        except KeyboardInterrupt:
            # The terminal has sent the signal to the command too.
            self.status = process.wait()
        if self.status < 0:
            self.status = 128 - self.status

    def _names(self) -> Hosts:
        """Names of stations for programs. They are made when the first program starts."""
        if self._hosts is None:
            self._hosts = Hosts(NOTES / f"{os.getpid()}-names", self._host_names)
        return self._hosts

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
        """Read commands until exit; Ctrl-C at the prompt clears the line."""
        readline.set_completer_delims(" \t\n")
        try:
            self._loop()
        finally:
            self._close()

    def obey(self, lines: Iterable[str]) -> int:
        """Run the commands in order, until ``exit`` or the last one. Blank lines and lines that
        begin with ``#`` are skipped. Returns the exit status of the last command."""
        self._at_terminal = False
        try:
            for line in map(str.strip, lines):
                if line and not line.startswith("#") and self.onecmd(line):
                    break
        finally:
            self._close()
            sys.stdout.flush()
        return self.status

    def _close(self) -> None:
        """End the processes left in the background, as a terminal does when it hangs up."""
        if self._hosts is None:
            return
        deadline_s = time.monotonic() + HANG_UP_S
        number = signal.SIGHUP
        while left := self._hosts.processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(LOOK_S)
            if time.monotonic() > deadline_s:
                number = signal.SIGKILL
        self._hosts.close()

    def _loop(self) -> None:
        while True:
            try:
                self.cmdloop()
                return
            except KeyboardInterrupt:
                print()
                self.intro = ""


class _Over(Exception):
    """The session was ended elsewhere."""


def _play(stage: Started, session: Session, at_prompt: bool) -> None:
    """Serve the session until it ends, in a separate thread if there is a prompt too."""
    if not at_prompt:
        session.serve()
        return
    failures: list[Exception] = []

    def serve() -> None:
        try:
            session.serve()
        except Exception as error:
            failures.append(error)
        os.kill(os.getpid(), signal.SIGUSR1)

    def over(number: int, frame: object) -> None:
        raise _Over

    signal.signal(signal.SIGUSR1, over)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with contextlib.suppress(_Over):
        Prompt(stage.built.plan, stage.built.elfn, session.present).run()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    session.stop()
    thread.join()
    if failures:
        raise failures[0]


def _line(name: str) -> int:
    """Return the descriptor of a session's line: an inherited socket, or a terminal to open."""
    if name.startswith("fd:"):
        return int(name.removeprefix("fd:"))
    descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(descriptor)
    return descriptor


def _commands(name: str) -> Iterator[str]:
    """Yield the commands that the host has for this prompt (`hoplab.host.runs.piped`)."""
    with os.fdopen(_line(name), "r+b", buffering=0) as line, io.BufferedReader(line) as answers:
        while True:
            text = ""
            while True:
                line.write(b"\n")
                mark, part = (answer := answers.readline().decode())[:1], answer[1:-1]
                text += part
                if mark != "+":
                    break
            command = json.loads(text) if text else None
            if command is None:
                return
            yield command


def _session(plan: Plan, out: Path, account: Account, line: str, at_prompt: bool) -> None:
    """Run a session on a network, with its records."""
    control = NOTES / f"{os.getpid()}-medium"
    with CleanUp() as undo:
        made = built(plan, out, account, undo)
        stage = started(made, real_time=True, undo=undo, control=control)
        session = Session(stage, control, Channel(_line(line)), undo)
        _play(stage, session, at_prompt)
        session.finish()


def _splitting(plan: Plan) -> list[str]:
    """Stations with a daemon that splits connections."""
    if not plan.splits:
        return []
    return list(plan.address if plan.scenario.routing.protocol == "dsr" else parts(plan))


def main(arguments: list[str]) -> int:
    """``FOLDER [--line LINE] [--prompt] [--commands LINE]``: bring the network up, prompt, take it
    down. Returns the exit status. With a line there is a session (`hoplab.guest.lab.session`),
    whose account is kept. Without a terminal, commands come from LINE or standard input."""
    signals.raise_on_signals((signal.SIGTERM, signal.SIGHUP))
    out = Path(arguments[0])
    account = Account()
    if "--line" in arguments:
        line = arguments[arguments.index("--line") + 1]
        account.status, account.error = 0, None
        try:
            plan = replace(prepare(out), end_s=None)
            _session(plan, out, account, line, "--prompt" in arguments)
        except HoplabError as error:
            account.status, account.error = error.exit_status, str(error)
        except signals.Stopped as stopped:
            account.status, account.error = stopped.exit_status, stopped.word
        except Exception as error:
            writing.write_text(out / "logs" / "lab.log", traceback.format_exc())
            told = f"lab: {type(error).__name__}: {error}; see logs/lab.log"
            account.status, account.error = 1, told
        account.write(out)
        return account.status
    try:
        plan = replace(prepare(out), end_s=None)
        with CleanUp() as undo:
            stage = started(built(plan, out, account, undo), real_time=True, undo=undo)
            for warning in account.warnings:
                print(f"hoplab: warning: {warning}", file=sys.stderr)
            present = Present(plan.scenario, stage.clock.now_s)
            prompt = Prompt(plan, stage.built.elfn, present)
            if "--commands" in arguments:
                return prompt.obey(_commands(arguments[arguments.index("--commands") + 1]))
            if not sys.stdin.isatty():
                return prompt.obey(sys.stdin)
            prompt.run()
    except HoplabError as error:
        print(f"hoplab: {error}", file=sys.stderr)
        return error.exit_status
    except signals.Stopped as stopped:
        return stopped.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
