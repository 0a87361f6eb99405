# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Count the n-grams of texts, as `ngram-count` of SRILM and `fit` do."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.count_files.word_counts import NGramWordCounts
from hf_lecture_models.models.ngram.counting_ngram import FileTexts, NGramCounts, count_ngrams, make_stream
from hf_lecture_models.models.ngram.estimation_ngram import Texts, read_corpus
from hf_lecture_models.models.ngram.files.arpa_format import BEGIN, END
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.splitting import index_chunks


def count_texts(texts: Texts, order: int = 3, tokenizer: Any = None, progress: bool = True) -> NGramWordCounts:
    """Return the counts of the n-grams of texts, of orders 1 to `order`.

    Each text is `<s> w_1 ... w_L </s>`, and n-grams do not cross texts. A blank text counts as `<s> </s>`, as in `fit`.

    >>> counts = count_texts(["the cat sat", "the cat ran"], order=2)
    >>> counts.count("the cat"), counts.count("<s>"), counts.count("<s> the"), counts.sizes
    (2, 2, 2, [6, 6])

    Args:
        texts: any iterable of str, or the path of a file with one text per line (`.gz` too).
        order: the length of the longest n-grams.
        tokenizer: its tokens are counted as words; None: the words between white space, as they are spelled.

    Raises:
        ValueError: the corpus is empty, or `<s>` or `</s>` is inside one.
        OSError: the file cannot be read.
    """
    if order < 1:
        raise ValueError(f"order is {order}; n-grams have at least 1 word")
    words, ids, lengths = _split(texts, progress) if tokenizer is None else _encode(texts, tokenizer, progress)
    if len(lengths) == 0:
        raise ValueError("the corpus is empty: there is no text to count; check the path or the iterable")
    if found := {BEGIN, END}.intersection(words):
        raise ValueError(
            f"{min(found)} is inside a text, where it is a mark of a text's bounds and not a word; give each text a "
            "line of its own, or take the mark out"
        )
    words = [*words, BEGIN, END]
    ascending = sorted(range(len(words)), key=words.__getitem__)
    rank: np.ndarray = np.empty(len(words), np.int32)
    rank[ascending] = np.arange(len(words), dtype=np.int32)
    begin, end = rank[-2:].tolist()
    marks: dict[str, Any] = {"bos_token_id": begin, "eos_token_id": end}
    config = NGramConfig(vocab_size=len(words), order=order, **marks)
    stream = make_stream(rank[ids], lengths, config, np.int32)
    with ProgressBar(total=order, desc="counting", shown=progress) as bar:
        counts = count_ngrams(stream, config, bar)
    return _with_words([words[number] for number in ascending], counts, len(lengths), begin)


def _with_words(words: list[str], counts: list[NGramCounts], texts: int, begin: int) -> NGramWordCounts:
    occurrences = [entry.occurrences for entry in counts]
    occurrences[0][begin] = texts
    rows = [np.arange(len(words), dtype=np.int32)[:, None]]
    for entry in counts[1:]:
        prefixes, last = np.divmod(entry.keys, len(words))
        rows.append(np.concatenate([rows[-1][prefixes], last[:, None].astype(np.int32)], axis=1))
    return NGramWordCounts(words, rows, occurrences)


def _split(texts: Texts, progress: bool) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the different words of texts, the words as numbers, text after text, and the length of each text."""
    numbers: dict[str, int] = {}
    ids, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    plain = plain_texts(FileTexts(texts) if isinstance(texts, str | os.PathLike) else texts)
    for index in index_chunks(plain, progress, "reading"):
        known = np.array([numbers.setdefault(word, len(numbers)) for word in index.words], np.int32)
        ids.append(known[index.codes])
        lengths.append(index.lengths)
    return list(numbers), np.concatenate(ids), np.concatenate(lengths)


def _encode(texts: Texts, tokenizer: Any, progress: bool) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return as `_split` does, for the tokens of a tokenizer that occur."""
    ids, lengths = read_corpus(tokenizer, texts, progress)
    found, numbers = np.unique(ids, return_inverse=True)
    return tokenizer.convert_ids_to_tokens(found.tolist()), numbers.astype(np.int32), lengths
