# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimating the tables of an n-gram model.

texts -> ids -> counts (`counting_ngram.py`) -> probabilities (`smoothing/interpolated.py`) -> tables
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.counting_ngram import FileTexts, Stream, check_longest, count_ngrams, make_stream
from hf_lecture_models.models.ngram.smoothing.interpolated import smooth
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.corpus import encode_corpus, encode_training_texts
from hf_lecture_models.tokenization.splitting import chunk_texts

CHUNK_CHARACTERS = 1 << 22
"""Of a corpus, encoded at a time."""

Path = str | os.PathLike[str]
Texts = Iterable[str] | Path


def config_for(tokenizer: Any, **fields: Any) -> NGramConfig:
    """Return a configuration with the tokenizer's vocabulary size and token ids; a ValueError where it lacks one."""
    for name in ("bos_token", "eos_token"):
        if getattr(tokenizer, f"{name}_id", None) is None:
            raise ValueError(f"the tokenizer has no {name}_id; set its {name}, which marks where texts begin or end")
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id"):
        fields[name] = getattr(tokenizer, name)
    return NGramConfig(vocab_size=len(tokenizer), **fields)


def read_corpus(tokenizer: Any, texts: Texts, progress: bool, desc: str = "encoding") -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of texts, which are given as to `fit`, and the length of each text."""
    if not isinstance(texts, str | os.PathLike):
        corpus = encode_training_texts(tokenizer, texts, progress=progress, desc=desc)
        return corpus.ids, corpus.lengths
    # What a part takes in memory stays with the process: small parts leave more for the counts.
    chunks = chunk_texts(plain_texts(FileTexts(texts), tokenizer), progress, desc, CHUNK_CHARACTERS)
    parts = [encode_corpus(tokenizer, chunk, progress=False) for chunk in chunks] or [encode_corpus(tokenizer, [])]
    return np.concatenate([part.ids for part in parts]), np.concatenate([part.lengths for part in parts])


def estimate(
    ids: np.ndarray,
    lengths: np.ndarray,
    config: NGramConfig,
    held_out: tuple[np.ndarray, np.ndarray] | None = None,
    progress: bool = False,
) -> NGramTables:
    """Estimate the tables of n-grams of words; what is estimated beside them is written into `config`.

    The texts are as `make_stream` takes them; `held_out` has such ids and lengths too, for Jelinek-Mercer.
    """
    check_smoothing(config, held_out)
    stream = make_stream(ids, lengths, config, np.int32)
    check_longest(int(stream.places.max()) + 1, config.order)
    other = held_out_stream(held_out, config) if held_out and config.smoothing == "jelinek_mercer" else None
    with ProgressBar(total=2 * config.order, desc="counting, smoothing", shown=progress) as bar:
        counts = count_ngrams(stream, config, bar)
        del stream
        return smooth(counts, config, other, bar)


def check_smoothing(config: NGramConfig, held_out: Any) -> None:
    """Raise a ValueError if nothing says how to smooth, or held-out texts are missing."""
    if config.smoothing is None:
        raise ValueError(f"smoothing is None; to estimate a model it must be one of {', '.join(SMOOTHINGS)}")
    if config.smoothing == "jelinek_mercer" and held_out is None:
        raise ValueError(
            "smoothing='jelinek_mercer' needs held_out: texts, apart from the others, to set its weights by"
        )


def held_out_stream(held_out: tuple[np.ndarray, np.ndarray], config: NGramConfig) -> Stream:
    """Return the ids and lengths of held-out texts as a stream; a ValueError if they are empty."""
    if not len(held_out[1]):
        raise ValueError("held_out is empty: there is no text to set the weights of Jelinek-Mercer by")
    return make_stream(*held_out, config)
