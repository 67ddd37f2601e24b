# SPDX-License-Identifier: Apache-2.0
"""The two roots that a guest can boot: a sealed machine, or this computer's files.

The kernel's command line is the same for all runs on a machine but for the memory, so that their
boots are alike. Values that differ between runs travel in a `job` file beside the guest's first
process; the scenario's seed acts from `hoplab.guest.lab.standby` on.
"""

from __future__ import annotations

import os
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hoplab.host.machine import addition, confined, equip, kernel, select
from hoplab.host.machine.clock import START_NS
from hoplab.host.machine.launcher import confine
from hoplab.host.machine.launcher.descriptors import CONSOLE_FD
from hoplab.host.machine.sealed import SHORT, Machine
from hoplab.model.errors import MissingTool, ScenarioError
from hoplab.model.keys.program import Additions
from hoplab.model.resources import IS_CHECKOUT, PROJECT

INIT = Path(__file__).with_name("init")
NOTHING = Additions()
CPUINFO = "/proc/cpuinfo"
"""The host's file that describes a guest's processor."""
MEMORY_MB = 2048
MOST_RADIOS = 100
"""The most radios that mac80211_hwsim makes when it is loaded."""
COPIES = "copies"
"""The tier of patches with which a kernel makes copies of itself."""
HERE = "/proc/self/cwd"
"""The guest's own folder, as its kernel names it. It holds links to the host's paths, because
commas and quotes in these would end mount options. The guest also sees the same names wherever they
lead."""


@dataclass(frozen=True)
class Boot:
    """The start of a guest's kernel: its memory, its entropy, its clock, its hwsim radios."""

    memory_mb: int = MEMORY_MB
    seed: int = 1
    virtual: bool = True
    radios: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.radios <= MOST_RADIOS:
            raise ScenarioError(f"radios: {self.radios}; expected 0 to {MOST_RADIOS}")

    def options(self) -> list[str]:
        """Return the kernel's arguments beside its root."""
        options = [
            f"mac80211_hwsim.radios={self.radios}",
            "con0=fd:0,fd:1",
            "con1=null,fd:2",
            f"con2=null,fd:{CONSOLE_FD}",
            "console=tty2",
            "quiet",
            "panic=-1",
        ]
        if self.virtual:
            options += ["time-travel=inf-cpu", f"time-travel-start={START_NS}"]
            options.append(f"entropy_seed={self.seed}")
        return options


class Guest(ABC):
    """A kernel, the root that it boots, and the host's files that it may write."""

    out: Path | None
    """The folder that it has as /out."""
    is_copied_later = False
    has_branches = False
    """See `SealedGuest` for both."""

    @property
    @abstractmethod
    def kernel(self) -> Path:
        """The kernel's program."""

    @property
    @abstractmethod
    def root(self) -> Sequence[str]:
        """The kernel's arguments that name its root."""

    @abstractmethod
    def writable(self) -> list[str]:
        """Return folders of the host that the guest may write to, beside its own."""

    def readable(self) -> list[str] | None:
        """Return further files and folders of the host that the guest may read. None if it may read
        all that its user can."""
        return None

    @property
    def can_be_copied(self) -> bool:
        """Whether its kernel can stand by (`hoplab.host.machine.originals`)."""
        return False

    @property
    def may_be_copied(self) -> bool:
        """Whether copies of it are of use. In namespaces of its own it cannot make one."""
        return self.can_be_copied and confined.confinement() != confine.NAMESPACE

    def alike(self) -> tuple[str, ...]:
        """Return what guests have in common that boot alike, beside their command and `Boot`."""
        raise NotImplementedError

    def as_original(self) -> Guest:
        """Return the guest that this one, and those alike, can be copies of."""
        raise NotImplementedError

    def into(self, out: Path) -> Guest:
        """Return the same guest with another folder of results."""
        raise NotImplementedError

    def template(self, folder: Path) -> Path | None:
        """Return the folder of results of an original in ``folder``, if it has any before it stands
        by."""
        return None

    def lead(self, folder: Path) -> None:
        """Show the guest whose own folder this is where its results go."""
        (folder / "out").symlink_to((self.out or folder).resolve())

    @abstractmethod
    def prepare(self, folder: Path, argv: Sequence[str], boot: Boot, terminal: str) -> None:
        """Fill the guest's own folder: its root, and its job, which is ``argv``. ``terminal`` is
        the size of the terminal lent to it, as ``rows columns``, or empty."""

    def command(self, boot: Boot) -> list[str]:
        """Return the kernel and its arguments. It runs with `confined.environment`."""
        return [str(self.kernel), f"mem={boot.memory_mb}M", *self.root, *boot.options()]


@dataclass(frozen=True)
class SealedGuest(Guest):
    """Boots a sealed machine. Of the host it sees only ``out``, as /out."""

    machine: Machine
    out: Path | None = None
    access_points: bool = False
    """Whether the guest gets the machine's addition for access points."""
    additions: Additions = NOTHING
    """Packages and files for programs beside the machine's own."""
    scenario: str | None = None
    """The scenario that an original begins before it stands by; None if it begins none."""
    is_copied_later: bool = False
    """Whether an original goes on once, as any run does, and is copied when it stands by again."""
    has_branches: bool = False
    """Whether copies of it may be made while it runs. Their results are beside its own."""

    @property
    def kernel(self) -> Path:
        return self.machine.kernel

    @property
    def root(self) -> Sequence[str]:
        return ("rootfstype=ramfs", "initrd=root.cpio", "initramfs_async=0")

    def writable(self) -> list[str]:
        if self.out is None:
            return []
        out = self.out.resolve()
        return [str(out.parent if self.has_branches else out)]

    def readable(self) -> list[str]:
        """Return only the machine's files and `CPUINFO`. The machine, and the programs of its run,
        may be a stranger's."""
        files = [self.kernel.absolute(), self.kernel.resolve(), self.machine.root.resolve()]
        return [*map(str, files), CPUINFO]

    def prepare(self, folder: Path, argv: Sequence[str], boot: Boot, terminal: str) -> None:
        """Fill the folder. A sealed guest's own init finds everything below its kernel's current
        folder."""
        (folder / "root.cpio").symlink_to(self.machine.root.resolve())
        if self.out is None and self.scenario is not None:
            made = folder / "out"
            made.mkdir()
            (made / "scenario.json").write_text(self.scenario, encoding="utf-8")
        else:
            self.lead(folder)
        if self.access_points:
            # A link would lead nowhere in the guest.
            shutil.copyfile(self._addition(), folder / addition.NAME)
        lines = [addition.UNPACK] if self.access_points else []
        if equip.NAME in self.machine.files:
            shutil.copyfile(self.machine.folder / equip.NAME, folder / equip.NAME)
            lines.append(equip.UNPACK)
        _write(folder, [*lines, *equip.declared(self.additions)], argv)

    @property
    def can_be_copied(self) -> bool:
        return COPIES in self.machine.description.get("kernel", {}).get("tiers", ())

    def alike(self) -> tuple[str, ...]:
        begun = self.scenario or ""
        return self.machine.id, str(self.access_points), repr(self.additions), begun

    def as_original(self) -> SealedGuest:
        return replace(self, out=None)

    def into(self, out: Path) -> SealedGuest:
        return replace(self, out=out)

    def template(self, folder: Path) -> Path | None:
        # Not a link: the kernel finds again in a copy what is open below the original's own folder.
        return None if self.scenario is None else folder / "out"

    def _addition(self) -> Path:
        if addition.NAME not in self.machine.files:
            raise MissingTool(
                f"machine {self.machine.id[:SHORT]}: has no hostapd and no wpa_supplicant, which "
                "[[cell]] needs; take a newer machine"
            )
        return self.machine.folder / addition.NAME


@dataclass(frozen=True)
class OpenGuest(Guest):
    """Sees the host's files, and the checkout as /hoplab. It keeps what it writes to ``out`` (as
    /out), and to the current folder ``cwd`` if it ``keeps`` that. Other changes vanish. ``folders``
    stay visible although the guest's own /tmp or /run may hide them."""

    out: Path | None = None
    cwd: str = "/"
    keeps: bool = False
    folders: Sequence[Path] = ()
    is_original: bool = False
    """Whether its copies have results, in /out."""

    @property
    def kernel(self) -> Path:
        return open_kernel()

    @property
    def root(self) -> Sequence[str]:
        return ("rootfstype=hostfs", "root=/dev/root", "ro", f"init={HERE}/init")

    def writable(self) -> list[str]:
        out = [] if self.out is None else [str(self.out.resolve())]
        return [*out, os.path.realpath(self.cwd)] if self.keeps else out

    @property
    def can_be_copied(self) -> bool:
        return COPIES in _open_tiers()

    def alike(self) -> tuple[str, ...]:
        return str(self.kernel), self.cwd, str(self.keeps), *map(str, self.folders)

    def as_original(self) -> OpenGuest:
        return replace(self, out=None, is_original=True)

    def into(self, out: Path) -> OpenGuest:
        return replace(self, out=out)

    def lead(self, folder: Path) -> None:
        super().lead(folder)
        for name, place in self._places().items():
            (folder / name).symlink_to(place.resolve())
        # The first process has opened it when it is copied.
        (folder / "status").touch()

    def _places(self) -> dict[str, Path]:
        shown = {f"shown{i}": place.absolute() for i, place in enumerate(self.folders)}
        modules = open_kernel().parent / "modules"
        return {"project": PROJECT, "cwd": Path(self.cwd), "modules": modules, **shown}

    def prepare(self, folder: Path, argv: Sequence[str], boot: Boot, terminal: str) -> None:
        """Write the job, whose variables are those of `init`."""
        shutil.copy(INIT, folder / "init")
        self.lead(folder)
        shown = {f"shown{i}": place.absolute() for i, place in enumerate(self.folders)}
        values = {
            "project": str(PROJECT),
            "writable": "" if self.out is None and not self.is_original else "1",
            "cwd": self.cwd,
            "writable_cwd": "1" if self.keeps else "",
            # In an ordinary user's namespace, root's programs belong to nobody.
            "nobody": "1" if confined.confinement() == "namespace" and os.getuid() != 0 else "",
            "shown": " ".join(shown),
            **{f"{name}_at": str(place) for name, place in shown.items()},
            "terminal": terminal,
            "virtual": "1" if boot.virtual else "",
            "terminal_type": os.environ.get("TERM", "dumb"),
        }
        _write(folder, [f"{key}={shlex.quote(value)}" for key, value in values.items()], argv)


def _write(folder: Path, lines: Sequence[str], argv: Sequence[str]) -> None:
    job = "\n".join([*lines, f"set -- {shlex.join(argv)}"]) + "\n"
    (folder / "job").write_bytes(os.fsencode(job))


def open_kernel() -> Path:
    """Return the kernel of a guest that has the host's files, with its modules beside it. It is the
    checkout's, or that of an installed package's machine. Raises `MissingTool` if there is none."""
    return kernel.path() if IS_CHECKOUT else select.chosen().kernel


@cache
def _open_tiers() -> Sequence[str]:
    """Return the tiers of patches of that kernel."""
    found = kernel.facts() if IS_CHECKOUT else select.chosen().description["kernel"]
    return tuple(found.get("tiers", ()))


def require() -> None:
    """Raise `MissingTool` if this machine cannot run guests."""
    if os.uname().machine != "x86_64":
        raise MissingTool(f"guest kernel: needs an x86_64 machine, this is {os.uname().machine}")
    open_kernel()
