# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian's archive and of the Python registry, the same each time."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hoplab import load
from tests.emulation.conftest import NETWORK, Hoplab, run

WEB = f"""{NETWORK}
[machine]
packages = ["nginx-light", "curl"]
users = ["www-data"]
folder = {{ "/var/log/nginx" = "www-data", "/var/lib/nginx" = "root" }}
[[program]]
name = "server"
station = "n2"
run = "nginx -c /proc/self/cwd/web.conf -e stderr"
ready = {{ port = 80 }}
files = "site"
[[program]]
name = "client"
station = "n0"
run = "curl -fsS -o answer http://n2/page"
start_s = 1
expect = 0
measure = true
[[program]]
name = "essential"
station = "n1"
run = "bash -c 'locale charmap | sed s/-1968//'"
expect = 0
"""
CONF = """
daemon off;
pid /run/nginx.pid;
user www-data;
error_log stderr;
events {}
http { access_log off; server { listen 80; root /proc/self/cwd; } }
"""
PAGE_BYTES = 100_000
QUIC = f"""{NETWORK}
[measure]
packets = true
[machine]
python = ["aioquic==1.2.0"]
[[program]]
name = "server"
station = "n2"
run = "python3 serve.py"
files = "quic"
ready = {{ port = 4433 }}
[[program]]
name = "client"
station = "n0"
run = "python3 fetch.py"
files = "quic"
start_s = 1
expect = 0
measure = true
"""
SERVE = """
import asyncio
import datetime

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "n2")])
day = datetime.datetime(2000, 1, 1)
draft = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
draft = draft.public_key(key.public_key()).not_valid_before(day)
configuration = QuicConfiguration(is_client=False, alpn_protocols=["test"])
configuration.private_key = key
configuration.certificate = draft.not_valid_after(day.replace(year=2200)).sign(key, hashes.SHA256())


class Server(QuicConnectionProtocol):
    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, bytes(50_000), True)
            self.transmit()


async def main():
    await serve("0.0.0.0", 4433, configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


asyncio.run(main())
"""
FETCH = """
import asyncio
import ssl

from aioquic.asyncio import connect
from aioquic.quic.configuration import QuicConfiguration

configuration = QuicConfiguration(alpn_protocols=["test"], verify_mode=ssl.CERT_NONE)


async def main():
    async with connect("n2", 4433, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(b"get")
        writer.write_eof()
        print(len(await reader.read()), client._quic._loss._rtt_min * 1e3)


asyncio.run(main())
"""


@pytest.fixture
def locked(tmp_path: Path, hoplab: Hoplab) -> Callable[[str], Path]:
    """A scenario's file, its lock beside it."""

    def write(text: str) -> Path:
        file = tmp_path / "scenario.toml"
        file.write_text(text)
        done = hoplab("lock", str(file))
        assert done.returncode == 0, done.stderr
        return file

    return write


def test_curl_fetches_from_nginx_the_same_each_time(
    locked: Callable[[str], Path], tmp_path: Path, hoplab: Hoplab
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "web.conf").write_text(CONF)
    page = bytes(range(250)) * (PAGE_BYTES // 250)
    (tmp_path / "site" / "page").write_bytes(page)
    scenario = locked(WEB)
    first = run(hoplab, scenario, "first")
    assert (tmp_path / "first" / "programs" / "client" / "answer").read_bytes() == page
    # No package names the essential ones, on which all may rely.
    said = (tmp_path / "first" / "logs" / "program-essential.out").read_text()
    assert said == "ANSI_X3.4\n"
    (flow,) = first["flows"]
    assert PAGE_BYTES < flow["delivered_bytes"] < PAGE_BYTES + 500
    assert run(hoplab, scenario, "second")["digest"] == first["digest"]
    # The packages travel with it: elsewhere nothing is fetched, and nothing of here is asked.
    file = tmp_path / "run.hoplab"
    assert hoplab("pack", str(tmp_path / "first"), str(file)).returncode == 0
    (tmp_path / "packages.lock").unlink()
    elsewhere = {"HOPLAB_CACHE": str(tmp_path / "cache"), "HOPLAB_DEBIAN": "http://127.0.0.1:9"}
    done = hoplab("verify", "--trust", str(file), env={**os.environ, **elsewhere})
    assert done.returncode == 0, done.stderr
    assert first["digest"] in done.stdout


def test_a_quic_pair_is_the_same_each_time(
    locked: Callable[[str], Path], tmp_path: Path, hoplab: Hoplab
) -> None:
    (tmp_path / "quic").mkdir()
    (tmp_path / "quic" / "serve.py").write_text(SERVE)
    (tmp_path / "quic" / "fetch.py").write_text(FETCH)
    scenario = locked(QUIC)
    first = run(hoplab, scenario, "first")
    said = (tmp_path / "first" / "logs" / "program-client.out").read_text().split()
    assert int(said[0]) == 50_000
    (flow,) = first["flows"]
    assert 50_000 < flow["delivered_bytes"] < 60_000  # and QUIC's and TLS's own.
    # Its own estimate is from a packet to its acknowledgement. A turn of the spin bit may have to
    # wait for one.
    results = load(tmp_path / "first")
    (connection,) = results.rows("connections")
    assert float(said[1]) == pytest.approx(connection["rtt_ms_min"], rel=0.2)
    assert connection["rtt_ms_min"] < connection["rtt_ms_mean"] == flow["rtt_ms_mean"]
    packets = results.rows("packets")
    names = [f"client:{connection['port']}{sign}n2:4433" for sign in "><"]
    assert {packet["flow"] for packet in packets} == set(names)
    came = [p for p in packets if p["flow"] == names[1] and p["received_s"] is not None]
    assert sum(packet["bytes"] for packet in came) == connection["received_bytes"]
    least = [
        min(p["received_s"] - p["sent_s"] for p in packets if p["flow"] == name) for name in names
    ]
    assert 0 < 1e3 * sum(least) < connection["rtt_ms_min"]
    assert run(hoplab, scenario, "second")["digest"] == first["digest"]


GO = f"""{NETWORK}
[machine]
packages = ["caddy"]
[[program]]
name = "server"
station = "n2"
run = "caddy file-server --listen :80 --root ."
file = {{ page = "A page." }}
ready = {{ port = 80 }}
[[program]]
name = "client"
station = "n0"
run = "busybox wget -O answer http://n2/page"
start_s = 1
expect = 0
measure = true
"""


def test_a_go_program_is_the_same_each_time(
    locked: Callable[[str], Path], tmp_path: Path, hoplab: Hoplab
) -> None:
    """Its runtime seeds its scheduler by the processor's counter."""
    scenario = locked(GO)
    first = run(hoplab, scenario, "first")
    assert (tmp_path / "first" / "programs" / "client" / "answer").read_text() == "A page."
    for name in ("second", "third"):
        assert run(hoplab, scenario, name)["digest"] == first["digest"]


COUNTER = r"""
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static unsigned long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int main(void)
{
    unsigned cpu;
    unsigned long long begin = __rdtsc(), clock = now();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    unsigned long long end = __rdtscp(&cpu), later = now();
    printf("%llu %llu %u %llu\n", end - begin, later - clock, cpu, end);
    return 0;
}
"""


def test_the_processor_s_counter_is_virtual_time(tmp_path: Path, hoplab: Hoplab) -> None:
    """In nanoseconds, and the same each time."""
    (tmp_path / "counter.c").write_text(COUNTER)
    built = str(tmp_path / "counter")
    subprocess.run(["cc", "-O2", "-static", "-o", built, str(tmp_path / "counter.c")], check=True)
    scenario = tmp_path / "scenario.toml"
    text = '[machine]\nadd = ["counter"]\n[[program]]\nname = "own"\nstation = "n0"\n'
    scenario.write_text(f'{NETWORK}{text}run = "counter"\nexpect = 0\n')
    said = []
    for name in ("first", "second"):
        run(hoplab, scenario, name)
        said.append((tmp_path / name / "logs" / "program-own.out").read_text())
    assert said[0] == said[1]
    counted, clock, cpu, _ = (int(word) for word in said[0].split())
    assert abs(counted - clock) < 20_000 and counted >= 50_000_000 and cpu == 0


DRAWS = r"""
#include <immintrin.h>
#include <stdio.h>

int main(int count, char **words)
{
    unsigned number = 0;
    return count > 1 && !_rdrand32_step(&number);
}
"""


def test_a_program_that_may_draw_from_the_processor_is_named(
    tmp_path: Path, hoplab: Hoplab
) -> None:
    (tmp_path / "draws.c").write_text(DRAWS)
    built = str(tmp_path / "draws")
    compiler = ["cc", "-O2", "-static", "-mrdrnd", "-o", built, str(tmp_path / "draws.c")]
    subprocess.run(compiler, check=True)
    scenario = tmp_path / "scenario.toml"
    text = '[machine]\nadd = ["draws"]\n'
    for name, command in (("own", "draws"), ("other", "sleep 1")):
        text += f'[[program]]\nname = "{name}"\nstation = "n0"\nrun = "{command}"\nexpect = 0\n'
    scenario.write_text(f"{NETWORK}{text}")
    run(hoplab, scenario, "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (warning,) = manifest["verdict"]["warnings"]
    assert warning.startswith("program own: draws has instructions that draw random numbers")


THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int order[40], count;

static void *work(void *number)
{
    for (int i = 0; i < 10; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        pthread_mutex_lock(&lock);
        order[count++] = *(int *)number;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    int numbers[4] = {0, 1, 2, 3};
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (int i = 0; i < count; i++)
        printf("%d", order[i]);
    long ns = (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
    printf(" %ld\n", ns);
    return 0;
}
"""


def test_an_own_program_with_threads_is_the_same_each_time(tmp_path: Path, hoplab: Hoplab) -> None:
    """The order of its threads and its own clock to the nanosecond, not tables alone."""
    (tmp_path / "threads.c").write_text(THREADS)
    built = str(tmp_path / "threads")
    compiler = ["cc", "-O2", "-static", "-pthread", "-o", built, str(tmp_path / "threads.c")]
    subprocess.run(compiler, check=True)
    scenario = tmp_path / "scenario.toml"
    text = '[machine]\nadd = ["threads"]\n[[program]]\nname = "own"\nstation = "n0"\n'
    scenario.write_text(f'{NETWORK}{text}run = "threads"\nexpect = 0\n')
    digests, said = [], []
    for name in ("first", "second"):
        digests.append(run(hoplab, scenario, name)["digest"])
        said.append((tmp_path / name / "logs" / "program-own.out").read_text())
    assert said[0] == said[1] and digests[0] == digests[1]
    order, ns = said[0].split()
    assert sorted(order) == sorted("0123" * 10)
    assert 100_000_000 <= int(ns) < 200_000_000  # ten times 10 ms, all four at once


def test_a_package_of_other_octets_is_refused(
    locked: Callable[[str], Path], tmp_path: Path, hoplab: Hoplab
) -> None:
    scenario = locked(WEB.replace('files = "site"\n', ""))
    lock = tmp_path / "packages.lock"
    lines = lock.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("deb curl "))
    lines[at] = lines[at][:-8] + ("0" * 8 if lines[at][-8:] != "0" * 8 else "1" * 8)
    lock.write_text("\n".join(lines))
    done = hoplab("run", str(scenario), "--out", str(tmp_path / "out"))
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    assert "machine.packages: curl" in done.stderr and "has not the locked SHA-256" in done.stderr


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ('packages = ["no-such-thing"]', "machine.packages: Unable to locate package no-such"),
        ('packages = ["curl"]', "machine.packages: Failed to fetch http://127.0.0.1:9/"),
    ],
)
def test_a_lock_that_cannot_be_had_is_one_line(
    names: str, said: str, tmp_path: Path, hoplab: Hoplab
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(f"{NETWORK}[machine]\n{names}\n")
    nowhere = {"HOPLAB_DEBIAN": "http://127.0.0.1:9"} if "curl" in names else {}
    done = hoplab("lock", str(file), env={**os.environ, **nowhere})
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "packages.lock").exists()
