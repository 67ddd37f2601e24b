# SPDX-License-Identifier: Apache-2.0
"""Output generated from the declarations of keys: the JSON Schema and the tables of the manual.
Tests of the routing protocols' cores get their settings here too.

    python -m hoplab.front.pages.keys      # write all of them again

The schema is published (`hoplab schema`) for editors. Beside JSON Schema's own keywords it has
``unit`` and ``only``. A key with ``only`` counts only if another key has one of the listed values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from hoplab.model.keys import documents
from hoplab.model.keys.declare import Table
from hoplab.model.keys.dsr import NOTICES, DsrFile, DsrSettings
from hoplab.model.keys.medium_file import MediumFile
from hoplab.model.keys.program import Program
from hoplab.model.keys.routers import ROUTERS, settings_of
from hoplab.model.keys.scenario import SETTINGS_OF, Scenario
from hoplab.model.keys.split import SplitFile
from hoplab.model.resources import PACKAGE, PROJECT

SCHEMA = PACKAGE / "model" / "keys" / "scenario.schema.json"
PAGES = tuple(
    PROJECT / "docs" / f"{name}.md" for name in ("scenario", "dsr", *ROUTERS, "split-tcp")
)
DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/"
Mark = Callable[[str], str]
"""Marks a literal value: in a table as code, in ``--help`` not at all."""


def document() -> dict[str, Any]:
    """Return the JSON Schema of a scenario. Its ``$defs`` hold the daemons' tables too."""
    models: tuple[type[Table], ...] = (
        Scenario,
        Program,
        *ROUTERS.values(),
        DsrFile,
        MediumFile,
        SplitFile,
    )
    _, made = models_json_schema([(model, "validation") for model in models])
    tables = {name: _tidied(table) for name, table in made["$defs"].items()}
    for model in _tables(Table):
        for name, (other, values) in model.only.items():
            if model.__name__ in tables:
                place = tables[model.__name__]["properties"][name]
                place["only"] = {"key": other, "values": list(values)}
    tables["Routing"]["allOf"] = [
        {
            "if": {"properties": {"protocol": {"const": protocol}}, "required": ["protocol"]},
            "then": {"properties": {"settings": {"$ref": f"{REFERENCE}{table.__name__}"}}},
        }
        for protocol, table in SETTINGS_OF.items()
    ]
    scenario = tables.pop("Scenario")
    scenario["properties"]["program"]["items"] = {"$ref": f"{REFERENCE}Program"}
    return {"$schema": DIALECT, "title": "Hoplab scenario", **scenario, "$defs": tables}


def _tables(table: type[Table]) -> list[type[Table]]:
    return [found for sub in table.__subclasses__() for found in (sub, *_tables(sub))]


def _tidied(value: Any) -> Any:
    """Remove made-up titles, and declare optional keys as in TOML: present or absent, never
    null."""
    if isinstance(value, list):
        return [_tidied(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "anyOf" in value:
        choices = [choice for choice in value["anyOf"] if choice != {"type": "null"}]
        if len(choices) == 1:
            rest = {name: entry for name, entry in value.items() if name != "anyOf"}
            return _tidied({**choices[0], **rest})
    return {
        name: _tidied(entry)
        for name, entry in value.items()
        if not (name == "title" and isinstance(entry, str))
        and not (name == "default" and (entry is None or isinstance(entry, dict)))
    }


def text() -> str:
    """Return the text of the package's schema."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def page(old: str) -> str:
    """Return a page of the manual with new tables of keys, each between two marks."""
    schema = document()

    def table(match: re.Match[str]) -> str:
        name = match[1]
        found = schema if name == "Scenario" else schema["$defs"][name]
        return f"<!-- keys of {name} -->\n{_rows(found)}<!-- end of keys -->"

    return re.sub(r"<!-- keys of (\w+) -->\n.*?<!-- end of keys -->", table, old, flags=re.DOTALL)


def _rows(table: dict[str, Any]) -> str:
    rows = ["| key | default | allowed | |", "|---|---|---|---|"]
    for name, declared in table["properties"].items():
        cells = [
            f"`{name}`",
            _default(name, declared, table, _code),
            _allowed(declared, _code),
            declared.get("description", ""),
        ]
        if only := declared.get("only"):
            cells[3] += f" (`{only['key']}` {', '.join(map(_code, only['values']))})"
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def explained(*names: str) -> str:
    """Return the keys of these tables, a paragraph each, for ``--help``."""
    tables = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    lines = []
    for name in names:
        table = tables[name]
        lines.append(f"{name}: {table['description']}")
        for key, declared in table["properties"].items():
            cells = (_default(key, declared, table), _allowed(declared))
            values = "; ".join(cell for cell in cells if cell)
            head = f"{key} ({values})" if values else key
            lines.append(f"{head}: {declared['description']}")
    return "\n\n".join(lines)


def _code(value: str) -> str:
    return f"`{value}`"


def _default(name: str, declared: dict[str, Any], table: dict[str, Any], mark: Mark = str) -> str:
    if name in table.get("required", ()):
        return "required"
    default = declared.get("default")
    return mark(_value(default)) if default not in (None, [], "") else ""


def _value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _allowed(declared: dict[str, Any], mark: Mark = str) -> str:
    """Return values or range, and the unit."""
    if "enum" in declared:
        return ", ".join(mark(_value(value)) for value in declared["enum"]) + _unit(declared)
    if "oneOf" in declared:
        return " or ".join(_allowed(choice, mark) for choice in declared["oneOf"])
    if "$ref" in declared:
        return "table"
    if declared.get("type") == "array":
        return "list"
    if declared.get("type") == "boolean":
        return ", ".join(map(mark, ("true", "false")))
    low, high = declared.get("minimum"), declared.get("maximum")
    if "exclusiveMinimum" in declared:
        bounds = f"above {_value(declared['exclusiveMinimum'])}"
        bounds += f", to {_value(high)}" if high is not None else ""
    elif low is not None:
        bounds = (
            f"{_value(low)} to {_value(high)}" if high is not None else f"{_value(low)} and above"
        )
    else:
        bounds = ""
    return (bounds + _unit(declared)).strip()


def _unit(declared: dict[str, Any]) -> str:
    return f" {declared['unit']}" if "unit" in declared else ""


def core_settings() -> dict[Path, str]:
    """Return the settings of each protocol in the form of a document, with their defaults, by the
    file from which its core's tests read them."""
    of_dsr = documents.final(DsrSettings())
    made = {"dsr": {key: value for key, value in of_dsr.items() if key not in NOTICES}}
    for name in ROUTERS:
        made[name] = documents.final(settings_of(name)().completed())
    daemons = PROJECT / "daemons"
    return {
        daemons / f"{name}-core" / "tests" / "settings.json": documents.text(settings)
        for name, settings in made.items()
    }


def write() -> None:
    """Write all generated files again."""
    for path, made in core_settings().items():
        path.write_text(made, encoding="utf-8")
    SCHEMA.write_text(text(), encoding="utf-8")
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
