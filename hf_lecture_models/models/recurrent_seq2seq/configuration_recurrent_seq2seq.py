# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the recurrent encoder-decoders."""

import copy
from typing import Any

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class RecurrentSeq2SeqConfig(LectureConfig):
    """Shape of a recurrent encoder and decoder, and of their connection.

    Args:
        vocab_size: number of source tokens, `len(tokenizer)`; without `decoder_vocab_size` of target tokens too.
        decoder_vocab_size: number of target tokens, if they have a vocabulary of their own; None: encoder and decoder
            share one vocabulary and its word vectors.
        cell_type: "elman", "gru" or "lstm", of the encoder and of the decoder.
        hidden_size: width of each layer's inner state; a bidirectional encoder has one of this width per direction.
        num_hidden_layers: number of stacked layers, of the encoder and of the decoder.
        embedding_size: width of the word vectors; None makes it `hidden_size`.
        bidirectional_encoder: each layer of the encoder reads its input both ways and puts the outputs side by side.
        reverse_source: the encoder reads the source's real tokens from the last one to the first; not with
            `bidirectional_encoder`, which does so anyway.
        attention_type: "none", "additive" or "dot": the decoder's attention to the encoder's states.
        context: attention_type="none" only, the use of the encoder's last state: "first_state", it is the decoder's
            first state; "every_step", a vector made of it is an input of every step as well.
        tie_word_embeddings: use the target's word vectors as the output matrix; needs `embedding_size` = `hidden_size`.
        dropout: dropout probability in the word vectors and in each layer's output; never in the recurrence.
        initializer_range: standard deviation of the initial word vectors and linear layers. The recurrent matrices and
            biases start uniform within 1/sqrt(hidden_size).
        use_cache: return the decoder's state, to continue a text.
        bos_token_id, eos_token_id, pad_token_id: ids of the target's special tokens.
        decoder_start_token_id: the first token that the decoder reads.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = RecurrentSeq2SeqConfig(cell_type="gru", hidden_size=8, bidirectional_encoder=True)
    >>> config.source_size, config.target_vocab_size
    (16, 10000)
    """

    model_type = "lecture_recurrent_seq2seq"
    allowed_values = {
        "cell_type": ("elman", "gru", "lstm"),
        "attention_type": ("none", "additive", "dot"),
        "context": ("first_state", "every_step"),
    }
    positive_fields = ("vocab_size", "decoder_vocab_size", "hidden_size", "num_hidden_layers", "embedding_size")

    vocab_size: int = 10_000
    decoder_vocab_size: int | None = None
    cell_type: str = "lstm"
    hidden_size: int = 256
    num_hidden_layers: int = 1
    embedding_size: int | None = None
    bidirectional_encoder: bool = False
    reverse_source: bool = False
    attention_type: str = "none"
    context: str = "first_state"
    tie_word_embeddings: bool = False
    dropout: float | int = 0.0
    initializer_range: float | int = 0.05
    use_cache: bool = True
    is_encoder_decoder: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None

    @property
    def input_size(self) -> int:
        """Width of the word vectors."""
        return self.embedding_size or self.hidden_size

    @property
    def source_size(self) -> int:
        """Width of the encoder's states."""
        return self.hidden_size * (2 if self.bidirectional_encoder else 1)

    @property
    def target_vocab_size(self) -> int:
        """Number of target tokens."""
        return self.decoder_vocab_size or self.vocab_size

    def check_fields(self) -> None:
        """Refuse fields that another field leaves without effect, and sizes that cannot be tied."""
        if self.attention_type != "none" and self.context != "first_state":
            raise ValueError(
                f"RecurrentSeq2SeqConfig.context is {self.context!r} with attention_type={self.attention_type!r}: it "
                "makes a new context at every step: set context='first_state', or attention_type='none'"
            )
        if self.reverse_source and self.bidirectional_encoder:
            raise ValueError(
                "RecurrentSeq2SeqConfig.reverse_source is True with bidirectional_encoder=True, which reads the source "
                "in both directions anyway; set one of the two to False"
            )
        if self.tie_word_embeddings and self.input_size != self.hidden_size:
            raise ValueError(
                f"RecurrentSeq2SeqConfig.tie_word_embeddings needs word vectors as wide as the decoder's output, but "
                f"embedding_size is {self.input_size} and hidden_size {self.hidden_size}; make them equal, or set "
                "tie_word_embeddings=False"
            )

    def get_text_config(self, decoder: bool | None = None, encoder: bool | None = None) -> Any:
        """The configuration; with `decoder=True` a copy that calls the target vocabulary's size `vocab_size`."""
        if not decoder or encoder:
            return self
        config = copy.deepcopy(self)
        config.vocab_size = self.target_vocab_size
        return config

    def _check_token_id(self, name: str, given: int | list[int] | None) -> None:
        # All are ids of the target; the source's mask marks its padding.
        for value in given if isinstance(given, list) else [given]:
            if value is not None and not 0 <= value < self.target_vocab_size:
                raise ValueError(
                    f"RecurrentSeq2SeqConfig.{name} is {value}, outside the target vocabulary of "
                    f"{self.target_vocab_size} (ids 0 to {self.target_vocab_size - 1}); give the target tokenizer's "
                    "own id and its size, as decoder_vocab_size, or with one vocabulary vocab_size"
                )
