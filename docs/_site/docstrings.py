# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Docstrings and comments, which are plain text with a few marks of Markdown, as reStructuredText."""

import inspect
import re
from collections.abc import Callable

SECTIONS = {"Args:", "Attributes:", "Raises:", "Returns:", "Yields:"}
ITEM = re.compile(r"(\s*)(?:-|\d+\.) +(?=\S)")
ENTRY = re.compile(r"(\*{0,2}[\w.*, `-]+?): +(.*)")


def docstring_to_rst(text: str) -> list[str]:
    """Return the lines of reStructuredText that show a docstring.

    Paragraphs, lists, doctests and sections (`Args:` and the like) keep their form. What is indented, equations and
    code, becomes a literal block, which `equations` reads later.

    >>> docstring_to_rst("Return `x`.\\n\\nArgs:\\n    x: (batch, seq).\\n    y: more,\\n        and more.")
    ['Return ``x``.', '', '**Args**', '', '- ``x``: (batch, seq).', '- ``y``: more, and more.', '']
    """
    lines = inspect.cleandoc(text).splitlines()
    result: list[str] = []
    while lines:
        if not lines[0].strip():
            lines.pop(0)
        elif lines[0] in SECTIONS:
            result += _section(lines.pop(0), _take_indented(lines))
        elif lines[0].startswith(">>>"):
            result += [*_take(lines, lambda line: bool(line.strip())), ""]
        elif lines[0].startswith(" ") or lines[0].startswith("|"):
            result += _block(_take_literal(lines))
        elif ITEM.match(lines[0]):
            result += _list(lines)
        else:
            result += [*map(inline_rst, _take(lines, _continues_paragraph)), ""]
    return result


def inline_rst(text: str) -> str:
    """Return a line of text with its code in reStructuredText's marks and everything else escaped.

    >>> inline_rst("a `b`'s *c*")
    "a ``b``\\\\ 's \\\\*c\\\\*"
    """
    parts = re.split(r"(``[^`]+``|`[^`]+`)", text)
    for index, part in enumerate(parts):
        if index % 2:
            before, after = parts[index - 1][-1:], parts[index + 1][:1]
            code = f"``{part.strip('`').strip() or ' '}``"
            parts[index] = (r"\ " if before.isalnum() else "") + code + (r"\ " if after and not after.isspace() else "")
    # What stands beside code was read above, so the texts are escaped last.
    return "".join(part if index % 2 else re.sub(r"([\\*|_`])", r"\\\1", part) for index, part in enumerate(parts))


def _take(lines: list[str], accepted: Callable[[str], bool]) -> list[str]:
    taken = [lines.pop(0)]
    while lines and accepted(lines[0]):
        taken.append(lines.pop(0))
    return taken


def _continues_paragraph(line: str) -> bool:
    return bool(line.strip()) and line not in SECTIONS and not ITEM.match(line) and not line.startswith((">>>", "    "))


def _take_indented(lines: list[str]) -> list[str]:
    taken: list[str] = []
    while lines and (lines[0].startswith(" ") or (not lines[0].strip() and lines[1:] and lines[1].startswith(" "))):
        taken.append(lines.pop(0))
    return taken


def _take_literal(lines: list[str]) -> list[str]:
    if lines[0].startswith("|"):
        return _take(lines, lambda line: line.startswith("|"))
    return _take(lines, lambda line: line.startswith(" "))


def _block(lines: list[str]) -> list[str]:
    """Return an indented block: a list if it is one, as it is otherwise."""
    block = inspect.cleandoc("\n" + "\n".join(lines)).splitlines()
    if block[0].startswith("- "):
        return _list(block)
    return ["::", "", *(f"    {line}" for line in block), ""]


def _section(header: str, lines: list[str]) -> list[str]:
    """Return a section's entries as a list; one without names is a paragraph."""
    result = [f"**{header[:-1]}**", ""]
    body = inspect.cleandoc("\n" + "\n".join(lines)).splitlines()
    entries: list[str] = []
    for line in body:
        if entries and (line.startswith(" ") or not ENTRY.match(line)):
            entries[-1] += f" {line.strip()}"
        elif line.strip():
            entries.append(line.strip())
    for entry in entries:
        match = ENTRY.match(entry) if header not in {"Returns:", "Yields:"} else None
        result.append(f"- ``{match[1].strip('`')}``: {inline_rst(match[2])}" if match else f"- {inline_rst(entry)}")
    return [*result, ""]


def _list(lines: list[str]) -> list[str]:
    items: list[str] = []
    while lines and lines[0].strip() and lines[0] not in SECTIONS:
        line = lines.pop(0)
        if (match := ITEM.match(line)) and not match[1]:
            items.append(f"- {inline_rst(line[match.end() :])}")
        else:
            items[-1] += f" {inline_rst(line.strip())}"
    return [*items, ""]
