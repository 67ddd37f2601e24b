# SPDX-License-Identifier: Apache-2.0
"""Results of tests in the kernel's form: KTAP (Documentation/dev-tools/ktap.rst of Linux), as
kselftest's ``run_kselftest.sh`` prints it.

A test's own output is in comments. Results of its parts are lines of that form inside these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

HEADER = "TAP version 13"
RESULT = re.compile(
    r"(?P<nested>(?:# +| +)*)(?P<word>ok|not ok) (?P<number>\d+)(?: -)? ?(?P<name>[^#]*?)"
    r"\s*(?:# *(?P<directive>.*))?"
)


class Status(StrEnum):
    """How a test ended: kselftest's own four, by their words."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"
    XFAIL = "xfail"


@dataclass(frozen=True)
class Result:
    """One line of a result; ``nested`` for a part of a test."""

    name: str
    status: Status
    nested: bool
    why: str = ""
    """What follows the sign #, such as ``exit=1`` or ``TIMEOUT 45 seconds``."""


def parse(lines: Iterable[str]) -> list[Result]:
    """Return the results in lines of KTAP, in their order."""
    found = []
    for line in lines:
        named = RESULT.fullmatch(line.rstrip())
        if named is None:
            continue
        directive = (named["directive"] or "").strip()
        word = directive.partition(" ")[0].upper()
        # kselftest's XFAIL is "ok N NAME # XFAIL"; the older TAP's is "not ok N NAME # TODO".
        if word == "SKIP":
            status = Status.SKIP
        elif word in ("XFAIL", "TODO"):
            status = Status.XFAIL
        else:
            status = Status.PASS if named["word"] == "ok" else Status.FAIL
        found.append(Result(named["name"].strip(), status, bool(named["nested"]), directive))
    return found


def line(number: int, name: str, status: Status, why: str = "") -> str:
    """Return a result's line as ktap_helpers.sh prints it."""
    word = "not ok" if status is Status.FAIL else "ok"
    sign = "" if status in (Status.PASS, Status.FAIL) else status.upper()
    text = " ".join(filter(None, (sign, why.replace("#", "").strip())))
    return f"{word} {number} {name}" + (f" # {text}" if text else "")


def totals(statuses: Sequence[Status]) -> str:
    """Return the last line, as ktap_print_totals prints it."""
    count = {status: statuses.count(status) for status in Status}
    return (
        f"# Totals: pass:{count[Status.PASS]} fail:{count[Status.FAIL]} "
        f"xfail:{count[Status.XFAIL]} xpass:0 skip:{count[Status.SKIP]} error:0"
    )
