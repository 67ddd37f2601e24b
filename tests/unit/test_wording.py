# SPDX-License-Identifier: Apache-2.0
"""No word of Pydantic's reaches the user: every kind of its errors has one of ours."""

import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import _pydantic_core

from hoplab.many.sweep.file import SweepFile
from hoplab.model import reading, wording
from hoplab.model.keys.scenario import Scenario
from hoplab.model.resolve import file

KINDS = {kind["type"]: kind for kind in _pydantic_core.list_all_errors()}  # type: ignore[attr-defined]
THEIRS = re.compile(
    r"\bvalid\b|dictionar|\binput\b|instance|integer|boolean|tuple|python|callable|permitted"
    r"|field required|function-|constrained|\[\w+\(|items? after|_only|\b_[a-z]|None|Value error",
    re.IGNORECASE,
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_words_of_ours(kind: str) -> None:
    context = KINDS[kind].get("example_context") or {}
    plain = {name: f"<{name.replace('_', ' ')}>" for name in context}
    told = wording.said(kind, plain)
    assert told and not THEIRS.search(told), told


def test_every_word_is_of_a_kind() -> None:
    kinds = {*wording.WORDS, *(f"{name}_type" for name in wording.EXPECTED)}
    assert kinds <= KINDS.keys()


class Inner(BaseModel):
    count: Annotated[int, Field(ge=1)]


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("is even")
    return value


class Outer(BaseModel):
    flag: Literal["a", "b"] = "a"
    seeds: Annotated[int, Field(strict=True, ge=1)] | tuple[int, ...] | Inner | None = None
    names: Annotated[tuple[Annotated[str, Field(pattern="^[a-z]+$")], ...], Field(min_length=1)] = (
        "x",
    )
    places: tuple[tuple[float, float], ...] = ()
    by_name: dict[str, float] = {}


def told(document: dict[str, Any]) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(document)
    return [
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wording.worded(caught.value)
    ]


@pytest.mark.parametrize(
    ("document", "lines"),
    [
        ({"seeds": "x"}, ["seeds: should be a whole number or a list or a table"]),
        ({"seeds": 0}, ["seeds: should be greater than or equal to 1"]),
        ({"seeds": {"count": 0}}, ["seeds.count: should be greater than or equal to 1"]),
        ({"seeds": {}}, ["seeds.count: missing; every such table needs it"]),
        ({"names": []}, ["names: should have at least 1 entry, not 0"]),
        ({"names": 3}, ["names: should be a list"]),
        ({"names": ["A"]}, ["names.0: should have the form ^[a-z]+$ (a regular expression)"]),
        ({"places": [[1.0]]}, ["places.0.1: missing; the list is too short"]),
        ({"by_name": {"Aname": "x"}}, ["by_name.Aname: should be a number"]),
        ({"flag": "c", "seeds": []}, ["flag: should be 'a' or 'b'"]),
    ],
)
def test_a_value_of_several_forms_has_a_line(document: dict[str, Any], lines: list[str]) -> None:
    assert told(document) == lines


VALUES: tuple[Any, ...] = (3, -1, 1.5, "x", "", True, [], [1], [[]], {}, {"x": 1}, [{}], [{"x": 1}])


@pytest.mark.parametrize("root", [Scenario, SweepFile])
def test_no_value_of_any_key_is_told_in_their_words(root: type[BaseModel]) -> None:
    for name, field in root.model_fields.items():
        for value in VALUES:
            try:
                root.model_validate({field.alias or name: value})
            except ValidationError as error:
                for line in (*file.told(error, "f", root).splitlines(), reading.mistake(error)):
                    assert not THEIRS.search(re.sub(r"allowed: .*|one of: .*", "", line)), line
