# SPDX-License-Identifier: Apache-2.0
"""What people expect of any command: a start, lists, differences, completion, plain pipes."""

import ast
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pexpect
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hoplab import __version__
from hoplab.front.commands import cli, completion, start
from hoplab.front.commands import run as command
from hoplab.host import results
from hoplab.host.results.manifest import Manifest, Where
from hoplab.host.runs import beginning, collect, compare, folder, listing
from hoplab.host.stream.hub import Stream
from hoplab.model import errors
from hoplab.model.errors import ScenarioError
from hoplab.model.keys.radio import ProfileName
from hoplab.model.keys.scenario import ProtocolName
from hoplab.model.resolve.file import load, parse
from hoplab.model.resolve.resolve import resolve
from hoplab.model.resources import PACKAGE, PROJECT
from tests.unit.conftest import Receiver

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}


def hoplab(*words: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hoplab", *words],
        cwd=cwd,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _run(where: Path, **more: Any) -> Path:
    """A finished run's folder, of one flow."""
    document = {
        "title": "a test",
        "station": [{"name": "n0"}, {"name": "n1", "x_m": 100}],
        "flow": [{"source": "n0", "destination": "n1"}],
        **more,
    }
    scenario = resolve(parse(document, "test"))
    run = folder.made(where, None)
    folder.fill(run, scenario, None)
    beginning.begin(run, scenario, Where.HOST)
    (run / "raw").mkdir()
    (run / "raw" / "verdict.json").write_text(json.dumps({"status": 0, "error": None}))
    collect.finish(run)
    return run


def _fits(topology: str, profile: str, routing: str) -> bool:
    """Whether these choices make a scenario; init refuses the others."""
    if profile in ("80211ax", "80211be"):  # in cells only
        return False
    reaches = topology != "hidden" or profile in ("wavelan", "hv99", "ns2-stock", "ns2-wavelan")
    if topology == "random-waypoint":  # whether static routes are there, chance decides
        return routing != "static"
    return reaches and (topology not in start.WIRED or routing == "static")


@pytest.mark.parametrize("topology", start.TOPOLOGIES)
def test_every_start_is_a_scenario(tmp_path: Path, topology: Any) -> None:
    file = tmp_path / "new.toml"
    for profile, routing in itertools.product(get_args(ProfileName), get_args(ProtocolName)):
        if _fits(topology, profile, routing):
            file.write_text(start.text(start.Start(topology, 5, profile, routing, "vegas", 3.0)))
            scenario = resolve(load(file), tmp_path)
            assert scenario.flow[0].congestion_control == "vegas"
            assert scenario.duration_s == 3


def test_what_a_start_suggests_is_valid_too(tmp_path: Path) -> None:
    """Its comments are lines to be used."""
    lines = start.text(start.Start()).splitlines()
    used = [
        line.removeprefix("# ") if " = " in line or "[[" in line else line for line in lines[1:]
    ]
    file = tmp_path / "new.toml"
    file.write_text("\n".join(used))
    scenario = resolve(load(file), tmp_path)
    assert scenario.flow[0].window == 8
    assert scenario.flow[1].rate_kbps == 100
    assert scenario.measure.packets


def test_new_writes_once_and_leaves_nothing_wrong(tmp_path: Path) -> None:
    assert hoplab("new", "a.toml", "--topology", "dumbbell", cwd=tmp_path).returncode == 0
    again = hoplab("init", "a.toml", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (
        2,
        "hoplab: a.toml: is there already; name a new file\n",
    )
    wrong = hoplab("new", "b.toml", "--duration", "-4", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "duration_s: -4" in wrong.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


def test_ls_tells_how_each_run_ended(tmp_path: Path) -> None:
    _run(tmp_path / "good")
    failed = _run(tmp_path / "failed")
    manifest = json.loads((failed / "manifest.json").read_text())
    manifest["verdict"] = {"status": 4, "error": "n0: hoplab-dsr: ended", "warnings": []}
    (failed / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "manifest.json").write_text("{")
    killed = tmp_path / "killed"
    killed.mkdir()
    (killed / "manifest.json").write_text('{"state": "running"}')
    found = {entry.run.name: entry for entry in listing.runs(tmp_path)}
    assert {name: entry.state for name, entry in found.items()} == {
        "good": "complete",
        "failed": "failed",
        "bad": "damaged",
        "killed": "records only",
    }
    assert found["failed"].error == "n0: hoplab-dsr: ended"
    with folder.held(killed):
        assert {e.run.name: e.state for e in listing.runs(tmp_path)}["killed"] == "running"


def test_ls_prints_plain_text_and_json(tmp_path: Path) -> None:
    _run(tmp_path / "runs" / "one")
    shown = hoplab("ls", cwd=tmp_path)
    assert "complete" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert json.loads(hoplab("ls", "--json", cwd=tmp_path).stdout)[0]["title"] == "a test"
    assert "is no folder" in hoplab("ls", "nowhere", cwd=tmp_path).stderr


def test_diff_says_what_differs_down_to_the_key(tmp_path: Path) -> None:
    one = results.load(_run(tmp_path / "one"))
    other = results.load(
        _run(
            tmp_path / "other",
            flow=[{"source": "n0", "destination": "n1", "congestion_control": "vegas"}],
            radio={"profile": "80211b"},
        )
    )
    assert list(compare.runs(one, one)) == []
    found = {d.what: (d.first, d.second) for d in compare.runs(one, other)}
    assert found["flow.0.congestion_control"] == ("cubic", "vegas")
    assert found["radio.profile"] == ("wavelan", "80211b")
    assert "flow.0.source" not in found


def test_diff_of_figures_has_the_change() -> None:
    assert compare.Difference("results", "flow0 goodput_kbps", 200.0, 300.0).change == 0.5
    assert compare.Difference("results", "flow0 goodput_kbps", 0.0, 300.0).change is None
    assert compare.Difference("scenario", "seed", 1, 2).change is None


def test_diff_looks_at_the_tables_not_only_at_their_digests(tmp_path: Path) -> None:
    one, other = (_run(tmp_path / name) for name in ("one", "other"))
    assert (
        "the same scenario, machine and results"
        in hoplab("diff", one.name, other.name, cwd=tmp_path).stdout
    )
    path = other / "tables" / "flows.parquet"
    table = pq.read_table(path)
    place = table.schema.get_field_index("delivered_bytes")
    values = pa.array([1000] * len(table), table.schema.field(place).type)
    pq.write_table(table.set_column(place, table.schema.field(place), values), path)
    done = hoplab("diff", one.name, other.name, "--exit-code", cwd=tmp_path)
    assert done.returncode == 7
    assert "all tables are the same" not in done.stdout
    assert re.search(r"altered +flows +none +has been altered since the run", done.stdout)
    found = {(d.about, d.what) for d in compare.runs(results.load(one), results.load(other))}
    assert found == {
        ("results", "flow0 delivered_bytes"),
        ("tables", "flows"),
        ("altered", "flows"),
    }
    path.unlink()
    done = hoplab("diff", one.name, other.name, cwd=tmp_path)
    assert re.search(r"tables +flows +[0-9a-f]+ +is not there", done.stdout)


def test_diffs_status_tells_on_request(tmp_path: Path) -> None:
    for name, packets in (("one", 5), ("other", 6)):
        run = _run(tmp_path / name)
        manifest = json.loads((run / "manifest.json").read_text())
        (run / "manifest.json").write_text(json.dumps({**manifest, "digest": str(packets)}))
    assert hoplab("diff", "one", "other", cwd=tmp_path).returncode == 0
    assert hoplab("diff", "one", "other", "--exit-code", cwd=tmp_path).returncode == 7
    assert hoplab("diff", "one", "one", "--exit-code", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("dur", "duration_s="),
        ("routing.proto", "routing.protocol=dsr"),
        ("flow.0.wi", "flow.0.window="),
        ("flow.3.wi", "flow.3.window="),
        ("radio.nic.", "radio.nic.tx_ring="),
    ],
)
def test_set_completes_keys_and_values(typed: str, offered: str) -> None:
    found = [word for word, _ in completion.overrides(typed)]
    assert offered in found
    assert all(word.startswith(typed) for word in found)


def test_every_key_that_is_offered_is_one() -> None:
    """Unknown ones are refused by name; a value that is offered may need others beside it."""
    lists = ("flow", "program", "station", "link", "cell", "backbone", "loss", "snr", "event")
    lists += ("wall", "floor", "interferer")
    base: dict[str, Any] = {name: [{}] for name in lists}
    for word, _ in completion.overrides(""):
        path = word.partition("=")[0].split(".")
        place: Any = json.loads(json.dumps(base))
        document = place
        for name, below in itertools.pairwise(path):
            inner: Any = [{}] if below.isdigit() else {}
            place = place[int(name)] if name.isdigit() else place.setdefault(name, inner)
        place[path[-1]] = None
        try:
            parse(document, "x")
        except ScenarioError as error:
            assert f"{'.'.join(path)}: unknown key" not in str(error)


def test_the_shell_gets_what_it_asks_for(tmp_path: Path) -> None:
    words = {"COMP_WORDS": "hoplab run x --set rad", "COMP_CWORD": "4"}
    asked = {"_HOPLAB_COMPLETE": "complete_bash", **words}
    code = "import sys; sys.argv[0] = 'hoplab'; from hoplab.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**ENVIRONMENT, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "radio.profile=" in done.stdout.split()


def test_version_and_the_nearest_command(tmp_path: Path) -> None:
    assert hoplab("--version", cwd=tmp_path).stdout == f"hoplab {__version__}\n"
    typo = hoplab("rnu", cwd=tmp_path)
    assert typo.returncode == 2
    assert "Did you mean 'run'?" in typo.stderr


def test_a_home_has_a_slow_client_and_a_server(tmp_path: Path) -> None:
    assert hoplab("new", "home.toml", "--topology", "home", cwd=tmp_path).returncode == 0
    scenario = resolve(load(tmp_path / "home.toml"), tmp_path)
    (cell,) = scenario.cell
    slow = {station.name for station in scenario.station if station.mcs == 0}
    wired = {station.name for station in scenario.station if not station.radio}
    assert len(cell.clients) == 3 and slow < set(cell.clients)
    assert {(flow.source, flow.destination) for flow in scenario.flow} > {
        (server, client) for server in wired for client in slow
    }
    # What Linux takes if nobody asks for another.
    assert {flow.congestion_control for flow in scenario.flow} == {"cubic"}


def test_the_start_of_an_own_daemon_is_a_scenario(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(start.text(start.Start(routing="own")))
    daemons = resolve(load(file), tmp_path).program
    assert [one.routing for one in daemons] == [True] * 4
    assert "10.0.0.4/32" in daemons[3].run


def test_new_names_the_variants_that_people_have_heard_of(tmp_path: Path) -> None:
    told = hoplab("new", "--help", cwd=tmp_path, COLUMNS="200").stdout
    assert "cubic, bbr, linux-reno" in told
    assert "home" in told and "own" in told


def test_new_asks_at_a_terminal(tmp_path: Path) -> None:
    """Enter takes what is offered."""
    words = ["-m", "hoplab", "new", "asked.toml"]
    asked = pexpect.spawn(sys.executable, words, cwd=tmp_path, encoding="utf-8", timeout=60)
    for question, answer in (
        ("network", "chain"),
        ("stations", "3"),
        ("radios", ""),
        ("routing", "babeld"),
        ("TCP", "vegas"),
        ("duration", "7"),
    ):
        asked.expect(question)
        asked.sendline(answer)
    asked.expect(pexpect.EOF)
    scenario = resolve(load(tmp_path / "asked.toml"), tmp_path)
    assert len(scenario.station) == 3
    assert (scenario.routing.protocol, scenario.duration_s) == ("babeld", 7)
    assert scenario.flow[0].congestion_control == "vegas"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["store", "gcc"], "Did you mean 'gc'?"),
        (["machine", "lst"], "Did you mean 'list'?"),
        (["run", "--sede", "1", "a.toml"], "--seed"),
        (["check", "a.toml", "--set", "topolgy.kind=chain"], "did you mean 'topology'?"),
        (["check", "a.toml", "--set", "radio.profil=hv99"], "did you mean 'profile'?"),
        (["check", "a.toml", "--set", "radio.profile=wavlan"], "'wavelan'"),
    ],
)
def test_what_was_meant_is_named(tmp_path: Path, words: list[str], meant: str) -> None:
    (tmp_path / "a.toml").write_text('[topology]\nkind = "chain"\n')
    done = hoplab(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert meant in done.stderr
    assert "Traceback" not in done.stderr


def test_pipes_get_no_colour(tmp_path: Path) -> None:
    """Nor does a terminal with NO_COLOR; without it, it does."""
    _run(tmp_path / "runs" / "one")
    for words in (["--help"], ["ls"], ["doctor", "--help"], ["rnu"], ["diff", "x", "y"]):
        done = hoplab(*words, cwd=tmp_path)
        assert "\x1b" not in done.stdout + done.stderr
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        shown, status = pexpect.run(
            f"{sys.executable} -m hoplab ls",
            cwd=str(tmp_path),
            env={**ENVIRONMENT, "TERM": "xterm-256color", **environment},
            encoding="utf-8",
            withexitstatus=True,
        )
        assert status == 0
        assert ("\x1b[32m" in shown) is coloured  # "complete" is green


GPX = """<?xml version="1.0"?>
<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>a&#x9b;31m</name><trkseg>
<trkpt lat="1" lon="1"><time>2024&#x9b;31m</time></trkpt></trkseg></trk></gpx>
"""
ON_TRACKS = '[topology]\nkind = "trace"\nmovement = "track.gpx"\n'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ON_TRACKS, id="a-time-in-gpx"),
        pytest.param('"a\\u009b31m" = 1\n', id="a-key"),
        pytest.param('title = "\\u001b[2J"\nseed = "\\u009b31m"\n', id="a-value"),
        pytest.param('[[station]]\nname = "\\u009b31m"\n', id="a-name"),
    ],
)
def test_a_file_cannot_drive_the_terminal(tmp_path: Path, text: str) -> None:
    (tmp_path / "track.gpx").write_text(GPX)
    (tmp_path / "a.toml").write_text(text)
    done = hoplab("check", "a.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "\\x9b31m" in done.stderr
    assert not set(done.stdout + done.stderr) & set("\x1b\x9b")


def test_a_server_cannot_drive_the_terminal(tmp_path: Path, receiver: Receiver) -> None:
    receiver.status, receiver.body = 400, "\x1b[2Jgone\x9b31m".encode()
    _run(tmp_path / "one")
    done = hoplab("push", "one", "--influx", receiver.url, cwd=tmp_path)
    assert receiver.requests and done.returncode != 0
    assert "HTTP 400: \\x1b[2Jgone\\x9b31m" in done.stderr
    assert not set(done.stdout + done.stderr) & set("\x1b\x9b")


def test_a_reader_that_goes_away_is_no_bug(tmp_path: Path) -> None:
    """As with any program in a pipe: no word, and the status of SIGPIPE."""
    code = "import sys; sys.argv[1:] = ['schema']; from hoplab.__main__ import main; main()"
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=ENVIRONMENT,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_a_command_ends_as_any_program_does() -> None:
    """What was registered for the end is done, threads are waited for, output is whole."""
    code = (
        "import atexit, sys, threading, time; sys.argv[1:] = ['ls', '/nowhere']\n"
        "atexit.register(print, 'registered')\n"
        "def late(): time.sleep(0.2); print('thread')\n"
        "threading.Thread(target=late).start()\n"
        "from hoplab.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 6 and done.stderr.startswith("hoplab: /nowhere")
    assert done.stdout == "thread\nregistered\n"


def test_several_scenarios_are_all_read_before_the_first_runs(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[topology]\nkind = "chain"\n')
    (tmp_path / "b.toml").write_text("duration_s = 3\n")
    done = hoplab("run", "a.toml", "b.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("hoplab: b.toml: station: none given")
    done = hoplab("run", "a.toml", "b.toml", "--out", "x", cwd=tmp_path)
    assert done.stderr == "hoplab: --out: is for one scenario, not for 2\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.toml", "b.toml"]


def test_of_several_runs_one_that_fails_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status is that of the first that failed."""

    def performed(scenario: Any, file: Path, *_: Any) -> command.Done:
        if file.stem == "bad":
            raise errors.GuestFailed("the guest hung")
        manifest = Manifest(virtual_s=3.0, wall_s=1.0)
        made = _run(tmp_path / where / f"run-{file.stem}")
        return command.Done(manifest, made / "report.html", Stream([]))

    where = "first"
    monkeypatch.setattr(command, "performed", performed)
    names = [tmp_path / f"{name}.toml" for name in ("one", "bad", "two")]
    for name in names:
        name.write_text('[topology]\nkind = "chain"\n')
    done = CliRunner().invoke(cli.app, ["run", "--json", *map(str, names)])
    assert done.exit_code == errors.GuestFailed.exit_status
    assert [json.loads(line)["run"] for line in done.stdout.splitlines()] == ["run-one", "run-two"]
    assert "bad.toml: the guest hung" in done.stderr
    where = "second"
    shown = CliRunner().invoke(cli.app, ["run", *map(str, names)]).stdout
    assert [line for line in shown.splitlines() if line.endswith(".toml:")] == [
        f"{names[0]}:",
        f"{names[2]}:",
    ]


def test_exit_statuses_are_those_of_the_docs() -> None:
    """Every error's status has a row of docs/commands.md."""
    text = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8")
    table = text[text.index("# Exit statuses") :]
    rows = {
        int(status)
        for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE)
        for status in row.split(",")
    }
    ours = {kind.exit_status for kind in (errors.HoplabError, *errors.HoplabError.__subclasses__())}
    signals = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    assert rows == {0, *ours, *signals, 128 + signal.SIGPIPE}


MOST_PARAMETERS = 7
LONGER = {"many/sweep/api.py run"}  # public, by keyword only


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many a function takes beside the object that it belongs to."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    own = sum(1 for name in named if name.arg not in ("self", "cls"))
    return own + (given.vararg is not None) + (given.kwarg is not None)


def test_no_function_takes_more_than_seven_parameters() -> None:
    """What belongs together is one object."""
    longer = {
        f"{path.relative_to(PACKAGE)} {node.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if parameters(node) > MOST_PARAMETERS
    }
    assert longer <= LONGER


@pytest.mark.parametrize(
    "command",
    [("verify",), ("diff", "here"), ("trace",), ("report",), ("machine", "unpack")],
    ids=lambda words: words[0],
)
def test_what_is_not_there_has_one_status(command: tuple[str, ...], tmp_path: Path) -> None:
    done = hoplab(*command, "nowhere", cwd=tmp_path)
    assert done.returncode == errors.ResultsError.exit_status
    assert len(done.stderr.splitlines()) == 1


def test_an_option_that_is_a_key_of_the_scenario_is_named(tmp_path: Path) -> None:
    done = hoplab("run", "scenario.toml", "--duration", "3", cwd=tmp_path)
    assert done.returncode == ScenarioError.exit_status
    assert "No such option: --duration" in done.stderr
    assert "--set duration_s=VALUE" in done.stderr
    assert "--set" not in hoplab("run", "scenario.toml", "--never", cwd=tmp_path).stderr
