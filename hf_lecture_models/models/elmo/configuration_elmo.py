# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of ELMo."""

from dataclasses import field

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.base.travelling_guards import LARGEST_WIDTH
from hf_lecture_models.io.compat import strict

_MOST_FILTERS = 64
_OFFICIAL_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


@strict
class ElmoConfig(LectureConfig):
    """Shape of ELMo; the defaults are the original model's but for its clipping and its output vocabulary.

    Args:
        vocab_size: number of character ids, `len(tokenizer)`.
        max_characters_per_token: character ids of each word.
        char_embedding_size: width of a character's vector.
        char_filters: pairs (width in characters, number of filters) of the convolutions.
        char_activation: activation after the maximum over a word: "relu" or "tanh".
        num_highway_layers: highway layers after the convolutions.
        hidden_size: width of each LSTM's cell.
        projection_size: width of a word's vector, and of each direction's output, which the next step reads.
        num_hidden_layers: stacked LSTMs in each direction; 0: words' vectors without context, which heads learn from
            their characters.
        use_skip_connections: from the second layer on, add a layer's input to its output.
        cell_clip, projection_clip: bounds of the cell and of the output, 3 in official weights; a bound makes the model
            run the written-out cell. None: no bound, and torch's kernels run.
        num_words: words that `ElmoForPreTraining` predicts, `len(tokenizer.words)`.
        softmax_samples: size of the sample of words that it is trained on; None for all words.
        word_vector_size: width of x, a word's vector that the heads learn from its characters.
        hash_rows: vectors in the table of each of four hashed features of a word's spelling (`layers/hashed_words.py`),
            which the heads learn beside x, each as wide; None for no features.
        task_hidden_size: width of each direction of the heads' LSTM.
        dropout: dropout probability in the input of each layer of the language model.
        task_dropout: dropout probability in the input and in the output of the heads' LSTM.
        use_cache: return the state of both directions, to continue a text.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = ElmoConfig()
    >>> config.output_size, config.num_filters
    (1024, 2048)
    """

    model_type = "lecture_elmo"
    keys_to_ignore_at_inference = [*LectureConfig.keys_to_ignore_at_inference, "hidden_states"]
    allowed_values = {"char_activation": ("relu", "tanh")}
    positive_fields = (
        "vocab_size",
        "max_characters_per_token",
        "char_embedding_size",
        "hidden_size",
        "projection_size",
        "num_words",
        "softmax_samples",
        "word_vector_size",
        "hash_rows",
        "task_hidden_size",
    )
    non_negative_fields = ("num_hidden_layers", "num_highway_layers", "cell_clip", "projection_clip")
    largest_values = {
        "max_characters_per_token": 2**10,
        "num_highway_layers": 256,
        "softmax_samples": 2**20,
        "hash_rows": 2**20,
        **dict.fromkeys(
            ("char_embedding_size", "projection_size", "word_vector_size", "task_hidden_size"), LARGEST_WIDTH
        ),
    }

    vocab_size: int = 262
    max_characters_per_token: int = 50
    char_embedding_size: int = 16
    char_filters: list[list[int]] = field(default_factory=lambda: [list(pair) for pair in _OFFICIAL_FILTERS])
    char_activation: str = "relu"
    num_highway_layers: int = 2
    hidden_size: int = 4096
    projection_size: int = 512
    num_hidden_layers: int = 2
    use_skip_connections: bool = True
    cell_clip: float | int | None = None
    projection_clip: float | int | None = None
    num_words: int = 10_000
    softmax_samples: int | None = None
    word_vector_size: int = 128
    hash_rows: int | None = None
    task_hidden_size: int = 200
    dropout: float | int = 0.1
    task_dropout: float | int = 0.5
    use_cache: bool = False
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    @property
    def output_size(self) -> int:
        """Width of `last_hidden_state`: both directions."""
        return 2 * self.projection_size

    @property
    def num_filters(self) -> int:
        """Width of a word's vector before it is projected: all filters."""
        return sum(number for _, number in self.char_filters)

    def check_fields(self) -> None:
        """Refuse filters wider than a word, bounds of 0, and a projection that does not reduce the width."""
        pairs, longest = self.char_filters, self.max_characters_per_token
        for pair in pairs:
            if len(pair) != 2 or not 1 <= pair[0] <= longest or not 1 <= pair[1] <= LARGEST_WIDTH:
                raise ValueError(
                    f"ElmoConfig.char_filters holds {pair}; it wants pairs of a width, 1 to max_characters_per_token="
                    f"{longest}, and a number of filters, 1 to {LARGEST_WIDTH}"
                )
        if not 1 <= len(pairs) <= _MOST_FILTERS:
            raise ValueError(f"ElmoConfig.char_filters has {len(pairs)} pairs; 1 to {_MOST_FILTERS} are allowed")
        if self.projection_size >= self.hidden_size:
            raise ValueError(
                f"ElmoConfig.projection_size is {self.projection_size}; it projects down and must be smaller than "
                f"hidden_size={self.hidden_size}"
            )
        for name in ("cell_clip", "projection_clip"):
            if getattr(self, name) == 0:
                raise ValueError(f"ElmoConfig.{name} is 0, which leaves nothing; set a bound above 0, or None")
        if longest < 3:
            raise ValueError(
                f"ElmoConfig.max_characters_per_token is {longest}; at least 3 are needed: a byte, both ends of a word"
            )
