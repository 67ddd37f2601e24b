# SPDX-License-Identifier: Apache-2.0
"""A run's folder: names, locks, and what is said of a run whose tables could not be made."""

import errno
import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hoplab.front.commands import following
from hoplab.guest.system import signals
from hoplab.host import results
from hoplab.host.results import digests, tables
from hoplab.host.results.manifest import Where
from hoplab.host.runs import beginning, collect, folder, listing
from hoplab.model.errors import GuestFailed, ResultsError
from hoplab.model.keys.scenario import Flow, Scenario, Station
from hoplab.model.records import inplace
from hoplab.model.resolve.resolve import resolve
from hoplab.show import report

SCENARIO = resolve(
    Scenario(
        duration_s=10,
        station=(Station(name="n0"), Station(name="n1", x_m=100)),
        flow=(Flow(source="n0", destination="n1"),),
    )
)
SAMPLE = {
    **dict.fromkeys(("acked_bytes", "cwnd", "backoff", "retransmits", "in_flight", "lost"), 1),
    **dict.fromkeys(("rtt_ms", "rttvar_ms", "rto_ms", "min_rtt_ms"), 20.0),
    **dict.fromkeys(("ssthresh", "timeouts", "estimate_kbps", "marked")),
    **dict.fromkeys(("standby", "standby_s", "probes", "notices")),
    "flow": "flow0",
    "ca_state": "Open",
    "delivered_bytes": 1000,
}


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The folder of a run that was killed after its sample at 2 s."""
    run = folder.made(tmp_path / "run", None)
    folder.fill(run, SCENARIO, None)
    beginning.begin(run, SCENARIO, Where.HOST)
    (run / "raw").mkdir()
    lines = [json.dumps({**SAMPLE, "t_s": t_s}) for t_s in (1.0, 2.0)]
    (run / "raw" / "tcp.jsonl").write_text("\n".join(lines) + '\n{"t_s": 3.0, "fl')
    return run


def test_runs_that_start_together_get_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        names = list(pool.map(lambda _: folder.made(None, Path("chain.toml")), range(4)))
    assert len(set(names)) == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [("file", "is a file"), ("dangling", "is a link to nothing"), ("full", "is not empty")],
)
def test_what_out_cannot_be(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(ResultsError, match=message):
        folder.made(tmp_path / name, None)


def test_a_folder_is_one_runs_alone(tmp_path: Path) -> None:
    with folder.held(tmp_path):
        with pytest.raises(ResultsError, match="another run is using it"), folder.held(tmp_path):
            pass
        with pytest.raises(ResultsError, match="another run is using it"):
            folder.made(tmp_path, None)
    assert not list(tmp_path.iterdir())


def test_a_killed_run_is_finished(killed: Path) -> None:
    with pytest.raises(ResultsError, match="hoplab finish"):
        results.load(killed)
    collect.finish(killed)
    run = results.load(killed)
    assert run.tcp["t_s"].to_pylist() == [1, 2]
    flow = run.rows("flows")[0]
    assert (flow["stop_s"], flow["delivered_bytes"]) == (2, 1000)
    assert flow["goodput_kbps"] == pytest.approx(1000 * 8e-3 / 2)
    assert run.manifest.verdict.status == 5
    with pytest.raises(ResultsError, match="is complete"):
        collect.finish(killed)


def test_a_run_that_was_interrupted_is_called_that(killed: Path) -> None:
    collect.gather(killed, 1.0, 5, signals.Stopped(signal.SIGINT))
    (entry,) = listing.runs(killed.parent)
    assert (entry.state, entry.error) == ("interrupted", "interrupted")
    assert entry.goodput_kbps is not None
    text = report.render(killed).read_text(encoding="utf-8")
    assert "The run was interrupted. Shown is what it left." in text


def test_a_run_whose_guest_failed_says_why(killed: Path) -> None:
    """A sweep knows a run by its manifest alone."""
    assert collect.gather(killed, 1.0, 5).verdict.error == "the lab ended early, with status 5"
    reason = "guest kernel: hung: no virtual time passed"
    assert collect.gather(killed, 1.0, 5, GuestFailed(reason)).verdict.error == reason


def test_who_interrupts_a_run_is_told_where_it_is_and_what_it_says(
    killed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(signals.Stopped), following.told_so_far([killed / "report.html"]):
        collect.gather(killed, 1.0, 5, signals.Stopped(signal.SIGINT))
        raise signals.Stopped(signal.SIGINT)
    said = capsys.readouterr().err
    assert f"results so far, to 2 of 10 s, are in {killed}" in said.replace("\n", " ")
    assert "flow0" in said


def test_a_running_run_is_left_alone(killed: Path) -> None:
    with folder.held(killed), pytest.raises(ResultsError, match="another run is using it"):
        collect.finish(killed)


def test_a_full_disk_keeps_records_and_says_so(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `inplace` needs no new space, so does the note of it in the manifest."""
    size = (killed / "manifest.json").stat().st_size

    def no_space(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", no_space)
        with pytest.raises(ResultsError, match=r"No space left on device.*hoplab finish"):
            collect.gather(killed, 1.0, 0)
    manifest = json.loads((killed / "manifest.json").read_text())
    assert manifest["state"] == "records only"
    assert (killed / "manifest.json").stat().st_size <= size
    assert not (killed / "tables").exists()
    collect.finish(killed)
    assert results.load(killed).tcp.num_rows == 2


def test_a_note_that_is_no_longer_needs_no_space(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    inplace.write(path, {"error": None}, room=4096)
    before = path.stat()
    inplace.write(path, {"error": "x" * 4000}, room=0)
    assert path.stat().st_ino == before.st_ino
    assert path.stat().st_blocks <= before.st_blocks
    assert len(json.loads(path.read_text())["error"]) == 4000


def test_damage_to_tables_is_told(killed: Path) -> None:
    manifest = collect.finish(killed)
    path = killed / "tables" / "tcp.parquet"
    good = path.read_bytes()
    assert list(digests.damage(killed, manifest)) == []

    def told() -> str:
        return next(digests.damage(killed, manifest))

    path.write_bytes(good[:-20])
    assert told() == "tables/tcp.parquet: cannot be read: damaged or cut short"
    path.unlink()
    assert told() == "tables/tcp.parquet: is not there"
    path.write_bytes(good)
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 1), path)
    assert told() == "tables/tcp.parquet: has been altered since the run"
    path.write_bytes(good)
    pq.write_table(table, path.with_name("queues.parquet"))
    assert told() == "tables/queues.parquet: was not there when the run ended"


def test_the_digest_is_over_tables_alone(killed: Path) -> None:
    made = tables.convert(killed, 10)
    before = digests.Digests(made, digests.of_captures(killed))
    (killed / "captures").mkdir()
    (killed / "captures" / "air.pcapng").write_bytes(b"x")
    after = digests.Digests(made, digests.of_captures(killed))
    assert after.digest == before.digest
    assert after.captures and not before.captures


def test_digests_of_an_earlier_form_are_not_compared(killed: Path) -> None:
    manifest = collect.finish(killed).model_copy(update={"version": 1})
    assert list(digests.damage(killed, manifest)) == [
        "manifest.json: its digests are of an earlier version's form; run it again"
    ]
