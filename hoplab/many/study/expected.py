# SPDX-License-Identifier: Apache-2.0
"""Hold a study's quick version against what is committed: ``expected.json``.

Runs repeat to the byte on one machine (by its hash), so there a value must be equal but for
rounding. Another machine, a rebuilt daemon is one, shifts instants by nanoseconds, and with that
every lot that is drawn afterwards: the values are then further draws of the same quantity. How far
such a draw may lie off is known from `DRAWS` runs of the quick version under other seeds, made when
the file is written: `DEVIATIONS` standard deviations. Of a normal value one draw in 5000 lies
outside (Student's t, 9 degrees of freedom), so a study with thirty values fails by chance at one
change of machine in 170, while a changed model moves values by more. A verdict is held if it came
out the same in every draw.
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
"""Relative: between processors' libraries, on the same machine by hash."""
LEAST = 0.005
"""Relative: what a value may move by on another machine where all draws were the same."""


@dataclass(frozen=True)
class Value:
    """``value`` by the committed seeds, and mean and standard deviation over ``draws``."""

    value: float
    mean: float
    deviation: float
    limit: float
    """Largest distance from ``mean`` on another machine."""


@dataclass(frozen=True)
class Expected:
    """What the quick version gives, and on which machine it was drawn."""

    machine: str
    draws: int
    values: dict[str, Value]
    verdicts: dict[str, str]
    sometimes: tuple[str, ...] = ()
    """Values that a draw may lack, since nothing arrived in it: they are not held."""

    @classmethod
    def of(cls, machine: str, drawn: Sequence[Findings]) -> Expected:
        """The first of ``drawn`` by the committed seeds, each other one by seeds of its own."""
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
    """Raises `ResultsError` where the file is not there or damaged."""
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
    """A line for each value and verdict that is not as committed."""
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
