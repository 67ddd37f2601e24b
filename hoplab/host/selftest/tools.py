# SPDX-License-Identifier: Apache-2.0
"""A machine with a suite of tests and the tools that tests start: iproute2, bash, nft and others.

``python -m hoplab.host.selftest.tools`` prints a new lock of the tools and of all they need.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from hoplab.host.machine import archive, closure, cpio, equip, store
from hoplab.host.machine.archive import Superseded
from hoplab.host.machine.cpio import Entry
from hoplab.host.machine.derived import derived
from hoplab.host.machine.sealed import Machine
from hoplab.host.selftest.build import Suite
from hoplab.model.errors import HoplabError
from hoplab.model.keys.program import Additions

LOCK = Path(__file__).with_name("tools.lock")
TOOLS = (
    *("bash", "bc", "bridge-utils", "bsdextrautils", "conntrack", "ethtool", "file", "gawk"),
    *("iperf3", "iproute2", "ipset", "iptables", "iputils-arping", "iputils-ping", "jq", "kmod"),
    *("mount", "net-tools", "netcat-openbsd", "netsniff-ng", "nftables", "perl-base", "procps"),
    *("psmisc", "socat", "tcpdump", "xxd"),
)
"""Debian packages of programs that the networking tests call."""
LEFT_OUT = (
    *("usrmerge", "perl", "perl-modules-5.36", "libperl5.36", "libfile-find-rule-perl"),
    *("libnumber-compare-perl", "libtext-glob-perl"),
)
"""Packages that only other packages' scripts need, which do not run."""
ALTERNATIVES = {
    **{f"usr/sbin/{name}": "xtables-nft-multi" for name in ("iptables", "ip6tables")},
    **{f"usr/sbin/{name}-save": "xtables-nft-multi" for name in ("iptables", "ip6tables")},
    **{f"usr/sbin/{name}-restore": "xtables-nft-multi" for name in ("iptables", "ip6tables")},
    **{f"usr/sbin/{name}": "xtables-nft-multi" for name in ("arptables", "ebtables")},
    "usr/bin/awk": "gawk",
    "usr/bin/nc": "nc.openbsd",
    "usr/bin/which": "which.debianutils",
}
"""Names that Debian's alternatives give to programs when they are installed."""
OWN_PROGRAMS = ("packetdrill",)
"""Programs of this computer that go along, if it has them: Debian has no package of them."""
PLACE = "selftests"
"""Folder of the suite in a guest's root."""
START = f"{PLACE}/start"
"""Runs the test $1 under the seed $2, and prints the guest's uptime before it and after it. It
begins at a whole second, so that the test depends on nothing that the boot did."""
UPTIME = "# uptime "
SCRIPT = f"""#!/bin/bash
exec </dev/null
python3 -S -P -c "from hoplab.guest.lab.standby import begin; begin($2)"
unset PYTHONPATH PYTHONHASHSEED
mkdir -p /var/tmp /var/log
cd /{PLACE}
read -r before _ </proc/uptime
./run_kselftest.sh -t "$1" 2>&1
status=$?
read -r after _ </proc/uptime
echo "{UPTIME}$before $after"
exit $status
"""


def with_suite(machine: Machine, suite: Suite) -> Machine:
    """Return the machine with the tools and the suite. It is made if it is missing."""
    files = {f"{PLACE}/{name}": entry for name, entry in suite.files.items()}
    files[START] = Entry.file(SCRIPT.encode(), executable=True)
    for name in OWN_PROGRAMS:
        if (found := shutil.which(name)) is not None:
            files[f"usr/bin/{name}"] = Entry.file(Path(found).read_bytes(), executable=True)
    locked = _available()
    key = hashlib.sha256(locked.encode() + cpio.dump(files)).hexdigest()
    return derived(
        "selftested", machine, key, Path(__file__), lambda: _made(machine, locked, files, key)
    )


def _made(machine: Machine, locked: str, files: dict[str, Entry], mark: str) -> Machine:
    added = equip.unpacked(locked)
    links = {name: Entry.link(target) for name, target in ALTERNATIVES.items()}
    there = dict(cpio.load(machine.root.read_bytes()))
    # The root has busybox by the names of some tools; its other files stay.
    kept = {
        name: entry
        for name, entry in (added.entries | links).items()
        if name not in there or there[name].content == b"busybox"
    }
    return equip.with_files(machine, kept | files, added, mark)


def _available() -> str:
    """Return the lock's text; a new lock's if the archive has dropped a package of it."""
    try:
        archive.fetch(LOCK, store.cache() / "packages")
        return LOCK.read_text(encoding="utf-8")
    except Superseded:
        return lock()


def lock() -> str:
    """Return the lock of the tools, and of all they need, from the archive as it is now."""
    lines = closure.lock(Additions(packages=TOOLS)).splitlines()
    kept = [line for line in lines if line.split()[1] not in LEFT_OUT]
    kept[0] = "# Made by 'scripts/lock selftest'."
    return "\n".join(["# SPDX-License-Identifier: Apache-2.0", *kept]) + "\n"


def main() -> int:
    try:
        print(lock(), end="")
    except HoplabError as error:
        print(f"lock: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
