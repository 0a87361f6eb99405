# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""n-gram models from and to ARPA files: `NGramForCausalLM.from_arpa` and `.save_arpa`, bound by `__init__.py`.

And to finite-state machines: `save_fst`.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from transformers import AutoTokenizer

from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.models.ngram.arpa_format_ngram import BEGIN, END, PADDING, UNKNOWN
from hf_lecture_models.models.ngram.arpa_reader_ngram import read_arpa
from hf_lecture_models.models.ngram.arpa_writer_ngram import check_size, write_arpa
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.fst_writer_ngram import write_fst
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

_Path = str | os.PathLike[str]


def from_arpa(cls: type[NGramForCausalLM], path: _Path) -> tuple[NGramForCausalLM, WordTokenizer]:
    """Read an ARPA file, plain or gzip: `NGramForCausalLM.from_arpa(path)`.

    >>> import tempfile
    >>> tokenizer = WordTokenizer.train(["a cat", "a dog"])
    >>> model = NGramForCausalLM.fit(["a cat", "a dog"], tokenizer, order=2, smoothing="add_alpha")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save_arpa(f"{folder}/lm.arpa.gz", tokenizer)
    ...     again, its_tokenizer = NGramForCausalLM.from_arpa(f"{folder}/lm.arpa.gz")
    >>> again.config.table_sizes == model.config.table_sizes, its_tokenizer.tokenize("a dog")
    (True, ['a', 'dog'])

    Args:
        cls: NGramForCausalLM.
        path: the file.

    Returns:
        The model and a tokenizer of its words, which refuses unknown ones where the file has no ``<unk>``.

    Raises:
        OSError, ValueError: as `read_arpa`.
    """
    words, tables = read_arpa(path)
    unknown = UNKNOWN if words[0] == UNKNOWN else None
    ordinary = words[1:-3] if unknown else words[:-3]
    lost = [word for word in ordinary if word.split() != [word]]
    if lost:
        warnings.warn(
            f"{path}: {len(lost)} words hold white space such as {lost[0]!r}, where the tokenizer splits texts, "
            "so that it never finds them",
            stacklevel=2,
        )
    tokenizer = WordTokenizer.from_words(ordinary, unk_token=unknown)
    config = NGramConfig(
        order=tables.order,
        smoothing=None,  # the file does not say
        vocab_size=tables.vocab_size,
        table_sizes=tables.sizes,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        unk_token_id=tokenizer.unk_token_id,
    )
    return cls.from_tables(tables, config), tokenizer


def save_arpa(self: NGramForCausalLM, path: _Path, tokenizer: Any) -> None:
    """Write the model as an ARPA file: `model.save_arpa(path, tokenizer)`; gzip if the name ends in ``.gz``.

    The tokenizer's beginning, end, unknown and padding tokens are written as ARPA names them, all others as they are
    spelled in its vocabulary.

    Raises:
        OSError: the file cannot be written; what stood there is untouched.
        ValueError: the tokenizer is not the model's, or one of its tokens is empty or holds white space; or the model
            is of stupid back-off, which an ARPA file cannot hold.
    """
    words = _words_for_file(self, tokenizer)
    ids = {PADDING: self.config.pad_token_id, END: self.config.eos_token_id, BEGIN: self.config.bos_token_id}
    ids |= {UNKNOWN: tokenizer.unk_token_id} if tokenizer.unk_token_id not in ids.values() else {}
    for name, index in ids.items():
        if index is not None:
            words[index] = name
    write_arpa(self.tables(), words, path)


def save_fst(model: NGramForCausalLM, path: _Path, tokenizer: Any) -> tuple[int, int]:
    """Write the model as a machine in OpenFst's text format, NAME.fst.txt with NAME.syms; return its states and arcs.

    Raises:
        OSError: a file cannot be written.
        ValueError: as `save_arpa`; or a token cannot be a symbol.
    """
    words: list[str | None] = [*_words_for_file(model, tokenizer)]
    config = model.config
    begin, end = config.bos_token_id, config.eos_token_id
    if begin is None or end is None:
        raise ValueError(
            "the model's configuration lacks bos_token_id or eos_token_id, where its machine begins and ends"
        )
    for index in (begin, end, *config.non_events):
        words[index] = None
    return write_fst(model.tables(), words, begin, end, path)


def _words_for_file(model: NGramForCausalLM, tokenizer: Any) -> list[str]:
    """The tokens by id, of a model that a file of back-off n-grams can hold."""
    check_tokenizer(model, tokenizer)
    config = model.config
    if not config.is_distribution:
        raise ValueError(
            "such a file holds probabilities, and contexts that it lacks weigh 1; stupid back-off has scores, and its "
            f"factor {config.backoff_factor} for every context; fit with another smoothing"
        )
    words = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    check_size(words, config.vocab_size)
    if config.eos_token_id == config.bos_token_id is not None:
        raise ValueError(
            f"one token (id {config.eos_token_id}) both begins and ends texts, but the file needs two; "
            "train the model with a tokenizer that has both <s> and </s>"
        )
    return words


def convert_from_arpa(path: _Path, folder: _Path) -> list[int]:
    """Write a model folder with its tokenizer from an ARPA file; return the number of n-grams of each order."""
    model, tokenizer = NGramForCausalLM.from_arpa(path)
    with staged_folder(folder) as stage:
        model.save_pretrained(stage)
        tokenizer.save_pretrained(stage)
    return model.config.sizes


def convert_to_arpa(folder: _Path, path: _Path) -> list[int]:
    """Write an ARPA file from a model folder with a tokenizer; return the number of n-grams of each order."""
    model = NGramForCausalLM.from_pretrained(folder)
    model.save_arpa(path, AutoTokenizer.from_pretrained(folder))
    return model.config.sizes
