# SPDX-License-Identifier: Apache-2.0
"""Who makes block ack agreements: the medium, or mac80211 (`radio.aggregation`)."""

import json
import tomllib
from pathlib import Path

import pytest

from hoplab.guest.medium import config
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.scenario import Scenario
from hoplab.model.network.plan import plan
from hoplab.model.resolve import file
from hoplab.model.resolve.resolve import resolve, resolve_medium

KERNEL = """
[topology]
kind = "pair"
spacing_m = 10
[radio]
profile = "80211n"
aggregation = "kernel"
"""
QUEUES = 'queue = "fq_codel"\n'


def resolved(text: str) -> Scenario:
    return resolve(file.parse(tomllib.loads(text), "agreements.toml"))


def test_the_document_names_hosts_only_where_they_agree(tmp_path: Path) -> None:
    """So documents of before stay what they were."""
    (tmp_path / "raw").mkdir()
    found = {}
    for way in ("true", '"kernel"'):
        scenario = resolved((KERNEL + QUEUES).replace('"kernel"', way))
        written = config.write(plan(scenario), 0, tmp_path, overhear=False)
        found[way] = json.loads(written.read_text())["params"]["edca"]["aggregation"]
    assert found['"kernel"'] == found["true"] | {"by_hosts": True}
    assert "by_hosts" not in found["true"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (KERNEL, ['radio.aggregation: "kernel"', 'radio.queue is "fifo"', '"fq_codel"']),
        (
            f'{KERNEL}{QUEUES}[network]\nmedium = "daemon"\n',
            ['radio.aggregation: "kernel"', 'network.medium is "daemon"', "aggregation = true"],
        ),
        (
            f'{KERNEL}{QUEUES}[[loss]]\nrate = 0.1\ntakes = "packets"\n',
            ['loss.0.takes: "packets"', 'radio.aggregation is "kernel"'],
        ),
        (
            f'{KERNEL}{QUEUES}mac = "csma-ca-noack"\n',
            ['radio.aggregation: "kernel"', '"csma-ca-noack"'],
        ),
        (
            KERNEL.replace("80211n", "80211ac") + QUEUES + 'rate_mbps = "auto"\nmcs = 9\n',
            ["radio.mcs: 9", 'radio.rate_mbps = "auto"', "radio.mcs = 8"],
        ),
        (KERNEL.replace('"kernel"', "1"), ["radio.aggregation: 1", "one of true, false, kernel"]),
    ],
)
def test_what_the_kernel_cannot_agree_on_is_refused(text: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as error:
        resolved(text)
    for word in words:
        assert word in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_medium_outside_the_kernel_refuses_its_agreements() -> None:
    given = {
        "station": [{"name": "a", "mac": "02:00:00:00:00:01"}],
        "records": {"dir": "/r"},
        "radio": {"profile": "80211n", "aggregation": "kernel"},
    }
    with pytest.raises(ScenarioError, match=r'radio\.aggregation: "kernel" needs the medium in'):
        resolve_medium(MediumFile.model_validate(given))
