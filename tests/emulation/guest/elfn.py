# SPDX-License-Identifier: Apache-2.0
"""Inside a guest: stand-by of connections whose way is cut, and notices of all kinds.

Prints one line of JSON.
"""

from __future__ import annotations

import itertools
import json
import random
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from wire import FAR, NEAR, TCP_CONGESTION, Flow, Sniffer, Wire

from hoplab.guest.network.elfn import Elfn, record

TCP_USER_TIMEOUT = 18
SETTINGS: dict[str, Any] = {
    "enabled": True,
    "probe_ms": 500,
    "resume": "as-before",
    "give_up_s": 100.0,
    "first_probe": "rto",
}
VARIANTS = {
    "reno": ("reno", True, True),
    "reno-plain": ("reno", False, False),
    "cubic": ("cubic", True, True),
    "vegas": ("vegas", True, False),
    "westwood": ("westwood", False, True),
    "bbr": ("bbr", True, True),
    "tahoe": ("tahoe", False, False),
    "reno_classic": ("reno_classic", False, False),
    "tcpw": ("tcpw", True, True),
}
"""By name: the algorithm, whether there are SACK and timestamps."""
RESUMPTIONS = ("window-1", "default-timer")
RANDOM_NOTICES = 1_000_000
FAILED = "failed"
"""In a scene's place: why it gave no answer."""
IN_ONE = 60
MANY = 24


def wait_for(condition: Callable[[], Any], timeout_s: float = 60, step_s: float = 0.01) -> bool:
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step_s)
    return True


class Scene:
    """The wire and the module at its near end."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.elfn = Elfn("near")
        self.elfn.set(**SETTINGS)
        self.sniffer = Sniffer()

    def close(self) -> None:
        self.elfn.close()
        self.wire.namespaces.close()

    def stand_by(self, *flows: Flow) -> list[int]:
        """Cut the wire and tell the module; returns what each has not had acknowledged."""
        self.wire.cut()
        time.sleep(0.1)
        return self.tell(*flows)

    def tell(self, *flows: Flow) -> list[int]:
        self.sniffer.read()
        first = [self.sniffer.una[flow.near[1]] for flow in flows]
        for flow, sequence in zip(flows, first, strict=True):
            self.elfn.notice(record(flow.near, flow.far, sequence))
        return first

    def reason(self, flow: Flow) -> str:
        """Why stand-by of ``flow`` ended; "" while it lasts."""
        (found,) = [c for c in self.elfn.connections() if c.local == flow.near and c.standbys]
        return "" if found.standby else found.reason

    def standing(self) -> int:
        return sum(c.standby for c in self.elfn.connections())


def a_break(scene: Scene, variant: str, sack: bool, timestamps: bool) -> dict[str, Any]:
    """Cut, notice, six seconds, mend: what the connection was and is."""
    elfn, sniffer = scene.elfn, scene.sniffer
    flow = Flow(variant, sack, timestamps)
    time.sleep(2)
    list(elfn.events())
    scene.wire.cut()
    time.sleep(0.1)
    before = flow.info()
    (sequence,) = scene.tell(flow)
    port = flow.near[1]
    sniffer.log.clear()
    time.sleep(6)
    sniffer.read()
    probes = [s for p, s, _ in sniffer.log if p == port]
    during = flow.info()
    end = sniffer.next[port]
    sniffer.log.clear()
    delivered = flow.got
    scene.wire.mend()
    mended = time.monotonic()
    wait_for(lambda: scene.standing() == 0, step_s=0.005)
    resumed = flow.info()
    moved = wait_for(lambda: flow.got > delivered + 1000)
    moved_s = time.monotonic() - mended
    events = list(elfn.events())
    time.sleep(1)
    sniffer.read()
    again = [s for p, s, _ in sniffer.log if p == port and s < end]
    after = flow.info()
    reason = scene.reason(flow)
    return {
        "before": before,
        "during": during,
        "resumed": resumed,
        "after": after,
        "probed_first_only": set(probes) == {sequence},
        "probes": len(probes),
        "resent_once": len(again) == len(set(again)),
        "resent": len(again),
        "moved": moved,
        "moved_s": moved_s,
        "events": [e.kind for e in events],
        "reason": reason,
        "complete": flow.close(),
    }


def resumption(scene: Scene, resume: str) -> dict[str, Any]:
    """A break after which the connection goes on in another way than before."""
    scene.elfn.set(**{**SETTINGS, "resume": resume})
    found = a_break(scene, "reno", True, True)
    scene.elfn.set(**SETTINGS)
    return found


def standing(scene: Scene, variant: str = "reno") -> Flow:
    """A flow in stand-by."""
    flow = Flow(variant)
    time.sleep(1)
    scene.stand_by(flow)
    return flow


def gave_up(scene: Scene) -> list[Any]:
    scene.elfn.set(**{**SETTINGS, "give_up_s": 2.0})
    flow = standing(scene)
    scene.elfn.set(**SETTINGS)
    time.sleep(4)
    found = [scene.reason(flow), flow.info()["timeouts"] > 0]
    scene.wire.mend()
    return [*found, flow.close()]


def closed(scene: Scene) -> list[Any]:
    flow = standing(scene)
    flow.close(drain=False)
    time.sleep(1)
    reason = scene.reason(flow)
    scene.wire.mend()
    return [reason]


def aborted(scene: Scene) -> list[Any]:
    flow = standing(scene)
    flow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    flow.close(drain=False)
    time.sleep(0.01)
    reason = scene.reason(flow)
    scene.wire.mend()
    return [reason]


def user_timeout(scene: Scene) -> list[Any]:
    flow = Flow()
    flow.socket.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, 3000)
    time.sleep(1)
    scene.stand_by(flow)
    time.sleep(10)
    found = [scene.reason(flow), flow.failed]
    flow.close(drain=False)
    scene.wire.mend()
    return found


def address(scene: Scene) -> list[Any]:
    flow = standing(scene)
    scene.wire.address("del")
    time.sleep(1)
    reason = scene.reason(flow)
    scene.wire.address("add")
    scene.wire.mend()
    return [reason, flow.close()]


def switched_off(scene: Scene) -> list[Any]:
    flow = standing(scene)
    scene.elfn.set(**{**SETTINGS, "enabled": False})
    time.sleep(0.01)
    reason = scene.reason(flow)
    scene.wire.mend()
    complete = flow.close()
    scene.elfn.set(**SETTINGS)
    return [reason, complete]


def algorithm(scene: Scene) -> list[Any]:
    flow = standing(scene, "cubic")
    flow.socket.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"westwood")
    time.sleep(3)
    still = scene.standing()
    scene.wire.mend()
    wait_for(lambda: scene.standing() == 0)
    name = flow.socket.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()
    return [still, name, flow.info()["timeouts"], scene.reason(flow), flow.close()]


ENDINGS: dict[str, Callable[[Scene], list[Any]]] = {
    "gave-up": gave_up,
    "closed": closed,
    "aborted": aborted,
    "user-timeout": user_timeout,
    "address": address,
    "switched-off": switched_off,
    "algorithm": algorithm,
}
"""Every way out of stand-by but an acknowledgement."""


def fates(scene: Scene) -> dict[str, Any]:
    """A salvaged segment is not sent again while it may be on its way, a held one never."""
    flow = Flow()
    time.sleep(1)
    scene.sniffer.read()
    scene.wire.cut()
    time.sleep(0.1)
    scene.sniffer.log.clear()
    time.sleep(0)
    port = flow.near[1]
    scene.sniffer.read()
    first = scene.sniffer.una[port]
    rest = range(first + 1000, scene.sniffer.next[port], 1000)
    old, held, salvaged = list(rest)[1:4]
    scene.elfn.notice(record(flow.near, flow.far, old, "salvaged"))
    alone = scene.standing()
    scene.elfn.notice(
        record(flow.near, flow.far, first) + record(flow.near, flow.far, held, "held")
    )
    # The last probe leaves 1.224 s after the first notice; its answer comes 20 ms later.
    time.sleep(1.15)
    scene.elfn.notice(record(flow.near, flow.far, salvaged, "salvaged"))
    scene.sniffer.read()
    scene.sniffer.log.clear()
    scene.wire.mend()
    wait_for(lambda: scene.standing() == 0, step_s=0.001)
    time.sleep(0.015)
    scene.sniffer.read()
    sent = [s for p, s, _ in scene.sniffer.log if p == port and s > first]
    return {
        "alone": alone,
        "held_again": held in sent,
        "salvaged_again": salvaged in sent,
        "old_again": old in sent,
        "complete": flow.close(),
    }


def late_copy(scene: Scene) -> dict[str, Any]:
    """A segment arrives twice while one is in flight; the stand-by after that."""
    flow = Flow(sack=False, timestamps=False)
    time.sleep(1)
    flow.pause()
    time.sleep(0.1)
    before = flow.info()["reordering"]
    scene.wire.copy()
    flow.send()
    time.sleep(0.005)
    flow.send()
    time.sleep(0.1)
    copied = flow.info()["reordering"]
    scene.wire.cut()
    flow.send()
    time.sleep(0.01)
    scene.tell(flow)
    scene.wire.mend()
    wait_for(lambda: scene.standing() == 0)
    resumed = flow.info()["reordering"]
    return {"degrees": [before, copied, resumed], "complete": flow.close()}


def by_icmp(scene: Scene) -> dict[str, Any]:
    """The router in the middle loses its route: its kernel says host unreachable."""
    flow = Flow()
    time.sleep(1)
    scene.wire.unroute()
    began = wait_for(lambda: scene.standing() == 1, 5)
    before = flow.info()
    time.sleep(5)
    during = flow.info()
    scene.wire.reroute()
    ended = wait_for(lambda: scene.standing() == 0, 5)
    return {
        "began": began,
        "ended": ended,
        "timeouts": during["timeouts"],
        "kept": before["rto"] == during["rto"],
        "complete": flow.close(),
    }


def by_destination(scene: Scene) -> dict[str, Any]:
    """A daemon says that a route failed: without a break, with one, and again after a probe."""
    elfn = scene.elfn
    flows, idle = [Flow(), Flow("cubic")], Flow()
    time.sleep(1)
    idle.pause()
    time.sleep(0.1)
    before = elfn.counters()
    elfn.unreachable("192.0.2.1")
    elfn.unreachable(FAR)
    counters = elfn.counters()
    counted = {name: counters[name] - before[name] for name in counters}
    # All in flight is acknowledged within a round trip, but by and by where it was sent so.
    time.sleep(0.1)
    for _ in range(4):
        idle.send()
        time.sleep(0.004)
    elfn.unreachable(FAR)
    time.sleep(0.1)
    ours = {flow.near for flow in [*flows, idle]}
    known = [c for c in elfn.connections() if c.local in ours]
    (slow,) = [c for c in known if c.local == idle.near]
    reasons = [(c.reason, c.probes) for c in known]
    scene.wire.cut()
    time.sleep(0.1)
    elfn.unreachable("192.0.2.1", FAR)
    standing = scene.standing()
    time.sleep(1)
    list(elfn.events())
    elfn.unreachable(FAR)
    # The next probe comes 0.1 s after a notice of a lost one, once.
    time.sleep(0.15)
    elfn.unreachable(FAR)
    time.sleep(0.15)
    hastened = [e.kind for e in elfn.events()]
    scene.wire.mend()
    ended = wait_for(lambda: scene.standing() == 0, 5)
    return {
        "counted": {name: count for name, count in counted.items() if count},
        "early": slow.early_acks > 0,
        "reasons": reasons,
        "standing": standing,
        "hastened": hastened,
        "ended": ended,
        "timeouts": [flow.info()["timeouts"] for flow in flows],
        "complete": [flow.close() for flow in [*flows, idle]],
    }


def namespaces(scene: Scene) -> dict[str, Any]:
    """What is said in one namespace touches no socket of another."""
    flow = Flow()
    time.sleep(1)
    other = Elfn("other")
    other.set(**SETTINGS)
    scene.sniffer.read()
    port = flow.near[1]
    other.notice(record(flow.near, flow.far, scene.sniffer.una[port]))
    found = {"standing": scene.standing(), "counters": other.counters()}
    other.close()
    found["complete"] = flow.close()
    return found


def hostile(scene: Scene) -> dict[str, Any]:
    """Notices at random, by both ways, beside a flow that must not notice."""
    rng = random.Random(1)
    flow = Flow()
    time.sleep(1)
    scene.sniffer.read()
    before, port = scene.elfn.counters(), flow.near[1]
    first = scene.sniffer.una[port]
    addresses = socket.inet_aton(NEAR) + socket.inet_aton(FAR)
    ports = struct.pack("!HH", port, flow.far[1])

    def guess() -> bytes:
        """A sequence number that is not in flight, as all but one in a million are not."""
        away = rng.randrange(1 << 24, (1 << 32) - (1 << 24))
        return ((first + away) & 0xFFFFFFFF).to_bytes(4, "big")

    standing = 0
    for batch in range(RANDOM_NOTICES // IN_ONE + 1):
        records = bytearray()
        for _ in range(IN_ONE):
            fate = rng.randbytes(1)
            if rng.random() < 0.5:
                records += b"\x54\x12" + fate + b"\6" + addresses + ports + guess()
            else:
                records += b"\x54\x12" + fate + b"\6" + rng.randbytes(16)
        scene.elfn.notice_unchecked(bytes(records) + rng.randbytes(rng.randrange(40)))
        if batch % 1000 == 0:
            standing += scene.standing()
    raw = scene.wire.raw_icmp("middle")
    inner = struct.pack("!BBHHHBBH", 0x45, 0, 1040, 0, 0, 60, 6, 0) + addresses
    for _ in range(20_000):
        raw.send_unreachable(inner + (ports + guess() if rng.random() < 0.8 else rng.randbytes(8)))
    raw.close()
    time.sleep(1)
    info = flow.info()
    after = scene.elfn.counters()
    return {
        "standing": standing,
        "counted": sum(after.values()) - sum(before.values()),
        "standby": after["standby"] - before["standby"],
        "not_in_flight": after["not-in-flight"] - before["not-in-flight"],
        "no_connection": after["no-connection"] - before["no-connection"],
        "info": info,
        "complete": flow.close(),
    }


def many(scene: Scene) -> dict[str, Any]:
    """Connections in stand-by together; the module cannot be unloaded meanwhile, later it can."""
    variants = itertools.cycle(variant for variant, _, _ in VARIANTS.values())
    flows = [Flow(variant) for variant in itertools.islice(variants, MANY)]
    time.sleep(2)
    scene.stand_by(*flows)
    standing = scene.standing()
    unloaded_in_use = unload()
    time.sleep(5)
    timeouts = [flow.info()["timeouts"] for flow in flows]
    scene.wire.mend()
    ended = wait_for(lambda: scene.standing() == 0, 5)
    complete = sum(flow.close() for flow in flows)
    scene.elfn.close()
    return {
        "standing": standing,
        "timeouts": sum(timeouts),
        "ended": ended,
        "complete": complete,
        "unloaded_in_use": unloaded_in_use,
        "unloaded": unload(),
    }


def unload() -> bool:
    return subprocess.run(["rmmod", "elfn"], capture_output=True).returncode == 0


SCENES: dict[str, Callable[[Scene], Any]] = {
    **{
        name: partial(a_break, variant=variant, sack=sack, timestamps=timestamps)
        for name, (variant, sack, timestamps) in VARIANTS.items()
    },
    **{name: partial(resumption, resume=name) for name in RESUMPTIONS},
    **ENDINGS,
    "fates": fates,
    "icmp": by_icmp,
    "destination": by_destination,
    "namespaces": namespaces,
    "late-copy": late_copy,
    "hostile": hostile,
    "many": many,
}


def main(names: list[str]) -> dict[str, Any]:
    scene = Scene()
    answer: dict[str, Any] = {}
    for name in names or SCENES:
        print(name, file=sys.stderr, flush=True)
        # A scene that fails hides no other: what is shared is made anew after it.
        try:
            answer[name] = SCENES[name](scene)
        except Exception:
            answer[name] = {FAILED: traceback.format_exc()}
            scene.close()
            scene = Scene()
    kernel = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    answer["complaints"] = [
        line
        for line in kernel.splitlines()
        if any(word in line for word in ("WARNING", "BUG", "Oops", "KASAN", "circular"))
    ]
    return answer


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
