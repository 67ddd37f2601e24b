# SPDX-License-Identifier: Apache-2.0
"""The keys of `[[link]]`, a wired link, and of its two directions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, model_validator

from hoplab.model.keys.declare import TABLE, Name, Number, Probability, Switch, Table, Text, key
from hoplab.model.keys.link_traces import LinkTrace, unpacked
from hoplab.model.keys.queues import Queue
from hoplab.model.wording import CHOICE, UNION

LARGEST_FRAME_BYTES = 1514
NETEM_PACKETS = 100_000
"""Packets that the delaying discipline may hold (`hoplab.guest.network.wired`)."""
NUMBER = f"{UNION}number"


def require_room(rate_mbps: float, delay_ms: float) -> None:
    """Raise ValueError if a wire holds more packets than the discipline that delays them."""
    on_the_way = rate_mbps * 1e6 / 8 / LARGEST_FRAME_BYTES * delay_ms / 1000
    if on_the_way > NETEM_PACKETS:
        raise ValueError(
            f"{rate_mbps:g} Mbit/s and {delay_ms:g} ms hold {on_the_way:.0f} packets "
            f"on the way, at most {NETEM_PACKETS}; lower one"
        )


class Bursts(Table):
    """Losses in bursts, by the model of Gilbert and Elliott, packet by packet."""

    p_good_to_bad: Probability = key(..., "per packet, to the bad state")
    p_bad_to_good: Probability = key(..., "per packet, to the good state")
    loss_good: Probability = key(0.0, "loss in the good state")
    loss_bad: Probability = key(1.0, "loss in the bad state")

    @property
    def mean(self) -> float:
        """The share of packets that is lost in the long run."""
        leaving = self.p_good_to_bad + self.p_bad_to_good
        bad = self.p_good_to_bad / leaving if leaving else 0.0
        return bad * self.loss_bad + (1 - bad) * self.loss_good


def _kind(value: object) -> str | None:
    if isinstance(value, dict | Bursts):
        return TABLE
    return NUMBER if isinstance(value, int | float) and not isinstance(value, bool) else None


Losses = Annotated[
    Annotated[Probability, Tag(NUMBER)] | Annotated[Bursts, Tag(TABLE)],
    Discriminator(
        _kind,
        custom_error_type=CHOICE,
        custom_error_message="should be a number from 0 to 1 or a table",
    ),
]
Jitter = Literal["uniform", "normal", "pareto"]
Preset = Literal["dsl", "cable", "4g", "5g", "leo", "geo"]
TRACES = ("trace", "trace_steps")


def _rate(default: float | None, sentence: str) -> Any:
    return key(default, sentence, unit="Mbit/s", ge=0.001, le=10_000)


def _ms(default: float | None, sentence: str) -> Any:
    return key(default, sentence, unit="ms", ge=0, le=100_000)


class Way(Table):
    """What a direction of a link has of its own. All else is the link's."""

    rate_mbps: Number | None = _rate(None, "default the link's, as of all these keys")
    delay_ms: Number | None = _ms(None, "propagation delay")
    jitter_ms: Number | None = _ms(None, "its variation")
    jitter: Jitter | None = key(None, "its distribution")
    loss: Losses | None = key(None, "losses")
    reorder: Probability | None = key(None, "probability of overtaking")
    duplicate: Probability | None = key(None, "probability of a second copy")
    queue: Queue | None = key(None, "at the sending end")
    trace: Text | None = key(None, "its capacity over time")
    trace_repeats: Switch | None = key(None, "the trace begins anew at its end")
    trace_steps: Text | None = key(None, "in a run's `scenario.json` instead of `trace`")


def _check_rate(written: Link | Way) -> None:
    if written.trace is not None and "rate_mbps" in written.model_fields_set:
        raise ValueError("trace gives the rate, and so does rate_mbps; remove one")


class Link(Table):
    """A full-duplex wired link between two stations."""

    ends: tuple[Name, Name] = key(..., "its two stations")
    rate_mbps: Number = _rate(10.0, "of each direction")
    delay_ms: Number = _ms(10.0, "propagation delay")
    jitter_ms: Number = _ms(
        0.0,
        "variation of the delay; packets stay in order. Half the width of `uniform`, else the "
        "standard deviation (before the cut)",
    )
    jitter: Jitter = key(
        "uniform", "distribution; `normal` and `pareto` (shape 3) are cut at 4 deviations"
    )
    loss: Losses = key(
        0.0, "probability of losing a packet, in either direction; a table: in bursts"
    )
    reorder: Probability = key(
        0.0, "probability that a packet skips the delay, and so overtakes those on the way"
    )
    duplicate: Probability = key(
        0.0, "probability that a packet comes twice; the copy takes its time on the wire"
    )
    queue: Queue = key(Queue(), "at each end")
    preset: Preset | None = key(
        None, "an access technology ([presets](links.md#presets)), under the keys given here"
    )
    trace: Text | None = key(
        None,
        "file with the capacity over time instead of `rate_mbps`: CSV or Mahimahi's format "
        "([traces](links.md#capacity-over-time))",
    )
    trace_repeats: Switch | None = key(
        None,
        "the trace begins anew at its end; else a CSV's last row stays, and Mahimahi's link "
        "carries nothing more; default true",
    )
    trace_steps: Text | None = key(None, "in a run's `scenario.json` instead of `trace`, packed")
    up: Way | None = key(None, "what differs from the first end to the second")
    down: Way | None = key(None, "what differs from the second end to the first")

    @model_validator(mode="after")
    def _check(self) -> Link:
        if self.ends[0] == self.ends[1]:
            raise ValueError(f"a link joins two different stations, got {self.ends[0]} twice")
        for name, way in zip(("up", "down"), self.ways, strict=True):
            written = self if getattr(self, name) is None else getattr(self, name)
            try:
                _check_rate(written)
                way.check_way()
            except ValueError as error:
                own = getattr(self, name) is not None
                raise ValueError(f"{name}: {error}" if own else str(error)) from None
        return self

    @property
    def ways(self) -> tuple[Link, Link]:
        """The link as it is from the first end to the second, and the other way round."""
        return self._way(self.up), self._way(self.down)

    def _way(self, own: Way | None) -> Link:
        given = {} if own is None else {name: getattr(own, name) for name in own.model_fields_set}
        update = {name: value for name, value in given.items() if value is not None}
        if "rate_mbps" in update or any(name in update for name in TRACES):
            # A direction's own capacity replaces the link's, whichever way that is given.
            update = {**dict.fromkeys(TRACES), **update}
        return self.model_copy(update={**update, "up": None, "down": None})

    @property
    def steps(self) -> LinkTrace | None:
        """The trace of a resolved link."""
        return None if self.trace_steps is None else unpacked(self.trace_steps)

    @property
    def mean_mbps(self) -> float:
        """The rate in the long run."""
        return self.rate_mbps if self.steps is None else self.steps.mean_mbps

    def check_way(self) -> None:
        """Raise ValueError if the values of one direction contradict each other."""
        shape_mbps = self.queue.shape_mbps
        if any(getattr(self, name) is not None for name in TRACES):
            self._check_trace()
        else:
            require_room(self.rate_mbps, self.delay_ms)
        if shape_mbps is not None and shape_mbps > self.rate_mbps and self.steps is None:
            raise ValueError(
                f"queue.shape_mbps {shape_mbps:g} is above rate_mbps {self.rate_mbps:g}, so the "
                "queue would not hold the packets back; lower it"
            )
        if self.jitter_ms > self.delay_ms:
            raise ValueError(
                f"jitter_ms {self.jitter_ms:g} is above delay_ms {self.delay_ms:g}, and no packet "
                "arrives before it is sent; lower it"
            )
        if self.reorder and self.delay_ms == 0:
            raise ValueError("reorder skips delay_ms, which is 0; raise it")
        if self.duplicate and (self.jitter_ms or self.reorder):
            raise ValueError(
                "duplicate does not go with jitter_ms or reorder: Linux's netem does not mix them; "
                "put one of them on a link of its own"
            )

    def _check_trace(self) -> None:
        if self.queue.shape_mbps is not None and self.queue.kind != "cake":
            raise ValueError(
                f"queue.shape_mbps of {self.queue.kind!r} takes the place of the trace; remove it, "
                'or set kind = "cake", which shapes above'
            )
        if self.steps is None:
            return
        delay_ms = self.delay_ms if self.steps.path is None else self.steps.longest_delay_ms
        require_room(self.steps.peak_mbps, delay_ms)
        if self.steps.path is not None and (self.is_disturbed or self.loss):
            raise ValueError(
                "trace has delay_ms or loss of its own, beside which jitter_ms, loss, reorder and "
                "duplicate do not count; remove them"
            )

    @property
    def is_disturbed(self) -> bool:
        """Whether chance acts on it beyond uniform losses."""
        drawn = self.jitter_ms or self.reorder or self.duplicate
        return bool(drawn) or isinstance(self.loss, Bursts)
