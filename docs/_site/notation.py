# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The notation of equations in plain text, read into LaTeX.

`h_t`, `W_{x h}`, `h^{n-1}`, `√d`, `Σ_{s ≤ t}`, `x̂`, `h→`, `P(a | b)`, `[x; y]`; names of several letters are upright.
"""

import re
import unicodedata

FUNCTIONS = {"exp", "ln", "log", "max", "min", "sin", "cos", "tanh"}
SUMS = {"Σ": r"\sum", "sum": r"\sum", "Π": r"\prod", "prod": r"\prod"}
SYMBOLS = {
    "⊙": r"\odot",
    "·": r"\cdot",
    "*": r"\cdot",
    "×": r"\times",
    "←": r"\leftarrow",
    "→": r"\rightarrow",
    "≤": r"\le",
    "<=": r"\le",
    "≥": r"\ge",
    ">=": r"\ge",
    "≠": r"\ne",
    "≈": r"\approx",
    "∝": r"\propto",
    "∞": r"\infty",
    "∂": r"\partial",
    "∇": r"\nabla",
    "∈": r"\in",
    "∪": r"\cup",
    "±": r"\pm",
    "~": r"\sim",
    "...": r"\ldots",
    "|": "|",
    "°": r"^{\circ}",
    "ᵀ": r"^{\top}",
    "¹": "^{1}",
    "²": "^{2}",
    "³": "^{3}",
    "%": r"\%",
    **{character: character for character in "=+-/<>,.;:!"},
}
BRACKETS = {"(": ")", "[": "]", "{": "}"}
# Combining accents, and what stands for one behind a letter.
ACCENTS = {"\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar", "~": r"\tilde"}
ACCENTS |= {"→": r"\overrightarrow", "←": r"\overleftarrow"}
# Stands before a sign behind a letter that is its accent, not an operator.
ACCENT_MARK = "\u20d7"
GREEK_LETTERS = {
    "αβγδεζηθκλμν": "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu",
    "ξπρστφχψω": "xi pi rho sigma tau varphi chi psi omega",
    "ΓΔΘΛΠΣΦΨΩ": "Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega",
}
GREEK = {
    letter: f"\\{name}"
    for letters, names in GREEK_LETTERS.items()
    for letter, name in zip(letters, names.split(), strict=True)
}
WORDS = set("all and are at by each else for from if in is of on or over the to with where here there times no".split())  # noqa: SIM905
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d[\d,]*\d(?!\w)|\d+(?:\.\d+)?)|(?P<name>[^\W\d_ᵀ¹²³]+)|(?P<other>\.\.\.|<=|>=|.)"
)


class UnknownNotationError(ValueError):
    """The text is not in the notation."""


class Reader:
    """Reads an equation from left to right.

    >>> Reader("h_t = tanh(W_xh x̂_t + b)").sequence()
    'h_{t} = \\\\tanh(W_{xh} {\\\\hat{x}}_{t} + b)'
    """

    def __init__(self, text: str):
        # Only letters with an accent are decomposed; a sign above the line, like ², stays as it is.
        text = "".join(unicodedata.normalize("NFD", letter) if letter.isalpha() else letter for letter in text)
        text = re.sub(r"(?<=\w)([→←~])(?=[_^{,;)\]\s]|$)(?! )", rf"{ACCENT_MARK}\1", text)
        self.tokens = [(match.lastgroup or "", match[0]) for match in TOKEN.finditer(text)]
        self.at = 0

    def sequence(self, end: str = "") -> str:
        """Read up to a closing bracket, or to the end.

        Raises:
            UnknownNotationError: a sign is not known, or a bracket has no other.
        """
        parts: list[str] = []
        while self.at < len(self.tokens):
            if self.tokens[self.at][1] == end:
                self.at += 1
                return "".join(parts)
            parts.append(self._item())
        if end:
            raise UnknownNotationError(end)
        return "".join(parts)

    def _peek(self, offset: int = 0) -> str:
        """Return the token at the reader's place, or so many after it; "" where there is none."""
        at = self.at + offset
        return self.tokens[at][1] if 0 <= at < len(self.tokens) else ""

    def _item(self) -> str:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "space":
            return self._space()
        if kind == "name":
            return self._words(text) or self._name(text)
        if kind == "number":
            return text.replace(",", "{,}")
        if text in {"_", "^"}:
            return text + self._script()
        if text == "√":
            return rf"\sqrt{{{self._operand()}}}"
        if text in BRACKETS:
            opening, closing = (r"\{", r"\}") if text == "{" else (text, BRACKETS[text])
            return opening + self.sequence(BRACKETS[text]) + closing
        if text == "'":
            return r"^{\prime}"
        if text == "*" and self._peek(-2)[-1:].isalpha():
            return "^{*}"
        if text not in SYMBOLS:
            raise UnknownNotationError(text)
        is_bar = text == "|" and self._peek(-2).isspace() and self._peek().isspace()
        symbol = r"\mid" if is_bar else SYMBOLS[text]
        return symbol + self._gap() if symbol[-1:].isalpha() else symbol

    def _gap(self) -> str:
        """Return the space that LaTeX needs between a command and a letter."""
        return " " if self._peek()[:1].isalpha() else ""

    def _space(self) -> str:
        """Return a space that is seen where it stands between a name of several letters and its neighbour."""
        left, right = self._peek(-2), self._peek()
        is_index = self._peek(-3) in {"_", "^"}
        beside = (
            (left[-1:].isalnum() or left[-1:] in set(")]}'|")),
            (right[:1].isalnum() or right[:1] in set("([{√∇∂|")),
        )
        return r"\, " if all(beside) and ((_is_name(left) and not is_index) or _is_name(right)) else " "

    def _words(self, first: str) -> str:
        """Read words of English that stand between the parts of an equation; "" if the name is not one."""
        if not _can_be_word(first, self._peek()):
            return ""
        words, start = [first], self.at
        while self._peek().isspace():
            word, after, following = self._peek(1), self._peek(2), self._peek(3)
            # "a" is a word between others, and a vector elsewhere.
            if not (_can_be_word(word, after) or (word == "a" and _can_be_word(following, self._peek(4)))):
                break
            words.append(word)
            self.at += 2
        if len(words) > 1 or first in WORDS:
            return rf"\text{{{' '.join(words)}}}"
        self.at = start
        return ""

    def _name(self, text: str) -> str:
        if text == "log" and self._peek() in {"2", "10"}:
            self.at += 1
            return rf"\log_{{{self._peek(-1)}}}" + self._gap()
        if text in SUMS and self._is_sum(text):
            return self._sum(SUMS[text])
        if text == "x" and self._peek().isspace() and self._peek(1).isdigit():
            return r"\times"
        text += self._rest_of_name(text)
        if text in FUNCTIONS or f"\\{text}" in GREEK.values():
            return f"\\{text}" + self._gap()
        if len(text) == 1 or text in {"hw", "dx"} or any(letter in GREEK or letter in SYMBOLS for letter in text):
            latex = _letters(text)
            return self._accented(latex) + (self._gap() if latex[-1:].isalpha() and len(latex) > 1 else "")
        command = r"\operatorname" if self._peek()[:1] in {"(", "_"} else r"\mathrm"
        return self._accented(rf"{command}{{{text}}}")

    def _rest_of_name(self, text: str) -> str:
        """Read the rest of a name like head_dim, which is not a name with an index."""
        rest = ""
        while len(text) > 1 and text.islower() and self._peek() == "_" and re.fullmatch("[a-z]{2,}", self._peek(1)):
            rest += rf"\_{self._peek(1)}"
            self.at += 2
        return rest

    def _is_sum(self, text: str) -> bool:
        """Return True where Σ is a sum, not a matrix: it has an index, or something to add follows it."""
        if self._peek() == "_":
            return re.fullmatch(r"\d\d", self._peek(1)) is None
        return text in "ΣΠ" and self._peek().isspace() and self._peek(1) not in {"=", "+", "-", ""}

    def _sum(self, latex: str) -> str:
        if self._peek() == "_" and self._peek(2) == "'":
            self.at += 3
            return rf"{latex}_{{{self._peek(-2)}^{{\prime}}}}"
        return latex

    def _accented(self, latex: str) -> str:
        marked = self._peek() == ACCENT_MARK
        accent = self._peek(1) if marked else self._peek()
        if not marked and accent not in ACCENTS.keys() - {"~", "→", "←"}:
            return latex
        self.at += 2 if marked else 1
        # The outer braces keep an index that follows beside the letter, not below its accent.
        return f"{{{ACCENTS[accent]}{{{latex.strip()}}}}}"

    def _script(self) -> str:
        """Read an index or exponent: a group in braces or round brackets, or one sign, number or name."""
        if self._peek() in {"{", "("}:
            self.at += 1
            return f"{{{self.sequence(BRACKETS[self._peek(-1)])}}}"
        sign = self._peek() if self._peek() in {"-", "+"} else ""
        self.at += len(sign)
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        self.at += 1
        if kind == "name":
            text += self._rest_of_name(text)
            upright = (len(text) > 2 or (len(text) > 1 and text.isupper())) and text.isascii()
            return f"{{{sign}\\mathrm{{{text}}}}}" if upright else f"{{{sign}{_letters(text)}}}"
        if kind == "number":
            letters = self._peek() if re.fullmatch("[A-Za-z]{1,2}", self._peek()) else ""
            self.at += bool(letters)
            return f"{{{sign}{text}{letters}}}"
        if text in {"ᵀ", "°"}:
            return SYMBOLS[text][1:]
        raise UnknownNotationError(text)

    def _operand(self) -> str:
        """Read what a root is taken of: a group in brackets, or a letter with its indices."""
        if self._peek() == "(":
            self.at += 1
            return self.sequence(")")
        operand = self._item() if self._peek() else ""
        while self._peek() in {"_", "^"}:
            operand += self._item()
        return operand


def _letters(text: str) -> str:
    if text.isascii():
        return text
    return " ".join(SYMBOLS.get(letter, GREEK.get(letter, letter)) for letter in text)


def _is_name(text: str) -> bool:
    return len(text) > 1 and text.isalpha() and text not in FUNCTIONS


def _can_be_word(text: str, after: str) -> bool:
    is_called = after in {"_", "^", "(", "[", "'"}
    return len(text) > 1 and text.isalpha() and text.isascii() and text not in FUNCTIONS and not is_called
