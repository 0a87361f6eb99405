# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Draw which folder of the package imports which, from the code itself: `python -m benchmarks.architecture`.

It writes `docs/architecture.svg`. A folder stands one level above the highest folder that it imports, imports inside
functions included. An arrow that follows from two others is left out: a folder may import all that its arrows reach.
"""

import ast
from functools import cache
from html import escape
from itertools import pairwise

from benchmarks.records import ROOT

PACKAGE = ROOT / "hf_lecture_models"
PICTURE = ROOT / "docs" / "architecture.svg"
WIDTH, BOX, HEIGHT, ROW = 900, 180, 48, 96
HOLDS = {
    "io": "files, recipes, processes",
    "layers": "modules of tensors",
    "tokenization": "tokenizers",
    "base": "what all models share",
    "data": "rows of a run",
    "models": "the architectures",
    "evaluation": "loss and perplexity",
    "hub": "publishing, cards",
    "trainer": "the training loop",
    "analysis": "pictures of models",
    "generation": "texts by a model",
    "loading": "a model and its tokenizer",
    "tasks": "data, model and measures",
    "cli": "the verbs of hf-lecture",
    "lab": "studies, claims, exercises",
}
# Imported by nearly all, to say which version runs.
LEFT_OUT = {"__init__", "version"}


@cache
def imports() -> dict[str, set[str]]:
    """Return the folders, and files beside them, that each one imports."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").parts[0]
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        modules = [node.module or "" for node in tree if isinstance(node, ast.ImportFrom)]
        own = {module.split(".")[1] for module in modules if module.startswith(f"{PACKAGE.name}.")}
        found.setdefault(name, set()).update(own - {name} - LEFT_OUT)
    return {name: targets for name, targets in found.items() if name not in LEFT_OUT}


def reached(name: str) -> set[str]:
    """Return all folders that a folder imports, directly or through others."""
    return imports()[name].union(*map(reached, imports()[name]))


def arrows() -> list[tuple[str, str]]:
    """Return the imports that do not follow from others."""
    direct = imports()
    return [
        (name, target)
        for name, targets in direct.items()
        for target in sorted(targets)
        if not any(target in reached(other) for other in targets - {target})
    ]


def levels() -> list[list[str]]:
    """Return the folders of each level, from the one that imports nothing."""

    @cache
    def level(name: str) -> int:
        return max((level(target) + 1 for target in imports()[name]), default=0)

    found: list[list[str]] = [[] for _ in range(max(map(level, imports())) + 1)]
    for name in imports():
        found[level(name)].append(name)
    return found


def text() -> str:
    """Return the picture in words, from the highest level down."""
    targets = {name: ", ".join(f"`{target}`" for one, target in arrows() if one == name) for name in imports()}
    names = [name for level in reversed(levels()) for name in level]
    return "\n".join(f"- `{name}`, {HOLDS[name]}: {targets[name] or 'imports none of the others'}" for name in names)


def rows() -> list[list[tuple[str, ...]]]:
    """Return what each level shows, the highest first: folders, and arrows that pass them, without many crossings."""
    of = {name: number for number, names in enumerate(reversed(levels())) for name in names}
    found = [[(name,) for name in names] for names in reversed(levels())]
    ways = [
        [(one,), *((one, target, str(n)) for n in range(of[one] + 1, of[target])), (target,)]
        for one, target in arrows()
    ]
    for way in ways:
        for number, item in enumerate(way[1:-1], of[way[0][0]] + 1):
            found[number].append(item)
    beside = [(upper, lower) for way in ways for upper, lower in pairwise(way)]
    for sweep in range(24):
        downward = sweep % 2 == 0
        for number in range(1, len(found)) if downward else range(len(found) - 2, -1, -1):
            other = found[number - 1 if downward else number + 1]
            at = {item: place / max(1, len(other) - 1) for place, item in enumerate(other)}

            def middle(item: tuple[str, ...], at: dict[tuple[str, ...], float] = at) -> float:
                places = [at[two] for pair in beside for one, two in (pair, pair[::-1]) if one == item and two in at]
                return sum(places) / len(places) if places else 0.5

            found[number].sort(key=middle)
    return found


def draw() -> str:
    """Return the picture."""
    shown = rows()
    at: dict[tuple[str, ...], tuple[float, float]] = {}
    for number, row in enumerate(shown):
        widths = [BOX if len(item) == 1 else 16 for item in row]
        gap = (WIDTH - sum(widths)) / (len(row) + 1)
        left = gap
        for item, width in zip(row, widths, strict=True):
            at[item] = left + width / 2, 12 + number * ROW + HEIGHT / 2
            left += width + gap
    height = len(shown) * ROW - ROW + HEIGHT + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" text-anchor="middle">',
        "<title>Which folder of hf_lecture_models imports which</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#555555"/></marker></defs>',
    ]
    for one, target in arrows():
        passed = [item for row in shown for item in row if item[:2] == (one, target)]
        # It passes other levels between their boxes.
        ends = [at[one,], *(place for item in passed for place in (at[item], at[item])), at[target,]]
        points = [(x, y + (-HEIGHT if number % 2 else HEIGHT) / 2) for number, (x, y) in enumerate(ends)]
        path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
        for (x, y), (end_x, end_y) in pairwise(points):
            bend = (end_y - y) / 2
            path += f"C{x:.0f} {y + bend:.0f} {end_x:.0f} {end_y - bend:.0f} {end_x:.0f} {end_y:.0f}"
        lines.append(f'<path d="{path}" fill="none" stroke="#555555" stroke-width="1.5" marker-end="url(#tip)"/>')
    for (name,), (x, y) in ((item, place) for item, place in at.items() if len(item) == 1):
        lines += [
            f'<rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" height="{HEIGHT}" rx="4" '
            'fill="#eaf1fb" stroke="#2a5599"/>',
            f'<text x="{x:.0f}" y="{y - 4:.0f}" font-size="16" font-weight="bold" fill="#111111">{name}</text>',
            f'<text x="{x:.0f}" y="{y + 15:.0f}" font-size="13" fill="#333333">{escape(HOLDS[name])}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
