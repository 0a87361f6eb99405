# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Making an n-gram model from tables, and reading its tables; `modeling_ngram.py` computes with them.

Deviations: none here; `modeling_ngram.py` lists those of the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

import torch

from hf_lecture_models.layers.ngram_classes import ClassNGramTrie, WordClasses
from hf_lecture_models.layers.ngram_mixture import NGramMixture
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.layers.ngram_trie import NGramTrie
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig

_Texts = Iterable[str] | str | os.PathLike[str]
_Path = str | os.PathLike[str]


def new_trie(config: NGramConfig) -> Any:
    """Return the look-up that a configuration describes: over words, over classes, or a mixture of several models."""
    if config.mixture_weights is not None:
        return NGramMixture([new_trie(one) for one in config.component_configs], config.mixture_weights)
    if config.num_classes is not None:
        sizes = config.num_classes, config.sizes
        return ClassNGramTrie(config.vocab_size, *sizes, config.non_events, config.quantisation_bits)
    return NGramTrie(config.vocab_size, config.sizes, config.non_events, config.quantisation_bits)


def tries_of(trie: Any) -> list[NGramTrie]:
    """Return the tries of a model: its own, or those of the models that it interpolates."""
    return list(trie.tries) if isinstance(trie, NGramMixture) else [trie]


class NGramTableMethods:
    """The methods of `NGramForCausalLM` that make a model from tables, or read its tables."""

    config: Any  # NGramConfig
    trie: Any  # NGramTrie, ClassNGramTrie or NGramMixture

    @classmethod
    def from_tables(cls, tables: NGramTables, config: NGramConfig, classes: WordClasses | None = None) -> Self:
        """Return a model with these tables, over words or over `classes`; their sizes are written into `config`.

        Raises:
            ValueError: the tables are damaged, or do not fit the configuration.
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
            model: Any = cls(config)  # type: ignore[call-arg]
        model.trie.load_tables(tables)
        if classes is not None:
            model.trie.load_classes(classes)
        return model.eval()

    def check_tables(self) -> None:
        """Raise a ValueError that names the table if one is damaged."""
        for trie in tries_of(self.trie):
            trie.tables().check()
            if isinstance(trie, ClassNGramTrie):
                trie.word_classes().check()

    def tables(self) -> NGramTables:
        """Return the tables as numpy arrays; on the CPU they share memory with a model that is not quantised.

        Raises:
            ValueError: the model is an interpolation of several.
        """
        if isinstance(self.trie, NGramMixture):
            rule = f"the model interpolates {len(self.trie.tries)} models, each with tables of its own"
            raise ValueError(f"{rule}; take those that it was made of, one by one")
        return self.trie.tables()

    def quantise(self, bits: int) -> Self:
        """Return a copy whose logarithms of orders 2 and up take 8 or 16 bits each (`ngram_quantisation.py`).

        Its distributions no longer sum to one. Keys are shared with this model, and saved as they are.

        Raises:
            ValueError: another number of bits, or the model is an interpolation of several.
        """
        config = type(self.config).from_dict({**self.config.to_dict(), "quantisation_bits": bits})
        return self.from_tables(self.tables(), config, self.word_classes())

    def word_classes(self) -> WordClasses | None:
        """Return the class of each word, as numpy arrays; None for a model of words."""
        return self.trie.word_classes() if isinstance(self.trie, ClassNGramTrie) else None

    @classmethod
    def fit(
        cls,
        texts: _Texts,
        tokenizer: Any,
        order: int = 5,
        smoothing: str = "modified_kneser_ney",
        alpha: float = 1.0,
        held_out: _Texts | None = None,
        prune: list[int] | None = None,
        katz_k: int = 5,
        backoff_factor: float = 0.4,
        classes: int | _Path | None = None,
        progress: bool = True,
        memory: Any = None,
    ) -> Any:
        """Estimate a model from texts; see `hf_lecture_models.models.ngram.estimation_ngram.fit`."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("fit"))

    @classmethod
    def from_arpa(cls, path: _Path, classes: _Path | None = None) -> tuple[Any, Any]:
        """Read an ARPA file, gzip-compressed or not; returns the model and its tokenizer."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("from_arpa"))

    @classmethod
    def interpolate(cls, models: Sequence[Any], tokenizer: Any, held_out: _Texts, progress: bool = True) -> Any:
        """Mix models linearly, with the weights that make held-out texts most probable."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("interpolate"))

    def save_arpa(self, path: _Path, tokenizer: Any, classes: _Path | None = None) -> None:
        """Write an ARPA file, gzip-compressed if its name ends in `.gz`."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("save_arpa"))


_NEEDS_THE_PACKAGE = (
    "NGramForCausalLM.{} needs the package: `pip install hf-lecture-models`, then `import hf_lecture_models`; "
    "this copy of the model was loaded from a repository's own code"
)
