# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.docs.pictures [NAME…]``: the pictures of README and documentation, all by
default, each of a page that Hoplab made of runs made now. Needs Chromium.

What each shows is kept beside them, in ``docs/figures/pictures.json`` (`tests.docs.pictured`), and
held against runs and text by ``tests/docs``.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import frame_to_be_available_and_switch_to_it
from selenium.webdriver.support.ui import WebDriverWait

from hoplab.model.resources import PROJECT
from tests.docs import pictured
from tests.docs.pictured import FIGURES, KEPT

HOPLAB = PROJECT / ".venv" / "bin" / "hoplab"
TUTORIAL = PROJECT / "docs" / "tutorial.md"
LESSON = PROJECT / "experiments/lessons/hidden-terminals.toml"
WHAT_IF = LESSON.with_name("what-if.toml")
FLOW_S, MOVE_S, END_S = 15, 30, 50
"""When somebody starts the second flow, moves its sender, and takes the picture, in s."""
WIDTH_PX, MARGIN_PX, CHROME_PX = 1000, 10, 100
SCALE = 1.25
LIVE_PX = 1280
URL = re.compile(r"http://\S+")
SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    "--hide-scrollbars",
)


def hoplab(*words: str, cwd: Path) -> None:
    subprocess.run([HOPLAB, *words], cwd=cwd, check=True, stdout=subprocess.DEVNULL)


def tutorial(folder: Path) -> None:
    """The runs of the tutorial, by its own files and commands."""
    text = TUTORIAL.read_text(encoding="utf-8").replace("\\\n", " ")
    file = re.search(r'```toml title="windows.toml"\n(.*?)```', text, re.DOTALL)
    assert file is not None
    (folder / "windows.toml").write_text(file[1], encoding="utf-8")
    for verb in ("new", "run", "sweep"):
        line = re.search(rf"^hoplab ({verb} (?!.*--(?:set|dry-run)).*)$", text, re.MULTILINE)
        assert line is not None
        hoplab(*line[1].split(), cwd=folder)


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for switch in SWITCHES:
        options.add_argument(switch)
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


def picture(page: Path, out: Path, first: str, last: str) -> None:
    """The page from element ``first`` (a CSS selector) to the end of ``last``, figures drawn."""
    with browser() as driver:
        driver.set_window_size(WIDTH_PX, WIDTH_PX)
        driver.get(page.resolve().as_uri())
        WebDriverWait(driver, 60).until(
            lambda d: d.execute_script("return document.querySelector('.main-svg') !== null")
        )
        place = "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
        end = driver.execute_script(place + "return r.bottom + scrollY", last)
        driver.set_window_size(WIDTH_PX, int(end) + MARGIN_PX + CHROME_PX)
        begin = driver.execute_script(place + "return r.top + scrollY", first)
        clip = {"x": 0, "y": max(0, begin - MARGIN_PX), "width": WIDTH_PX, "scale": SCALE}
        clip["height"] = end + MARGIN_PX - clip["y"]
        shot = driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
    out.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def _on_a_page(folder: Path, *words: str) -> Iterator[webdriver.Chrome]:
    """A command with a live page, and a browser that shows it."""
    with (
        subprocess.Popen(
            [HOPLAB, *words, "--live"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as running,
        browser() as driver,
    ):
        assert running.stdout is not None
        driver.set_window_size(LIVE_PX, LIVE_PX)
        driver.get(next(url[0] for line in running.stdout if (url := URL.search(line))))
        try:
            yield driver
        finally:
            running.terminate()


def _taken(driver: webdriver.Chrome, out: Path) -> None:
    """The whole page, as it is now."""
    height = driver.execute_script("return document.body.scrollHeight")
    driver.set_window_size(LIVE_PX, height + CHROME_PX)
    time.sleep(2)  # figures take the new width
    height = driver.execute_script("return document.body.scrollHeight")
    clip = {"x": 0, "y": 0, "width": LIVE_PX, "height": height, "scale": 1}
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
    )
    out.write_bytes(base64.b64decode(shot["data"]))


def live(folder: Path, out: Path) -> None:
    """A session on the page: hidden terminals, one starves, until c is put where a hears it."""
    with _on_a_page(folder, "shell", str(LESSON), "--out", "session") as driver:
        start = "#flow-rows tr:nth-child({}) button"
        _clock(driver, 1)
        driver.find_element(By.CSS_SELECTOR, start.format(1)).click()
        _clock(driver, FLOW_S)
        driver.find_element(By.CSS_SELECTOR, start.format(2)).click()
        _clock(driver, MOVE_S)
        for axis in "xy":
            field = driver.find_element(By.CSS_SELECTOR, f"[aria-label='{axis} of c in m']")
            field.send_keys(Keys.CONTROL, "a")
            field.send_keys("100", Keys.TAB)
        _clock(driver, END_S)
        _taken(driver, out)


def future(folder: Path, out: Path) -> None:
    """A run that goes back to 18 s: the relay does not fail, and both futures stand there."""
    words = ("run", str(WHAT_IF), "--pace", "1", "--out", "what-if")
    with _on_a_page(folder, *words) as driver:
        _clock(driver, 24)
        driver.execute_script("""
            const slider = document.getElementById("time");
            slider.value = 18;
            slider.dispatchEvent(new Event("input"));""")
        driver.find_element(By.CSS_SELECTOR, "#later input").click()
        driver.find_element(By.CSS_SELECTOR, "#what-if button").click()
        frame = (By.CSS_SELECTOR, "#futures iframe")
        WebDriverWait(driver, 60).until(frame_to_be_available_and_switch_to_it(frame))
        _clock(driver, 36)
        driver.switch_to.default_content()
        _taken(driver, out)


def _clock(driver: webdriver.Chrome, at_s: float) -> None:
    """Wait until the page shows that time."""
    text = "return parseFloat(document.querySelector('#clock')?.textContent)"
    WebDriverWait(driver, 120).until(lambda d: (d.execute_script(text) or 0) >= at_s)


def main(names: list[str]) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    wanted = names or ["report", "tutorial-report", "tutorial-sweep", "live", "live-future"]
    over_time = "section:nth-of-type(2)"
    with tempfile.TemporaryDirectory(prefix="hoplab-pictures-") as name:
        folder = Path(name)
        if "report" in wanted:
            hoplab("run", str(PROJECT / "experiments/demo.toml"), "--out", "demo", cwd=folder)
            picture(folder / "demo/report.html", FIGURES / "report.png", "body", over_time)
            kept["report"] = pictured.report(folder / "demo")
        if {"tutorial-report", "tutorial-sweep"} & {*wanted}:
            tutorial(folder)
            free, sweep = folder / "runs/free", folder / "sweeps/windows"
            picture(free / "report.html", FIGURES / "tutorial-report.png", over_time, over_time)
            picture(sweep / "index.html", FIGURES / "tutorial-sweep.png", over_time, over_time)
            kept["tutorial-report"] = pictured.over_time(free)
            kept["tutorial-sweep"] = pictured.sweep(sweep)
        if "live" in wanted:
            live(folder, FIGURES / "live.png")
            kept["live"] = pictured.live()
        if "live-future" in wanted:
            future(folder, FIGURES / "live-future.png")
            kept["live-future"] = pictured.future()
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
