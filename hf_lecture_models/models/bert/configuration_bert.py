# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of BERT."""

from hf_lecture_models.base.configuration import TRANSFORMER_SIZES, LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class LectureBertConfig(LectureConfig):
    """Shape of a BERT; the defaults are the published base model's (110 million weights).

    It also reads the config.json of `bert` checkpoints, whose fields have these names too. Other fields there, of old
    versions and other programs, are dropped.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`.
        hidden_size: width of each position's state; `num_attention_heads` must divide it.
        num_hidden_layers: number of blocks.
        num_attention_heads: heads per block.
        intermediate_size: width within the feed-forward networks; 4 * `hidden_size` in the paper.
        hidden_act: "gelu" (exact), "gelu_new" (its tanh form), "relu" or "silu".
        hidden_dropout_prob: dropout probability in the embeddings and in what attention and feed-forward network add.
        attention_probs_dropout_prob: dropout probability in the attention weights.
        classifier_dropout: dropout probability in what a classifier reads; None for `hidden_dropout_prob`.
        max_position_embeddings: trained positions, hence the longest input.
        type_vocab_size: kinds of `token_type_ids`: first and second text of a pair.
        layer_norm_eps: added to the variance in the layer norms.
        initializer_range: standard deviation of the normal distribution of initial weights, before it is cut off.
        tie_word_embeddings: the word vectors are the output matrix of the masked language model.
        pad_token_id: the id of padding, which no batch without an `attention_mask` should hold.

    Raises:
        ValueError: an unknown value, or fields that contradict each other; a decoder (`is_decoder`), cross-attention or
            relative positions (`position_embedding_type`), which this model does not compute.

    >>> config = LectureBertConfig(hidden_size=64, num_attention_heads=4, intermediate_size=256)
    >>> config.max_position_embeddings
    512
    """

    model_type = "lecture_bert"
    foreign_model_types = ("bert",)
    allowed_values = {"hidden_act": ("gelu", "gelu_new", "relu", "silu")}
    positive_fields = ("vocab_size", *TRANSFORMER_SIZES, "max_position_embeddings", "type_vocab_size")
    fixed_fields = {
        "is_decoder": "transformers' BertModel",
        "add_cross_attention": "transformers' BertModel",
        # transformers 5 still loads such a checkpoint, with absolute positions.
        "position_embedding_type": "BertModel of transformers 4 (pip install 'transformers<5'; 5 ignores the field)",
    }
    # Without an annotation these are not fields, but programs find them, and an assignment is checked.
    is_decoder = False
    add_cross_attention = False
    position_embedding_type = "absolute"

    vocab_size: int = 30_522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3_072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float | int = 0.1
    attention_probs_dropout_prob: float | int = 0.1
    classifier_dropout: float | int | None = None
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float | int = 1e-12
    initializer_range: float | int = 0.02
    tie_word_embeddings: bool = True
    pad_token_id: int | None = 0

    @property
    def head_dropout(self) -> float:
        """Dropout probability in what a classifier reads."""
        return self.hidden_dropout_prob if self.classifier_dropout is None else self.classifier_dropout
