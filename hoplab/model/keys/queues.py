# SPDX-License-Identifier: Apache-2.0
"""The keys of a queue at an end of a wired link: a queueing discipline of Linux and its parameters.

Each parameter has the name that `tc` has for it, with its unit. A key that is left out has the
kernel's default, which its sentence names.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from hoplab.model.keys.declare import Conditions, Integer, Number, Switch, Table, key

RED_MOST_BYTES = 1 << 23
"""The kernel keeps RED's thresholds in 32 bits, scaled by its averaging weight of 2^-9
(include/net/red.h, red_check_params)."""
MOST_PACKETS = 1_000_000
MOST_MS = 60_000
ETS_BANDS = 16
"""TCQ_ETS_MAX_BANDS; as many priorities has a packet (TC_PRIO_MAX)."""
SINCE = {"dualpi2": "7.2"}
"""The first kernel of `locks/kernels.lock` that has a kind, where not all have it."""
CODEL = ("codel", "fq_codel")
PIE = ("pie", "fq_pie")
TIMED = (*PIE, "dualpi2")
MARKING = {"red": False, "codel": False, "fq_codel": True, "pie": False, "fq_pie": False}
"""Kinds with `ecn`, and what it is when not given."""
ALWAYS_MARKING = ("cake", "dualpi2")
BAND = Annotated[int, Field(strict=True, ge=0, lt=ETS_BANDS)]
QUANTUM = Annotated[int, Field(strict=True, ge=64, le=1 << 20)]


def _kinds(kinds: tuple[str, ...], *names: str) -> Conditions:
    return dict.fromkeys(names, ("kind", kinds))


class Queue(Table):
    """The output queue of each end of a wired link."""

    only: ClassVar[Conditions] = {
        **_kinds(("droptail", "red", "ets"), "packets"),
        **_kinds(("red",), "min_packets", "max_packets", "drop_probability", "packet_bytes"),
        **_kinds((*MARKING,), "ecn"),
        **_kinds((*CODEL, *PIE, "fq", "sfq", "dualpi2"), "limit_packets"),
        **_kinds(("fq_codel", "fq_pie", "cake", "dualpi2"), "memory_limit_bytes"),
        **_kinds(("fq_codel", "fq_pie", "sfq"), "flows"),
        **_kinds((*CODEL, *TIMED), "target_ms"),
        **_kinds(CODEL, "interval_ms"),
        **_kinds((*CODEL, "fq"), "ce_threshold_ms"),
        **_kinds(("fq_codel", "fq_pie", "fq", "sfq"), "quantum_bytes"),
        **_kinds(("fq_codel",), "drop_batch"),
        **_kinds(TIMED, "tupdate_ms", "alpha", "beta"),
        **_kinds(PIE, "bytemode", "dq_rate_estimator"),
        **_kinds(("fq_pie",), "ecn_prob_percent"),
        **_kinds(("cake",), "rtt_ms", "diffserv", "flowmode", "nat", "wash", "ingress"),
        **_kinds(("cake",), "ack_filter", "overhead_bytes", "mpu_bytes", "atm"),
        **_kinds(("fq",), "flow_limit_packets", "initial_quantum_bytes", "maxrate_mbps", "pacing"),
        **_kinds(("sfq",), "depth_packets", "divisor", "perturb_s", "headdrop"),
        **_kinds(("ets",), "bands", "strict", "quanta_bytes", "priomap"),
        **_kinds(("dualpi2",), "step_thresh_ms", "step_thresh_packets", "min_qlen_step_packets"),
        **_kinds(("dualpi2",), "coupling_factor", "classic_protection_percent", "ecn_mask"),
        **_kinds(("dualpi2",), "overload", "drop"),
    }

    kind: Literal[
        "droptail",
        "red",
        "codel",
        "fq_codel",
        "pie",
        "fq_pie",
        "cake",
        "fq",
        "sfq",
        "ets",
        "dualpi2",
    ] = key("droptail", "queueing discipline ([kinds](links.md#kinds-of-queue))")
    shape_mbps: Number | None = key(
        None,
        "rate below the link's at which the queue lets packets go, so that they wait here and not "
        "in a modem behind (SQM); `cake` shapes by its `bandwidth`",
        unit="Mbit/s",
        ge=0.001,
        le=10_000,
    )
    packets: Integer = key(50, "capacity; of `ets`, each band's", ge=1, le=100_000)
    min_packets: Integer = key(5, "mean length from which RED drops", ge=1, le=100_000)
    max_packets: Integer = key(15, "mean length from which RED drops all", ge=2, le=100_000)
    drop_probability: Number = key(0.1, "RED's at `max_packets`", gt=0, le=1)
    packet_bytes: Integer = key(
        1000, "RED's mean packet, for the averaging weight", unit="octets", ge=40, le=65_535
    )
    ecn: Switch | None = key(
        None,
        "marks packets of ECN connections (`tcp.ecn`) instead of dropping them; default false, of "
        "`fq_codel` true",
    )
    limit_packets: Integer | None = key(
        None,
        "capacity; default 1000 (`codel`, `pie`), 10240 (`fq_codel`, `fq_pie`), 10000 (`fq`, "
        "`dualpi2`), 127 (`sfq`)",
        unit="packets",
        ge=2,
        le=MOST_PACKETS,
    )
    memory_limit_bytes: Integer | None = key(
        None,
        "capacity in memory; default 32 MiB, of `cake` by its rate, of `dualpi2` by "
        "`limit_packets`",
        unit="octets",
        ge=10_000,
        le=1 << 30,
    )
    flows: Integer | None = key(
        None, "queues, to which flows are hashed; default 1024, of `sfq` 127", ge=1, le=65_408
    )
    target_ms: Number | None = key(
        None,
        "wait aimed at; default 5 (`codel`, `fq_codel`), 15 (`pie`, `fq_pie`, `dualpi2`)",
        unit="ms",
        ge=0.001,
        le=MOST_MS,
    )
    interval_ms: Number | None = key(
        None,
        "time above `target_ms` before the first drop; default 100",
        unit="ms",
        ge=0.01,
        le=MOST_MS,
    )
    ce_threshold_ms: Number | None = key(
        None, "marks each packet that waited longer; default none", unit="ms", ge=0.001, le=MOST_MS
    )
    quantum_bytes: QUANTUM | None = key(
        None, "a queue's turn; default a frame, of `fq` two", unit="octets"
    )
    drop_batch: Integer | None = key(
        None, "packets dropped at once from the fullest queue; default 64", ge=1, le=10_000
    )
    tupdate_ms: Number | None = key(
        None,
        "between two computations of the probability; default 15, of `dualpi2` 16. `pie` and "
        "`fq_pie` round it up to ticks of 4 ms",
        unit="ms",
        ge=0.1,
        le=MOST_MS,
    )
    alpha: Number | None = key(
        None,
        "weight of the wait's distance from `target_ms`; default 2 of 16, of `dualpi2` 0.16 Hz",
        ge=0,
        le=32,
    )
    beta: Number | None = key(
        None, "weight of the wait's change; default 20 of 16, of `dualpi2` 3.2 Hz", ge=0, le=32
    )
    bytemode: Switch | None = key(None, "long packets are dropped more often; default false")
    dq_rate_estimator: Switch | None = key(
        None, "the wait by the rate of departures, not by time stamps; default false"
    )
    ecn_prob_percent: Integer | None = key(
        None,
        "with `ecn`, up to this probability packets are marked, above dropped; default 10",
        unit="%",
        ge=0,
        le=100,
    )
    rtt_ms: Number | None = key(
        None,
        "round trip of most connections: CAKE's interval, of which its target is a twentieth; "
        "default 100",
        unit="ms",
        ge=0.1,
        le=MOST_MS,
    )
    diffserv: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] | None = (
        key(None, "tins by DSCP; default `diffserv3`")
    )
    flowmode: (
        Literal[
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "flows",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
        ]
        | None
    ) = key(None, "what gets equal shares; default `triple-isolate`")
    nat: Switch | None = key(None, "hosts by their addresses before translation; default false")
    wash: Switch | None = key(None, "DSCP is cleared on the way out; default false")
    ingress: Switch | None = key(
        None, "dropped packets count as sent, as behind the bottleneck; default false"
    )
    ack_filter: Literal["no-ack-filter", "ack-filter", "ack-filter-aggressive"] | None = key(
        None, "drops acknowledgements that a later one covers; default `no-ack-filter`"
    )
    overhead_bytes: Integer | None = key(
        None,
        "added to each IP packet's length, in place of the frame's header",
        unit="octets",
        ge=-64,
        le=256,
    )
    mpu_bytes: Integer | None = key(
        None, "least length of a packet; default 0", unit="octets", ge=0, le=256
    )
    atm: Literal["noatm", "atm", "ptm"] | None = key(
        None, "framing of DSL that lengthens packets; default `noatm`"
    )
    flow_limit_packets: Integer | None = key(
        None, "a flow's capacity; default 100", unit="packets", ge=1, le=MOST_PACKETS
    )
    initial_quantum_bytes: Integer | None = key(
        None, "a new flow's first turn; default ten frames", unit="octets", ge=64, le=1 << 24
    )
    maxrate_mbps: Number | None = key(
        None, "of each flow; default none", unit="Mbit/s", ge=0.001, le=10_000
    )
    pacing: Switch | None = key(
        None, "packets go at the times that TCP's pacing asks for; default true"
    )
    depth_packets: Integer | None = key(
        None, "a flow's capacity; default 127", unit="packets", ge=1, le=127
    )
    divisor: Integer | None = key(
        None, "size of the table of hashes, a power of two; default 1024", ge=1, le=65_536
    )
    perturb_s: Integer | None = key(
        None, "between two new hashes; default 0, never", unit="s", ge=0, le=86_000
    )
    headdrop: Switch | None = key(None, "drops at a flow's head, not its tail; default false")
    bands: Annotated[int, Field(strict=True, ge=1, le=ETS_BANDS)] | None = key(
        None, "number of bands; default as many as `strict` and `quanta_bytes` need"
    )
    strict: Annotated[int, Field(strict=True, ge=0, le=ETS_BANDS)] | None = key(
        None, "so many first bands go before all others, in order; default 0"
    )
    quanta_bytes: Annotated[tuple[QUANTUM, ...], Field(max_length=ETS_BANDS)] = key(
        (), "turns of the bands behind; default a frame", unit="octets"
    )
    priomap: Annotated[tuple[BAND, ...], Field(max_length=ETS_BANDS)] = key(
        (), "band of each priority that the kernel derives from DSCP, 0 to 15; default the last"
    )
    step_thresh_ms: Number | None = key(
        None,
        "marks each packet of L4S that waited longer; default 1",
        unit="ms",
        ge=0.001,
        le=MOST_MS,
    )
    step_thresh_packets: Integer | None = key(
        None, "the same as a length of L4S's queue", unit="packets", ge=0, le=MOST_PACKETS
    )
    min_qlen_step_packets: Integer | None = key(
        None,
        "`step_thresh_ms` acts from this length on; default 0",
        unit="packets",
        ge=0,
        le=MOST_PACKETS,
    )
    coupling_factor: Integer | None = key(
        None,
        "L4S's probability over the root of the classic one (RFC 9332 k); default 2",
        ge=1,
        le=255,
    )
    classic_protection_percent: Integer | None = key(
        None, "share that the classic queue has at least; default 10", unit="%", ge=0, le=100
    )
    ecn_mask: Literal["l4s_ect", "any_ect"] | None = key(
        None, "packets of L4S's queue: ECT(1), or all of ECN; default `l4s_ect`"
    )
    overload: Literal["drop_on_overload", "overflow"] | None = key(
        None, "L4S's packets too are dropped, or its queue overflows; default `drop_on_overload`"
    )
    drop: Literal["drop_dequeue", "drop_enqueue"] | None = key(
        None, "where classic packets are dropped; default `drop_dequeue`"
    )

    @model_validator(mode="after")
    def _check(self) -> Queue:
        if self.kind == "red":
            self._check_red()
        elif self.kind == "ets":
            self._check_ets()
        elif self.kind == "sfq" and self.divisor is not None and self.divisor.bit_count() != 1:
            raise ValueError(f"divisor {self.divisor} is no power of two")
        if self.ecn_prob_percent is not None and not self.ecn:
            raise ValueError("ecn_prob_percent counts only where ecn is true; remove one")
        if self.step_thresh_ms is not None and self.step_thresh_packets is not None:
            raise ValueError("step_thresh_ms and step_thresh_packets are one threshold; remove one")
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            if value is None:
                continue
            if self.kind in PIE and value != int(value):
                raise ValueError(f"{name} {value:g} is no whole number, which {self.kind} needs")
            if self.kind == "dualpi2" and round(value * 256) == 0:
                raise ValueError(f"{name} {value:g} is below the kernel's least, 1/256 Hz")
        return self

    def _check_red(self) -> None:
        if not self.min_packets < self.max_packets <= self.packets:
            raise ValueError(
                f"RED needs min_packets < max_packets <= packets, got {self.min_packets}, "
                f"{self.max_packets}, {self.packets}"
            )
        if self.packets * self.packet_bytes >= RED_MOST_BYTES:
            raise ValueError(
                f"{self.packets} packets of {self.packet_bytes} octets are too much for RED; "
                f"their product must be below {RED_MOST_BYTES}"
            )

    def _check_ets(self) -> None:
        needed = (self.strict or 0) + len(self.quanta_bytes)
        if needed == 0 and self.bands is None:
            raise ValueError("ets needs bands, strict or quanta_bytes")
        if needed > self.band_count:
            raise ValueError(
                f"strict and quanta_bytes are of {needed} bands, but there are {self.band_count}; "
                f"at most {self.bands or ETS_BANDS}"
            )
        if self.priomap and max(self.priomap) >= self.band_count:
            raise ValueError(
                f"priomap names band {max(self.priomap)}; there are 0 to {self.band_count - 1}"
            )

    @property
    def band_count(self) -> int:
        """The number of bands of `ets`."""
        return self.bands or min(ETS_BANDS, (self.strict or 0) + len(self.quanta_bytes))

    @property
    def marks(self) -> bool:
        """Whether it marks packets of connections that use ECN."""
        if self.kind in ALWAYS_MARKING or self.ce_threshold_ms is not None:
            return True
        return bool(MARKING.get(self.kind) if self.ecn is None else self.ecn)
