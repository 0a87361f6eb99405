# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Output layers for large vocabularies: checks of the configuration, and token counts."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.io.compat import init
from hf_lecture_models.layers.adaptive_softmax import AdaptiveSoftmax
from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear

OUTPUT_LAYERS: dict[str, Callable[[Any], nn.Module]] = {
    "softmax": lambda c: nn.Linear(c.output_size, c.vocab_size),
    "adaptive": lambda c: AdaptiveSoftmax(c.output_size, c.vocab_size, c.adaptive_cutoffs),
    "noise_contrastive": lambda c: NoiseContrastiveLinear(c.output_size, c.vocab_size, c.noise_samples),
}
"""`config.output_layer` -> the module from the last hidden state to logits."""
# Published models have two to four.
_MOST_CLUSTERS = 64


def check_output_layer(config: Any) -> None:
    """Check that no field contradicts `output_layer`.

    Raises:
        ValueError: `adaptive_cutoffs` without the adaptive softmax, too many, out of order or outside the vocabulary; a
            tied adaptive softmax; a vocabulary too small for one.
    """
    name, cutoffs, words = type(config).__name__, config.adaptive_cutoffs, config.vocab_size
    if config.output_layer != "adaptive":
        if cutoffs is not None:
            raise ValueError(
                f"{name}.adaptive_cutoffs is {cutoffs} with output_layer={config.output_layer!r}; only an adaptive "
                "softmax is cut: set output_layer='adaptive', or adaptive_cutoffs=None"
            )
        return
    if config.tie_word_embeddings:
        raise ValueError(
            f"{name}.tie_word_embeddings is True with output_layer='adaptive', whose words have vectors of several "
            "widths; set tie_word_embeddings=False, or output_layer='softmax' or 'noise_contrastive'"
        )
    if words < 2:
        raise ValueError(f"{name}.vocab_size is {words}; output_layer='adaptive' needs at least 2 words")
    if cutoffs is not None and len(cutoffs) > _MOST_CLUSTERS:
        raise ValueError(f"{name}.adaptive_cutoffs has {len(cutoffs)} entries; at most {_MOST_CLUSTERS} are allowed")
    if cutoffs is not None and not (cutoffs and sorted({0, *cutoffs, words}) == [0, *cutoffs, words]):
        raise ValueError(
            f"{name}.adaptive_cutoffs is {cutoffs}; it must ascend, from at least 1 to at most vocab_size - 1 = "
            f"{words - 1}, for example [{max(1, words // 16)}]"
        )


class LargeVocabularyLM:
    """A mixin with the output layer that the configuration names, and its token counts; put it before the head."""

    config: Any
    lm_head: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build the `lm_head` that `config.output_layer` names."""
        self.lm_head = OUTPUT_LAYERS[config.output_layer](config)

    @property
    def needs_token_counts(self) -> bool:
        """Return whether the output layer still needs counts, by `set_token_counts`, before training."""
        counts = getattr(self.lm_head, "token_counts", None)
        return counts is not None and not bool(counts.any())

    def set_token_counts(self, counts: Tensor) -> None:
        """Tell the output layer how often each token is a target in the training text; once, before training.

        Args:
            counts: (vocab_size,), integers of at least 0, not all 0.

        Raises:
            ValueError: wrong counts, an output layer that wants none, or one that has some: its weights depend on them.
        """
        if not isinstance(self.lm_head, AdaptiveSoftmax | NoiseContrastiveLinear):
            raise ValueError(
                f"an output layer of type {type(self.lm_head).__name__} wants no token counts; they are for "
                "output_layer='adaptive' and 'noise_contrastive'"
            )
        if not self.needs_token_counts:
            raise ValueError("the model has token counts, on which its weights depend; set others on a new model")
        counts = torch.as_tensor(counts)
        if counts.shape != (self.config.vocab_size,) or counts.is_floating_point() or bool((counts < 0).any()):
            raise ValueError(
                f"token counts of shape {tuple(counts.shape)} and type {counts.dtype}; needed are "
                f"vocab_size={self.config.vocab_size} integers of at least 0"
            )
        if not bool(counts.any()):
            raise ValueError("all token counts are 0; count the targets of the training text")
        self.lm_head.set_token_counts(counts)

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Resize the vocabulary, unless the output layer is built on the counts of its words."""
        if not isinstance(self.lm_head, AdaptiveSoftmax | NoiseContrastiveLinear):
            return super().resize_token_embeddings(new_num_tokens, *args, **kwargs)  # type: ignore[misc]
        padded = kwargs.get("pad_to_multiple_of", args[0] if args else None) is not None
        if padded or new_num_tokens not in (None, self.config.vocab_size):
            raise ValueError(
                f"the vocabulary of a model with output_layer={self.config.output_layer!r} cannot be resized: its "
                "output layer is built on the counts of its words; train a new model with vocab_size=len(tokenizer)"
            )
        return self.get_input_embeddings()  # type: ignore[attr-defined]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)  # type: ignore[misc]
        if isinstance(module, AdaptiveSoftmax | NoiseContrastiveLinear):
            init.zeros_(module.token_counts)
        if isinstance(module, AdaptiveSoftmax):
            init.copy_(module.ranks, torch.arange(len(module.ranks)))
