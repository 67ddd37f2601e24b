# SPDX-License-Identifier: Apache-2.0
"""Outcomes as JUnit XML, which continuous integration reads."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from hoplab.host.selftest.ktap import Status
from hoplab.host.selftest.one import Outcome

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a document of XML 1.0 cannot have (section 2.2)."""


def document(outcomes: Sequence[Outcome]) -> str:
    """Return the document: a suite for each collection, a case for each run of a test. Times are
    virtual seconds."""
    root = ElementTree.Element("testsuites", _counts(outcomes))
    collections = dict.fromkeys(one.request.test.partition(":")[0] for one in outcomes)
    for collection in collections:
        own = [one for one in outcomes if one.request.test.partition(":")[0] == collection]
        suite = ElementTree.SubElement(root, "testsuite", {"name": collection, **_counts(own)})
        for outcome in own:
            _case(suite, collection, outcome)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, collection: str, outcome: Outcome) -> None:
    name = f"{outcome.request.test.partition(':')[2]} seed {outcome.request.seed}"
    facts = {"name": name, "classname": collection, "time": f"{outcome.virtual_s:.2f}"}
    case = ElementTree.SubElement(suite, "testcase", facts)
    if outcome.status in (Status.SKIP, Status.XFAIL):
        ElementTree.SubElement(case, "skipped", {"message": _text(outcome.why)})
    elif outcome.status is Status.FAIL:
        failed = [part.name for part in outcome.parts if part.status is Status.FAIL]
        message = "; ".join(filter(None, (outcome.why, *failed)))
        ElementTree.SubElement(case, "failure", {"message": _text(message)})
    if outcome.status is not Status.PASS:
        ElementTree.SubElement(case, "system-out").text = _text("\n".join(outcome.lines))


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    status = [one.status for one in outcomes]
    return {
        "tests": str(len(status)),
        "failures": str(status.count(Status.FAIL)),
        "errors": "0",
        "skipped": str(status.count(Status.SKIP) + status.count(Status.XFAIL)),
        "time": f"{sum(one.virtual_s for one in outcomes):.2f}",
    }


def _text(value: str) -> str:
    return NOT_IN_XML.sub("\ufffd", value)
