# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of the n-gram model: made from tables, saved, loaded, generating; `modeling_ngram.py` has the equations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

import torch
from torch import nn

from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.io.compat import init
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


class NGramPreTrainedModel(LecturePreTrainedModel):
    """A model of count tables: buffers only, no parameters."""

    config: NGramConfig
    config_class = NGramConfig
    base_model_prefix = "ngram"
    trie: Any  # NGramTrie, ClassNGramTrie or NGramMixture
    _no_split_modules = ["NGramTrie", "ClassNGramTrie"]
    # Float buffers alone: transformers would cast the integer keys of a named module too.
    _keep_in_fp32_modules_strict = ["log10_probs", "log10_backoffs"]

    @property
    def device(self) -> torch.device:
        """The device of the tables."""
        return next(self.buffers()).device

    @property
    def dtype(self) -> torch.dtype:
        """Type of the probabilities, always float32."""
        return torch.float32

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Load as transformers does, in float32 whatever `dtype` asks for.

        Raises:
            ValueError: a table is damaged (unsorted keys, a prefix out of range, NaN, a probability over 1), or a
                `quantization_config` is given.
        """
        if kwargs.get("quantization_config") is not None:
            raise ValueError(f"{cls.__name__} has tables, and no weights to quantise; leave quantization_config out")
        kwargs.pop("torch_dtype", None)
        kwargs["dtype"] = torch.float32
        loaded = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        try:
            model.check_tables()
        except ValueError as error:
            raise ValueError(f"the checkpoint {pretrained_model_name_or_path}: {error}") from error
        return loaded

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, NGramTrie):
            which = [trie is module for trie in tries_of(self.trie)].index(True)
            for name, value in tries_of(new_trie(self.config))[which].named_buffers():
                init.copy_(module.get_buffer(name), value)

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
            model: Any = cls(config)
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
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def prepare_inputs_for_generation(
        self, input_ids: Any, next_sequence_length: int | None = None, attention_mask: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Keep the last order-1 words only, and drop positions, which a Transformer passes to its assistant."""
        kwargs.pop("past_key_values", None)
        kwargs.pop("position_ids", None)
        keep = max(self.config.order - 1, 1)
        if attention_mask is not None:
            # Columns from the end until every row has its order-1 real words.
            keep = int((attention_mask.flip(1).cumsum(1) < keep).any(0).sum()) + 1
            attention_mask = attention_mask[:, -keep:]
        inputs = super().prepare_inputs_for_generation  # type: ignore[misc]
        return inputs(input_ids[:, -keep:], None, attention_mask=attention_mask, **kwargs)

    def _get_logits_processor(self, generation_config: Any, *args: Any, **kwargs: Any) -> Any:
        if generation_config.guidance_scale not in (None, 1):
            raise ValueError(
                f"{type(self).__name__} takes no guidance_scale: guidance subtracts logarithms of probabilities, and "
                "an n-gram model has words of probability 0"
            )
        return super()._get_logits_processor(generation_config, *args, **kwargs)  # type: ignore[misc]

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
