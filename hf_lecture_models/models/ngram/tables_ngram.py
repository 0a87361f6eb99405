# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""From tables to a model and back; `__init__.py` binds these functions to `NGramForCausalLM`.

A published copy of the model has the tables as buffers and reads them only; what is here stays in the package.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from hf_lecture_models.layers.execution import with_weights
from hf_lecture_models.layers.inputs import check_token_ids
from hf_lecture_models.layers.ngram_classes import ClassNGramTrie
from hf_lecture_models.layers.ngram_hashed import HashedNGrams
from hf_lecture_models.layers.ngram_mixture import NGramMixture
from hf_lecture_models.layers.ngram_quantisation import quantise as put_into_bins
from hf_lecture_models.layers.ngram_tables import HashedNGramTables, NGramTables, WordClasses
from hf_lecture_models.layers.ngram_trie import NGramTrie
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM


def from_tables(
    cls: type[NGramForCausalLM], tables: NGramTables, config: NGramConfig, classes: WordClasses | None = None
) -> NGramForCausalLM:
    """Return a model with these tables, over words or over `classes`; their sizes are written into `config`.

    A ValueError says that they are damaged, or do not fit the configuration.
    """
    tables.check()
    words = tables.vocab_size if classes is None else len(classes.check().class_of)
    config.num_classes = None if classes is None else classes.num_classes
    if (tables.order, tables.vocab_size, words) != (config.order, config.units, config.vocab_size):
        raise ValueError(
            f"tables of order {tables.order} over {tables.vocab_size} {'words' if classes is None else 'classes'} "
            f"of {words} words do not fit a configuration of order {config.order} over {config.vocab_size}"
        )
    config.table_sizes = tables.sizes
    with torch.device("meta"):
        model = cls(config)
    load_tables(model.trie, tables, classes)
    return model.eval()


def load_tables(trie: NGramTrie, tables: NGramTables, classes: WordClasses | None = None) -> None:
    """Take arrays as the buffers of a trie, on the CPU, without a copy but where they are quantised."""
    arrays = {f"keys_{n}": keys for n, keys in enumerate(tables.keys, 2)}
    arrays |= {f"log10_probs_{n}": values for n, values in enumerate(tables.log10_probs, 1)}
    arrays |= {f"log10_backoffs_{n}": values for n, values in enumerate(tables.log10_backoffs, 1)}
    if isinstance(tables, HashedNGramTables):
        arrays["hash_numbers"] = tables.hash_numbers
    if classes is not None:
        arrays |= {"class_of": classes.class_of, "log10_probs_in_class": classes.log10_probs}
    for name, array in arrays.items():
        trie.register_buffer(name, torch.from_numpy(array))
    if (bits := trie.bits) is None:
        return
    for n in range(2, trie.order + 1):
        for name in ("probs", "backoffs")[: 2 if n < trie.order else 1]:
            values, codes = put_into_bins(trie.get_buffer(f"log10_{name}_{n}"), bits)
            trie.register_buffer(f"log10_{name}_{n}", values)
            trie.register_buffer(f"{name}_codes_{n}", codes)


def tables(self: NGramForCausalLM) -> NGramTables:
    """Return the tables as numpy arrays; on the CPU they share memory with a model that is not quantised.

    Raises:
        ValueError: the model is an interpolation of several.
    """
    if isinstance(self.trie, NGramMixture):
        rule = f"the model interpolates {len(self.trie.tries)} models, each with tables of its own"
        raise ValueError(f"{rule}; take those that it was made of, one by one, or their static mixture")
    return tables_of(self.trie)


def tables_of(trie: NGramTrie) -> NGramTables:
    """Return the tables of one trie, a `HashedNGramTables` of hashes; see `tables`."""

    def read() -> NGramTables:
        orders = range(1, trie.order + 1)
        arrays: dict[str, Any] = {
            "keys": [trie.keys(n).numpy(force=True) for n in orders[1:]],
            "log10_probs": [trie.log10("probs", n).numpy(force=True) for n in orders],
            "log10_backoffs": [trie.log10("backoffs", n).numpy(force=True) for n in orders[:-1]],
        }
        if isinstance(trie, HashedNGrams):
            numbers = trie.get_buffer("hash_numbers").numpy(force=True)
            return HashedNGramTables(trie.vocab_size, **arrays, hash_numbers=numbers)
        return NGramTables(trie.vocab_size, **arrays)

    return with_weights(trie, read)


def word_classes(self: NGramForCausalLM) -> WordClasses | None:
    """Return the class of each word, as numpy arrays; None for a model of words."""
    return classes_of(self.trie)


def classes_of(trie: Any) -> WordClasses | None:
    """Return the words' classes of a trie as numpy arrays, on the CPU without a copy; None without classes."""
    if not isinstance(trie, ClassNGramTrie):
        return None

    def read() -> WordClasses:
        names = ("class_of", "log10_probs_in_class")
        return WordClasses(trie.vocab_size, *(trie.get_buffer(name).numpy(force=True) for name in names))

    return with_weights(trie, read)


def tries_of(trie: Any) -> list[NGramTrie]:
    """Return the tries of a model: its own, or those of the models that it interpolates."""
    return list(trie.tries) if isinstance(trie, NGramMixture) else [trie]


def quantise(self: NGramForCausalLM, bits: int) -> NGramForCausalLM:
    """Return a copy whose logarithms of orders 2 and up take 8 or 16 bits each (`ngram_quantisation.py`).

    Its distributions no longer sum to one. Keys are shared with this model, and saved as they are.

    Raises:
        ValueError: another number of bits, or the model is an interpolation of several.
    """
    config = type(self.config).from_dict({**self.config.to_dict(), "quantisation_bits": bits})
    model = from_tables(type(self), tables(self), config, word_classes(self))
    model.own_tokenizer = self.own_tokenizer
    return model


def from_pretrained(cls: type[NGramForCausalLM], pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
    """Load as transformers does, in float32 whatever `dtype` asks for.

    Raises:
        ValueError: a table is damaged (unsorted keys, a prefix out of range, NaN, a probability over 1), or a
            `quantization_config` or a file is given.
    """
    name = pretrained_model_name_or_path
    if name is not None and os.path.isfile(name):
        raise ValueError(f"{name} is a file; {cls.__name__}.from_arpa and from_kenlm read files of n-grams")
    if kwargs.get("quantization_config") is not None:
        raise ValueError(f"{cls.__name__} has tables, and no weights to quantise; leave quantization_config out")
    loaded = super(NGramForCausalLM, cls).from_pretrained(name, *args, **kwargs)
    model = loaded[0] if isinstance(loaded, tuple) else loaded
    try:
        for trie in tries_of(model.trie):
            tables_of(trie).check()
            if (classes := classes_of(trie)) is not None:
                classes.check()
    except ValueError as error:
        raise ValueError(f"the checkpoint {name}: {error}") from error
    return loaded


@torch.no_grad()
def score_joined(self: NGramForCausalLM, tokens: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """Return what `score` returns for rows that follow each other without padding, (tokens,) float32.

    >>> model = NGramForCausalLM(NGramConfig(vocab_size=4, order=2))
    >>> model.score_joined(torch.tensor([0, 1, 2]), torch.tensor([True, False, True])).exp()
    tensor([1.0000, 0.2500, 1.0000])

    Args:
        tokens: (tokens,), all real, row after row.
        starts: (tokens,) bool, True at the first token of each row. Without it at the very first one, the tokens
            begin within a row, and the first `order - 1` scores lack the context before.
    """
    check_token_ids(tokens, self.config.vocab_size)
    return self.score_rows(tokens, starts)
