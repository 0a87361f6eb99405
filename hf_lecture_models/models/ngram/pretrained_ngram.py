# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base of the n-gram model: loading and generating; `modeling_ngram.py` has the equations."""

from __future__ import annotations

from typing import Any

import torch

from hf_lecture_models.base.guards.model import ModelGuards
from hf_lecture_models.io.compat import CACHE
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig

_PASSED_TO_ALL = ("output_attentions", "output_hidden_states", "return_dict", "tokenizer", "use_cache")


def _in_package(name: str) -> Any:
    """Return a method that says what is missing; `__init__.py` of the package replaces it."""

    def refuse(*_: Any, **__: Any) -> Any:
        how = "`pip install hf-lecture-models`, then `import hf_lecture_models`"
        raise RuntimeError(f"NGramForCausalLM.{name} needs the package: {how}; this is a published copy of the model")

    return staticmethod(refuse)


class NGramPreTrainedModel(ModelGuards):
    """A model of count tables: buffers only. It has no layers, vectors or cache, which other models' base class has."""

    config: NGramConfig
    config_class = NGramConfig
    base_model_prefix = "ngram"
    trie: Any  # NGramTrie, ClassNGramTrie, HashedNGrams or NGramMixture
    fit, from_arpa, from_kenlm = map(_in_package, ("fit", "from_arpa", "from_kenlm"))
    from_tables, interpolate, quantise = map(_in_package, ("from_tables", "interpolate", "quantise"))
    save_arpa, tables, word_classes = map(_in_package, ("save_arpa", "tables", "word_classes"))
    cut, extend = map(_in_package, ("cut", "extend"))
    own_tokenizer: Any = None  # that of `fit`, `from_arpa` or `from_kenlm`; it is not saved with the model
    _no_split_modules = ["NGramTrie", "ClassNGramTrie", "HashedNGrams"]
    # Float buffers alone: transformers would cast the integer keys of a named module too.
    _keep_in_fp32_modules_strict = ["log10_probs", "log10_backoffs"]

    def _init_weights(self, module: Any) -> None:
        if hasattr(module, "draw_weights"):
            module.draw_weights()

    @property
    def device(self) -> torch.device:
        """The device of the tables."""
        return next(self.buffers()).device

    @property
    def dtype(self) -> torch.dtype:
        """Type of the probabilities, always float32."""
        return torch.float32

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load as transformers does, in float32 whatever `dtype` asks for; the package checks the tables."""
        kwargs.pop("torch_dtype", None)
        return super().from_pretrained(*args, **kwargs | {"dtype": torch.float32})

    def loss_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments that the loss reads; any other that is not for all models is a TypeError."""
        given = {name: value for name, value in arguments.items() if value is not None and name not in _PASSED_TO_ALL}
        if unread := sorted(given.keys() - {"shift_labels", "num_items_in_batch"}):
            raise TypeError(f"{type(self).__name__}.forward() takes no argument {', '.join(unread)}; leave it out")
        return given

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
            raise ValueError("an n-gram model takes no guidance_scale: it has words, and logarithms, of probability 0")
        return super()._get_logits_processor(generation_config, *args, **kwargs)
