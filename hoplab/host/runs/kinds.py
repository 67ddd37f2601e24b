# SPDX-License-Identifier: Apache-2.0
"""Kinds of machine that a lab runs on: requirements, start and names."""

from __future__ import annotations

import compileall
import contextlib
import shlex
import subprocess
import sys
import sysconfig
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hoplab.guest.system.processes import program
from hoplab.host.machine import confined, equip, guests, host, memory, select, uml
from hoplab.host.machine.copies import Source
from hoplab.host.machine.guests import Boot, Guest, OpenGuest, SealedGuest
from hoplab.host.machine.pace import Pace
from hoplab.host.machine.saved import Point
from hoplab.host.machine.sealed import Machine
from hoplab.host.machine.uml import Streams
from hoplab.host.machine.watch import Limits
from hoplab.host.results.manifest import Where
from hoplab.host.runs import decisions
from hoplab.host.runs.builder import NOBODY, Builder, Find, none_here
from hoplab.host.runs.piped import Piped
from hoplab.host.runs.steps import Steps
from hoplab.model.errors import GuestFailed, ScenarioError
from hoplab.model.keys.resolved import Resolved
from hoplab.model.keys.scenario import SETTINGS_OF
from hoplab.model.resources import IS_CHECKOUT, PROJECT
from hoplab.model.streams import COMMON_SEED

WMEM_MAX = Path("/proc/sys/net/core/wmem_max")
PLAIN = Streams()
ROOM_S = 3600.0
"""A session has memory for records of this many seconds."""


@dataclass(frozen=True)
class Watched:
    """Settings for following a lab: receiver of its lines of output, limits of a guest, pace.
    ``while_booting`` is called when a guest's kernel has started."""

    on_line: Callable[[str], None]
    limits: Limits
    pace: Pace | None = None
    while_booting: Callable[[], None] | None = None


class Unwanted(GuestFailed):
    """A guest was ended because nobody wants its results, not even those so far."""

    def __init__(self) -> None:
        super().__init__("guest: nobody wants its results")


class Kind(ABC):
    """A machine of some kind, for one scenario."""

    name: Where
    """Its name in the manifest."""
    real_time = False
    endless = False
    """Whether it goes on after the scenario's duration, until a user ends it."""

    @property
    def sealed(self) -> Machine | None:
        """The sealed machine, if it is one."""
        return None

    @property
    def branch(self) -> Mapping[str, float] | None:
        """When a run began that branches off another one's, and its seed from then on if it has one
        of its own. None if it has a scenario for that, or does not branch."""
        return None

    @property
    def platform(self) -> Where:
        """Its name in a stream: the kernel's kind, also for sessions."""
        return self.name

    def equipped(self, scenario: Resolved) -> Kind:
        """Return the kind with the scenario's packages. Raises `ScenarioError` if this kind of
        machine cannot have any, and `MissingTool` for unavailable packages."""
        if scenario.machine.is_sealed:
            raise ScenarioError(
                "machine.packages: go into a sealed machine, and this would have the programs of "
                'this computer; use "hoplab run", without --machine host or a builder of others'
            )
        return self

    @abstractmethod
    def require(self, scenario: Resolved) -> None:
        """Raise the `HoplabError` of the first obstacle to running the scenario."""

    @abstractmethod
    def run(self, scenario: Resolved, out: Path, watched: Watched) -> int:
        """Run the lab on the folder ``out``. Returns its exit status."""


class Runnable(Kind):
    """A kind of machine that a user may choose for a run."""

    @abstractmethod
    def shown(self, scenario: Resolved) -> str:
        """Return the command line and the environment of `run`, as text for a shell. Words in
        capitals stand for values that differ for each run."""


class Attendable(Runnable):
    """A kind of machine that can have a prompt, in real time."""

    @abstractmethod
    def prompt(self, scenario: Resolved, out: Path, line: int | None = None) -> int:
        """Run a prompt on the scenario's network, with logs in ``out``. Returns its exit status.
        ``line`` is a socket for a session, which works without a terminal too."""


@dataclass(frozen=True)
class Sealed(Runnable):
    """A guest of a sealed machine. With ``steps`` it asks the host at each step how to go on."""

    machine: Machine
    steps: Steps | None = None
    originals: Source | None = None
    """Guests to be copies of, if this is to be one."""
    is_cold: bool = False
    """Whether it boots if it is no copy, also where there is an image to start from."""

    @property
    def name(self) -> Where:  # type: ignore[override]
        return Where.GUEST if self.steps is None else Where.AGENT

    @property
    def platform(self) -> Where:
        return Where.GUEST

    @property
    def sealed(self) -> Machine:
        return self.machine

    @property
    def branch(self) -> Mapping[str, float] | None:
        if self.steps is None or self.steps.begun_s is None:
            return None
        seed = {} if self.steps.seed is None else {"seed": self.steps.seed}
        return {"at_s": self.steps.begun_s, **seed}

    def equipped(self, scenario: Resolved) -> Sealed:
        return replace(self, machine=equip.equipped(self.machine, scenario.machine))

    def require(self, scenario: Resolved) -> None:
        """Check the scenario. A sealed machine has no builder of networks but Hoplab's own."""
        _refuse_found(scenario)
        if scenario.network.built_by != "hoplab":
            raise ScenarioError(
                f'network.built_by: "{scenario.network.built_by}" is in no sealed machine, which '
                'sweeps, verify and --machine-file boot; use "hoplab run" on this computer\'s own'
            )
        if _takes_hosts_programs(scenario):
            raise ScenarioError(
                "program: host = true takes programs of this computer, and a sealed machine, which "
                'sweeps and --machine-file boot, has none; use "hoplab run", or files'
            )

    def run(self, scenario: Resolved, out: Path, watched: Watched) -> int:
        streams = Streams(stands_by=True, originals=self.originals, is_cold=self.is_cold)
        if self.steps is not None:
            hold, attend = self.steps.held_by, self.steps.attend
            streams = replace(streams, on_hold=hold, attend=attend)
        guest, more_mb = self._guest(scenario, out), equip.memory_mb(self.machine)
        try:
            return _run_guest(guest, self._command, scenario, watched, more_mb, streams)
        except GuestFailed:
            if self.steps is not None and self.steps.is_unwanted:
                raise Unwanted from None
            raise
        finally:
            if self.steps is not None and not self.steps.is_unwanted:
                with contextlib.suppress(OSError):  # as on a full disk, which the run itself tells
                    decisions.write(out, scenario, self.steps)

    def point(self, scenario: Resolved) -> Point:
        """Return the guest that can be saved where the scenario branches."""
        assert scenario.branch is not None
        machine = self.equipped(scenario)
        boot = Boot(memory_mb(scenario) + equip.memory_mb(machine.machine))
        guest = machine._guest(scenario, None)
        return Point(scenario.branch.at_s, guest, machine._command, boot)

    def _guest(self, scenario: Resolved, out: Path | None) -> SealedGuest:
        guest = SealedGuest(self.machine, out, bool(scenario.cell), scenario.machine)
        if scenario.branch is not None:
            past = scenario.branch.past.model_copy(update={"branch": scenario.branch})
            text = past.model_dump_json(exclude_none=True)
            guest = replace(guest, scenario=text, is_copied_later=True)
        if self.steps is not None:
            common = scenario.model_copy(update={"seed": COMMON_SEED})
            text = common.model_dump_json(exclude_none=True)
            guest = replace(guest, scenario=text, has_branches=True)
        return guest

    def shown(self, scenario: Resolved) -> str:
        machine = equip.equipped(self.machine, scenario.machine)
        whose = f"machine {machine.id}, {machine.root}"
        more_mb = equip.memory_mb(machine)
        return _shown_guest(SealedGuest(machine), self._command, scenario, whose, more_mb)

    @property
    def _command(self) -> list[str]:
        lab = "hoplab.guest.lab" if self.steps is None else "hoplab.guest.lab.stepped"
        return ["python3", "-S", "-P", "-m", lab, "/out"]


@dataclass(frozen=True)
class OwnGuest(Attendable):
    """A guest that has this computer's files, for other builders and for prompts."""

    builder: Builder = NOBODY
    name = Where.GUEST

    def require(self, scenario: Resolved) -> None:
        guests.require()
        _refuse_branch(scenario)
        # If a guest has to compile the lab itself, its run takes another course.
        compileall.compile_dir(PROJECT / "hoplab", quiet=2)
        _require_programs(scenario)

    def run(self, scenario: Resolved, out: Path, watched: Watched) -> int:
        return _run_guest(self._guest(out), self._command, scenario, watched)

    def shown(self, scenario: Resolved) -> str:
        return _shown_guest(self._guest(), self._command, scenario, "this computer's files")

    def prompt(self, scenario: Resolved, out: Path, line: int | None = None) -> int:
        if line is None and not sys.stdin.isatty():
            with contextlib.closing(Piped(sys.stdin.buffer)) as piped:
                words = ["--commands", uml.LINE]
                return self._prompt(scenario, out, words, piped.other.fileno())
        words = [] if line is None else ["--line", uml.LINE]
        words += ["--prompt"] if line is not None and sys.stdin.isatty() else []
        return self._prompt(scenario, out, words, line)

    def _prompt(self, scenario: Resolved, out: Path, words: list[str], line: int | None) -> int:
        terminal = sys.stdin is not None and sys.stdin.isatty()
        stdout = None if terminal or "--commands" in words else subprocess.DEVNULL
        return uml.run_guest(
            self._guest(out),
            [*_python(self.builder), "-m", "hoplab.guest.lab.prompt", "/out", *words],
            Boot(memory_mb(scenario, None if line is None else ROOM_S), virtual=False),
            Streams(
                stdin=sys.stdin.fileno() if terminal else subprocess.DEVNULL,
                stdout=stdout,
                terminal=terminal,
                line=line,
            ),
        ).exit_status

    def _guest(self, out: Path | None = None) -> OpenGuest:
        return OpenGuest(out, folders=self.builder.folders)

    @property
    def _command(self) -> list[str]:
        return [*_python(self.builder), "-m", "hoplab.guest.lab", "/out"]


@dataclass(frozen=True)
class ThisHost(Attendable):
    """This computer's kernel, as root, in real time."""

    builder: Builder = NOBODY
    name = Where.HOST
    real_time = True

    def require(self, scenario: Resolved) -> None:
        _require_programs(scenario)
        _refuse_branch(scenario)
        most = int(WMEM_MAX.read_text(encoding="ascii"))
        for flow in scenario.flow:
            if flow.buffer_bytes is not None and flow.buffer_bytes > most:
                raise ScenarioError(
                    f"flow {flow.name}: buffer_bytes: {flow.buffer_bytes} is more than this "
                    f"kernel's net.core.wmem_max, {most}; raise that by sysctl, or take less"
                )

    def run(self, scenario: Resolved, out: Path, watched: Watched) -> int:
        return host.run_lab(out, watched.on_line, self.builder.environment)

    def shown(self, scenario: Resolved) -> str:
        values = [f"{key}={value}" for key, value in self.builder.environment.items()]
        lab = [w.replace(str(Path("OUT").resolve()), "OUT") for w in host.lab_command(Path("OUT"))]
        about = f"# in {PROJECT}, as root, with this environment"
        return f"{about}\n{shlex.join(['env', *values, *lab])}"

    def prompt(self, scenario: Resolved, out: Path, line: int | None = None) -> int:
        words = ["--prompt"] if line is not None and sys.stdin.isatty() else []
        return host.shell(out, line, words, self.builder.environment)


def parse(word: str, option: str) -> Where:
    """Return the machine that a user's word names. ``option`` is the option with that word. Raises
    `ScenarioError` for other words."""
    if word not in (Where.GUEST, Where.HOST):
        raise ScenarioError(f"{option}: {word!r} is not known; one of: uml, host")
    return Where(word)


def chosen(
    where: Where,
    scenario: Resolved,
    find: Find = none_here,
    machine_file: Path | None = None,
    machine: Machine | None = None,
    originals: Source | None = None,
    is_cold: bool = False,
) -> Runnable:
    """Return the machine for a run. A guest uses ``machine``, ``machine_file``, this checkout's
    machine or the installed one. If others build the network, ``find`` looks for the builder. A
    sealed guest may be a copy of one of the ``originals``. It boots if it ``is_cold``."""
    if where is Where.HOST:
        return ThisHost(builder_of(scenario, find))
    if machine is not None:
        return Sealed(machine, originals=originals, is_cold=is_cold)
    if machine_file is None:
        builder = builder_of(scenario, find)
        if builder or _takes_hosts_programs(scenario):
            return OwnGuest(builder)
    return Sealed(select.chosen(machine_file), originals=originals, is_cold=is_cold)


def attended(where: Where, scenario: Resolved, find: Find = none_here) -> Attendable:
    """Return the machine for a prompt."""
    builder = builder_of(scenario, find)
    return ThisHost(builder) if where is Where.HOST else OwnGuest(builder)


def builder_of(scenario: Resolved, find: Find = none_here) -> Builder:
    """Return the builder of the network, if others build it. Raises the errors of ``find``."""
    _refuse_found(scenario)
    return NOBODY if scenario.network.built_by == "hoplab" else find(scenario)


def memory_mb(scenario: Resolved, duration_s: float | None = None) -> int:
    """Return the memory of a guest for the scenario, or for another duration of it. A branch has
    that of its past, which much in a kernel depends on."""
    if scenario.branch is not None:
        scenario = scenario.branch.past
    whole_s = (duration_s or scenario.duration_s) + scenario.warm_up_s
    numbers = len(scenario.station), len(scenario.flow), whole_s, len(scenario.program)
    return memory.needed_mb(*numbers)


def programs(scenario: Resolved) -> list[str]:
    """Return the programs that the scenario needs beside the kernel."""
    # A shell's user has both.
    names = ["iperf3"]
    if any(not flow.is_iperf3 for flow in scenario.flow):
        names.append("hoplab-traffic")
    if any(station.radio for station in scenario.station):
        names.append("hoplab-medium")
    protocol = scenario.routing.protocol
    if protocol in ("batmand", "babeld", *SETTINGS_OF):
        names.append(f"hoplab-{protocol}" if protocol in SETTINGS_OF else protocol)
    if protocol != "dsr" and any(flow.split for flow in scenario.flow):
        names.append("hoplab-split")
    if scenario.cell:
        names += ["hostapd", "wpa_supplicant"]
    return names


def _require_programs(scenario: Resolved) -> None:
    """Raise `MissingTool` for the first program that is missing."""
    for name in programs(scenario):
        program(name)


def _takes_hosts_programs(scenario: Resolved) -> bool:
    return any(program.host for program in scenario.program)


def _refuse_branch(scenario: Resolved) -> None:
    if scenario.branch is not None:
        raise ScenarioError(
            "branch: needs a sealed machine, where a run repeats; leave --machine host, "
            "network.built_by and host = true of programs out"
        )


def _refuse_found(scenario: Resolved) -> None:
    if scenario.is_found:
        raise ScenarioError(
            'network.built_by: "script": the script that built it has to run again, by '
            "'hoplab mininet'"
        )


def _run_guest(
    guest: Guest,
    command: list[str],
    scenario: Resolved,
    watched: Watched,
    more_mb: int = 0,
    streams: Streams = PLAIN,
) -> int:
    return uml.run_guest(
        guest,
        command,
        Boot(memory_mb(scenario) + more_mb),
        replace(
            streams,
            stderr=subprocess.DEVNULL,
            on_line=watched.on_line,
            while_booting=watched.while_booting,
        ),
        watched.limits,
        watched.pace,
    ).exit_status


def _shown_guest(
    guest: Guest, command: list[str], scenario: Resolved, whose: str, more_mb: int = 0
) -> str:
    values = [f"{key}={value}" for key, value in confined.environment().items()]
    kernel = guest.command(Boot(memory_mb(scenario) + more_mb))
    return "\n".join(
        (
            f"# the guest, in a folder of its own ({whose}), confined by {confined.confinement()}",
            shlex.join(["env", "-i", *values, *kernel]),
            "# in the guest, as its job; /out is the run's folder",
            shlex.join(command),
        )
    )


def _python(builder: Builder) -> list[str]:
    """Return the interpreter in a guest, without site. Site would read the checkout's own path, and
    a run must not depend on that path. The interpreter's environment names the builder of the
    network."""
    named = [f"{key}={value}" for key, value in builder.environment.items()]
    if not IS_CHECKOUT:  # the guest has it at the host's path
        path = f"PYTHONPATH={sysconfig.get_path('purelib')}"
        return ["env", *named, path, sys.executable, "-S", "-P"]
    packages = Path(sysconfig.get_path("purelib")).relative_to(PROJECT)
    path = f"/hoplab:/hoplab/{packages}"
    return ["env", *named, f"PYTHONPATH={path}", "/hoplab/.venv/bin/python", "-S", "-P"]
