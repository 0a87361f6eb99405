# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of word2vec."""

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class Word2VecConfig(LectureConfig):
    """Shape of word vectors, and of the layer that trains them.

    Args:
        vocab_size: number of words, `len(tokenizer)`.
        hidden_size: width of the vectors.
        architecture: "skip_gram", a word predicts those around it; "cbow", the mean of those around a word predicts it.
        output_layer: "negative_sampling" or "hierarchical_softmax".
        window_size: the largest number of words on either side; each window's is drawn from 1 to this.
        num_negatives: words of noise for each pair, with negative sampling.
        noise_exponent: noise is drawn in proportion to the counts, raised to this power.
        bos_token_id, eos_token_id, pad_token_id, unk_token_id: ids of special tokens, which windows leave out.

    Raises:
        ValueError: an unknown value.

    >>> Word2VecConfig(vocab_size=10_000, hidden_size=300, architecture="cbow").num_negatives
    5
    """

    model_type = "lecture_word2vec"
    allowed_values = {
        "architecture": ("skip_gram", "cbow"),
        "output_layer": ("negative_sampling", "hierarchical_softmax"),
    }
    positive_fields = ("vocab_size", "hidden_size", "window_size", "num_negatives")
    non_negative_fields = ("noise_exponent",)

    vocab_size: int = 10_000
    hidden_size: int = 100
    architecture: str = "skip_gram"
    output_layer: str = "negative_sampling"
    window_size: int = 5
    num_negatives: int = 5
    noise_exponent: float | int = 0.75
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = None
    unk_token_id: int | None = None

    @property
    def special_ids(self) -> list[int]:
        """The ids of the special tokens, in ascending order."""
        ends = self.eos_token_id if isinstance(self.eos_token_id, list) else [self.eos_token_id]
        ids = {self.bos_token_id, self.pad_token_id, self.unk_token_id, *ends}
        return sorted(id_ for id_ in ids if id_ is not None)
