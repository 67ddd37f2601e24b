# SPDX-License-Identifier: Apache-2.0
"""A command's options as one frozen object, declared once. The command line sees each of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with each parameter that is a dataclass spread into its fields. Typer then
    reads them as a function's parameters."""
    hints = get_type_hints(command, include_extras=True)
    plain: list[Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            plain.append(parameter.replace(annotation=kind))
            continue
        assert isinstance(kind, type)
        groups[name] = (kind, [field.name for field in fields(kind)])
        types = get_type_hints(kind, include_extras=True)
        plain += [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=types[f.name])
            for f in fields(kind)
        ]

    @functools.wraps(command)
    def spread(**values: Any) -> None:
        for name, (kind, members) in groups.items():
            values[name] = kind(**{member: values.pop(member) for member in members})
        command(**values)

    spread.__dict__.pop("__wrapped__")
    spread.__dict__["__signature__"] = inspect.Signature(plain)
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in plain}
    return spread
