# SPDX-License-Identifier: Apache-2.0
"""What an agent decided in a run, in the run's folder: with it `hoplab verify` repeats the run."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from hoplab.host.results.manifest import read_json
from hoplab.host.runs.steps import Steps, Wanted
from hoplab.model import writing
from hoplab.model.errors import ResultsError, ScenarioError
from hoplab.model.keys import requests
from hoplab.model.keys.declare import Label, Number, Table
from hoplab.model.keys.requests import Request
from hoplab.model.keys.resolved import Resolved
from hoplab.model.reading import mistake
from hoplab.model.resolve.file import parse_resolved

NAME = "decisions.json"
KINDS = (
    *(requests.Up, requests.Down, requests.Move, requests.Lose, requests.Transmit),
    *(requests.Start, requests.Stop, requests.Window, requests.Route),
    *(requests.Scheme, requests.Rate, requests.Reseed),
)
"""What agents decide."""


class _Wanted(Table):
    step_s: Number = Field(gt=0)
    windows: list[Label]
    flows: list[Label]
    medium: bool


class _Kept(Table):
    scenario: dict[str, Any]
    wanted: _Wanted
    told: list[list[dict[str, Any]]]


@dataclass(frozen=True)
class Decided:
    """A run's scenario as it began, what its agent wanted to decide, and its answers in order."""

    scenario: Resolved
    wanted: Wanted
    told: Sequence[Sequence[Request]]


def write(out: Path, scenario: Resolved, steps: Steps) -> None:
    """Keep the decisions of a run, whose ``scenario`` is as it began, in its folder."""
    kept = {
        "scenario": scenario.model_dump(mode="json", exclude_none=True),
        "wanted": asdict(steps.wanted),
        "told": [[act.document() for act in acts] for acts in steps.told],
    }
    writing.write_text(out / NAME, json.dumps(kept))


def read(folder: Path, name: str) -> Decided:
    """Return the decisions of a run, which may be a stranger's and is called ``name`` in errors.
    Raises `ResultsError` if there are none."""
    if not (folder / NAME).is_file():
        raise ResultsError(f"{name}: an agent took part in it, and no {NAME} says how")
    try:
        kept = _Kept.model_validate(read_json(folder / NAME))
        told = [[requests.read(act, KINDS) for act in acts] for acts in kept.told]
        scenario = parse_resolved(kept.scenario, "scenario")
    except ValidationError as error:
        raise ResultsError(f"{name}: {NAME}: {mistake(error)}") from None
    except ScenarioError as error:
        raise ResultsError(f"{name}: {NAME}: {str(error).splitlines()[0]}") from None
    return Decided(scenario, Wanted(**kept.wanted.model_dump()), told)


@contextmanager
def repeated(decided: Decided) -> Iterator[Steps]:
    """Provide the steps of a run to perform inside, which then decides as it did."""
    steps = Steps(decided.wanted)
    thread = threading.Thread(target=_repeat, args=(steps, decided.told), name="again", daemon=True)
    thread.start()
    try:
        yield steps
    finally:
        steps.close()
        thread.join()


def _repeat(steps: Steps, told: Sequence[Sequence[Request]]) -> None:
    with contextlib.suppress(Exception):  # the run fails, and says why
        for acts in told:
            with contextlib.suppress(ScenarioError):  # it was refused then, too
                if steps.reached() is None:
                    return
            steps.go_on(acts)
