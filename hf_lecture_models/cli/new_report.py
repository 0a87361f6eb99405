# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The report of `hf-lecture new`: what is in the files, what to look at, and what to fix."""

import math
import textwrap
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hf_lecture_models.data.looking import (
    alike,
    contradictions,
    examples,
    first_places,
    lengths_of,
    scripts_of,
    vocabulary_of,
)
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tokenization.splitting import split_words

_CLASSES_SHOWN = 20
FEW_ROWS = 5
"""A class with fewer rows is named: hardly anything can be learned or measured of it."""


@dataclass
class Looked:
    """The rows of a part of the data as texts and labels.

    Attributes:
        data: the rows or texts as the task reads them.
        sides: the texts by the task's names for them, such as `text` and `text_pair`, one for each row.
        labels: the label of each row, for a tagger the tags of a sentence; None: the task has none.
        counted: what is counted as classes, a label for each row or each word; () for numbers and places.
    """

    data: Any
    sides: dict[str, list[str]] = field(default_factory=dict)
    labels: list[Hashable] | None = None
    counted: list[str] = field(default_factory=list)

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The texts of each row without blanks around them, which are the same for equal rows."""
        return list(zip(*(map(str.strip, texts) for texts in self.sides.values()), strict=True))

    @property
    def noun(self) -> str:
        """The word for one of the data: "row", or "text" of running text."""
        return "row" if isinstance(self.data, Rows) else "text"

    def __str__(self) -> str:
        blank = sum(not any(texts) for texts in self.keys) if self.noun == "text" else 0
        return counted(len(self.data), self.noun) + (f", {blank:,} of them empty" if blank else "")

    @property
    def has_sets(self) -> bool:
        """True if a row may have several classes."""
        rows = isinstance(self.data, Rows) and "label" in self.data.columns
        return rows and any(isinstance(label, tuple) for label in self.labels or ())

    def where(self, place: int) -> str:
        """Return the number of a row, and its file if there are several."""
        if not isinstance(self.data, Rows):
            return f"text {place + 1:,}"
        (name, _), *others = self.data.sources
        return self.data.where(place) if others else self.data.where(place).removeprefix(f"{name}, ")

    def unlabelled(self) -> list[int]:
        """Return the rows without a label."""
        return [] if self.labels is None else [i for i, label in enumerate(self.labels) if is_missing(label)]


def is_missing(label: Any) -> bool:
    """Return whether a row with this value has no label.

    >>> [is_missing(label) for label in (None, " ", "good", 0, float("nan"))]
    [True, True, False, False, True]
    """
    return label is None or (isinstance(label, float) and math.isnan(label)) or not str(label).strip()


def look(name: str, data: Any) -> Looked:
    """Return the data of the task `name` as texts and labels; without sides for tasks whose data are not texts."""
    if isinstance(data, list) and all(isinstance(text, str) for text in data):
        return Looked(data, {"text": data})
    columns: Mapping[str, Any] = data.columns if isinstance(data, Rows) else {}
    if name == "token_classification":
        tags = columns["tags"]
        words = [" ".join(tokens) for tokens in columns["tokens"]]
        return Looked(data, {"sentence": words}, [tuple(own) for own in tags], [tag for own in tags for tag in own])
    if name == "question_answering":
        sides = {side: columns[side] for side in ("question", "context")}
        return Looked(data, sides, [tuple(answers["text"]) for answers in columns["answers"]])
    if name == "multiple_choice":
        sides = {
            "context": columns["context"],
            "choices": ["\n".join(map(_one_line, own)) for own in columns["choices"]],
        }
        return Looked(data, sides, columns["label"])
    sides = {side: columns[side] for side in ("text", "text_pair", "source", "target") if side in columns}
    sides = {side: ["" if text is None else str(text) for text in texts] for side, texts in sides.items()}
    labels = [_hashable(label) for label in columns["label"]] if sides and "label" in columns else None
    given = [label for label in labels or () if not is_missing(label)]
    counted = [str(one) for label in given for one in (label if isinstance(label, tuple) else [label])]
    return Looked(data, sides, labels, counted)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _hashable(label: Any) -> Hashable:
    return tuple(label) if isinstance(label, list) else label


def share(part: float, whole: float = 1.0) -> str:
    """Return a part as a percentage.

    >>> share(1, 3), share(0.9999)
    ('33.3 %', '100.0 %')
    """
    return f"{100 * part / whole:.1f} %"


def counted(number: int, noun: str, verb: str = "", verbs: str = "") -> str:
    """Return a number and its noun, and the verb that goes with the number.

    >>> counted(1, "row"), counted(1200, "row", "is", "are")
    ('1 row', '1,200 rows are')
    """
    noun = noun if number == 1 else "classes" if noun == "class" else f"{noun}s"
    verb = verb if number == 1 else verbs
    return f"{number:,} {noun} {verb}".rstrip()


def describe_texts(looked: Looked) -> list[tuple[str, str]]:
    """Return lines on lengths, words and letters of each side of the rows."""
    lines = []
    for side, texts in looked.sides.items():
        lengths = lengths_of([len(split_words(text)) for text in texts])
        words = vocabulary_of(dict.fromkeys(texts))
        scripts = [f"{script} {share(part)}" for script, part in scripts_of(texts).items() if part >= 0.001]
        lines += [
            (
                side,
                f"half of them have at most {counted(lengths.median, 'word')}, 95 % at most {lengths.high:,}; the "
                f"longest has {lengths.longest:,} ({looked.where(lengths.place)})",
            ),
            ("", f"{words.words:,} different words, {share(words.once, words.words or 1)} of them seen once"),
            ("", f"letters: {', '.join(scripts[:6]) or 'none'}"),
        ]
    return lines


def describe_classes(looked: Looked, noun: str) -> list[tuple[str, str]]:
    """Return a line with the classes and how often each occurs; noun: what has a class, such as "row" or "word"."""
    counts = Counter(looked.counted)
    if not counts:
        return []
    shown = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(_CLASSES_SHOWN))
    more = f" and {len(counts) - _CLASSES_SHOWN:,} more" if len(counts) > _CLASSES_SHOWN else ""
    line = f"{len(counts):,}: {shown}{more}"
    if looked.has_sets:
        without = sum(label == () for label in looked.labels or ())
        return [("classes", f"{line}; {counted(without, 'row', 'has', 'have')} none of them")]
    name, most = counts.most_common(1)[0]
    return [("classes", f"{line}; always predicting {name!r} is right for {share(most, counts.total())}")]


def describe_numbers(looked: Looked) -> list[tuple[str, str]]:
    """Return a line on labels that are numbers."""
    numbers = sorted(float(str(label)) for label in looked.counted)
    middle = numbers[len(numbers) // 2]
    mean = sum(numbers) / len(numbers)
    return [("numbers", f"from {numbers[0]:g} to {numbers[-1]:g}, mean {mean:.4g}, median {middle:g}")]


def worth_a_look(looked: Looked, are_classes: bool) -> list[str]:
    """Return what training accepts in the data, but a user may want to change.

    Args:
        are_classes: whether the labels are classes, and not numbers.
    """
    if not looked.sides:
        return []
    found, keys = [], looked.keys
    blank = [place for place, texts in enumerate(keys) if not any(texts)]
    if blank and isinstance(looked.data, Rows):  # empty lines of running text stand between documents
        found.append(f"{counted(len(blank), 'row', 'has', 'have')} no text: {examples(blank, looked.where)}")
    labels = looked.labels or [None] * len(keys)
    doubled = [pair for pair in first_places(zip(keys, labels, strict=True)) if any(keys[pair[0]])]
    if doubled:
        found.append(
            f"{counted(len(doubled), looked.noun, 'repeats', 'repeat')} another one: {_pairs(looked, doubled)}"
        )
    if looked.labels is not None and (differing := contradictions(keys, labels)):
        rows = counted(len(differing), "row", "has", "have")
        found.append(f"{rows} the text of another row, but another label: {_pairs(looked, differing)}")
    if are_classes:
        counts = Counter(looked.counted)
        for name, other in alike(counts):
            found.append(
                f"the classes {name!r} and {other!r} differ only in blanks or capitals; are they the same class?"
            )
        if rare := [name for name, count in counts.items() if count < FEW_ROWS]:
            found.append(
                f"{counted(len(rare), 'class', 'occurs', 'occur')} fewer than {FEW_ROWS} times, too rarely to be "
                f"learned or measured: {examples(rare, repr)}"
            )
    return found


def _pairs(looked: Looked, places: Sequence[tuple[int, int]]) -> str:
    return examples(places, lambda pair: f"{looked.where(pair[0])}, as {looked.where(pair[1])}")


def shared_rows(train: Looked, other: Looked, part: str) -> list[str]:
    """Return a line if rows of another part have the texts of training rows, so that a measure on them is too good."""
    if not other.sides:
        return []
    known = set(train.keys)
    both = [place for place, key in enumerate(other.keys) if key in known]
    if not both:
        return []
    return [
        f"{len(both):,} of {len(other.keys):,} rows of the {part} data ({share(len(both), len(other.keys))}) have the "
        f"text of a training row, so measures on them are too good: {examples(both, other.where)}"
    ]


def must_be_fixed(looked: Looked, are_classes: bool, fix: str) -> list[str]:
    """Return why training would refuse the data, apart from what the task's reader has refused already.

    Args:
        fix: what to do with rows without a label.
    """
    found = []
    if missing := looked.unlabelled():
        rows = counted(len(missing), "row", "has", "have")
        found.append(f"{rows} no label: {examples(missing, looked.where, 10)}; {fix}")
    if are_classes and looked.counted and len(set(looked.counted)) == 1:
        found.append(f"all labels are {looked.counted[0]!r}; there is nothing to learn")
    return found


def describe_answers(looked: Looked) -> list[tuple[str, str]]:
    """Return a line on the answers to questions, or on the choices of rows."""
    if "choices" in looked.sides:
        numbers = [choices.count("\n") + 1 for choices in looked.sides["choices"]]
        chance = sum(1 / number for number in numbers) / len(numbers)
        several = f"{min(numbers)} to {max(numbers)}" if min(numbers) < max(numbers) else f"{numbers[0]}"
        return [("choices", f"{several} of each row; guessing is right for {share(chance)}")]
    if "question" in looked.sides and looked.labels:
        without = sum(answers == () for answers in looked.labels)
        return [
            ("answers", f"{counted(without, 'question', 'has', 'have')} none ({share(without, len(looked.labels))})")
        ]
    return []


def unknown_classes(train: Looked, other: Looked, names: Mapping[str, str]) -> list[str]:
    """Return a line if another part of the data has classes that the training data lack, which cannot be measured.

    Args:
        names: the names of classes by what the data call them.
    """
    known = {names.get(label, label).casefold() for label in train.counted}
    new = [label for label in dict.fromkeys(other.counted) if names.get(label, label).casefold() not in known]
    if not new:
        return []
    has = counted(len(new), "class", "is", "are")
    return [f"{has} in no training row: {examples(new, repr)}; take its rows out, or train on some of them"]


def as_lines(parts: Sequence[tuple[str, str]]) -> list[str]:
    """Return named texts as lines in two columns."""
    width = max((len(name) for name, _ in parts), default=0)
    return [wrapped(f"  {name:{width}}  {text}", width + 4) for name, text in parts]


def wrapped(text: str, indent: int = 0) -> str:
    """Return a text in lines of a terminal, all but the first of them indented."""
    blanks = " " * indent
    return textwrap.fill(text, 118, subsequent_indent=blanks, break_long_words=False, break_on_hyphens=False)
