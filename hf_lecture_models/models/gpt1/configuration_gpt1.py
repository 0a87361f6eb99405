# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of GPT-1."""

from typing import Any

from hf_lecture_models.base.configuration import BLOCKS_TP_PLAN, TRANSFORMER_SIZES, LectureConfig
from hf_lecture_models.io.compat import strict

# What openai-gpt means by the values of its own field `afn`: its "gelu" is the tanh form.
_OFFICIAL_ACTIVATIONS = {"gelu": "gelu_new", "swish": "silu"}


@strict
class Gpt1Config(LectureConfig):
    """Shape of a GPT-1; the defaults are the published model's (117 million weights).

    It also reads the config.json of `openai-gpt` checkpoints (`n_embd`, `n_head`, `n_layer`, `n_positions`, `afn`,
    `resid_pdrop`, `embd_pdrop`, `attn_pdrop`, `summary_first_dropout`, `layer_norm_epsilon`); what there belongs to
    other heads is dropped.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`.
        hidden_size: width of each position's state; `num_attention_heads` must divide it.
        intermediate_size: width within the feed-forward networks; None makes it 4 * `hidden_size`.
        num_hidden_layers: number of blocks.
        num_attention_heads: heads per block.
        max_position_embeddings: trained positions, hence the longest input.
        hidden_act: "gelu_new" (GELU in the tanh form), "gelu" (exact), "relu" or "silu". Given as `afn`, "gelu" and
            "swish" are what openai-gpt means by them: "gelu_new" and "silu".
        dropout: dropout probability in what attention and feed-forward network add to the state.
        embedding_dropout: dropout probability in the sum of word and position vectors.
        attention_dropout: dropout probability in the attention weights.
        classifier_dropout: dropout probability in what the linear layer of a classifier, or of multiple choice, reads.
        layer_norm_eps: added to the variance in the layer norms.
        initializer_range: standard deviation of the initial weights.
        tie_word_embeddings: the word vectors are the output matrix.
        use_cache: return keys and values, to go on from.
        extract_token_id: the token whose state a classifier reads, or multiple choice; None: the last real token.
        delim_token_id: the token between the two texts of a pair; needed for `both_orders`.
        both_orders: a classifier reads a pair in both orders and adds the two states, for tasks in which the order has
            no meaning.
        auxiliary_lm_weight: λ, the weight of the language model's loss beside a classifier's; the paper has 0.5.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = Gpt1Config(hidden_size=64, num_attention_heads=4, n_positions=128)  # official names are read too
    >>> config.max_position_embeddings
    128
    """

    model_type = "lecture_gpt1"
    foreign_model_types = ("openai-gpt",)
    base_model_tp_plan = BLOCKS_TP_PLAN
    attribute_map = {
        "afn": "hidden_act",
        "resid_pdrop": "dropout",
        "embd_pdrop": "embedding_dropout",
        "attn_pdrop": "attention_dropout",
        "summary_first_dropout": "classifier_dropout",
    }
    allowed_values = {"hidden_act": ("gelu_new", "gelu", "relu", "silu")}
    positive_fields = ("vocab_size", *TRANSFORMER_SIZES, "max_position_embeddings")
    non_negative_fields = ("auxiliary_lm_weight",)

    vocab_size: int = 40_478
    hidden_size: int = 768
    intermediate_size: int | None = None
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    max_position_embeddings: int = 512
    hidden_act: str = "gelu_new"
    dropout: float | int = 0.1
    embedding_dropout: float | int = 0.1
    attention_dropout: float | int = 0.1
    classifier_dropout: float | int = 0.1
    layer_norm_eps: float | int = 1e-5
    initializer_range: float | int = 0.02
    tie_word_embeddings: bool = True
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    extract_token_id: int | None = None
    delim_token_id: int | None = None
    both_orders: bool = False
    auxiliary_lm_weight: float | int = 0.0

    def __post_init__(self, **kwargs: Any) -> None:
        if "afn" in kwargs:
            kwargs["afn"] = _OFFICIAL_ACTIVATIONS.get(kwargs["afn"], kwargs["afn"])
        super().__post_init__(**kwargs)

    @property
    def head_dropout(self) -> float:
        """Dropout probability in what a classifier, or multiple choice, reads."""
        return self.classifier_dropout
