# SPDX-License-Identifier: Apache-2.0
"""The live page in a real browser: a run that it follows, and a network that it takes part in."""

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from starlette.requests import Request
from starlette.responses import Response

from hoplab.host import results
from hoplab.model.resources import PACKAGE, PROJECT
from hoplab.show.live import server as live
from hoplab.show.live.server import Act, Server
from hoplab.show.live.view import View
from tests.page.conftest import chain, row
from tests.page.started import started
from tests.scenarios import TWO_HOPS

pytestmark = pytest.mark.chance

LIMIT_S = 100.0
DROPPED = (400.0, 150.0)
"""Where the last of the three is dragged."""
WHAT_IF = PROJECT / "experiments" / "lessons" / "what-if.toml"
SCENARIO = f"""
title = "Three in a line"
duration_s = 600
{TWO_HOPS}start_s = 0.5
congestion_control = "newreno"
"""


def until(holds: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + LIMIT_S
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what}: not within {LIMIT_S:g} s"
        time.sleep(0.1)
    return found


class Page:
    """What a person sees of a page."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self.browser = browser

    def lines(self, figure: str) -> list[dict[str, Any]]:
        """Name, panel and points of each line of a figure."""
        script = """
            const plot = document.querySelector(arguments[0]);
            return (plot && plot.data || []).map(line =>
                ({name: `${line.yaxis} ${line.name}`, x: [...line.x], y: [...line.y]}));"""
        found: list[dict[str, Any]] = self.browser.execute_script(script, figure)
        return found

    def clock_s(self) -> float:
        return float(self.text("#clock").split()[0])

    def text(self, selector: str) -> str:
        return self.browser.find_element(By.CSS_SELECTOR, selector).text

    def click(self, selector: str) -> None:
        self.browser.find_element(By.CSS_SELECTOR, selector).click()

    def place(self, station: int) -> tuple[float, float]:
        """Where the map has it."""
        trace = self.lines("#map")[-1]
        return trace["x"][station], trace["y"][station]

    def top(self) -> float:
        """How far up the map reaches, in m."""
        script = "return document.getElementById('map')._fullLayout.yaxis.range[1]"
        return float(self.browser.execute_script(script))

    def errors(self) -> list[str]:
        """What the console has to complain of."""
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def unnamed(self) -> list[str]:
        """Controls that a screen reader could only call by their kind."""
        script = """
            const named = e =>
                e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim();
            const told = e => e.ariaLabel || e.ariaLabelledByElements?.length;
            return [...document.querySelectorAll("button, input, select, [role=figure]")]
                .filter(e => !(e.getAttribute("role") === "figure" ? told(e) : named(e)))
                .map(e => e.outerHTML.slice(0, 120));"""
        found: list[str] = self.browser.execute_script(script)
        return found


@pytest.fixture
def page(browser: webdriver.Chrome) -> Page:
    # The page of the test before still asks a server that has ended; it goes first.
    browser.get("about:blank")
    browser.get_log("browser")
    return Page(browser)


def points(lines: list[dict[str, Any]]) -> set[tuple[str, float, float]]:
    return {
        (line["name"], x, y)
        for line in lines
        for x, y in zip(line["x"], line["y"], strict=True)
        if y is not None
    }


def enough(
    drawn: set[tuple[str, float, float]], least: int = 20
) -> set[tuple[str, float, float]] | None:
    """The points, once they are more than these."""
    return drawn if len(drawn) > least else None


def test_a_run_is_followed_and_its_page_becomes_the_report(page: Page, tmp_path: Path) -> None:
    file, out = tmp_path / "line.toml", tmp_path / "run"
    file.write_text(SCENARIO)
    arguments = ("run", str(file), "--live", "--pace", "1", "--out", str(out))
    with started(*arguments) as (process, url):
        page.browser.get(url)
        until(lambda: len(page.lines("#over-time")) >= 3, "lines of the flow")
        before = page.clock_s()
        until(lambda: page.clock_s() > before + 1, "a later second")
        early = until(lambda: enough(points(page.lines("#over-time"))), "its points")
        until(lambda: any(line["x"] for line in page.lines("#map")[:5]), "a link in use")
        assert float(page.text("#flow-rows tr td:nth-of-type(2)").replace("\u202f", "")) > 0
        assert page.text("#status") == "running"
        # Back in time by keyboard: the map is that of then, events to come are pale.
        slider = page.browser.find_element(By.ID, "time")
        slider.send_keys(Keys.HOME)
        assert page.text("#shown") == "0.0 s"
        until(lambda: not any(line["x"] for line in page.lines("#map")[:5]), "no link at 0")
        assert page.browser.find_elements(By.CSS_SELECTOR, "#event-rows .pale")
        page.click("#now")
        assert page.text("#shown") == "now"
        assert page.unnamed() == []
        # However slow this host is: the run ends when all that was looked at.
        process.send_signal(signal.SIGINT)
        until(lambda: page.browser.current_url.endswith("/report"), "the report")
        assert process.wait(30) == 130
    drawn = points(page.lines(".js-plotly-plot"))
    assert early <= drawn
    tcp = results.load(out).rows("tcp")
    assert {(f"y2 {row['flow']}", row["t_s"], row["cwnd"]) for row in tcp} <= drawn
    assert page.browser.find_element(By.TAG_NAME, "h1").text == "Three in a line"
    assert page.errors() == []


def test_a_run_goes_back_and_has_another_future_beside_it(page: Page, tmp_path: Path) -> None:
    """A relay fails; the user goes back, lets it work, and sees both futures."""
    out = tmp_path / "run"
    arguments = ("run", str(WHAT_IF), "--live", "--pace", "2", "--out", str(out))
    with started(*arguments) as (process, url):
        page.browser.get(url)
        until(lambda: page.clock_s() > 21, "the failure")
        assert not page.browser.find_element(By.ID, "future").is_displayed()
        page.browser.execute_script("""
            const slider = document.getElementById("time");
            slider.value = 18;
            slider.dispatchEvent(new Event("input"));""")
        assert page.text("#later") == "20 s: the radio of n1 goes off"
        assert page.unnamed() == []
        page.click("#later input")
        page.click("#what-if button")
        until(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#futures iframe"), "its page")
        assert page.text("#told") == ""
        # Who looks at what was is not led to the report.
        until(lambda: page.browser.find_element(By.ID, "to-report").is_displayed(), "the end")
        frame = page.browser.find_element(By.CSS_SELECTOR, "#futures iframe")
        page.browser.switch_to.frame(frame)
        until(lambda: page.browser.find_elements(By.CSS_SELECTOR, ".js-plotly-plot"), "figures")
        at_end = "return location.pathname.endsWith('future1/report')"
        until(lambda: page.browser.execute_script(at_end), "its report")
        page.browser.switch_to.default_content()
        page.click("#to-report")
        assert process.wait(LIMIT_S) == 0
    after = {}
    for name, folder in (("failed", out), ("worked", Path(f"{out}-future1"))):
        found = results.load(folder)
        rows = [row for row in found.rows("tcp") if row["t_s"] > 24]
        after[name] = rows[-1]["delivered_bytes"] - rows[0]["delivered_bytes"]
    assert after["failed"] == 0 < after["worked"]
    assert found.manifest.branch is not None
    assert found.manifest.branch["at_s"] == 18
    assert page.errors() == []


def test_a_station_is_dragged_and_the_network_follows(page: Page, tmp_path: Path) -> None:
    file, out = tmp_path / "line.toml", tmp_path / "session"
    file.write_text(SCENARIO)
    with started("shell", str(file), "--live", "--out", str(out)) as (process, url):
        page.browser.get(url)
        until(lambda: page.text("#status") == "running", "the network")
        page.click("#flow-rows button")
        until(lambda: page.text("#flow-rows button") == "Stop", "the flow")
        until(lambda: len(page.lines("#over-time")) >= 3, "lines of the flow")
        assert page.unnamed() == []

        drag(page, 2, 0.0, 150.0)
        until(lambda: near(page.place(2), DROPPED), "the station")
        # By keyboard: its place typed, its radio switched.
        field = page.browser.find_element(By.CSS_SELECTOR, "[aria-label='x of n1 in m']")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys("230", Keys.TAB)
        until(lambda: page.place(1)[0] == 230, "n1")
        field = page.browser.find_element(By.CSS_SELECTOR, "[aria-label='y of n1 in m']")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys("700", Keys.TAB)
        until(lambda: page.place(1)[1] == 700 and page.top() > 700, "n1 on the map")
        switch = page.browser.find_element(
            By.CSS_SELECTOR, "[aria-label='Switch the radio of n2 off']"
        )
        switch.send_keys(Keys.SPACE)
        until(lambda: switch.text == "Switch on", "its radio off")
        page.click("#new-flow button")
        until(lambda: len(page.browser.find_elements(By.CSS_SELECTOR, "#flow-rows tr")) == 2, "it")
        assert page.text("#told") == ""
        page.click("#end")
        until(lambda: page.browser.current_url.endswith("/report"), "the report")
        assert process.wait(30) == 0
    found = results.load(out)
    last = {row["node"]: row for row in found.rows("nodes")}
    assert near((last["n2"]["x_m"], last["n2"]["y_m"]), DROPPED)
    assert last["n1"]["x_m"] == 230
    done = {(row["node"], row["kind"]) for row in found.rows("events")}
    assert {("n2", "move"), ("n2", "down"), ("n1", "move"), ("n0", "flow-start")} <= done
    kept = {(event["kind"], event["station"]) for event in found.scenario["event"]}
    assert kept == {("move", "n1"), ("move", "n2"), ("down", "n2")}
    assert [row["flow"] for row in found.rows("flows")] == ["flow0", "flow1"]
    assert page.errors() == []


def cells(page: Page, rows: str) -> list[list[str]]:
    """What a table's rows say."""
    return [
        [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")]
        for row in page.browser.find_elements(By.CSS_SELECTOR, f"#{rows} tr")
    ]


def sampled(t_s: float, flow: str, cwnd: int) -> dict[str, Any]:
    return row("tcp", t_s=t_s, flow=flow, cwnd=cwnd, rtt_ms=40.0, ca_state="Open")


@contextlib.contextmanager
def showing(page: Page, view: View, act: Act | None = None) -> Iterator[View]:
    """Serve the page of a run that only its rows make, and have it open."""
    with contextlib.closing(Server(view, act)) as server:
        server.start()
        page.browser.get(server.url)
        until(lambda: page.text("#status") == "waiting", "the page")
        yield view


@pytest.fixture
def played(page: Page) -> Iterator[tuple[Page, View, list[dict[str, Any]]]]:
    """A page that takes part in a run that only its rows make, and what it asks for."""
    asked: list[dict[str, Any]] = []
    taking = View(chain(3), endless=True)
    with showing(page, taking, lambda what: asked.append(what) or {}) as view:
        yield page, view, asked


def test_a_page_whose_run_is_over_asks_for_no_more_news(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends when the report is taken: a later question would find none."""
    news, asked = live.Page._news, [0]
    under_way, goes_on = threading.Event(), threading.Event()

    async def counted(self: live.Page, request: Request) -> Response:
        asked[0] += 1
        return await news(self, request)

    async def slow_report(self: live.Page, request: Request) -> Response:
        under_way.set()
        while not goes_on.is_set():
            await asyncio.sleep(0.05)
        text = '<link rel="icon" href="data:,"><h1>The report</h1>'
        return Response(text, media_type="text/html")

    monkeypatch.setattr(live.Page, "_news", counted)
    monkeypatch.setattr(live.Page, "_whole", slow_report)
    with showing(page, View(chain(3))) as view:
        view.tell("over", "report.html")
        until(under_way.is_set, "its question for the report")
        before = asked[0]
        time.sleep(1)
        assert asked[0] == before
        goes_on.set()
        until(lambda: page.browser.find_element(By.TAG_NAME, "h1").text == "The report", "it")
    assert page.errors() == []


def test_a_page_whose_run_failed_says_so_and_asks_no_more(page: Page) -> None:
    with showing(page, View(chain(3))) as view:
        view.tell("failed", "no report")
        until(lambda: page.text("#told") == "The run failed: no report", "the failure")
    time.sleep(1)
    assert page.text("#status") == "failed"
    assert page.errors() == []


def test_a_place_that_is_no_number_moves_nobody(played: Any) -> None:
    page, _, asked = played
    field = page.browser.find_element(By.CSS_SELECTOR, "[aria-label='x of n1 in m']")
    for typed in (Keys.DELETE, "-", "1e"):
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(typed, Keys.TAB)
        assert "n1: its place is a number" in page.text("#told")
        assert field.get_attribute("value") == "200"
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("0", Keys.TAB)
    until(lambda: asked, "the move")
    assert asked == [{"do": "move", "station": "n1", "x_m": 0, "y_m": 0}]


def test_a_place_is_typed_before_the_run_tells_of_its_first_half(played: Any) -> None:
    page, view, asked = played
    x, y = (
        page.browser.find_element(By.CSS_SELECTOR, f"[aria-label='{axis} of n1 in m']")
        for axis in "xy"
    )
    x.send_keys(Keys.CONTROL, "a")
    x.send_keys("30", Keys.TAB)
    until(lambda: asked, "the move")
    # News of a time before it: the station is where it was.
    view.add_all("nodes", [row("nodes", t_s=1.0, node="n1", x_m=200.0, y_m=0.0)])
    until(lambda: page.clock_s() == 1.0, "the news")
    y.send_keys(Keys.CONTROL, "a")
    y.send_keys("40", Keys.TAB)
    until(lambda: len(asked) == 2, "the second half")
    assert asked[1] == {"do": "move", "station": "n1", "x_m": 30, "y_m": 40}
    # Once reported, it is the run's again.
    view.add_all("nodes", [row("nodes", t_s=2.0, node="n1", x_m=30.0, y_m=40.0)])
    until(lambda: page.clock_s() == 2.0, "it is there")
    view.add_all("nodes", [row("nodes", t_s=3.0, node="n1", x_m=31.0, y_m=40.0)])
    until(lambda: x.get_attribute("value") == "31", "its further way")
    assert page.errors() == []


def test_a_line_that_has_grown_has_no_markers(played: Any) -> None:
    page, view, _ = played

    def modes() -> set[str]:
        script = "return (document.getElementById('over-time').data || []).map(line => line.mode)"
        return set(page.browser.execute_script(script))

    view.add_all("tcp", [sampled(0.1, "flow0", 2)])
    until(lambda: modes() == {"lines+markers"}, "the first sample")
    for tenth in range(2, 10):
        view.add_all("tcp", [sampled(tenth / 10, "flow0", 2)])
    until(lambda: modes() == {"lines"}, "a line")


def test_the_tables_say_what_goes_and_of_when(played: Any) -> None:
    page, view, _ = played
    flows = [{"name": f"flow{i}", "source": "n0", "destination": "n2"} for i in range(2)]
    view.tell_flows(flows, ["flow0", "flow1"])
    for tenth in range(1, 51):
        t_s = tenth / 10
        view.add_all("tcp", [sampled(t_s, "flow0", tenth)])
        if tenth > 20:
            view.add_all("tcp", [sampled(t_s, "flow1", 7)])
    until(lambda: page.text("#flow-count") == "2 flows", "the second flow")
    until(lambda: cells(page, "flow-rows")[0][3] == "50", "its window")
    view.tell_flows(flows, ["flow1"])
    until(lambda: cells(page, "flow-rows")[0][5] == "stopped", "its end")
    assert cells(page, "flow-rows")[0][2:6] == ["", "", "", "stopped"]
    assert cells(page, "flow-rows")[1][3:6] == ["7", "40", "Open"]
    assert cells(page, "station-rows")[0][3:] == ["on", "Switch off"]
    # Back in time the flows are those of then, and say so; what acts now says that.
    page.browser.find_element(By.ID, "time").send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * 10)
    until(lambda: cells(page, "flow-rows")[0][3] == "10", "its window of then")
    assert cells(page, "flow-rows")[1][2:6] == ["", "", "", ""]
    assert page.text("#flows-title") == "Flows at 1.0 s"
    assert page.text("#stations-title") == "Stations, as they are now"
    view.add_all("tcp", [sampled(5.1, "flow1", 8)])
    until(lambda: page.clock_s() == 5.1, "what is new")
    assert cells(page, "flow-rows")[0][3] == "10"
    page.click("#now")
    until(lambda: cells(page, "flow-rows")[1][3] == "8", "now")
    assert page.text("#flows-title") == "Flows"
    assert page.errors() == []


def test_a_table_can_be_had_as_csv(page: Page, tmp_path: Path) -> None:
    script = (PACKAGE / "show" / "report" / "report.js").read_text(encoding="utf-8")
    rows = "".join(
        f"<tr><th>flow{i}</th><td>a, &quot;b&quot;</td><td class='n'>\u22121\u202f234.5</td></tr>"
        for i in range(20)
    )
    head = "<th>Flow</th><th>Path</th><th class='n'>Goodput<br><i>kbit/s</i></th>"
    file = tmp_path / "table.html"
    file.write_text(
        f"<meta charset=utf-8><section><h2>Flows</h2><div class=scroll><table data-fold=10><thead>"
        f"<tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
        f"<script>{script}</script>"
    )
    page.browser.get(file.as_uri())
    page.browser.execute_script("""
        URL.createObjectURL = blob => {
            blob.text().then(text => { window.made = text; });
            return "#";
        };
        HTMLAnchorElement.prototype.click = function () { window.called = this.download; };""")
    page.click("[aria-label='Flows as CSV']")
    made = until(lambda: page.browser.execute_script("return window.made"), "the file")
    assert made.splitlines()[:2] == ["Flow,Path,Goodput kbit/s", 'flow0,"a, ""b""",-1234.5']
    assert len(made.splitlines()) == 21
    assert page.browser.execute_script("return window.called") == "flows.csv"


def test_a_page_from_disk_has_workers(page: Page, tmp_path: Path) -> None:
    """With which the site searches: browsers start none for files."""
    (tmp_path / "worker.js").write_text(
        'self.addEventListener("message", event => self.postMessage(`${event.data} and back`));'
    )
    script = (PROJECT / "docs" / "iframe-worker.js").read_text(encoding="utf-8")
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><body><script>{script}</script>")
    page.browser.get(file.as_uri())
    page.browser.execute_script("""
        const worker = new Worker("worker.js");
        worker.addEventListener("message", event => { window.heard = event.data; });
        worker.postMessage("there");""")
    heard = until(lambda: page.browser.execute_script("return window.heard"), "the answer")
    assert heard == "there and back"


def test_a_figure_is_a_file_for_paper(page: Page, tmp_path: Path) -> None:
    """Whatever the page's colours are: dark on white, without buttons."""
    show = PACKAGE / "show" / "report"
    style = ":root { --ink: #eee; --grid: #333; --paper: #111; }"
    figure = """
        window.asked = [];
        window.Plotly = {
            relayout: () => {},
            downloadImage: (figure, options) => window.asked.push([figure.layout, options]),
        };
        const plot = document.querySelector(".js-plotly-plot");
        plot.data = [];
        plot.layout = { xaxis2: {}, font: { size: 13, color: "#eee" }, updatemenus: [{}] };"""
    file = tmp_path / "page.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8><title>A run · Hoplab</title><style>{style}</style>"
        "<div role=figure aria-label='Over time'><div class=js-plotly-plot>x</div></div>"
        f"<script>{figure}</script><script>{(show / 'figures.js').read_text()}</script>"
    )
    page.browser.get(file.as_uri())
    page.click("[aria-label='Over time as PNG']")
    page.click("[aria-label='Over time as SVG']")
    (png, first), (svg, second) = page.browser.execute_script("return window.asked")
    assert (first["filename"], first["format"]) == ("a-run-over-time", "png")
    assert (second["filename"], second["format"]) == ("a-run-over-time", "svg")
    for layout in (png, svg):
        assert layout["font"] == {"size": 13, "color": "#1b2330"}
        assert (layout["paper_bgcolor"], layout["updatemenus"]) == ("#ffffff", [])
        assert layout["xaxis2"]["gridcolor"] == "#dfe3ea"


def near(place: tuple[float, float], wanted: tuple[float, float]) -> bool:
    """Within what a few pixels are."""
    return all(abs(a - b) < 25 for a, b in zip(place, wanted, strict=True))


def drag(page: Page, station: int, dx_m: float, dy_m: float) -> None:
    """Drag a station on the map by so many metres."""
    script = """
        const plot = document.getElementById("map"), trace = plot.data[plot.data.length - 1];
        const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
        plot.scrollIntoView({block: "center"});
        const i = arguments[0], at = (x, y) => [xaxis._offset + xaxis.d2p(x) - box.width / 2,
                                                yaxis._offset + yaxis.d2p(y) - box.height / 2];
        const [x, y] = [trace.x[i], trace.y[i]];
        return [at(x, y), at(x + arguments[1], y + arguments[2])];"""
    here, there = page.browser.execute_script(script, station, dx_m, dy_m)
    plot = page.browser.find_element(By.ID, "map")
    moves = ActionChains(page.browser, duration=40).move_to_element_with_offset(plot, *here)
    moves.click_and_hold()
    steps = 8
    for step in range(1, steps + 1):
        share = step / steps
        at = [a + share * (b - a) for a, b in zip(here, there, strict=True)]
        moves.move_to_element_with_offset(plot, *at)
    moves.release().perform()
