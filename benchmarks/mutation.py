# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Mistakes in source code: find the possible ones, and put one into a file, for `benchmarks.mutants`."""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_SOURCES = ("hf_lecture_models/**/*.py", "hf_lecture_cli.py", "training/*.py")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_NOT_MUTATED = (ast.Raise, ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Try, ast.Match)
_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATIONS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A statement, or the head of a compound statement, and the mistake that replaces it.

    Attributes:
        file: the file of the statement when it was drawn.
        function: the function or class around it, such as "Trainer.train"; "" in the module itself.
        old, new: the statement and the mistake, as `ast.unparse` writes them; a function's head with one default, such
            as "def f(a=1):".
        occurrence: the number of the statement among equal ones of the function, from 0.
    """

    name: str
    file: str
    function: str
    old: str
    new: str
    occurrence: int = 0


@dataclass(frozen=True)
class Place:
    """A statement in a file, or a default in the head of a function.

    Attributes:
        node: of the statement, or of the default's value.
        old: as in a mutant.
        around: the function or class around the statement, or whose head has the default; None: the module.
    """

    path: Path
    function: str
    node: Any
    old: str
    around: Any

    @property
    def body(self) -> Any:
        """The first statement below the head; None for a simple statement."""
        return next(iter(getattr(self.node, "body", ())), None) if isinstance(self.node, ast.stmt) else None

    def watched(self) -> tuple[int, int, str]:
        """Return the lines to watch, and the kind of their watch in `mutant_reach`."""
        if not isinstance(self.node, ast.stmt):
            return _first(self.around), self.around.body[0].lineno, "head"
        last = self.node.end_lineno if self.body is None else max(self.node.lineno, _first(self.body) - 1)
        return self.node.lineno, last, "line" if isinstance(self.around, _FUNCTIONS) else "file"


def _first(node: Any) -> int:
    """Return the first line of a statement, decorators included."""
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])


def sources(root: Path) -> list[Path]:
    """Return the files that are mutated: the package, the command line and the scripts of training."""
    return sorted(path for pattern in _SOURCES for path in root.glob(pattern))


def places(path: Path) -> list[Place]:
    """Return the statements of a file that can get a mistake, and the defaults of its functions."""
    return _places(path, path.read_text(encoding="utf-8"))


@cache
def _places(path: Path, text: str) -> list[Place]:
    def walk(node: Any, names: tuple[str, ...], around: Any) -> Iterator[Place]:
        for child in [child for field in _BODIES for child in getattr(node, field, ())]:
            function = ".".join(names)
            if isinstance(child, _FUNCTIONS):
                for name, value in _defaults(child):
                    old = f"def {child.name}({name}={ast.unparse(value)}):\n    pass"
                    yield Place(path, function, value, old, child)
            elif isinstance(child, ast.stmt) and not isinstance(child, (*_NOT_MUTATED, ast.ClassDef)):
                yield Place(path, function, child, ast.unparse(head(child)), around)
            if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                yield from walk(child, (*names, child.name), child)
            elif not isinstance(child, ast.expr):
                yield from walk(child, names, around)

    return list(walk(ast.parse(text), (), None))


def _defaults(function: Any) -> list[tuple[str, Any]]:
    given = function.args
    positional = [*given.posonlyargs, *given.args][len(given.posonlyargs) + len(given.args) - len(given.defaults) :]
    pairs = [*zip(positional, given.defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [(argument.arg, value) for argument, value in pairs if value is not None]


def head(node: Any) -> Any:
    """Return the statement with an empty body."""
    bare = copy.copy(node)
    for field in _BODIES:
        if isinstance(getattr(node, field, None), list):
            setattr(bare, field, [ast.Pass()] if field == "body" else [])
    return bare


def mistakes(old: str) -> list[str]:
    """Return the statement, or head of one, with each mistake that fits it.

    >>> mistakes("x = a + 1 < b")
    ['x = a + 1 <= b', 'x = a - 1 < b', 'x = a + 2 < b']
    """
    found, node = [], ast.parse(old).body[0]
    for index, part in enumerate(_expressions(node)):
        for change in _changes(part):
            other = copy.deepcopy(node)
            change(_expressions(other)[index])
            found.append(ast.unparse(ast.fix_missing_locations(other)))
    if isinstance(node, (ast.If, ast.While)) and isinstance(node.test, (ast.Name, ast.Call, ast.Attribute)):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        found.append(ast.unparse(node))
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        found.append("pass")
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        read = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        found += ["pass"] if node.targets[0].id in read else []  # x = f(x)
    return list(dict.fromkeys(found))


def _expressions(node: Any) -> list[Any]:
    """Return the parts of a statement that compute something, without types, texts and error messages."""
    roots = [node.value] if isinstance(node, ast.AnnAssign) else [node.args] if isinstance(node, _FUNCTIONS) else [node]
    parts: list[Any] = []
    while roots:
        part = roots.pop(0)
        # zip(..., strict=False) changes nothing unless there is another mistake.
        if part is not None and not isinstance(part, ast.JoinedStr) and getattr(part, "arg", None) != "strict":
            parts.append(part)
            roots[:0] = list(ast.iter_child_nodes(part))
    return parts


def plain(text: str) -> str:
    """A statement with the sentences in it left out, which may be reworded."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            node.value = ""
        elif isinstance(node, ast.JoinedStr):
            node.values = []
    return ast.unparse(tree)


def _changes(part: Any) -> list[Callable[[Any], None]]:
    """Return the changes that can be made to a part, in place."""
    if isinstance(part, ast.Compare):
        other = [_COMPARISONS[type(one)]() for one in part.ops]
        return [lambda node, at=at: node.ops.__setitem__(at, other[at]) for at in range(len(other))]
    if isinstance(part, ast.BinOp) and type(part.op) in _OPERATIONS:
        texts = any(
            isinstance(one, ast.JoinedStr) or isinstance(getattr(one, "value", 0), str)
            for one in (part.left, part.right)
        )
        return [] if texts else [lambda node: setattr(node, "op", _OPERATIONS[type(part.op)]())]
    if isinstance(part, ast.BoolOp):
        return [lambda node: setattr(node, "op", ast.Or() if isinstance(part.op, ast.And) else ast.And())]
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
        return [lambda node: setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))]
    if isinstance(part, ast.Constant) and isinstance(part.value, bool):
        return [lambda node: setattr(node, "value", not part.value)]
    if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)):
        more = part.value + 1 if isinstance(part.value, int) or part.value == 0 else part.value * 2
        return [lambda node: setattr(node, "value", more)]
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _CALLS:
        return [lambda node: setattr(node.func, "id", _CALLS[part.func.id])]
    return []


def find(mutant: Mutant, root: Path) -> Place | None:
    """Find the mutant's statement: in its function, in whichever file; None if it is gone."""
    everywhere = [root / mutant.file] if mutant.file.startswith("benchmarks/") else sources(root)
    old = plain(mutant.old)
    found = [place for path in everywhere if path.exists() for place in places(path) if _is_like(place.old, old)]
    own = [place for place in found if place.function == mutant.function]
    same, named = root / mutant.file, Path(mutant.file).name
    for likely in (own and [p for p in own if p.path == same], [p for p in own if p.path.name == named], own):
        if len({place.path for place in likely}) == 1 and mutant.occurrence < len(likely):
            return likely[mutant.occurrence]
    return found[0] if len(found) == 1 else None  # its function was renamed


def _is_like(text: str, old: str) -> bool:
    return text[:4] == old[:4] and plain(text) == old


def mutated(mutant: Mutant, place: Place) -> str:
    """Return the text of the file with the mistake in it."""
    same = [text for text in mistakes(place.old) if plain(text) == plain(mutant.new)]
    new, node, body = (same or [mutant.new])[0], place.node, place.body
    lines = place.path.read_bytes().splitlines(keepends=True)
    before, rest = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset], b""
    if body is None:
        last, column = node.end_lineno, node.end_col_offset
    else:
        last, column = _first(body), body.col_offset
        rest = b" " if last == node.lineno else b"\n" + b" " * column
        new = new[: new.rindex("pass")].rstrip()
    if isinstance(node, ast.expr):
        new = ast.unparse(_defaults(ast.parse(new).body[0])[0][1])
    elif lines[node.lineno - 1][node.col_offset :].startswith(b"elif"):
        new = "el" + new
    made = before + new.encode() + rest + lines[last - 1][column:] + b"".join(lines[last:])
    ast.parse(made)
    return made.decode()
