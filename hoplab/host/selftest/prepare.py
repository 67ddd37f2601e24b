# SPDX-License-Identifier: Apache-2.0
"""Everything before the first test: the kernel, the compiled suite, and the machine with both."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hoplab.host.machine import kernels
from hoplab.host.machine.sealed import Machine
from hoplab.host.selftest import build, options, tools, tree
from hoplab.host.selftest.build import Suite
from hoplab.host.selftest.one import Request
from hoplab.model.errors import ScenarioError

MOST_NAMED = 20
"""Tests of a collection that a message names all."""


@dataclass(frozen=True)
class Ready:
    """A machine with a suite of tests, and the chosen ones as COLLECTION:TEST."""

    machine: Machine
    suite: Suite
    tests: tuple[str, ...]

    def requests(self, seeds: Sequence[int]) -> list[Request]:
        """Return one request for each test and seed, the seeds of a test in a row."""
        return [
            Request(self.machine.id, test, seed, self.suite.timeout_s[test.partition(":")[0]])
            for test in self.tests
            for seed in seeds
        ]


def ready(
    own: Machine,
    word: str,
    what: str,
    names: Sequence[str],
    kernel: str | None,
    say: Callable[[str], None],
) -> Ready:
    """Prepare the collection ``what``, or its test COLLECTION:TEST, of the tree ``word`` names.

    ``names`` are further tests of the collection. ``kernel`` names a machine that was built; its
    kernel is taken as it is, instead of the tree's with the collection's options.
    """
    found = tree.named(word, own)
    collection, _, test = what.partition(":")
    asked = [*filter(None, [test]), *names]
    with tree.copied(found, own) as copy:
        tree.require_collection(copy, collection)
        suite = build.build(copy, collection)
        config = options.config(copy, collection)
    chosen = choose(suite.tests, asked)
    if suite.complaint:
        say(f"{collection}: a program cannot be compiled: {suite.complaint}")
    if kernel is None:
        machine = options.machine(own, found, collection, config, say)
    else:
        machine = kernels.named(own, kernel)
    return Ready(tools.with_suite(machine, suite), suite, chosen)


def choose(tests: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the tests of these names; all if none is asked for.

    Raises `ScenarioError` for a name that is none, with the nearest ones.
    """
    by_name = {test.partition(":")[2]: test for test in tests}
    for name in asked:
        if name not in by_name:
            near = sorted(by_name) if len(by_name) <= MOST_NAMED else []
            near = near or difflib.get_close_matches(name, by_name, 5, 0.5) or sorted(by_name)[:10]
            more = "" if len(near) == len(by_name) else f" and {len(by_name) - len(near)} more"
            raise ScenarioError(
                f"--test: {name!r} is no test of {tests[0].partition(':')[0]}; "
                f"one of: {', '.join(near)}{more}"
            )
    return tuple(by_name[name] for name in dict.fromkeys(asked)) or tuple(tests)
