# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the self-attention language model."""

from typing import Any

from hf_lecture_models.base.configuration import BLOCKS_TP_PLAN, TRANSFORMER_SIZES, LectureConfig
from hf_lecture_models.io.compat import strict


@strict
class SelfAttentionConfig(LectureConfig):
    """Shape of a causal Transformer.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`.
        hidden_size: width of each position's state; `num_attention_heads` must divide it.
        num_hidden_layers: number of blocks.
        num_attention_heads: heads per block.
        intermediate_size: width within the feed-forward networks; None makes it 4 * `hidden_size`.
        hidden_act: "gelu_new" (GELU in the tanh form), "gelu" (exact), "relu", "silu" or "swish" (with a trained β in
            each block).
        max_position_embeddings: with "learned" positions, how many there are, hence the longest input. The other
            kinds read longer inputs too; for them it is the window in which texts are evaluated (and what other
            programs take for the longest input): give the length that the model is trained on.
        position_encoding: "sinusoidal", "learned", "relative" (T5's buckets), "alibi" or "none".
        norm_position: "pre": the norms act on what goes into attention and feed-forward network, and at the end;
            "post": on the sums.
        layer_mix: predict from a learned mix of all layers, not from the last.
        dropout: dropout probability in the word vectors with their positions, and in what attention and feed-forward
            network add to the state.
        tie_word_embeddings: the word vectors are the output matrix.
        initializer_range: standard deviation of the initial weights.
        layer_norm_eps: added to the variance in the layer norms.
        relative_attention_num_buckets: of "relative" positions, how many numbers each head has.
        relative_attention_max_distance: of "relative" positions, the distance from which on all share one number.
        use_cache: return keys and values, to go on from.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = SelfAttentionConfig(num_attention_heads=4, position_encoding="alibi", norm_position="pre")
    >>> config.position_encoding
    'alibi'
    """

    model_type = "lecture_self_attention"
    base_model_tp_plan = BLOCKS_TP_PLAN
    allowed_values = {
        "hidden_act": ("gelu_new", "gelu", "relu", "silu", "swish"),
        "position_encoding": ("sinusoidal", "learned", "relative", "alibi", "none"),
        "norm_position": ("pre", "post"),
    }
    positive_fields = (
        *TRANSFORMER_SIZES,
        "vocab_size",
        "max_position_embeddings",
        "relative_attention_num_buckets",
        "relative_attention_max_distance",
    )

    vocab_size: int = 10_000
    hidden_size: int = 256
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    intermediate_size: int | None = None
    hidden_act: str = "gelu_new"
    max_position_embeddings: int = 512
    position_encoding: str = "sinusoidal"
    norm_position: str = "pre"
    layer_mix: bool = False
    dropout: float | int = 0.1
    tie_word_embeddings: bool = True
    initializer_range: float | int = 0.02
    layer_norm_eps: float | int = 1e-5
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if self.hidden_act == "swish":  # each device computes it as a whole: β needs all of W_1 h
            whole = {"layers.*.ffn.up_proj": "colwise_rep", "layers.*.ffn.down_proj": "rowwise_rep"}
            self.base_model_tp_plan = BLOCKS_TP_PLAN | whole  # type: ignore[misc]
        super().__post_init__(**kwargs)

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read: only learned positions end."""
        return self.max_position_embeddings if self.position_encoding == "learned" else None

    def check_fields(self) -> None:
        """Check that each sinusoid has its cosine, and that the buckets reach their distance."""
        if self.position_encoding == "sinusoidal" and self.hidden_size % 2:
            raise ValueError(
                f"SelfAttentionConfig.hidden_size is {self.hidden_size}; with position_encoding='sinusoidal' it must "
                "be even, half sines and half cosines"
            )
        buckets, distance = self.relative_attention_num_buckets, self.relative_attention_max_distance
        if buckets < 2 or distance <= buckets // 2:
            raise ValueError(
                f"SelfAttentionConfig.relative_attention_num_buckets is {buckets} and relative_attention_max_distance "
                f"{distance}; there must be at least 2 buckets, and the distance must be more than half of their number"
            )
