# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A Python file as a page: comments and docstrings on the left, their code beside them."""

import ast
import io
import tokenize
from dataclasses import dataclass, field

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from docs._site.docstrings import docstring_to_rst


@dataclass
class Row:
    """A note and the code beside it.

    Attributes:
        note: a docstring, or the text of a comment.
        lines: the numbers of the lines of code, from 1.
        name: the qualified name of what is defined there, if anything is.
    """

    note: str = ""
    lines: list[int] = field(default_factory=list)
    name: str = ""


def source_page(path: str, source: str) -> str:
    """Return the page of a file, as reStructuredText.

    Args:
        path: from the root of the repository; it is the title.
        source: the text of the file.

    Raises:
        SyntaxError: the file is not Python.
    """
    title = path.rpartition("/")[2]
    code = highlight(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).split("\n")
    lines = [":orphan:", ":hide-toc:", "", title, "=" * len(title), "", f"``{path}``", ""]
    head, *rows = split_rows(source)
    lines += docstring_to_rst(head.note)
    for row in [Row("", head.lines), *rows]:
        while row.lines and not source.splitlines()[row.lines[-1] - 1].strip():
            row.lines.pop()
        if row.note or row.lines:
            lines += _row(row, [code[number - 1] for number in row.lines])
    return "\n".join(lines)


def split_rows(source: str) -> list[Row]:
    """Return the rows of a file; the first has the file's docstring and its imports.

    >>> [(row.note, row.lines) for row in split_rows('\"\"\"Doc.\"\"\"\\nx = 1\\n# Why.\\ny = 2\\n')]
    [('Doc.', [2]), ('Why.', [4])]
    """
    starts, hidden = _documented(ast.parse(source))
    for number, text in _comments(source).items():
        hidden.add(number)
        # Lines of a comment that follow each other are one note, above the line of code that follows them.
        if number - 1 in starts and number - 1 in hidden:
            starts[number] = Row(f"{starts.pop(number - 1).note}\n{text}")
        else:
            starts[number] = Row(text)
    rows = [starts.pop(0, Row())]
    for number, line in enumerate(source.splitlines(), start=1):
        if number in starts:
            rows.append(starts[number])
        if number not in hidden and (rows[-1].lines or line.strip()):
            rows[-1].lines.append(number)
    return [rows[0], *_joined(rows[1:])]


def _joined(rows: list[Row]) -> list[Row]:
    """Return the rows with each note that has no code joined to the next note: a comment above a definition."""
    result: list[Row] = []
    for row in rows:
        if result and not result[-1].lines:
            above = result.pop()
            row = Row(f"{above.note}\n\n{row.note}".strip(), row.lines, row.name or above.name)
        result.append(row)
    return result


def _documented(tree: ast.Module) -> tuple[dict[int, Row], set[int]]:
    """Return the rows that begin at a definition, by its first line, and the lines of all docstrings."""
    starts: dict[int, Row] = {}
    hidden: set[int] = set()

    def visit(node: ast.AST, scope: str) -> None:
        body: list[ast.stmt] = getattr(node, "body", [])
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            return
        for before, statement in zip([None, *body], body, strict=False):
            if (note := _string(statement)) is not None and isinstance(before, ast.Assign | ast.AnnAssign):
                starts[before.lineno] = Row(note)
                hidden.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
            if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{scope}{statement.name}"
                first = min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)])
                starts[first] = Row(ast.get_docstring(statement) or "", name=name)
                visit(statement, f"{name}.")
        if body and _string(body[0]) is not None and ast.get_docstring(node):
            hidden.update(range(body[0].lineno, (body[0].end_lineno or 0) + 1))

    visit(tree, "")
    starts[0] = Row(ast.get_docstring(tree) or "")
    return starts, hidden


def _string(statement: ast.stmt) -> str | None:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _comments(source: str) -> dict[int, str]:
    """Return the comments that have a line of their own, without the licence and marks for programs."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            text = token.string.lstrip("#").strip()
            found[token.start[0]] = "" if text.startswith(("Copyright", "ruff:", "!", "mypy:")) else text
    return found


def _row(row: Row, code: list[str]) -> list[str]:
    lines = [".. container:: source-row", "", "   .. container:: source-note", ""]
    if row.name:
        lines += ["      .. raw:: html", "", f'         <span id="{row.name}"></span>', ""]
    lines += [f"      {line}" if line else "" for line in docstring_to_rst(row.note) or ["..", ""]]
    # Each line of code is one line of the page, blank lines included, which would end a block of raw text.
    block = "&#10;".join(code)
    lines += ["   .. raw:: html", "", f'      <div class="source-code highlight"><pre>{block}</pre></div>', ""]
    return lines
