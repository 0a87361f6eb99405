# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""English text that comes with Python: its language reference, in the interpreter's own `pydoc_data.topics`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r"\w+(?:[-'’.]\w+)*|\.\.\.|[^\w\s]")
_SENTENCE_END = re.compile(r"(?<=[.?!]) (?=[A-Z‘“(])")


@dataclass(frozen=True)
class Corpus:
    """Texts for training, for choosing the best weights, and for the final test."""

    train: list[str]
    validation: list[str]
    test: list[str]


def python_reference(most_paragraphs: int | None = None) -> Corpus:
    """Return sentences of Python's language reference, with white space around punctuation marks.

    Paragraphs of code, grammar and tables are left out, and repeated ones, which would bring training sentences into
    the other parts. Of every ten paragraphs one is for validation and one for the test.
    """
    parts: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
    for part, _, sentence in _sentences(most_paragraphs):
        parts[part].append(sentence)
    return Corpus(**parts)


def python_topics(part: str) -> list[str]:
    """Return the topic of each text of a part of `python_reference`: "train", "validation" or "test"."""
    return [topic for own, topic, _ in _sentences(None) if own == part]


def _sentences(most_paragraphs: int | None) -> Iterator[tuple[str, str, str]]:
    """Yield the part, the topic and the text of each sentence."""
    from pydoc_data import topics

    paragraphs: dict[str, str] = {}
    for name, topic in sorted(topics.topics.items()):
        for block in topic.split("\n\n"):
            if paragraph := _prose(block):
                paragraphs.setdefault(paragraph, name)
    for number, (paragraph, name) in enumerate(list(paragraphs.items())[:most_paragraphs]):
        part = {8: "validation", 9: "test"}.get(number % 10, "train")
        yield from ((part, name, sentence) for sentence in _SENTENCE_END.split(paragraph))


def _prose(block: str) -> str:
    """Return the block as one line of space-separated tokens, or "" if it is not English prose.

    >>> _prose("The *try* statement\\n   handles exceptions, or re-\\n   raises them.")
    'The try statement handles exceptions , or re-raises them .'
    >>> _prose(">>> x = 1")
    ''
    """
    if re.search(r">>>|::=|===|---|\*\*\*", block):
        return ""
    text = re.sub(r"(?<=\w)- (?=\w)", "-", " ".join(line.strip() for line in block.splitlines()))
    tokens = _TOKEN.findall(re.sub(r'[*"`]', "", text))
    words = sum(token[0].isalpha() for token in tokens)
    is_prose = len(tokens) >= 6 and words >= 0.75 * len(tokens) and tokens[-1] in ".?!:"
    return " ".join(tokens) if is_prose else ""
