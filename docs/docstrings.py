"""Docstrings as the reference shows them: an entry for each name of "a, b: text"."""

import re
from typing import Any

import griffe

SECTIONS = ("Args:", "Attributes:")
NAME = r"\*{0,2}\w+"
ENTRY = re.compile(rf"(\s+)({NAME}(?:, {NAME})+): (.*)")
# A list of names that goes on in the next line.
UNFINISHED = re.compile(rf"\s+{NAME}(?:, {NAME})*,")


class OneEntryEach(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Of everything that has one."""
        if obj.docstring:
            obj.docstring.value = one_entry_each(obj.docstring.value)


def one_entry_each(text: str) -> str:
    """The text with each "a, b: text" of its arguments and attributes as "a: text" and "b: text"."""
    found: list[str] = []
    lines, inside = text.split("\n"), False
    while lines:
        line = lines.pop(0)
        if line and not line.startswith(" "):
            inside = line in SECTIONS
        while inside and lines and UNFINISHED.fullmatch(line):
            line = f"{line} {lines.pop(0).strip()}"
        entry = ENTRY.fullmatch(line) if inside else None
        if entry is None:
            found.append(line)
            continue
        indent, names, about = entry.groups()
        rest: list[str] = []
        while lines and lines[0].startswith(indent + " "):
            rest.append(lines.pop(0))
        for name in names.split(", "):
            found += [f"{indent}{name}: {about}", *rest]
    return "\n".join(found)
