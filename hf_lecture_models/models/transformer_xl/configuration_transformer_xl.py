# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of Transformer-XL."""

from typing import Any

from hf_lecture_models.base.configuration import LectureConfig
from hf_lecture_models.io.compat import strict
from hf_lecture_models.layers.adaptive_softmax import MOST_CLUSTERS

# Fields of published configurations that say how the weights were drawn, or repeat others.
_UNUSED = ("adaptive", "init", "init_range", "proj_init_std", "tie_weight")


@strict
class TransfoXLConfig(LectureConfig):
    """Shape of a Transformer-XL.

    Args:
        vocab_size: number of tokens, `len(tokenizer)`. With `cutoffs` the ids must be ranks by frequency, as those of
            the words of a `WordTokenizer` are.
        hidden_size: width of each position's state, even.
        num_hidden_layers: number of blocks.
        num_attention_heads: heads per block.
        head_dim: width of each head; None makes it `hidden_size / num_attention_heads`.
        intermediate_size: width within the feed-forward networks; None makes it 4 * `hidden_size`.
        mem_len: states of each layer that a segment may attend to beside its own.
        memory_start: the memory before the first segment: "empty", or "zeros", vectors of zeros, which get weight, as
            in the published models.
        same_length: a token attends to `mem_len` tokens at most, itself included; False: to the whole memory and its
            segment up to itself.
        clamp_len: larger distances count as this one; None: none do.
        untie_r: each layer has its own u and v; False: all layers share them.
        segment_length: tokens that evaluation reads at once; training has its recipe's `sequence_length`.
        embedding_size: width of the word vectors, of the most frequent ones with `div_val` > 1; None makes it
            `hidden_size`.
        cutoffs: the ids at which clusters of rarer words begin, ascending; empty for a plain softmax.
        div_val: each cluster's word vectors are narrower than the one's before by this factor.
        tie_word_embeddings: the word vectors are the output matrices.
        tie_projs: for the short list and each cluster, whether input and output share the projection between word
            vectors and states, with `tie_word_embeddings`; None shares all but the first.
        dropout: dropout probability in the word vectors, the distances' vectors, what attention and feed-forward
            network add, within the feed-forward network, and in the last state.
        attention_dropout: dropout probability of the attention weights.
        initializer_range: standard deviation of the initial weights.
        layer_norm_eps: added to the variance in the layer norms.
        use_cache: return the memory, to go on from.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = TransfoXLConfig(d_model=64, n_head=4, mem_len=32)  # the published names work, too
    >>> config.hidden_size, config.head_dim
    (64, 16)
    """

    model_type = "transfo-xl"
    attribute_map = {
        "d_head": "head_dim",
        "d_inner": "intermediate_size",
        "d_embed": "embedding_size",
        "n_token": "vocab_size",
        "tgt_len": "segment_length",
        "dropatt": "attention_dropout",
    }
    # Choices of other programs' Transformer-XL: the norm before each part, absolute positions, an approximate softmax
    # and states that are kept longer than the memory. transformers 4, of which 4.57.6 is the last, computes the first.
    pre_lnorm = False
    attn_type = 0
    sample_softmax = -1
    ext_len = 0
    fixed_fields = {
        "pre_lnorm": "TransfoXLLMHeadModel of transformers 4 (pip install 'transformers<5'; 5 has no Transformer-XL)",
        **dict.fromkeys(("attn_type", "sample_softmax", "ext_len"), "the authors' code (kimiyoung/transformer-xl)"),
    }
    allowed_values = {"memory_start": ("empty", "zeros")}
    positive_fields = (
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "head_dim",
        "intermediate_size",
        "segment_length",
        "clamp_len",
        "embedding_size",
        "div_val",
    )
    non_negative_fields = ("mem_len",)
    largest_values = {"mem_len": 2**17, "head_dim": 2**12}
    # A head may have any width.
    divisors = {}

    vocab_size: int = 10_000
    hidden_size: int = 256
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    head_dim: int | None = None
    intermediate_size: int | None = None
    mem_len: int = 128
    memory_start: str = "empty"
    same_length: bool = False
    clamp_len: int | None = None
    untie_r: bool = True
    segment_length: int = 128
    embedding_size: int | None = None
    cutoffs: list[int] | None = None
    div_val: int = 1
    tie_word_embeddings: bool = True
    tie_projs: list[bool] | None = None
    dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    initializer_range: float | int = 0.02
    layer_norm_eps: float | int = 1e-5
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        # The published names come as further arguments; what follows from them is to be known here.
        self.read_aliases(kwargs)
        # Stored, so that a saved model keeps its shape.
        self.cutoffs = self.cutoffs or []
        self.head_dim = self.head_dim or max(1, self.hidden_size // max(1, self.num_attention_heads))
        self.embedding_size = self.embedding_size or self.hidden_size
        if self.tie_projs is None:
            self.tie_projs = [False] + [True] * len(self.cutoffs)
        super().__post_init__(**{name: value for name, value in kwargs.items() if name not in _UNUSED})

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Read as transformers does; a published configuration, which says d_model, starts from zeros.

        Its clamp_len is -1 where no distance is clamped.
        """
        if "d_model" in config_dict:
            config_dict = {"memory_start": "zeros"} | config_dict
            if config_dict.get("clamp_len") == -1:
                config_dict["clamp_len"] = None
        return super().from_dict(config_dict, **kwargs)

    @property
    def word_vectors(self) -> dict[str, Any]:
        """The arguments of `AdaptiveEmbedding` and `ProjectedSoftmax`."""
        names = ("hidden_size", "vocab_size", "embedding_size", "cutoffs", "div_val")
        return {name: getattr(self, name) for name in names}

    @property
    def heads(self) -> dict[str, Any]:
        """Number and width of the heads, arguments of `RelativeSelfAttention` and `ScoreBiases`."""
        return {"num_heads": self.num_attention_heads, "head_dim": self.head_dim}

    @property
    def longest_input(self) -> None:
        """None: a text may have any length."""

    def check_fields(self) -> None:
        """Refuse clusters, projections and memories that do not fit."""
        cutoffs, words, name = self.cutoffs or [], self.vocab_size, type(self).__name__
        if sorted({0, *cutoffs, words}) != [0, *cutoffs, words]:
            raise ValueError(
                f"{name}.cutoffs is {cutoffs}; it must ascend, from at least 1 to at most vocab_size - 1 = {words - 1}"
            )
        if len(cutoffs) > MOST_CLUSTERS:
            raise ValueError(f"{name}.cutoffs has {len(cutoffs)} entries; at most {MOST_CLUSTERS} are allowed")
        if self.div_val ** len(cutoffs) > (self.embedding_size or 0):
            raise ValueError(
                f"{name}.div_val is {self.div_val} with {len(cutoffs)} cutoffs: the rarest words would have vectors of "
                f"width embedding_size / div_val^{len(cutoffs)} = {self.embedding_size} / "
                f"{self.div_val ** len(cutoffs)}, which must be at least 1; make div_val smaller"
            )
        if len(self.tie_projs or []) != len(cutoffs) + 1:
            raise ValueError(
                f"{name}.tie_projs has {len(self.tie_projs or [])} entries; it must have {len(cutoffs) + 1}, for the "
                "short list and each of the cutoffs"
            )
        if self.same_length and not self.mem_len:
            raise ValueError(
                f"{name}.same_length is True with mem_len=0: a token would attend to nothing; set mem_len, or "
                "same_length=False"
            )
        if self.hidden_size % 2:
            raise ValueError(
                f"{name}.hidden_size is {self.hidden_size}; it must be even: the distances' vectors are half sines, "
                "half cosines"
            )
