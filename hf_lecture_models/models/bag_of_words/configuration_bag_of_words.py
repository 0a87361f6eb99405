# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the bag of words."""

from dataclasses import field

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.travelling_guards import LARGEST_DEPTH, LARGEST_WIDTH
from hf_lecture_models.io.compat import strict


@strict
class BagOfWordsConfig(LectureConfig):
    """Shape of a bag-of-words classifier.

    Args:
        vocab_size: number of words, `len(tokenizer)`.
        input_coding: "one_hot", a weight of its own for each word; or "integer", the words' numbers.
        hidden_sizes: widths of the hidden layers; none for the linear model.
        hidden_act: activation of the hidden layers: "relu", "gelu" (exact), "gelu_new" (its tanh form) or "silu".
        dropout: dropout probability in the output of each hidden layer.
        initializer_range: standard deviation of the initial weights; those of the linear model start at 0.
        bos_token_id, eos_token_id, pad_token_id: ids of special tokens, which are left out of the bag.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = BagOfWordsConfig(vocab_size=10_000, hidden_sizes=[64], id2label={0: "negative", 1: "positive"})
    >>> config.num_labels, config.input_width
    (2, 64)
    """

    model_type = "lecture_bag_of_words"
    allowed_values = {"input_coding": ("one_hot", "integer"), "hidden_act": ("relu", "gelu", "gelu_new", "silu")}
    positive_fields = ("vocab_size",)

    vocab_size: int = 10_000
    input_coding: str = "one_hot"
    hidden_sizes: list[int] = field(default_factory=list)
    hidden_act: str = "relu"
    dropout: float | int = 0.0
    initializer_range: float | int = 0.02
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = None

    @property
    def has_word_vectors(self) -> bool:
        """True if each word has weights of its own."""
        return self.input_coding == "one_hot"

    @property
    def input_width(self) -> int:
        """Width of the layer that reads the words: the first hidden layer's, or the number of classes."""
        return self.hidden_sizes[0] if self.hidden_sizes else self.num_labels

    @property
    def output_size(self) -> int:
        """Width of `last_hidden_state`, the summand of each word."""
        return self.input_width

    def check_fields(self) -> None:
        """Refuse impossible widths, too many layers, and dropout without hidden layers."""
        most = LARGEST_DEPTH
        if len(self.hidden_sizes) > most or not all(0 < width <= LARGEST_WIDTH for width in self.hidden_sizes):
            raise ValueError(
                f"BagOfWordsConfig.hidden_sizes is {self.hidden_sizes}; at most {most} layers are allowed, of widths "
                f"from 1 to {LARGEST_WIDTH}"
            )
        if self.dropout and not self.hidden_sizes:
            raise ValueError(
                f"BagOfWordsConfig.dropout is {self.dropout} without hidden_sizes; it acts on hidden layers: set "
                "hidden_sizes, for example [64], or dropout=0"
            )
