# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the recurrent networks."""

from hf_lecture_models.base.large_vocabulary import LargeVocabularyConfig
from hf_lecture_models.base.travelling_guards import LARGEST_WIDTH
from hf_lecture_models.io.compat import strict
from hf_lecture_models.layers.text_vectors import PAIR_WIDTHS


@strict
class RecurrentConfig(LargeVocabularyConfig):
    """Shape of an Elman network, a GRU or an LSTM; `LargeVocabularyConfig` has the fields of its output layer.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`.
        cell_type: "elman", "gru" or "lstm".
        hidden_size: width of each layer's inner state.
        num_hidden_layers: number of stacked layers.
        embedding_size: width of the word vectors; None makes it `hidden_size`.
        bidirectional: read each layer's input both ways and put the outputs side by side; not for language models.
        projection_size: an LSTM's output is projected down to this width, and the next step reads that; None for no
            projection.
        output_projection_size: the last layer's output is projected to this width, as a rule up; the recurrence does
            not see it. None for no projection.
        tie_word_embeddings: use the word vectors as the output matrix; `embedding_size` must equal `output_size`.
        pooling: `RecurrentForSequenceClassification` only, the vector of a text: "last", the state after the last word,
            in a bidirectional model beside the backward state of the first word; "mean" or "max" of all states.
        pair_combination: `RecurrentForSequenceClassification` only, the vector of two texts with the vectors u, v:
            "sum", "concat" or "infersent", [u; v; |u - v|; u ⊙ v]; None for a model that reads single texts.
        dropout: dropout probability in the embeddings and in each layer's output; never in the recurrence.
        initializer_range: standard deviation of the initial word vectors and linear layers. The recurrent matrices and
            biases start uniform within 1/sqrt(hidden_size).
        use_cache: return the state, to continue a text.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = RecurrentConfig(cell_type="lstm", hidden_size=512, projection_size=128, output_projection_size=256)
    >>> config.layer_output_size, config.output_size
    (128, 256)
    """

    model_type = "lecture_recurrent"
    allowed_values = LargeVocabularyConfig.allowed_values | {
        "cell_type": ("elman", "gru", "lstm"),
        "pooling": ("last", "mean", "max"),
        "pair_combination": (None, "sum", "concat", "infersent"),
    }
    positive_fields = (
        *LargeVocabularyConfig.positive_fields,
        "hidden_size",
        "num_hidden_layers",
        "embedding_size",
        "projection_size",
        "output_projection_size",
    )
    largest_values = LargeVocabularyConfig.largest_values | {
        "projection_size": LARGEST_WIDTH,
        "output_projection_size": LARGEST_WIDTH,
    }

    cell_type: str = "lstm"
    hidden_size: int = 256
    num_hidden_layers: int = 2
    embedding_size: int | None = None
    bidirectional: bool = False
    projection_size: int | None = None
    output_projection_size: int | None = None
    tie_word_embeddings: bool = False
    pooling: str = "last"
    pair_combination: str | None = None
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
    def layer_output_size(self) -> int:
        """Width of a layer's output."""
        return (self.projection_size or self.hidden_size) * (2 if self.bidirectional else 1)

    @property
    def output_size(self) -> int:
        """Width of `last_hidden_state`."""
        return self.output_projection_size or self.layer_output_size

    @property
    def text_vector_size(self) -> int:
        """Width of the vector that the classifier reads."""
        return self.output_size * PAIR_WIDTHS[self.pair_combination]

    @property
    def type_vocab_size(self) -> int:
        """Number of texts that `token_type_ids` distinguish in one input."""
        return 1 if self.pair_combination is None else 2

    def check_classifier(self) -> None:
        """Raise a ValueError if the last states of both directions are projected together."""
        if self.bidirectional and self.pooling == "last" and self.output_projection_size is not None:
            mixes = "output_projection_size mixes the two directions, whose last states pooling='last' takes apart"
            raise ValueError(f"{mixes}: set output_projection_size=None, or pooling='mean' or 'max'")

    def check_reader(self, reader: str, left_to_right: bool = False) -> None:
        """Raise a ValueError if a field is set that `reader`, a class that makes no vector of a text, does not read."""
        if left_to_right and self.bidirectional:
            raise ValueError(f"{reader} predicts from the left context only: set bidirectional=False")
        for name, unset in (("pooling", "last"), ("pair_combination", None)):
            if getattr(self, name) != unset:
                raise ValueError(
                    f"RecurrentConfig.{name} is {getattr(self, name)!r}, but {reader} makes no vector of a text; only "
                    f"RecurrentForSequenceClassification reads it: set {name}={unset!r}"
                )

    def check_fields(self) -> None:
        """Refuse an impossible projection or output layer, and sizes that cannot be tied."""
        super().check_fields()
        if self.projection_size is not None:
            self._check_projection(self.projection_size)
        if self.tie_word_embeddings and self.input_size != self.output_size:
            raise ValueError(
                f"RecurrentConfig.tie_word_embeddings needs word vectors as wide as the output, but embedding_size is "
                f"{self.input_size} and the output {self.output_size}; set embedding_size={self.output_size}, or "
                f"output_projection_size={self.input_size}, or tie_word_embeddings=False"
            )

    def _check_projection(self, projection_size: int) -> None:
        if self.cell_type != "lstm":
            raise ValueError(
                f"RecurrentConfig.projection_size is {projection_size} with cell_type={self.cell_type!r}; only an "
                "LSTM recurs on a projection: set cell_type='lstm', or projection_size=None"
            )
        if projection_size >= self.hidden_size:
            raise ValueError(
                f"RecurrentConfig.projection_size is {projection_size}; it projects down and must be smaller than "
                f"hidden_size={self.hidden_size} (output_projection_size projects up)"
            )
