# SPDX-License-Identifier: Apache-2.0
"""A page's server without a run, and a browser to look at it."""

from collections.abc import Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from hoplab.model.keys.resolved import Resolved
from hoplab.model.records.schema import TABLES
from hoplab.model.resolve.file import parse
from hoplab.model.resolve.resolve import resolve
from hoplab.show.live.server import Server
from hoplab.show.live.view import View

SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-extensions", "--disable-background-networking", "--no-first-run"),
)


def row(table: str, **values: Any) -> dict[str, Any]:
    """A row of ``table``, whose other columns have some value."""
    zero: dict[str, Any] = {"string": "x", "integer": 0, "float": 0.0}
    columns = TABLES[table].columns
    blank = {c.name: zero[c.type] if c.null is None else None for c in columns}
    assert values.keys() <= blank.keys()
    return {**blank, **values}


def chain(stations: int, **more: Any) -> Resolved:
    last = f"n{stations - 1}"
    document = {
        "title": "A <b>chain</b> & more",
        "duration_s": 20,
        "topology": {"kind": "chain", "stations": stations},
        "flow": [{"source": "n0", "destination": last}],
        **more,
    }
    return resolve(parse(document, "test"))


@pytest.fixture
def view() -> View:
    return View(chain(3))


@pytest.fixture
def server(view: View) -> Iterator[Server]:
    made = Server(view)
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for switch in (*SWITCHES, "--window-size=1280,1000"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()
