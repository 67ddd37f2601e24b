# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[program]]`: a user's program at a station."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from hoplab.model.keys import expressions
from hoplab.model.keys.declare import (
    MAX_DURATION_S,
    Integer,
    Label,
    Name,
    Number,
    Switch,
    Table,
    Text,
    Time,
    key,
)

MAX_PROGRAMS = 250
LONGEST_READY_S = 600.0
Variable = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
FileName = Annotated[
    str,
    Field(strict=True, max_length=200, pattern=r"^[A-Za-z0-9_][^/\x00]*(/[A-Za-z0-9_][^/\x00]*)*$"),
]
"""A relative path that never leads upwards."""


DebName = Annotated[str, Field(strict=True, pattern=r"^[a-z0-9][a-z0-9+.-]{1,99}$")]
WheelName = Annotated[
    str,
    Field(
        strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}==[A-Za-z0-9][A-Za-z0-9.+!]{0,49}$"
    ),
]
UserName = Annotated[str, Field(strict=True, pattern=r"^[a-z_][a-z0-9_-]{0,30}$")]
FolderName = Annotated[
    str, Field(strict=True, max_length=200, pattern=r"^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$")
]
"""An absolute path that never leads upwards."""
LONGEST_PART = 255
"""Octets of a file's or a folder's name (NAME_MAX of Linux)."""
THERE_ALREADY = ("root", "nobody", "nogroup")
LOCK_LINE = re.compile(
    r"(deb [a-z0-9][a-z0-9+.-]* [A-Za-z0-9][A-Za-z0-9.+:~-]*"
    r"|wheel [A-Za-z0-9][A-Za-z0-9._-]* [A-Za-z0-9][A-Za-z0-9.+!]*) [0-9a-f]{64}"
)
"""A package with its kind, name, version and SHA-256."""


def _require_places(files: Iterable[str]) -> None:
    """Raise ValueError if the files, by their paths, cannot be in one folder."""
    names = set(files)
    for name in sorted(names):
        place = PurePosixPath(name)
        for folder in place.parents:
            if str(folder) in names:
                raise ValueError(
                    f"file: {str(folder)!r} is a file, and {name!r} needs a folder of that name; "
                    "rename one"
                )
        for part in place.parts:
            if len(part.encode()) > LONGEST_PART:
                raise ValueError(
                    f"file: {part[:40]!r}… has {len(part.encode())} octets, and a name has at most "
                    f"{LONGEST_PART}; shorten it"
                )


class Additions(Table):
    """What programs find beside the machine's own."""

    add: tuple[Annotated[str, Field(strict=True, min_length=1, max_length=200)], ...] = key(
        (),
        "files and folders beside the scenario; programs find a file, and all at a "
        "folder's top, in `PATH`",
        max_length=100,
    )
    file: dict[FileName, Text] = key(
        {},
        "the same by name: text, or `base64:` and octets; a resolved scenario has `add` here",
    )
    packages: tuple[DebName, ...] = key(
        (),
        "Debian packages with dependencies, in the lock's versions; their scripts do not run",
        max_length=100,
    )
    python: tuple[WheelName, ...] = key(
        (),
        "wheels (`name==version`) with dependencies",
        max_length=100,
    )
    lock: FileName = key("packages.lock", "file beside the scenario that `hoplab lock` writes")
    locked: Text = key("", "its content in a resolved scenario, with each package's SHA-256")
    users: tuple[UserName, ...] = key((), "each with a group of its name", max_length=100)
    folder: dict[FolderName, UserName] = key({}, "folders in the root, with owners")

    @field_validator("locked")
    @classmethod
    def _lines(cls, value: str) -> str:
        for line in value.splitlines():
            if line and not line.startswith("#") and not LOCK_LINE.fullmatch(line):
                raise ValueError(
                    f"{line[:80]!r} is no line of a lock, as KIND NAME VERSION SHA256; "
                    "make it again with 'hoplab lock'"
                )
        return value

    @model_validator(mode="after")
    def _known(self) -> Additions:
        _require_places(self.file)
        for user in self.users:
            if user in THERE_ALREADY or self.users.count(user) > 1:
                raise ValueError(f"users: there is a {user!r} already")
        for folder, user in self.folder.items():
            if user not in self.users and user not in THERE_ALREADY[:2]:
                raise ValueError(f"folder: {folder}: no user {user!r}; declare it in users")
        return self

    @property
    def asked(self) -> str:
        """The line of a lock that says what it is for."""
        return f"# for: {' '.join([*self.packages, *self.python])}"

    @property
    def is_sealed(self) -> bool:
        """Whether only a sealed machine can have them."""
        return bool(self.packages or self.python or self.locked or self.users or self.folder)


class Ready(Table):
    """What shows that a program that starts before time 0 does its work."""

    port: Integer | None = key(None, "something listens at this TCP or UDP port", ge=1, le=65_535)
    log: Text | None = key(None, "regular expression in the program's output", max_length=500)
    after_s: Number | None = key(
        None, "so much time has passed", unit="s", gt=0, le=LONGEST_READY_S
    )
    limit_s: Number = key(
        5.0,
        "time 0 is so much later; not ready by then, it fails the run",
        unit="s",
        gt=0,
        le=LONGEST_READY_S,
    )

    @field_validator("log")
    @classmethod
    def _expression(cls, value: str | None) -> str | None:
        if value is not None and (why := expressions.fault(value)) is not None:
            raise ValueError(f"{value!r} {why}")
        return value

    @model_validator(mode="after")
    def _one(self) -> Ready:
        given = [name for name in ("port", "log", "after_s") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of port, log and after_s; here {len(given)} are given")
        return self

    @property
    def wait_s(self) -> float:
        """The longest time that it may take."""
        return self.limit_s if self.after_s is None else self.after_s


class Program(Table):
    """A program that runs at a station, unmodified, in a working folder of its own."""

    name: Label | None = key(None, "default `program0`, `program1`, …")
    station: Name = key("", "where it runs")
    stations: Literal["all"] | None = key(
        None,
        "a copy at each station, not at one; `{name}` and `{address}` in `run`, `env` and `file` "
        "are the station's",
    )
    routing: Switch | None = key(
        None,
        "it routes: it starts with the warm-up, and its packets are those of table `routing`; "
        'default true with `stations` and `routing.protocol = "own"`',
    )
    run: Text = key(
        ...,
        "command line in a shell's words; for more of a shell write `sh -c '…'`",
        min_length=1,
        max_length=10_000,
    )
    start_s: Time | None = key(None, "begin; default 0, with `ready` earlier", unit="s")
    stop_s: Number | None = key(
        None,
        "when `signal` asks it to end; default the run's end",
        unit="s",
        gt=0,
        le=MAX_DURATION_S,
    )
    signal: Literal["TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "KILL"] = key(
        "TERM", "asks it to end; five seconds later comes `KILL`"
    )
    ready: Ready | None = key(None, "it starts before time 0, which waits for it")
    expect: Integer | None = key(
        None,
        "its own exit status before `stop_s`; default: 0, unless it runs to its stop",
        ge=0,
        le=255,
    )
    env: dict[Variable, Text] = key({}, "variables over its environment")
    files: FileName | None = key(None, "folder beside the scenario, copied to where it runs")
    file: dict[FileName, Text] = key(
        {},
        "files by name: text, or `base64:` and octets; a resolved scenario has `files` here",
    )
    host: Switch = key(
        False,
        "use this computer's files, read-only, not a sealed machine's; a repetition needs the same",
    )
    measure: Switch = key(False, "sample its TCP connections, and give it a row of `flows`")
    mptcp: Switch = key(
        False,
        "its TCP sockets are those of Multipath TCP, between stations with such programs "
        "([paths](mptcp.md#programs))",
    )

    @field_validator("run")
    @classmethod
    def _words(cls, value: str) -> str:
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise ValueError(f"{value!r} is no command line: {error}") from None
        if not words or "\0" in value:
            raise ValueError(f"{value!r} is no command line; give a program and its arguments")
        return value

    @model_validator(mode="after")
    def _check(self) -> Program:
        if (self.station == "") == (self.stations is None):
            raise ValueError(
                'give station, or stations = "all" for a copy at each'
                + ("; here are both" if self.station else "")
            )
        if self.ready is not None and self.start_s is not None:
            raise ValueError(
                "ready is what time 0 waits for, and start_s is a time after that; remove one"
            )
        if self.stop_s is not None and self.stop_s <= self.begin_s:
            raise ValueError(f"stop_s {self.stop_s:g} is not after start_s {self.begin_s:g}")
        _require_places(self.file)
        if any("\0" in text for text in self.env.values()):
            raise ValueError("env: a value has a zero octet, which no environment can hold")
        return self

    @property
    def begin_s(self) -> float:
        """When it begins if nothing waits for it: neither `ready` nor the warm-up."""
        return 0.0 if self.start_s is None else self.start_s

    @property
    def words(self) -> list[str]:
        """The command line: the program and its arguments."""
        return shlex.split(self.run)
