# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the Transformers with efficient attention."""

from hf_lecture_models.base.configuration import TRANSFORMER_SIZES, LectureConfig
from hf_lecture_models.base.travelling_guards import LARGEST_SIZE
from hf_lecture_models.io.compat import strict


@strict
class EfficientTransformerConfig(LectureConfig):
    """Shape of a Transformer, and the attention that it has.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`.
        attention_kind: "local", "random", "hierarchical", "low_rank" (masked language models only), "linear",
            "performer" or "hashing".
        position_encoding: "sinusoidal" or "learned". Learned positions end at `max_position_embeddings`; a model with
            them learns sooner which token is the one before (docs/recall.md).
        share_layers: one block's weights are used `num_hidden_layers` times.
        bidirectional: each token attends to both sides. A masked language model sets it; a causal one refuses it.
        hidden_size: width of each position's state, even; `num_attention_heads` must divide it.
        num_hidden_layers: number of blocks.
        num_attention_heads: heads per block.
        intermediate_size: width within the feed-forward networks; None makes it 4 * `hidden_size`.
        hidden_act: "gelu_new" (GELU in the tanh form), "gelu" (exact), "relu", "silu" or "swish" (with a trained β in
            each block).
        max_position_embeddings: the window in which texts are evaluated: give the length that the model is trained on.
            For "random", "low_rank" and learned positions, which end there, the longest input.
        window_size: of "local" and "random", the tokens that a token sees on each side; and the size of random blocks.
        num_sentinels: of "local" and "random", how many first tokens see, and are seen by, all.
        num_random_blocks: of "random", the blocks that each block of queries sees beside its window.
        block_size: of "hierarchical", the tokens of a block, best near the square root of the length; of "hashing" in
            both directions, the tokens of a chunk.
        projected_length: of "low_rank", into how many keys and values those of the text are mixed.
        num_random_features: of "performer", the random features.
        num_hashes: of "hashing", the rounds.
        num_buckets: of "hashing", the buckets of a round, an even number.
        pattern_seed: from which "random" draws its blocks, "performer" its features and "hashing" its rotations, for
            the first layer; the next ones have the numbers after it. What is drawn is saved with the weights.
        dropout: dropout probability in the word vectors with their positions, and in what attention and feed-forward
            network add to the state.
        tie_word_embeddings: the word vectors are the output matrix.
        initializer_range: standard deviation of the initial weights.
        use_cache: of causal models, return what later calls need.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = EfficientTransformerConfig(attention_kind="performer", num_random_features=128, share_layers=True)
    >>> config.attention_kind
    'performer'
    """

    model_type = "lecture_efficient_transformer"
    allowed_values = {
        "attention_kind": ("local", "random", "hierarchical", "low_rank", "linear", "performer", "hashing"),
        "position_encoding": ("sinusoidal", "learned"),
        "hidden_act": ("gelu_new", "gelu", "relu", "silu", "swish"),
    }
    positive_fields = (
        *TRANSFORMER_SIZES,
        "vocab_size",
        "max_position_embeddings",
        "window_size",
        "num_random_blocks",
        "block_size",
        "projected_length",
        "num_random_features",
        "num_hashes",
        "num_buckets",
    )
    non_negative_fields = ("num_sentinels", "pattern_seed")
    largest_values = {"num_sentinels": LARGEST_SIZE, "pattern_seed": 2**31}

    vocab_size: int = 10_000
    attention_kind: str = "local"
    position_encoding: str = "sinusoidal"
    share_layers: bool = False
    bidirectional: bool = False
    hidden_size: int = 256
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    intermediate_size: int | None = None
    hidden_act: str = "gelu_new"
    max_position_embeddings: int = 512
    window_size: int = 32
    num_sentinels: int = 1
    num_random_blocks: int = 2
    block_size: int = 16
    projected_length: int = 64
    num_random_features: int = 64
    num_hashes: int = 4
    num_buckets: int = 8
    pattern_seed: int = 0
    dropout: float | int = 0.1
    tie_word_embeddings: bool = True
    initializer_range: float | int = 0.02
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read at once: only saved patterns, trained matrices and trained positions end."""
        ends = self.attention_kind in ("random", "low_rank") or self.position_encoding == "learned"
        return self.max_position_embeddings if ends else None

    @property
    def attention_block(self) -> int:
        """Tokens for which attention is computed together."""
        return max(self.window_size, self.block_size)

    def check_fields(self) -> None:
        """Check that sizes are even where halves are needed, and that windows and blocks fit in the length."""
        for name in ("hidden_size", *(("num_buckets",) if self.attention_kind == "hashing" else ())):
            if getattr(self, name) % 2:
                raise ValueError(
                    f"EfficientTransformerConfig.{name} is {getattr(self, name)}; it must be even: half sines and half "
                    "cosines, and buckets in pairs"
                )
        sizes = {
            "local": ("window_size", "num_sentinels"),
            "random": ("window_size", "num_sentinels"),
            "hierarchical": ("block_size",),
            "low_rank": ("projected_length",),
            "hashing": ("block_size",),
        }
        for name in sizes.get(self.attention_kind, ()):
            if getattr(self, name) > self.max_position_embeddings:
                raise ValueError(
                    f"EfficientTransformerConfig.{name} is {getattr(self, name)}; with attention_kind="
                    f"{self.attention_kind!r} it must fit in max_position_embeddings={self.max_position_embeddings}"
                )
        if self.attention_kind == "random":
            blocks = -(-self.max_position_embeddings // self.window_size)
            if self.num_random_blocks > max(blocks - 2, 0):
                raise ValueError(
                    f"EfficientTransformerConfig.num_random_blocks is {self.num_random_blocks}; {blocks} blocks of "
                    f"window_size={self.window_size} tokens in max_position_embeddings={self.max_position_embeddings} "
                    "leave at most "
                    f"{max(blocks - 2, 0)} outside of a window: make the window smaller, or take attention_kind='local'"
                )

    def check_direction(self, name: str, bidirectional: bool) -> None:
        """Check that the attention has the form that the class `name` needs.

        Raises:
            ValueError: a causal model is asked of a kind or of weights that read both sides.
        """
        if bidirectional:
            return
        if self.attention_kind == "low_rank":
            raise ValueError(
                f"{name} reads from left to right, and attention_kind='low_rank' has no causal form: it mixes the keys "
                "of the whole text. Take EfficientTransformerForMaskedLM, or another kind"
            )
        if self.bidirectional:
            raise ValueError(
                f"{name} reads from left to right, but bidirectional=True, as a masked language model has it: set "
                "bidirectional=False"
            )
