# SPDX-License-Identifier: Apache-2.0
"""Compare a study's quick version with the committed ``expected.json``.

Runs repeat to the byte on one machine (by its hash), so values there must be equal but for
rounding. Another machine, such as a rebuilt daemon, shifts instants by nanoseconds. All later
random numbers then differ, and the values are further draws of the same quantity.

`DRAWS` runs of the quick version under other seeds show how far such a draw may lie off. They are
made when the file is written. The limit is `DEVIATIONS` standard deviations. Of a normal value one
draw in 5000 lies outside (Student's t, 9 degrees of freedom). A study with thirty values thus fails
by chance at one change of machine in 170. A changed model moves values by more. A verdict is
compared if it was the same in every draw.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev

from hoplab.many.study.findings import Findings
from hoplab.model.errors import ResultsError
from hoplab.model.reading import content

DRAWS = 10
DEVIATIONS = 6.0
ROUNDING = 1e-9
"""Relative deviation between processors' libraries, on the same machine by hash."""
LEAST = 0.005
"""Relative deviation that is allowed on another machine if all draws were equal."""


@dataclass(frozen=True)
class Value:
    """``value`` under the committed seeds, and mean and standard deviation over ``draws``."""

    value: float
    mean: float
    deviation: float
    limit: float
    """Largest distance from ``mean`` on another machine."""


@dataclass(frozen=True)
class Expected:
    """Values of the quick version, and the machine that made them."""

    machine: str
    draws: int
    values: dict[str, Value]
    verdicts: dict[str, str]
    sometimes: tuple[str, ...] = ()
    """Values that a draw may lack, because nothing arrived in it. They are not compared."""

    @classmethod
    def of(cls, machine: str, drawn: Sequence[Findings]) -> Expected:
        """Return the expected values. The first of ``drawn`` has the committed seeds, and each
        other one has further seeds."""
        names = list(dict.fromkeys(name for findings in drawn for name in findings.values))
        sometimes = tuple(n for n in names if any(n not in f.values for f in drawn))
        values = {
            name: _value([findings.values[name] for findings in drawn])
            for name in names
            if name not in sometimes
        }
        told = [{claim.name: claim.verdict for claim in findings.claims} for findings in drawn]
        verdicts = {
            name: str(verdict)
            for name, verdict in told[0].items()
            if all(other.get(name) == verdict for other in told)
        }
        return cls(machine, len(drawn), values, verdicts, sometimes)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Expected:
    """Read the file. Raises `ResultsError` if it is missing or damaged."""
    try:
        document = json.loads(content(path))
        values = {name: Value(**value) for name, value in document["values"].items()}
        sometimes = tuple(document.get("sometimes", ()))
        return Expected(
            document["machine"], document["draws"], values, document["verdicts"], sometimes
        )
    except FileNotFoundError:
        raise ResultsError(
            f"{path}: is not there, so nothing to compare with; --quick --expect writes it"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}; --quick --expect renews it") from None


def differences(expected: Expected, machine: str, found: Findings) -> Iterator[str]:
    """Yield a line for each value and verdict that differs from the committed one."""
    same = machine == expected.machine
    for name, wanted in expected.values.items():
        value = found.values.get(name)
        if value is None:
            yield f"{name}: is expected and was not found"
        elif same and not math.isclose(value, wanted.value, rel_tol=ROUNDING, abs_tol=1e-12):
            yield f"{name}: {value!r}, expected {wanted.value!r} to the digit: same machine"
        elif not same and not abs(value - wanted.mean) <= wanted.limit:
            yield f"{name}: {value:.4g}, expected {wanted.mean:.4g} ± {wanted.limit:.2g}"
    for name in found.values.keys() - expected.values.keys() - set(expected.sometimes):
        yield f"{name}: is new; --quick --expect adds it"
    verdicts = {claim.name: claim.verdict for claim in found.claims}
    for name, verdict in expected.verdicts.items():
        if verdicts.get(name) != verdict:
            yield f"claim {name}: {verdicts.get(name, 'missing')}, expected {verdict}"


def _value(draws: Sequence[float]) -> Value:
    mean = fmean(draws)
    deviation = stdev(draws) if len(draws) > 1 else 0.0
    limit = DEVIATIONS * deviation * math.sqrt(1 + 1 / len(draws)) + LEAST * abs(mean)
    return Value(draws[0], mean, deviation, limit)
