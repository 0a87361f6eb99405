# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a published model with a plain softmax has of base/large_vocabulary.py."""

from typing import Any, ClassVar

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class LargeVocabularyConfig(LectureConfig):
    """The fields of a language model whose output layer is softmax(W h + b); the package has others."""

    allowed_values: ClassVar[dict[str, tuple[Any, ...]]] = {"output_layer": ("softmax",)}
    positive_fields: ClassVar[tuple[str, ...]] = ("vocab_size",)
    largest_values: ClassVar[dict[str, int]] = {}

    vocab_size: int = 10_000
    output_layer: str = "softmax"
    adaptive_cutoffs: list[int] | None = None
    noise_samples: int = 1024
    tie_word_embeddings: bool = False


class LargeVocabularyLM:
    """A language model whose `lm_head` is the one matrix that its head builds."""
