# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.proof [--machine NAME] [WORD…]``: six scenarios on one machine, under every
circumstance that can be had here, each as a command before the same `hoplab run`.

Words choose scenarios and circumstances by name. The one called "again" is none, and only named
ones have it. ``NAME`` is a machine with another kernel. ``PROOF_ROOT`` names another distribution's
root with hoplab's wheels in /env, for root to run in by chroot. Prints this computer's processor,
then a line for each run, and fails where a digest differs, a run fails or a circumstance cannot be
had.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hoplab.host.machine import pack, select
from hoplab.model.resources import PROJECT

HOPLAB = str(PROJECT / ".venv" / "bin" / "hoplab")
FLOW = '[[flow]]\nsource = "n0"\ndestination = "n{last}"\n'
CHAIN = '[topology]\nkind = "chain"\nstations = {count}\n'


def _chain(protocol: str, count: int = 4) -> str:
    text = "duration_s = 10\n" + CHAIN.format(count=count)
    return text + f'[routing]\nprotocol = "{protocol}"\n' + FLOW.format(last=count - 1)


SCENARIOS = {
    "dsr-chain": _chain("dsr"),
    "dsr-mobile": (
        'duration_s = 10\n[topology]\nkind = "random-waypoint"\nstations = 12\n'
        "width_m = 600\nheight_m = 300\nmax_speed_mps = 10\n"
        '[routing]\nprotocol = "dsr"\n' + FLOW.format(last=11) + '[[flow]]\nprotocol = "udp"\n'
        'rate_kbps = 50\nsource = "n5"\ndestination = "n7"\n'
    ),
    "batmand": _chain("batmand"),
    "babeld": _chain("babeld"),
    "batman-adv": _chain("batman-adv"),
    "wired-dumbbell": (
        'duration_s = 10\n[topology]\nkind = "dumbbell"\n'
        '[[flow]]\nsource = "n1"\ndestination = "n4"\n'
    ),
}
PROCESSORS = ("EPYC", "Skylake-Client", "Nehalem")
"""Models that QEMU emulates: of AMD, of Intel, and of Intel without AVX."""
DIGEST = re.compile("[0-9a-f]{64}")
NOBODY = "65534"
LOOPS = 'while :; do :; done & a=$!; while :; do :; done & b=$!; "$@"; s=$?; kill $a $b; exit $s'
INSIDE = (
    'mount --bind "$0" "$1/mnt" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" '
    '&& root=$1 && shift && exec chroot "$root" env "$@"'
)
TURKISH = "tr_TR.UTF-8"
LOCALE = f'[ -d "$0/{TURKISH}" ] || localedef -i tr_TR -f UTF-8 "$0/{TURKISH}" || exit; exec "$@"'
REGDB = 'mkdir -p /lib/firmware && mount -t tmpfs none /lib/firmware && {make} && exec "$@"'


def circumstances(folder: Path) -> dict[str, list[str]]:
    """Commands to put before the run, by name."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    regdb = REGDB.format(make="head -c 4000 /dev/urandom >/lib/firmware/regulatory.db")
    shell = ["sh", "-c"]
    found = {
        "another-user": [*become, "env", f"HOPLAB_CACHE={folder}/theirs", f"HOME={folder}"],
        "another-hostname": ["unshare", "--uts", *shell, 'hostname elsewhere; exec "$@"', "sh"],
        "time-zone-and-locale": [
            *shell,
            LOCALE,
            str(folder),
            *("env", "TZ=Asia/Kathmandu", f"LOCPATH={folder}", f"LC_ALL={TURKISH}"),
        ],
        "umask-077": [*shell, 'umask 077; exec "$@"', "sh"],
        "regulatory.db": ["unshare", "--mount", *shell, regdb, "sh"],
        "large-environment": ["env", "FILL=" + "x" * 100_000],
        "a-year-on": ["faketime", "+1 year"],
        "two-busy-loops": [*shell, LOOPS, "sh"],
        "home-unset": ["env", "-u", "HOME", f"HOPLAB_CACHE={folder}/cache"],
        "stdin-closed": [*shell, 'exec "$@" <&-', "sh"],
        "one-core": ["taskset", "-c", "0"],
        "other-packages": ["env", f"PYTHONPATH={folder}/packages"],
    }
    for model in PROCESSORS:
        found[model] = [sys.executable, "-m", "tests.proof.processor", model, str(folder)]
    if "PROOF_ROOT" in os.environ:
        root = os.environ["PROOF_ROOT"]
        found["another-distribution"] = ["unshare", "--mount", *shell, INSIDE, str(folder), root]
    return found


def processor() -> str:
    """The model of this computer's processor, with what tells it from others of that name."""
    lines = (line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if line)
    found: dict[str, str] = {}
    for key, value in lines:
        found.setdefault(key.strip(), value.strip())
    keys = ("cpu family", "model", "stepping")
    numbers = " ".join(f"{key} {found[key]}" for key in keys if key in found)
    return f"{found.get('vendor_id', 'unknown')} {found.get('model name', '')}, {numbers}"


AGAIN = "again"
TENTH = "tenth-run"
"""The last circumstance: as many runs more as make ten, the first one included."""


def digest(before: list[str], scenario: Path, machine: Path, out: Path) -> str:
    """The digest of the run, or the last line of what it said."""
    program = HOPLAB
    if "chroot" in " ".join(before):
        program = "/env/bin/hoplab"
        scenario, machine, out = (Path("/mnt") / p.name for p in (scenario, machine, out))
    command = [*before, program, "run", str(scenario), "--json", "--out", str(out)]
    done = subprocess.run(
        [*command, "--machine-file", str(machine)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["no word"])[-1]
    return str(json.loads(done.stdout)["digest"])


def compare(
    scenario: str, found: dict[str, list[str]], tried: list[str], machine: Path, folder: Path
) -> int:
    """Run the scenario as it is, then under the circumstances; how many runs went wrong."""
    file = folder / f"{scenario}.toml"
    file.write_text(SCENARIOS[scenario])
    expected = digest([], file, machine, folder / scenario)
    print(f"{scenario}: {expected}", flush=True)
    if not DIGEST.fullmatch(expected):
        return 1
    wrong, runs = 0, 1
    for circumstance in tried:
        before = found.get(circumstance, [])
        if before and shutil.which(before[0]) is None:
            print(f"  {circumstance}: not tried, {before[0]} is missing", flush=True)
            wrong += 1
            continue
        last = max(10, runs + 1) if circumstance == TENTH else runs + 1
        while runs < last:
            runs += 1
            same = digest(before, file, machine, folder / f"{scenario}-{runs}")
            wrong += same != expected
            print(f"  {circumstance}: {'equal' if same == expected else same}", flush=True)
    return wrong


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="proof", description="The same digests, always.")
    parser.add_argument("--machine", metavar="NAME", help="a machine with another kernel")
    parser.add_argument("words", nargs="*", metavar="WORD", help="scenarios and circumstances")
    options = parser.parse_args(arguments)
    words = options.words
    wrong = 0
    print(f"processor: {processor()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="hoplab-proof-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        found = circumstances(folder)
        named = [*found, TENTH, AGAIN]
        if unknown := set(words) - set(SCENARIOS) - set(named):
            names = " ".join([*SCENARIOS, *named])
            print(f"{' '.join(sorted(unknown))}: not one of {names}", file=sys.stderr)
            return 2
        machine = folder / "machine.tar.zst"
        pack.pack(select.named(options.machine) if options.machine else select.chosen(), machine)
        (folder / "packages").mkdir()
        for module in ("sitecustomize.py", "tzdata.py", "attr.py"):
            (folder / "packages" / module).write_text("VALUE = 1\n")
        chosen = [key for key in SCENARIOS if key in words] or list(SCENARIOS)
        for scenario in chosen:
            tried = [key for key in named if key in words] or [*found, TENTH]
            wrong += compare(scenario, found, tried, machine, folder)
    print(f"{wrong} runs went wrong" if wrong else "all equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
