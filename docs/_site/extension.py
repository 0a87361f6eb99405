# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the site adds to Sphinx: equations as MathML, names in tables' cells, docstrings in this package's form."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from docs._site.docstrings import docstring_to_rst
from docs._site.equations import equation_rows, is_code

logger = logging.getLogger(__name__)
# Indented blocks. A block between fences is code or, with the language "text", what code prints.
PLAIN = {None, "", "default", "none"}


class Equations(SphinxTransform):
    """Shows the equations of literal blocks as mathematics; code, what it prints, and other text stay."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        """Replace each block that has an equation."""
        for block in list(self.document.findall(nodes.literal_block)):
            if block.get("language") in PLAIN and not _follows_code(block):
                rows = equation_rows(block.astext())
                if rows is not None:
                    block.replace_self(_equations(rows))


def _follows_code(block: nodes.literal_block) -> bool:
    """Return True for a block right after code or a command: it is what they print."""
    before = block.previous_sibling()
    while isinstance(before, nodes.comment):
        before = before.previous_sibling()
    if not isinstance(before, nodes.literal_block | nodes.doctest_block):
        return False
    return before.get("language") not in PLAIN or is_code(before.astext())


def _equations(rows: list[list[tuple[str, str]]]) -> nodes.container:
    container = nodes.container(classes=["equations"])
    for row in rows:
        line = nodes.paragraph()
        for kind, text in row:
            parts = [nodes.math(text, text)] if kind == "math" else _words(text)
            line += nodes.inline("", "", *parts, classes=[f"equation-{kind}"])
            line += nodes.Text(" ")
        container += line
    return container


def _words(text: str) -> list[nodes.Node]:
    """Return a remark, with its code between backticks as code."""
    parts = text.split("`")
    return [nodes.literal(part, part) if index % 2 else nodes.Text(part) for index, part in enumerate(parts) if part]


def _mathml(writer: Any, node: Any, block: bool) -> None:
    try:
        mathml = tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logger.warning("cannot show the equation %s: %s", node.astext(), error, location=node)
        mathml = f"<code>{writer.encode(node.astext())}</code>"
    writer.body.append(f'<div class="math">{mathml}</div>' if block else mathml)
    raise nodes.SkipNode


def visit_math(writer: Any, node: nodes.math) -> None:
    """Write an equation within a line."""
    _mathml(writer, node, block=False)


def visit_displaymath(writer: Any, node: nodes.math_block) -> None:
    """Write an equation on lines of its own."""
    _mathml(writer, node, block=True)


class TableNames(SphinxTransform):
    """Gives each cell of a table of four or more columns its column's name, for pages that are too narrow for it."""

    default_priority = 410

    def apply(self, **kwargs: Any) -> None:
        """Set `column_name` of the cells, and the class `cards` of their tables."""
        for table in self.document.findall(nodes.table):
            heads = [row for head in table.findall(nodes.thead) for row in head.findall(nodes.row)]
            if not heads or len(heads[0]) < 4:
                continue
            table["classes"].append("cards")
            names = [cell.astext() for cell in heads[0]]
            for body in table.findall(nodes.tbody):
                for row in body.findall(nodes.row):
                    for name, cell in zip(names, row, strict=False):
                        cell["column_name"] = name


def visit_entry(writer: Any, node: nodes.entry) -> None:
    """Write a table's cell, with its column's name as an attribute."""
    type(writer).visit_entry(writer, node)
    if "column_name" in node:
        writer.body[-1] = writer.body[-1].replace("<td", f'<td data-label="{writer.attval(node["column_name"])}"', 1)


def depart_entry(writer: Any, node: nodes.entry) -> None:
    """End a table's cell."""
    type(writer).depart_entry(writer, node)


def convert_docstring(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Give autodoc a docstring as reStructuredText."""
    lines[:] = docstring_to_rst("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the above to Sphinx."""
    app.add_transform(Equations)
    app.add_transform(TableNames)
    app.add_node(nodes.entry, override=True, html=(visit_entry, depart_entry))
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.connect("autodoc-process-docstring", convert_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
