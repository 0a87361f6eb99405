# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the site adds to Sphinx: equations as MathML, and docstrings in the form of this package."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from docs._site.docstrings import docstring_to_rst
from docs._site.equations import equation_rows

logger = logging.getLogger(__name__)
PLAIN = {None, "", "default", "none", "text"}


class Equations(SphinxTransform):
    """Shows the equations of literal blocks as mathematics; blocks of code and of other text stay."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        """Replace each block that has an equation."""
        for block in list(self.document.findall(nodes.literal_block)):
            rows = equation_rows(block.astext()) if block.get("language") in PLAIN else None
            if rows is not None:
                block.replace_self(_equations(rows))


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


def convert_docstring(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Give autodoc a docstring as reStructuredText."""
    lines[:] = docstring_to_rst("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the above to Sphinx."""
    app.add_transform(Equations)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.connect("autodoc-process-docstring", convert_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
