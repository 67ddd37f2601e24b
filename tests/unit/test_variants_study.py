# SPDX-License-Identifier: Apache-2.0
"""The variants study runs what the validation runs, and judges as the figures say."""

from typing import Any

import pytest

from hoplab.many.study import folder
from hoplab.many.study.shares import Share
from hoplab.many.sweep import api as sweep
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import EXPERIMENTS
from tests.validate import dumbbell

FOLDER = EXPERIMENTS / "variants"
ANALYSIS: Any = folder.find("variants").analysis()


def resolved(document: dict[str, Any]) -> dict[str, Any]:
    return resolve(parse({**document, "title": ""}, "scenario")).model_dump()


@pytest.mark.parametrize(
    ("file", "variants", "at"),
    [
        ("sweep.toml", ("reno",), {"variant": "reno", "cbr": 10, "draw": 3}),
        (
            "sweep-pairs.toml",
            ("newreno", "vegas"),
            {"pair": "NewReno / Vegas", "cbr": 10, "draw": 2},
        ),
    ],
)
def test_the_validation_runs_the_same(
    file: str, variants: tuple[str, ...], at: dict[str, Any]
) -> None:
    points = [p for p in sweep.read(FOLDER / file).points() if dict(p.parameters) == at]
    own = [resolved(point.document) for point in points]
    assert own == [resolved(dumbbell.scenario(variants, 10.0, at["draw"]))]


def alone(lost: dict[str, tuple[float, float]]) -> Any:
    """Shares at 8 and 9 Mbit/s that differ in what is lost."""
    return {
        (variant, cbr): [Share(1.0, percent, 50.0), Share(1.0, percent, 50.0)]
        for variant, both in lost.items()
        for cbr, percent in zip((8.0, 9.0), both, strict=True)
    }


@pytest.mark.parametrize(
    ("vegas", "others", "verdict"),
    [((0.0, 0.1), (1.0, 3.0), "reproduced"), ((1.0, 3.0), (1.0, 3.0), "in part")],
)
def test_a_jump_that_spares_vegas(
    vegas: tuple[float, float], others: tuple[float, float], verdict: str
) -> None:
    found = alone({"tahoe": others, "reno": others, "newreno": others, "vegas": vegas})
    claims = {claim.name: claim for claim in ANALYSIS._alone_claims(found)}
    assert claims["jump"].verdict == verdict
