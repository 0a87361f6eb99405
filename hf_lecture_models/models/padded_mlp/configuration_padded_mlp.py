# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the padded multi-layer perceptron, and the fields that it shares with one input per layer."""

from dataclasses import field
from typing import ClassVar

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.travelling_guards import LARGEST_DEPTH, LARGEST_WIDTH
from hf_lecture_models.io.compat import strict


@strict
class WordSequenceConfig(LectureConfig):
    """The fields of a classifier of word sequences with a maximum length.

    Args:
        vocab_size: number of words, `len(tokenizer)`.
        input_coding: "one_hot", or "integer": the number of the word.
        embedding_size: width of the trained vector that each word has; None: the coding itself is the input, which for
            one-hot vectors is `vocab_size` wide.
        max_position_embeddings: the maximum length of a text, in words. (The model has no position embeddings, but
            other programs read the maximum under this name.)
        hidden_act: σ: "relu", "gelu" (exact), "gelu_new" (its tanh form), "silu" or "tanh".
        dropout: dropout probability in the word vectors and in the output of each hidden layer; with one input per
            layer, in the last state instead, never between two words.
        initializer_range: standard deviation of the initial word vectors and of the classifier.
        bos_token_id, eos_token_id, pad_token_id: ids of special tokens, which are left out.
    """

    allowed_values = {
        "input_coding": ("one_hot", "integer"),
        "hidden_act": ("relu", "gelu", "gelu_new", "silu", "tanh"),
    }
    positive_fields: ClassVar[tuple[str, ...]] = ("vocab_size", "embedding_size", "max_position_embeddings")

    vocab_size: int = 10_000
    input_coding: str = "one_hot"
    embedding_size: int | None = None
    max_position_embeddings: int = 64
    hidden_act: str = "relu"
    dropout: float | int = 0.0
    initializer_range: float | int = 0.1
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = None

    @property
    def has_word_vectors(self) -> bool:
        """True if each word has a trained vector of its own."""
        return self.embedding_size is not None

    @property
    def input_size(self) -> int:
        """Width n of one input u_l."""
        return self.embedding_size or (self.vocab_size if self.input_coding == "one_hot" else 1)

    @property
    def longest_input(self) -> int:
        """Number of tokens that always fit. `<s>` and `</s>` need no place, so a longer row may fit too."""
        return self.max_position_embeddings

    def check_fields(self) -> None:
        """Refuse word vectors with the integer coding."""
        if self.embedding_size is not None and self.input_coding == "integer":
            raise ValueError(
                f"{type(self).__name__}.embedding_size is {self.embedding_size} with input_coding='integer', which "
                "codes a word as one number; set input_coding='one_hot', or embedding_size=None"
            )


@strict
class PaddedMlpConfig(WordSequenceConfig):
    """Shape of a multi-layer perceptron on zero-padded texts; `WordSequenceConfig` has the other fields.

    Args:
        hidden_sizes: widths of the hidden layers, at least one.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = PaddedMlpConfig(vocab_size=30, max_position_embeddings=100, hidden_sizes=[64])
    >>> config.input_size, config.padded_size
    (30, 3000)
    """

    model_type = "lecture_padded_mlp"

    hidden_sizes: list[int] = field(default_factory=lambda: [64])

    @property
    def output_size(self) -> int:
        """Width of `last_hidden_state`, the inputs."""
        return self.input_size

    @property
    def padded_size(self) -> int:
        """Numbers that the first hidden layer reads."""
        return self.max_position_embeddings * self.input_size

    def check_fields(self) -> None:
        """Refuse impossible widths, and too few or too many layers."""
        super().check_fields()
        most, widths = LARGEST_DEPTH, self.hidden_sizes
        if not 1 <= len(widths) <= most or not all(0 < width <= LARGEST_WIDTH for width in widths):
            raise ValueError(
                f"PaddedMlpConfig.hidden_sizes is {widths}; from 1 to {most} layers are allowed, of widths from 1 to "
                f"{LARGEST_WIDTH}"
            )
