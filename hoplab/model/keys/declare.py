# SPDX-License-Identifier: Apache-2.0
"""Declaration of a key: type, range, default, unit and one sentence, stated once.

The JSON Schema, the explanations of `hoplab medium`, `dsr` and `split`, and the tables of the
manual come from these declarations (`hoplab.front.pages.keys`).
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from hoplab.model.wording import CHOICE, UNION

T = TypeVar("T")

NAME_PATTERN = r"^[a-z][a-z0-9]{0,7}$"
"""Station names become namespace and, with a suffix, interface names (IFNAMSIZ is 16)."""
MAX_COORDINATE_M = 1e6
"""The farthest place, and the longest reach; `daemons/channel/src/request.rs` has the same."""
LEAST_DBM, MOST_DBM = -200, 100
"""Bounds of powers and gains, there too."""
MAX_DURATION_S = 86_000
"""iperf3 transfers for at most a day."""

# TOML's own types: no number is read from a string or a boolean, none is infinite.
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Integer = Annotated[int, Field(strict=True)]
Switch = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True)]
Name = Annotated[str, Field(strict=True, pattern=NAME_PATTERN)]
Label = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")]
"""A name in records and reports; folders and files have it too."""
ADDRESS_PATTERN = r"^(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}$"
Address = Annotated[
    str,
    Field(strict=True, pattern=ADDRESS_PATTERN),
    AfterValidator(lambda text: str(IPv4Address(text))),
]
MAC_PATTERN = "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"
Mac = Annotated[str, Field(strict=True, pattern=MAC_PATTERN)]
Probability = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]
Coordinate = Annotated[
    float, Field(strict=True, allow_inf_nan=False, ge=-MAX_COORDINATE_M, le=MAX_COORDINATE_M)
]
Time = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=MAX_DURATION_S)]
Arrival = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e9)]
"""When a station arrives: its leg may end after the run, in nanoseconds of 63 bits."""

Wait = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.001, le=MAX_DURATION_S)]
"""A time that must pass before something is repeated."""
SWITCH, TABLE = f"{UNION}switch", f"{UNION}table"
"""The members of a value that may be true, false or a table."""
Conditions = dict[str, tuple[str, tuple[str, ...]]]
"""Conditions of a key: another key, and the values of it with which the first one counts."""


def key(default: Any, sentence: str, *, unit: str | None = None, **limits: Any) -> Any:
    """Declare a key of a table; ``default`` is ``...`` if the key is required."""
    extra: dict[str, Any] = {"unit": unit} if unit else {}
    return Field(default, description=sentence, json_schema_extra=extra, **limits)


def given(value: T | None) -> T:
    """Return a value that a check has made sure of."""
    assert value is not None
    return value


def switch_or(table: type[BaseModel]) -> Discriminator:
    """Distinguish `SWITCH` from `TABLE`, in a key that may be true, false or ``table``."""

    def kind(value: object) -> str | None:
        if isinstance(value, bool):
            return SWITCH
        return TABLE if isinstance(value, dict | table) else None

    return Discriminator(
        kind,
        custom_error_type=CHOICE,
        custom_error_message="should be true, false or a table",
    )


def one_of(values: Sequence[float | str], what: str) -> Any:
    """Return annotations of a type whose values are listed. Unlike in ``Literal``, these may be
    floats."""

    def check(value: object) -> object:
        # True == 1 in Python, not in TOML.
        same = [one for one in values if isinstance(one, bool) == isinstance(value, bool)]
        if value not in same:
            words = (str(one).lower() if isinstance(one, bool) else str(one) for one in values)
            raise ValueError(f"{value!r} is no {what}; one of {', '.join(words)}")
        return value

    return BeforeValidator(check), WithJsonSchema({"enum": list(values)})


class Table(BaseModel):
    """A TOML table: unknown keys are refused, and so are keys that don't count.

    ``only`` names keys that count only where another key has one of some values; they are refused
    elsewhere and left out of what is written.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    only: ClassVar[Conditions] = {}

    def counts(self, name: str) -> bool:
        """Whether the key ``name`` has a meaning here."""
        if name not in self.only:
            return True
        other, values = self.only[name]
        chosen = getattr(self, other)
        # If the radio's profile fills in the other key later, that decides later.
        return chosen is None or chosen in values

    def where(self, name: str) -> str:
        """With which value of another key ``name`` counts, and what that key is."""
        other, values = self.only[name]
        allowed = " or ".join(f'"{value}"' for value in values)
        return f'where {other} is {allowed}; here it is "{getattr(self, other)}"'

    @model_validator(mode="after")
    def _only_what_counts(self) -> Any:
        for name in type(self).model_fields:
            given = name in self.model_fields_set and getattr(self, name) is not None
            if given and not self.counts(name):
                raise ValueError(f"{name} counts only {self.where(name)}; remove one")
        return self

    @model_serializer(mode="wrap")
    def _write_what_counts(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if self.counts(name)}
