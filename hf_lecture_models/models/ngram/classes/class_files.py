# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The classes of a class-based n-gram: found in a text, or read from a file and written, in SRILM's format

    CLASS-00001 0.25 cat
    CLASS-00001 0.75 dog

class, P(word | class), word. A probability that is left out is 1. The probabilities of a class sum to 1, and each word
is in one class.

Deviations:
    - `<s>`, `</s>`, `<pad>` and `<unk>` are classes of their own, as in SRILM, unless a file puts `<unk>` elsewhere.
    - Words of the vocabulary that the text does not have share one more class, in which they are equally probable.
    - SRILM also allows a word in several classes, and classes of phrases; both are refused.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.io.files import staged_file
from hf_lecture_models.layers.ngram_tables import TOLERANCE, WordClasses
from hf_lecture_models.models.ngram.checks_ngram import how_estimated
from hf_lecture_models.models.ngram.classes.exchange import Bigrams, exchange
from hf_lecture_models.models.ngram.configuration_ngram import VOCABULARY_FIELDS, NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import Stream
from hf_lecture_models.models.ngram.files.arpa_format import check_spellings
from hf_lecture_models.tokenization.corpus import read_texts

_Path = str | os.PathLike[str]
LARGEST_NUMBER = 2**13
_SEPARATOR = re.compile("[ \t]+")


def special_tokens(config: NGramConfig) -> list[int]:
    """Return the ids that are classes of their own."""
    ids = {config.bos_token_id, config.eos_token_id, config.pad_token_id, config.unk_token_id}
    return sorted(index for index in ids if index is not None)


def find_classes(stream: Stream, config: NGramConfig, num_classes: int, progress: bool = False) -> WordClasses:
    """Put the words of a text into classes by the exchange algorithm (`exchange.py`), which is deterministic.

    At first the most frequent words are classes of their own, and the last class has all others. Special tokens, and
    the words that the text lacks, have further classes.

    Raises:
        ValueError: the text has fewer different words than `num_classes`, or this is more than `LARGEST_NUMBER`.
    """
    words, places = stream.words, stream.places
    if num_classes > LARGEST_NUMBER:
        gigabytes = 32 * num_classes**2 / 1e9  # four tables of float64
        raise ValueError(f"{num_classes} classes would take {gigabytes:.0f} GB to find; {LARGEST_NUMBER} at most")
    counts = np.bincount(words[places > 0], minlength=config.vocab_size)
    ordinary = np.ones(config.vocab_size, bool)
    ordinary[special_tokens(config)] = False
    by_frequency = np.argsort(-counts, kind="stable")
    movable = by_frequency[ordinary[by_frequency] & (counts[by_frequency] > 0)]
    if not 1 <= num_classes <= len(movable):
        raise ValueError(f"classes is {num_classes}; the texts have {len(movable)} different words: give 1 to as many")
    class_of = np.full(config.vocab_size, num_classes)
    class_of[movable] = np.minimum(np.arange(len(movable)), num_classes - 1)
    used = num_classes + bool((ordinary & (counts == 0)).any())
    class_of[~ordinary] = used + np.arange((~ordinary).sum())
    class_of = exchange(Bigrams.of(stream, config.vocab_size), class_of, num_classes, movable, progress)
    return relative_frequencies(class_of, counts, int(class_of.max()) + 1)


def relative_frequencies(class_of: np.ndarray, counts: np.ndarray, num_classes: int) -> WordClasses:
    """Set P(word | class) to the word's share of its class's occurrences; uniform in a class that never occurs.

    >>> relative_frequencies(np.array([0, 0, 1, 1]), np.array([3, 1, 0, 0]), 2).log10_probs.round(3).tolist()
    [-0.12..., -0.60..., -0.30..., -0.30...]
    """
    totals = np.bincount(class_of, counts, minlength=num_classes)[class_of]
    sizes = np.bincount(class_of, minlength=num_classes)[class_of]
    with np.errstate(divide="ignore"):
        log10_probs = np.log10(np.divide(counts, totals, out=1 / sizes, where=totals > 0))
    return WordClasses(num_classes, class_of.astype(np.int64), log10_probs.astype(np.float32))


def config_of_classes(config: NGramConfig, classes: WordClasses) -> NGramConfig:
    """Return the configuration of the n-gram whose words are the classes."""
    ids = {name: getattr(config, name) for name in VOCABULARY_FIELDS if name != "vocab_size"}
    ids = {name: index if index is None else int(classes.class_of[index]) for name, index in ids.items()}
    return NGramConfig(vocab_size=classes.num_classes, **ids, **how_estimated(config))


@dataclass(frozen=True)
class ClassFile:
    """The content of a file."""

    names: list[str]  # of the classes
    class_of: dict[str, int]
    probs: dict[str, float]  # P(word | class)


def read_classes(path: _Path) -> ClassFile:
    """Read a file of classes, plain or gzip.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not in the format, has a word twice, or a class does not add up to 1.
    """
    numbers: dict[str, int] = {}
    class_of: dict[str, int] = {}
    probs: dict[str, float] = {}
    for number, line in enumerate(read_texts(path), 1):
        columns = _SEPARATOR.split(line.strip(" \t"))
        if columns == [""]:
            continue
        name, word, prob = _entry(columns, f"{path}, line {number}")
        if word in class_of:
            raise ValueError(f"{path}, line {number}: the word {word!r} stands in the file twice; keep it in one class")
        class_of[word], probs[word] = numbers.setdefault(name, len(numbers)), prob
    sums = np.bincount(list(class_of.values()), list(probs.values())) if class_of else np.zeros(0)
    for name, total in zip(numbers, sums, strict=True):
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"{path}: the words of class {name!r} add up to {total:g}; their probabilities must to 1")
    return ClassFile(list(numbers), class_of, probs)


def _entry(columns: list[str], where: str) -> tuple[str, str, float]:
    if len(columns) == 2:
        columns.insert(1, "1")
    if len(columns) != 3:
        raise ValueError(f"{where}: {len(columns)} columns, but a line is CLASS PROBABILITY WORD; phrases are not read")
    try:
        prob = float(columns[1])
    except ValueError:
        prob = math.nan
    if not 0 <= prob <= 1:
        raise ValueError(f"{where}: {columns[1]!r} is no probability; a line is CLASS PROBABILITY WORD")
    return columns[0], columns[2], prob


def classes_of_tokens(path: _Path, tokenizer: Any, config: NGramConfig) -> WordClasses:
    """Read a file of classes for the words of a tokenizer.

    Raises:
        OSError, ValueError: as `read_classes`; ValueError: the file lacks words of the vocabulary, or has others.
    """
    file, words = read_classes(path), tokenizer.convert_ids_to_tokens(list(range(config.vocab_size)))
    alone = [index for index in special_tokens(config) if words[index] not in file.class_of]
    lacking = [word for index, word in enumerate(words) if word not in file.class_of and index not in alone]
    if lacking:
        rule = f"lacks {len(lacking)} of the {len(words)} words of the vocabulary, such as {lacking[0]!r}"
        raise ValueError(f"{path} {rule}; add a line for each, or train the tokenizer on the words of the file")
    if others := file.class_of.keys() - set(words):
        rule = f"has {len(others)} words that the vocabulary lacks, such as {min(others)!r}"
        raise ValueError(f"{path} {rule}; remove them, and let their class add up to 1 without them")
    for index in {config.bos_token_id, config.eos_token_id, config.pad_token_id} - set(alone) - {None}:
        raise ValueError(f"{path} has {words[index]!r}, which marks where texts begin or end; remove it from the file")
    return word_classes(words, file, {words[index]: len(file.names) + n for n, index in enumerate(alone)})


def word_classes(words: Sequence[str], file: ClassFile, alone: dict[str, int]) -> WordClasses:
    """Return the class of each word, from the file, or from `alone` for words that are their whole class."""
    class_of = np.array([alone[word] if word in alone else file.class_of[word] for word in words], np.int64)
    with np.errstate(divide="ignore"):
        log10_probs = np.log10([1.0 if word in alone else file.probs[word] for word in words])
    return WordClasses(int(class_of.max()) + 1, class_of, log10_probs.astype(np.float32))


def class_names(classes: WordClasses, words: Sequence[str], special: Sequence[int]) -> list[str]:
    """Name the classes `CLASS-00001` and so on; the class of a single special token has the token's name.

    Raises:
        ValueError: a word has the name of a class.
    """
    names = [f"CLASS-{number:05d}" for number in range(1, classes.num_classes + 1)]
    if doubles := set(names) & set(words):
        raise ValueError(f"the token {min(doubles)!r} has the name of a class in the files; rename it")
    sizes = np.bincount(classes.class_of, minlength=classes.num_classes)
    for index in special:
        if sizes[classes.class_of[index]] == 1:
            names[classes.class_of[index]] = words[index]
    return names


def write_classes(path: _Path, classes: WordClasses, words: Sequence[str], names: Sequence[str]) -> None:
    """Write a file of classes, class by class, without words that are alone in a class of their own name.

    Each number has the digits that give back the same float32.

    Raises:
        OSError: the file cannot be written; an older file of this name is untouched.
        ValueError: the format cannot hold a word.
    """
    check_spellings(words, "a file of classes")
    with staged_file(path) as stage, open(stage, "w", encoding="utf-8", newline="\n") as file:
        for index in np.argsort(classes.class_of, kind="stable").tolist():
            name = names[classes.class_of[index]]
            if name != words[index]:
                file.write(f"{name} {10.0 ** float(classes.log10_probs[index])!r} {words[index]}\n")


def classes_beside(path: _Path) -> Path:
    """Return the path of the file of classes that belongs to an ARPA file.

    >>> classes_beside("lm.arpa.gz").name
    'lm.arpa.gz.classes'
    """
    return Path(f"{os.fspath(path)}.classes")


def save_with_classes(model: Any, tokenizer: Any, path: _Path, **options: Any) -> None:
    """Write an ARPA file, and for a model of classes NAME.classes beside it; else an old NAME.classes is deleted.

    Args:
        options: `decoder` and `unknown_word` of `save_arpa`.
    """
    classes = classes_beside(path)
    model.save_arpa(path, tokenizer, None if model.word_classes() is None else classes, **options)
    if model.word_classes() is None:
        classes.unlink(missing_ok=True)
