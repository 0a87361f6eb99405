# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The marks that some corpora write around their texts: `<s> the cat </s>`, and padding.

CMUSphinx and IRSTLM ask for this form. SRILM reads the marks as the bounds that it adds to other texts, and so does
this package; KenLM refuses them. `<pad>` at either end, as rows that were padded and decoded have it, is left out.
This file travels with exported models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import length_hint
from typing import Any

# Unicode's property White_Space.
_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_WORD = re.compile(f"[^{_SPACES}]+")
_MARKS = (("<s>", "bos_token", "cls_token"), ("</s>", "eos_token", "sep_token"), ("<pad>", "pad_token"))
# So many texts are looked through together.
_AT_ONCE = 1024

Where = Callable[[int], str]
"""Returns the name of a text for messages, by its number from 0."""


class TextBounds:
    """Splits texts from the marks around them: `<s>`, `</s>` and `<pad>`, and a tokenizer's own tokens in their places.

    >>> TextBounds().split("<s> the cat </s> <pad>")
    (True, 'the cat', True)
    >>> TextBounds().split("the <s> cat")
    (False, 'the <s> cat', False)
    """

    def __init__(self, tokenizer: Any = None) -> None:
        own = [
            [str(token) for name in names if (token := getattr(tokenizer, name, None)) is not None]
            for _, *names in _MARKS
        ]
        begins, ends, pads = ((mark, *tokens) for (mark, *_), tokens in zip(_MARKS, own, strict=True))
        self.begins, self.ends = begins, ends
        self.pads = tuple(pad for pad in pads if pad not in (*begins, *ends))
        self.own = {*chain(*own)}
        self.all = {*begins, *ends, *self.pads}

    def may_be_in(self, text: str) -> bool:
        """Return whether a mark is anywhere in the text, even as a part of a word; this is fast."""
        for mark in self.all:  # noqa: SIM110  (`any` takes three times as long)
            if mark[:1] in text and mark in text:  # one character is found many times faster than several
                return True
        return False

    def strip_all(self, texts: Sequence[Any]) -> Iterable[Any]:
        """Return texts as `strip` does, and what is not a str as it is."""
        if all(isinstance(text, str) for text in texts) and not self.may_be_in("\n".join(texts)):
            return texts
        return (self.strip(text) if isinstance(text, str) else text for text in texts)

    def split(self, text: str) -> tuple[bool, str, bool]:
        """Return whether a mark begins the text, what is between the marks, and whether a mark ends it."""
        while (rest := _after(text, self.pads)) is not None:
            text = rest
        while (rest := _before(text, self.pads)) is not None:
            text = rest
        inside = _after(text, self.begins)
        is_begun, text = inside is not None, text if inside is None else inside
        inside = _before(text, self.ends)
        return is_begun, text if inside is None else inside, inside is not None

    def strip(self, text: str) -> str:
        """Return the text between two marks; a text without them, or with one alone, as it is.

        >>> [TextBounds().strip(text) for text in ("<s> the cat </s>", "<s> the cat")]
        ['the cat', '<s> the cat']
        """
        if not self.may_be_in(text):
            return text
        is_begun, inside, is_ended = self.split(text)
        return inside if is_begun and is_ended else text


def strip_bounds(texts: Any, tokenizer: Any = None) -> Any:
    """Return texts without the marks around them; each is taken by itself, as a text to score is.

    >>> strip_bounds(["<s> the cat </s>", "a dog", "</s>"])
    ['the cat', 'a dog', '</s>']
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable) or _is_split(texts):
        return texts  # split as they are, or refused by the tokenizer
    bounds = TextBounds(tokenizer)
    if isinstance(texts, Sequence):
        starts = range(0, len(texts), _AT_ONCE)
        return [text for first in starts for text in bounds.strip_all(texts[first : first + _AT_ONCE])]
    return (bounds.strip(text) if isinstance(text, str) else text for text in texts)


def plain_texts(texts: Any, tokenizer: Any = None, where: Where | None = None) -> Any:
    """Return the texts of a corpus without the marks around them, and without a byte order mark before the first.

    >>> list(plain_texts(["<s> the cat </s>", "<s> a dog </s> <pad>"]))
    ['the cat', 'a dog']

    Marks are bounds where every text has them; blank texts need none. `SplitTexts` are returned as they are. While the
    texts are read, a ValueError names, by `where`, one that lacks a mark which others have, or has one inside that is
    unknown to the tokenizer (None: any).
    """
    if _is_split(texts):
        _refuse_split_marks(texts, tokenizer)
        return texts
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        return texts  # which the tokenizer refuses
    return _PlainTexts(texts, tokenizer, where or _text_number)


class _PlainTexts:
    """The texts that `plain_texts` returns, read each time that they are iterated."""

    def __init__(self, texts: Iterable[str], tokenizer: Any, where: Where) -> None:
        self._texts, self._tokenizer, self._where = texts, tokenizer, where

    def __length_hint__(self) -> int:
        return length_hint(self._texts)

    def __iter__(self) -> Iterator[str]:
        bounds = TextBounds(self._tokenizer)
        refused = bounds.own if _is_closed(self._tokenizer) else set()
        expected: tuple[bool, bool] | None = None
        for number, text in enumerate(self._texts):
            if not isinstance(text, str):
                yield text  # which the tokenizer refuses
                continue
            found, inside = (False, False), text if number else text.lstrip("\ufeff")
            if has_marks := bounds.may_be_in(inside):
                is_begun, inside, is_ended = bounds.split(inside)
                found = (is_begun, is_ended)
            if found != expected and (any(found) or inside.strip(_SPACES)):
                if expected is not None:
                    raise _mixed(self._where(number), found, expected)
                expected = found
            if has_marks and (mark := _mark_inside(inside, bounds.all if any(found) else refused)):
                raise _inside(self._where(number), mark)
            yield inside


def _after(text: str, marks: tuple[str, ...]) -> str | None:
    """Return what follows the mark that begins a text; None if none does."""
    text = text.lstrip(_SPACES)
    for mark in marks if text.startswith(marks) else ():
        if text.startswith(mark) and text[len(mark) : len(mark) + 1] in {"", *_SPACES}:
            return text[len(mark) :].lstrip(_SPACES)
    return None


def _before(text: str, marks: tuple[str, ...]) -> str | None:
    """Return what stands before the mark that ends a text; None if none does."""
    text = text.rstrip(_SPACES)
    for mark in marks if text.endswith(marks) else ():
        rest = text[: len(text) - len(mark)]
        if text.endswith(mark) and rest[-1:] in {"", *_SPACES}:
            return rest.rstrip(_SPACES)
    return None


def _is_closed(tokenizer: Any) -> bool:
    """Return whether a mark inside a text would be an unknown word: the tokenizer has whole words alone."""
    return bool(getattr(tokenizer, "has_one_token_per_word", bool)())


def _is_split(texts: Any) -> bool:
    """Return whether the texts are `SplitTexts`, whose file does not travel with models."""
    return hasattr(texts, "indices")


def _mark_inside(text: str, marks: set[str]) -> str | None:
    return next((word for word in _WORD.findall(text) if word in marks), None)


def _refuse_split_marks(texts: Any, tokenizer: Any) -> None:
    marks = TextBounds(tokenizer).own
    if _is_closed(tokenizer) and any(not marks.isdisjoint(index.words) for index in texts.indices()):
        for number, text in enumerate(texts):
            if mark := _mark_inside(text, marks):
                raise _inside(_text_number(number), mark)


def _text_number(number: int) -> str:
    return f"text {number + 1}"


def _mixed(where: str, found: tuple[bool, bool], expected: tuple[bool, bool]) -> ValueError:
    place = 0 if found[0] != expected[0] else 1
    verb, mark = (("begins", "<s>"), ("ends", "</s>"))[place]
    does = verb if found[place] else f"does not {verb[:-1]}"
    return ValueError(
        f"{where} {does} with {mark}, unlike those before it; write the marks <s> and </s> around every text of the "
        "corpus, or around none"
    )


def _inside(where: str, mark: str) -> ValueError:
    return ValueError(
        f"{where} has {mark} inside, which is a mark of a text's bounds and not a word; give each text a line of its "
        "own, or take the mark out"
    )
