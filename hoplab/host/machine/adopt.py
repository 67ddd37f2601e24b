# SPDX-License-Identifier: Apache-2.0
"""``python -m hoplab.host.machine.adopt FOLDER``: copy the kernel of the machine that
`HOPLAB_MACHINE` names into FOLDER, as if it had been compiled there. Exits with status 1 if that
kernel has other sources."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from hoplab.host.machine import pack, sealed
from hoplab.host.machine.sealed import DESCRIPTION, KERNEL
from hoplab.host.machine.select import VARIABLE
from hoplab.model.errors import HoplabError


def adopt(target: Path) -> bool:
    """Copy kernel and modules to ``target``. Its name says from which inputs they must be made."""
    source = Path(os.environ[VARIABLE])
    machine = sealed.load(source) if (source / DESCRIPTION).is_file() else pack.unpack(source)
    if machine.description["inputs"]["kernel"] != target.name:
        return False
    for name in machine.files:
        sealed.check_file(machine, name)
    partial = target.with_name(f"adopt-{os.getpid()}")
    (partial / "modules").mkdir(parents=True)
    for name in machine.files:
        if name.startswith("modules/"):
            shutil.copyfile(machine.folder / name, partial / name)
    shutil.copyfile(machine.kernel, partial / KERNEL)
    (partial / KERNEL).chmod(0o755)
    shutil.copyfile(machine.folder / "kernel" / "config", partial / "config")
    lines = [
        f"{p['kind']} {p['name']} {p['sha256']} {p['version']}\n"
        for p in machine.description["packages"]
        if p["kind"] in ("kernel", "compiler")
    ]
    (partial / "made-from").write_text("".join(lines), encoding="utf-8")
    facts = machine.description.get("kernel", {})
    (partial / "kernel.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    partial.rename(target)
    return True


def main(arguments: list[str]) -> int:
    try:
        return 0 if adopt(Path(arguments[0])) else 1
    except HoplabError as error:
        print(f"{VARIABLE}: {error}", file=sys.stderr)
        return error.exit_status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
