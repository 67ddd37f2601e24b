# SPDX-License-Identifier: Apache-2.0
"""Expressions for `ready.log`: those that backtrack without end are refused before a run."""

import re

import pytest

from hoplab.model.errors import ScenarioError
from hoplab.model.keys import expressions
from hoplab.model.resolve.file import parse

ENDLESS = (
    *("(a+)+b", "(a*)*b", "(?:a+)*?b", r"(\w+\s?)*$", "(a|a)*b", "(a|ab|b)+c", "(?:x?y?)+z"),
    *("((a{1,9}){1,9}){1,9}b", "(a?){30}a{30}", "(?=(a+)+b)", "(?>(a+)+b)", "(a|(b+)+c)"),
    *(r"(?:(.*),)*x", "(a|)*b", "(?:(?P<x>a)?(?(x)b*|c))+d"),
)
BOUNDED = (
    *("listening", r"^listening on .*:\d+$", r"ready in \d+\.\d+ s", r"(?:\d{1,3}\.){3}\d{1,3}"),
    *("(foo|bar)+ ready", "(?>a+)+b", "(a++)+b", "(?:[ab])*c", r"port (80|443)", "(ab)*c"),
    *("(?i:up|running)", "(a{2})+b"),
)


@pytest.mark.parametrize("expression", ENDLESS)
def test_what_may_take_endless_time_is_refused(expression: str) -> None:
    ready = {"log": expression}
    program = {"name": "late", "station": "n0", "run": "sh -c :", "ready": ready}
    with pytest.raises(ScenarioError) as caught:
        parse({"topology": {"kind": "pair"}, "program": [program]}, "file")
    (line,) = str(caught.value).splitlines()
    assert "ready.log" in line and "several ways to match" in line and "(?>a+)+b" in line
    assert repr(expression) in line


@pytest.mark.parametrize("expression", BOUNDED)
def test_usual_expressions_are_taken(expression: str) -> None:
    assert expressions.fault(expression) is None


@pytest.mark.parametrize("expression", ["(", "a{99999999999}", "*"])
def test_what_is_no_expression_is_named(expression: str) -> None:
    said = str(expressions.fault(expression))
    assert said.startswith("is no regular expression: ")


def test_the_remedy_matches_the_same_in_a_moment() -> None:
    """Of 30 letters, the original would need 2**30 steps."""
    assert re.search("(?>a+)+b", "a" * 30) is None
    assert re.search("(?>a+)+b", "a" * 30 + "b")
