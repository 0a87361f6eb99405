# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the feed-forward language model."""

from hf_lecture_models.base.large_vocabulary import LargeVocabularyConfig
from hf_lecture_models.io.compat import strict


@strict
class FeedForwardConfig(LargeVocabularyConfig):
    """Shape of a feed-forward language model; `LargeVocabularyConfig` has the fields of its output layer.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`.
        order: n of the n-gram: a word is predicted from the n - 1 words before it; at least 2.
        embedding_size: width m of the word vectors; None makes it `hidden_size`.
        hidden_size: width of the hidden layer.
        direct_connections: the output layer also reads the word vectors of the context themselves.
        tie_word_embeddings: use the word vectors as the output matrix; `embedding_size` must equal `hidden_size`, and
            `direct_connections` be False.
        initialization: "free": word vectors and output matrix start at random, independently; "equal": the output
            matrix starts as a copy of the word vectors, and both are then trained freely (their widths must be equal);
            "one_vector": all words start from one random vector, the output matrix at random.
        dropout: dropout probability in the context's word vectors and in the hidden layer.
        initializer_range: standard deviation of the initial word vectors and matrices.
        use_cache: return the last word vectors, to continue a text.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = FeedForwardConfig(vocab_size=1000, order=4, embedding_size=30, hidden_size=50)
    >>> config.context_size  # three word vectors side by side
    90
    """

    model_type = "lecture_feed_forward"
    allowed_values = LargeVocabularyConfig.allowed_values | {"initialization": ("free", "equal", "one_vector")}
    positive_fields = (*LargeVocabularyConfig.positive_fields, "order", "embedding_size", "hidden_size")
    largest_values = LargeVocabularyConfig.largest_values | {"order": 1024}

    order: int = 5
    embedding_size: int | None = None
    hidden_size: int = 256
    direct_connections: bool = False
    tie_word_embeddings: bool = False
    initialization: str = "free"
    dropout: float | int = 0.0
    initializer_range: float | int = 0.05
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    @property
    def input_size(self) -> int:
        """Width of the word vectors."""
        return self.embedding_size or self.hidden_size

    @property
    def context_size(self) -> int:
        """Width of the context: n - 1 word vectors side by side."""
        return (self.order - 1) * self.input_size

    @property
    def output_size(self) -> int:
        """Width of `last_hidden_state`, which the output layer reads."""
        return self.hidden_size + (self.context_size if self.direct_connections else 0)

    @property
    def starts_equal(self) -> bool:
        """True if the output matrix starts as a copy of the word vectors."""
        return self.initialization == "equal"

    def check_fields(self) -> None:
        """Refuse an order without context, matrices that cannot be equal, an impossible output layer."""
        super().check_fields()
        if self.starts_equal and self.output_layer == "adaptive":
            raise ValueError(
                "FeedForwardConfig: initialization='equal' needs one output matrix, and output_layer='adaptive' has "
                "several; set another initialization, or output_layer='softmax' or 'noise_contrastive'"
            )
        if self.order < 2:
            raise ValueError(
                f"FeedForwardConfig.order is {self.order}; the model reads the order - 1 words before a prediction, so "
                "it must be at least 2 (NGramForCausalLM has unigrams)"
            )
        shared = {"tie_word_embeddings=True": self.tie_word_embeddings, "initialization='equal'": self.starts_equal}
        for setting in (name for name, on in shared.items() if on):
            if self.input_size != self.hidden_size:
                raise ValueError(
                    f"FeedForwardConfig: {setting} needs word vectors as wide as the hidden layer, but embedding_size "
                    f"is {self.input_size} and hidden_size {self.hidden_size}; make them equal"
                )
        if self.tie_word_embeddings and self.direct_connections:
            raise ValueError(
                "FeedForwardConfig: with direct_connections=True the output matrix reads more than the hidden layer; "
                "it cannot be the word vectors: set tie_word_embeddings=False, or initialization='equal' to start so"
            )
        if self.tie_word_embeddings and self.starts_equal:
            raise ValueError(
                "FeedForwardConfig: initialization='equal' sets two matrices free that tie_word_embeddings=True makes "
                "one; set only one of the two"
            )
