# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The text of a picture: how wide it is, where a line ends, and subscripts.

All text stays text. Its widths are those of wide fonts, so that it fits in others, too.
"""

import re
from collections.abc import Iterator

LETTERS = {"title": (15, 0.66), "formula": (14, 0.57), "code": (12, 0.605), "note": (13, 0.6)}
"""Of each kind of text its size, and the width of a letter as a share of it."""
# What stands below or above: a group in braces, or letters and digits.
SCRIPT = re.compile(r"\{|[^\W_]+")


def wrapped(text: str, kind: str, width: float) -> list[str]:
    """Return the text in lines that are not wider, broken at spaces.

    Raises:
        ValueError: a word is wider.
    """
    size, share = LETTERS[kind]
    most, lines = int(width / (size * share)), [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        fits = len(_shown(longer, kind)) <= most
        lines = [*lines[:-1], longer] if fits else [*lines, word]
        if len(_shown(word, kind)) > most:
            raise ValueError(f"{word!r} needs more than the {most} letters of its box")
    return lines


def _shown(text: str, kind: str) -> str:
    return re.sub(r"[_^{}]", "", text) if kind == "formula" else text


def with_scripts(formula: str) -> str:
    """Return a formula whose subscripts and superscripts are set lower, higher and smaller, as parts of an SVG text.

    >>> with_scripts("W_o h")
    'W<tspan dy="4" font-size="75%">o</tspan><tspan dy="-4"> h</tspan>'
    """
    parts, at = [], 0.0
    for text, place in _scripts(formula, 0, 0):
        size = "" if place == 0 else ' font-size="75%"'
        moved = f' dy="{round(place - at, 1):g}"' if place != at else ""
        parts.append(f"<tspan{moved}{size}>{text}</tspan>" if moved or size else text)
        at = place
    return "".join(parts)


def _scripts(formula: str, place: float, depth: int) -> Iterator[tuple[str, float]]:
    """The parts of a formula, each with how far below the line it stands."""
    start = position = 0
    while position < len(formula):
        sign = formula[position]
        found = SCRIPT.match(formula, position + 1) if sign in "_^" else None
        base = re.search(r"\w*$", formula[:position])
        # `head_dim` is a name.
        if found is None or (len(found[0]) > 2 and found[0] != "{" and base and len(base[0]) > 1):
            position += 1
            continue
        if formula[start:position]:
            yield formula[start:position], place
        end = found.end() if found[0] != "{" else _closing(formula, position + 1) + 1
        inner = formula[position + 1 : end].removeprefix("{").removesuffix("}")
        yield from _scripts(inner, place + (4 if sign == "_" else -5) * 0.8**depth, depth + 1)
        start = position = end
    if formula[start:]:
        yield formula[start:], place


def _closing(formula: str, start: int) -> int:
    depth = 0
    for position in range(start, len(formula)):
        depth += {"{": 1, "}": -1}.get(formula[position], 0)
        if not depth:
            return position
    raise ValueError(f"a brace of {formula!r} is not closed")
