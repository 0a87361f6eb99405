# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The equations of docstrings and pages, which are plain text, as LaTeX.

Two spaces separate an equation from its neighbour or from a remark. What is not an equation stays text.
"""

import ast
import re
import textwrap

from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml

from docs._site.notation import FUNCTIONS, Reader, UnknownNotationError

COMMAND = re.compile(
    r"^\s*(\$|([A-Z_]+=\S+ )*(python|pip|hf-lecture|accelerate|torchrun) |from \w+ import)", re.MULTILINE
)
RELATION = re.compile(r"=|←|∝|≤|≈|Σ|√|⊙|·|\s[-+/]\s|[_^]")
REMARK = re.compile(
    r"\(.*(slide|equation|section|et al|[a-z]{4,} [a-z]{3,}).*\)|\(\d[^)]*\).*|"
    r"\([^=<≤·+]*[A-Za-z]{2}[^=<≤·+]*\)|\([A-Z]\.\d\S*\)"
)
# Numbers with exponents, quotes, dotted names, addresses, keyword arguments, labels, tags, names that a script has,
# possessives, words with a hyphen, types, references, and the end of a sentence before the next one.
NOT_MATHEMATICS = re.compile(
    r"\d[eE][-+]?\d|[\"`@#$\\]|\w\.[a-z]|\w://|[a-z\d]=\w(?![^{]*})|^\w+:(\s|$)|\d_\d|</|<\w+>|"
    r"^[a-z_]{2,}(, [a-z_]{2,})*$|'s\b|"
    r"[a-z]{3,}-[A-Za-z]{2,}|\b(float|uint|int)\d+|\b(slides?|section|equation) |[a-z)]\. [A-Z]"
)


def equation_rows(text: str) -> list[list[tuple[str, str]]] | None:
    """Return the lines of a block as ("math", LaTeX) and ("text", words), None if the block has no equation.

    >>> equation_rows("h_t = W_x x_t    (slide 3)")
    [[('math', 'h_{t} = W_{x} x_{t}'), ('text', '(slide 3)')]]
    >>> equation_rows("model = load_model(folder)") is None
    True
    """
    if is_code(text):
        return None
    rows = [_cells(line) for line in textwrap.dedent(text).splitlines() if line.strip()]
    equations = [cell for row in rows for cell in row if cell[0] == "math" and RELATION.search(cell[1])]
    return rows if equations else None


def to_latex(text: str) -> str | None:
    """Return the LaTeX of an equation, None if it is words, code or a notation that is not known.

    >>> to_latex("a_t = softmax_s(q_t · k_s / √head_dim)")
    'a_{t} = \\\\operatorname{softmax}_{s}(q_{t} \\\\cdot k_{s} / \\\\sqrt{\\\\mathrm{head\\\\_dim}})'
    >>> to_latex("the norm comes after the sum") is None
    True
    """
    if NOT_MATHEMATICS.search(text) or _is_prose(text):
        return None
    try:
        latex = re.sub(r" +", " ", Reader(text).sequence()).strip()
        tex2mathml(latex)
    except (UnknownNotationError, MathError):
        return None
    return latex


def is_code(text: str) -> bool:
    """Return True for Python and for commands.

    >>> is_code("OMP_NUM_THREADS=1 python -m benchmarks.speed"), is_code("a_t = q_t · k_s")
    (True, False)
    """
    if not text.isascii():
        return False
    if COMMAND.search(text) or "://" in text:
        return True
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError:
        return False
    code = ast.Call | ast.Constant | ast.Import | ast.ClassDef
    return "^" not in text and any(isinstance(node, code) for node in ast.walk(tree))


def _cells(line: str) -> list[tuple[str, str]]:
    """Return the parts of a line; a line that is indented begins with a wide space."""
    cells = [("text", "\u2003")] if line.startswith("  ") else []
    for part in re.split(r"\s{2,}|\s(?=\((?:slides?|equation|section)\b)", line.strip()):
        latex = to_latex(part)
        # A name before a colon says which equation follows.
        label, colon, rest = part.partition(": ")
        if latex is None and colon and RELATION.search(rest) and (latex_of_rest := to_latex(rest)) is not None:
            cells += [("text", f"{label}:"), ("math", latex_of_rest)]
        else:
            cells.append(("text", part) if latex is None else ("math", latex))
    return cells


def _is_prose(text: str) -> bool:
    """Return True for a sentence: a remark in brackets, or more words than an equation has.

    >>> [_is_prose(text) for text in ("(slide 3)", "s over all keys", "all s", "x = Σ_s v_s of s")]
    [True, True, True, False]
    """
    if REMARK.fullmatch(text):
        return True
    bare = re.sub(r"\([^()]*\)|\[[^\[\]]*\]", "", text)
    words = [word for word in re.findall(r"(?<![_^{\w])[A-Za-z][a-z]+(?![_(\w])", bare) if word not in FUNCTIONS]
    joined = re.findall(r"[a-z]{2,} [a-z]{2,}", bare)
    has_relation = RELATION.search(text) is not None
    return (not has_relation and bool(words)) or len(words) > 5 or (len(joined) > 1 and not re.search("[=←≤]", text))
