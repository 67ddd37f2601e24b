# SPDX-License-Identifier: Apache-2.0
"""The Rust side of what C and Rust share in the guest's kernel: `daemons/abi/src/lib.rs`.

``python -m hoplab.front.pages.abi`` writes it from `kernel-modules/guest/abi.h`.

That file has comments, structures of numbers, prototypes, constants and assertions of sizes, one
statement after the other. The first words of a section's comment say where its functions are
defined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hoplab.model.resources import PROJECT

HEADER = PROJECT / "kernel-modules" / "guest" / "abi.h"
RUST = PROJECT / "daemons" / "abi" / "src" / "lib.rs"
WIDTH = 100
TYPES = {
    "bool": "bool",
    "size_t": "usize",
    **{f"u{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
}
TOKENS = re.compile(
    r"(?P<comment>/\*.*?\*/)"
    r"|\#(?:include|ifndef|endif)[^\n]*|\#define HOPLAB_ABI_H"
    r"|\#define HOPLAB_(?P<constant>\w+) \(?(?P<value>-?\d+)\)?"
    r"|struct hoplab_(?P<struct>\w+) \{(?P<fields>.*?)\n\};"
    r"|static_assert\(sizeof\(struct hoplab_(?P<sized>\w+)\) == (?P<size>\d+)\);"
    r"|(?P<result>(?:\w+ )+?\*?)(?P<function>hoplab_\w+)\((?P<arguments>[^)]*)\);"
    r"|(?P<blank>\s+)",
    re.DOTALL,
)
FIELD = re.compile(
    r"\s*(?:/\* (?P<comment>.*?) \*/\s*)?"
    r"(?P<const>const )?(?P<type>struct hoplab_\w+|\w+) (?P<pointer>\*?)(?P<name>\w+)"
    r"(?:\[(?P<length>\w+)\])?[;,]?",
    re.DOTALL,
)
HEAD = """\
// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What C and Rust share in the guest's kernel. `python -m hoplab.front.pages.abi` writes this file
//! from `kernel-modules/guest/abi.h`.

#![no_std]

use core::mem::size_of;
"""


@dataclass(frozen=True)
class Function:
    """A function of one side for the other, with its parameters as Rust has them."""

    name: str
    comment: str
    parameters: tuple[tuple[str, str], ...]
    result: str

    @property
    def is_safe(self) -> bool:
        """Whether no caller can hand it a wrong address."""
        return not any(kind.startswith("*") for _, kind in self.parameters)

    def signature(self, before: str, indent: str, after: str) -> str:
        """Return a declaration as rustfmt writes it."""
        result = f" -> {self.result}" if self.result else ""
        parameters = [f"{name}: {kind}" for name, kind in self.parameters]
        line = f"{indent}{before}({', '.join(parameters)}){result}{after}"
        if len(line) <= WIDTH:
            return line
        inner = "".join(f"{indent}    {parameter},\n" for parameter in parameters)
        return f"{indent}{before}(\n{inner}{indent}){result}{after}"


def rust(header: str) -> str:
    """Return the Rust side of a header. Raises `ValueError` for a statement that has none."""
    parts, in_c = [HEAD], ['// Of the C side.\nunsafe extern "C" {']
    in_rust = ["/// Types of the functions of the Rust side, by their names.\npub mod rust {"]
    in_rust.append("    use super::*;")
    comment, is_rust = "", False
    for found in _statements(header):
        if said := found["comment"]:
            comment = _text(said)
            if comment.startswith(("In Rust: ", "In C: ")):
                is_rust, comment = comment.startswith("In Rust"), ""
        elif found["constant"]:
            kind = "i32" if found["value"].startswith("-") else "usize"
            parts.append(
                f"{_doc(comment)}pub const {found['constant']}: {kind} = {found['value']};"
            )
        elif found["struct"]:
            parts.append(f"{_doc(comment)}{_struct(found['struct'], found['fields'])}")
        elif found["sized"]:
            parts.append(
                f"const _: () = assert!(size_of::<{_camel(found['sized'])}>() == {found['size']});"
            )
        elif found["function"]:
            function = Function(
                found["function"],
                comment,
                _parameters(found["arguments"]),
                _result(found["result"]),
            )
            (in_rust if is_rust else in_c).append(
                _alias(function) if is_rust else _declared(function)
            )
        if not found["blank"] and not found["comment"]:
            comment = ""
    blocks = ["\n".join([*block, "}"]) for block in (in_c, in_rust)]
    return "\n\n".join([parts[0].rstrip(), *parts[1:], *blocks]) + "\n"


def _statements(header: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(header):
        found = TOKENS.match(header, at)
        if found is None:
            raise ValueError(f"{HEADER.name}: {header[at:].splitlines()[0]!r} has no Rust side")
        yield found
        at = found.end()


def _text(comment: str) -> str:
    lines = comment.removeprefix("/*").removesuffix("*/").splitlines()
    return " ".join(filter(None, (line.strip().removeprefix("*").strip() for line in lines)))


def _doc(comment: str, indent: str = "") -> str:
    return f"{indent}/// {comment}\n" if comment else ""


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _number(named: str) -> str:
    if named not in TYPES:
        raise ValueError(f"{HEADER.name}: the type {named!r} has no Rust side")
    return TYPES[named]


def _kind(found: re.Match[str]) -> str:
    named = found["type"]
    kind = _camel(named.removeprefix("struct hoplab_")) if " " in named else _number(named)
    if found["length"]:
        length = found["length"].removeprefix("HOPLAB_")
        kind = f"[{kind}; {length}]"
    return kind


def _struct(name: str, fields: str) -> str:
    lines = ["#[repr(C)]", "#[derive(Clone, Copy, Debug)]", f"pub struct {_camel(name)} {{"]
    for found in FIELD.finditer(fields):
        kind = _kind(found)
        if found["pointer"]:
            kind = f"*{'const' if found['const'] else 'mut'} {kind}"
        lines.append(f"{_doc(found['comment'] or '', '    ')}    pub {found['name']}: {kind},")
    return "\n".join([*lines, "}"])


def _parameters(arguments: str) -> tuple[tuple[str, str], ...]:
    if arguments == "void":
        return ()
    found = []
    for one in FIELD.finditer(arguments):
        kind = _kind(one)
        # An array as a parameter is its address.
        if one["pointer"] or one["length"]:
            kind = f"*{'const' if one['const'] else 'mut'} {kind}"
        found.append((one["name"], kind))
    return tuple(found)


def _result(words: str) -> str:
    if "__noreturn" in words:
        return "!"
    kind = words.strip()
    if kind == "void":
        return ""
    number = _number(kind.removesuffix("*").strip())
    return f"*mut {number}" if kind.endswith("*") else number


def _declared(function: Function) -> str:
    safe = "safe " if function.is_safe else ""
    line = function.signature(f"pub {safe}fn {function.name}", "    ", ";")
    return _doc(function.comment, "    ") + line


def _alias(function: Function) -> str:
    before = "" if function.is_safe else "unsafe "
    name = _camel(function.name.removeprefix("hoplab_"))
    line = function.signature(f'pub type {name} = {before}extern "C" fn', "    ", ";")
    if "\n" in line:
        # rustfmt breaks behind the sign first.
        whole = function.signature(f'{before}extern "C" fn', "        ", ";")
        line = f"    pub type {name} =\n{whole}" if "\n" not in whole else line
    return _doc(function.comment, "    ") + line


def main() -> None:
    RUST.parent.mkdir(parents=True, exist_ok=True)
    RUST.write_text(rust(HEADER.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
