# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Language models with a choice of output layers: their configuration, token counts and vocabulary."""

from collections.abc import Callable
from typing import Any, ClassVar

from torch import nn

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.fixed_vocabulary import keep_vocabulary
from hf_lecture_models.base.token_counts import CountedOutputLayer
from hf_lecture_models.io.compat import strict
from hf_lecture_models.layers.adaptive_softmax import MOST_CLUSTERS, AdaptiveSoftmax, default_cutoffs
from hf_lecture_models.layers.few_rows import FewRowsLinear
from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear

OUTPUT_LAYERS: dict[str, Callable[[Any], nn.Module]] = {
    "softmax": lambda c: FewRowsLinear(c.output_size, c.vocab_size),
    "adaptive": lambda c: AdaptiveSoftmax(c.output_size, c.vocab_size, c.adaptive_cutoffs),
    "noise_contrastive": lambda c: NoiseContrastiveLinear(c.output_size, c.vocab_size, c.noise_samples),
}
"""`config.output_layer` -> the module from the last hidden state to logits."""
_NO_MATRIX = {
    "adaptive": "output_layer='adaptive' has several; train it with transformers' Trainer or hf-lecture train, or "
    "train a model with output_layer='softmax'",
    "noise_contrastive": "output_layer='noise_contrastive' has a loss of its own; train it with transformers' Trainer "
    "or hf-lecture train, or load it with output_layer='softmax', which gives the same probabilities",
}
"""`config.output_layer` -> `no_output_matrix`."""


@strict
class LargeVocabularyConfig(LectureConfig):
    """The fields of a language model with a choice of output layers.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`.
        output_layer: "softmax"; for large vocabularies "adaptive" (layers/adaptive_softmax.py) or "noise_contrastive"
            (layers/noise_contrastive.py), which need `set_token_counts` before training.
        adaptive_cutoffs: adaptive only, the frequency ranks at which its clusters begin; None cuts after 1/16 and 5/16
            of the words.
        noise_samples: noise_contrastive only, the number of words of noise that all positions of a batch share.

    Raises:
        ValueError: `adaptive_cutoffs` without the adaptive softmax, too many, out of order or outside the vocabulary; a
            tied adaptive softmax; a vocabulary too small for one.
    """

    allowed_values: ClassVar[dict[str, tuple[Any, ...]]] = {
        "output_layer": ("softmax", "adaptive", "noise_contrastive")
    }
    positive_fields: ClassVar[tuple[str, ...]] = ("vocab_size", "noise_samples")
    largest_values: ClassVar[dict[str, int]] = {"noise_samples": 2**20}

    vocab_size: int = 10_000
    output_layer: str = "softmax"
    adaptive_cutoffs: list[int] | None = None
    noise_samples: int = 1024
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if self.output_layer == "adaptive" and self.adaptive_cutoffs is None:
            # Stored, so that a saved model keeps its shape if the default changes.
            self.adaptive_cutoffs = default_cutoffs(self.vocab_size)

    @property
    def travels_as(self) -> dict[str, str]:
        """A published model with a plain softmax needs nothing of the other output layers."""
        plain = {__name__: "hf_lecture_models.base.travelling_vocabulary"}
        return plain if self.output_layer == "softmax" else {}

    def check_fields(self) -> None:
        """Refuse fields that contradict `output_layer`."""
        if self.output_layer == "adaptive":
            self._check_adaptive()
        elif self.adaptive_cutoffs is not None:
            raise ValueError(
                f"{type(self).__name__}.adaptive_cutoffs is {self.adaptive_cutoffs} with output_layer="
                f"{self.output_layer!r}; only an adaptive softmax is cut: set output_layer='adaptive', or "
                "adaptive_cutoffs=None"
            )

    def _check_adaptive(self) -> None:
        name, cutoffs, words = type(self).__name__, self.adaptive_cutoffs, self.vocab_size
        if self.tie_word_embeddings:
            raise ValueError(
                f"{name}.tie_word_embeddings is True with output_layer='adaptive', whose words have vectors of several "
                "widths; set tie_word_embeddings=False, or output_layer='softmax' or 'noise_contrastive'"
            )
        if words < 2:
            raise ValueError(f"{name}.vocab_size is {words}; output_layer='adaptive' needs at least 2 words")
        if cutoffs is not None and len(cutoffs) > MOST_CLUSTERS:
            raise ValueError(f"{name}.adaptive_cutoffs has {len(cutoffs)} entries; at most {MOST_CLUSTERS} are allowed")
        if cutoffs is not None and not (cutoffs and sorted({0, *cutoffs, words}) == [0, *cutoffs, words]):
            raise ValueError(
                f"{name}.adaptive_cutoffs is {cutoffs}; it must ascend, from at least 1 to at most vocab_size - 1 = "
                f"{words - 1}, for example [{max(1, words // 16)}]"
            )


class LargeVocabularyLM(CountedOutputLayer):
    """A language model whose `lm_head` is the output layer that `config.output_layer` names.

    It stands before the head.
    """

    config: Any
    lm_head: nn.Module
    # Loaded with output_layer="softmax", a noise-contrastive layer has no counts.
    _keys_to_ignore_on_load_unexpected: Any = [r"lm_head\.token_counts$"]

    def add_layers(self, config: Any) -> None:
        """Build `lm_head`."""
        self.lm_head = OUTPUT_LAYERS[config.output_layer](config)

    def prepare_labels(self, batch: dict[str, Any], smoothed: bool = False) -> None:
        """See `PredictsNextToken`.

        Raises:
            ValueError: labels are smoothed, and the loss is noise-contrastive: it has no distribution to smooth.
        """
        if smoothed and isinstance(self.lm_head, NoiseContrastiveLinear):
            raise ValueError(
                "label_smoothing_factor replaces the loss by that of a softmax over all words, which "
                "output_layer='noise_contrastive' avoids: set label_smoothing_factor=0, or build the model with "
                "output_layer='softmax'"
            )
        super().prepare_labels(batch, smoothed)  # type: ignore[misc]

    def _never_targets(self) -> list[int]:
        # Padded rows would make it the most frequent token; some models end texts with it, and predict it then.
        pad, eos = self.config.pad_token_id, self.config.eos_token_id
        return [] if pad is None or pad in (eos if isinstance(eos, list) else [eos]) else [pad]

    @property
    def no_output_matrix(self) -> str | None:
        """Why the loss is not that of softmax(W h + b) of the last hidden state h, and what to do; None if it is."""
        return _NO_MATRIX.get(self.config.output_layer)

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Resize the vocabulary, as transformers does; refused for an output layer that is built on token counts."""
        if not isinstance(self.lm_head, AdaptiveSoftmax | NoiseContrastiveLinear):
            return super().resize_token_embeddings(new_num_tokens, *args, **kwargs)  # type: ignore[misc]
        reason = (
            f"a model with output_layer={self.config.output_layer!r} cannot be resized: its output layer is built on "
            "the counts of its words; train a new model with vocab_size=len(tokenizer)"
        )
        return keep_vocabulary(self, reason, new_num_tokens, *args, **kwargs)
