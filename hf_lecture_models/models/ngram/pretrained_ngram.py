# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of the n-gram model: tables out, loading, generating; `modeling_ngram.py` has the equations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from hf_lecture_models.base.modeling import LecturePreTrainedModel
from hf_lecture_models.io.compat import CACHE
from hf_lecture_models.layers.ngram_classes import ClassNGramTrie, WordClasses
from hf_lecture_models.layers.ngram_mixture import NGramMixture
from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.layers.ngram_trie import NGramTrie
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig

_Texts = Iterable[str] | str | os.PathLike[str]
_Path = str | os.PathLike[str]


def tries_of(trie: Any) -> list[NGramTrie]:
    """Return the tries of a model: its own, or those of the models that it interpolates."""
    return list(trie.tries) if isinstance(trie, NGramMixture) else [trie]


class NGramPreTrainedModel(LecturePreTrainedModel):
    """A model of count tables: buffers only, no parameters."""

    config: NGramConfig
    config_class = NGramConfig
    base_model_prefix = "ngram"
    trie: Any  # NGramTrie, ClassNGramTrie, HashedNGrams or NGramMixture
    own_tokenizer: Any = None  # that of `fit`, `from_arpa` or `from_kenlm`; it is not saved with the model
    _no_split_modules = ["NGramTrie", "ClassNGramTrie", "HashedNGrams"]
    # Float buffers alone: transformers would cast the integer keys of a named module too.
    _keep_in_fp32_modules_strict = ["log10_probs", "log10_backoffs"]

    @property
    def no_output_matrix(self) -> str:
        """Why no program can train it by its output matrix."""
        return "it has no weights; estimate it with NGramForCausalLM.fit"

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
                `quantization_config` or a file is given.
        """
        name = pretrained_model_name_or_path
        if name is not None and os.path.isfile(name):
            raise ValueError(f"{name} is a file; {cls.__name__}.from_arpa and from_kenlm read files of n-grams")
        if kwargs.get("quantization_config") is not None:
            raise ValueError(f"{cls.__name__} has tables, and no weights to quantise; leave quantization_config out")
        kwargs.pop("torch_dtype", None)
        kwargs["dtype"] = torch.float32
        loaded = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        try:
            for trie in tries_of(model.trie):
                trie.tables().check()
                if isinstance(trie, ClassNGramTrie):
                    trie.word_classes().check()
        except ValueError as error:
            raise ValueError(f"the checkpoint {pretrained_model_name_or_path}: {error}") from error
        return loaded

    def tables(self) -> NGramTables:
        """Return the tables as numpy arrays; on the CPU they share memory with a model that is not quantised.

        Raises:
            ValueError: the model is an interpolation of several.
        """
        if isinstance(self.trie, NGramMixture):
            rule = f"the model interpolates {len(self.trie.tries)} models, each with tables of its own"
            raise ValueError(f"{rule}; take those that it was made of, one by one")
        return self.trie.tables()

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
        kwargs.pop(CACHE, None)
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
        return super()._get_logits_processor(generation_config, *args, **kwargs)

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
    def from_kenlm(cls, path: _Path) -> tuple[Any, Any]:
        """Read one of KenLM's binary files, of any type; returns the model and its tokenizer."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("from_kenlm"))

    @classmethod
    def interpolate(cls, models: Sequence[Any], tokenizer: Any, held_out: _Texts, progress: bool = True) -> Any:
        """Mix models linearly, word by word, with the weights that make held-out texts most probable."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("interpolate"))

    def save_arpa(self, path: _Path, tokenizer: Any, classes: _Path | None = None) -> None:
        """Write an ARPA file, gzip-compressed if its name ends in `.gz`."""
        raise RuntimeError(_NEEDS_THE_PACKAGE.format("save_arpa"))


_NEEDS_THE_PACKAGE = (
    "NGramForCausalLM.{} needs the package: `pip install hf-lecture-models`, then `import hf_lecture_models`; "
    "this copy of the model was loaded from a repository's own code"
)
