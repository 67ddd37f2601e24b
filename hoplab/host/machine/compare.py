# SPDX-License-Identifier: Apache-2.0
"""The differences between two machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hoplab.host.machine import cpio
from hoplab.host.machine.sealed import KERNEL, ROOT, SHORT, Machine


class Change(NamedTuple):
    """A package's version or a part's hash in two machines; "none" if it is missing."""

    name: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.name}: {self.first} and {self.second}"


def parts(machine: Machine) -> dict[str, str]:
    """Return the hashes of the kernel and of each layer of the root."""
    found = {"kernel": str(machine.files[KERNEL]["sha256"])}
    for layer in machine.description["layers"]:
        found[str(layer["name"])] = str(layer["sha256"])
    return found


def of_packages(one: Iterable[str], other: Iterable[str]) -> Iterator[Change]:
    """Yield each package that only one list has, or that has two versions."""
    first, second = (dict(_split(line) for line in lines) for lines in (one, other))
    for name in sorted(first.keys() | second.keys()):
        then, now = first.get(name), second.get(name)
        if then != now:
            yield Change(name, then or "none", now or "none")


def _split(line: str) -> tuple[str, str]:
    kind, name, version = line.split(" ", 2)
    return f"{kind} {name}", version


def of_parts(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[Change]:
    """Yield each part whose bytes differ."""
    for name in sorted(one.keys() | other.keys()):
        then, now = one.get(name, "none"), other.get(name, "none")
        if then != now:
            yield Change(name, then[:SHORT], now[:SHORT])


def of_machines(one: Machine, other: Machine) -> Iterator[str]:
    """Yield a line for each difference, down to the files of the roots."""
    yield from map(str, of_packages(one.packages(), other.packages()))
    yield from map(str, of_parts(parts(one), parts(other)))
    first, second = (
        {name: facts["sha256"] for name, facts in machine.files.items() if name != ROOT}
        for machine in (one, other)
    )
    yield from _of_files("", first, second)
    if one.files[ROOT] != other.files[ROOT]:
        yield from _of_files("/", *(_root(machine) for machine in (one, other)))


def _root(machine: Machine) -> dict[str, str]:
    return {name: entry.sha256() for name, entry in cpio.load(machine.root.read_bytes())}


def _of_files(before: str, one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(one.keys() | other.keys()):
        if name not in other:
            yield f"{before}{name}: only in the first"
        elif name not in one:
            yield f"{before}{name}: only in the second"
        elif one[name] != other[name]:
            yield f"{before}{name}: differs"
