# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Configuration of the Transformer, encoder and decoder."""

import copy
from typing import Any

from hf_lecture_models.base.configuration import TRANSFORMER_SIZES, LectureConfig
from hf_lecture_models.io.compat import strict

_T5_TYPES = ("t5", "mt5", "umt5")
# What MarianConfig means where a file does not say it.
_MARIAN_DEFAULTS = {"scale_embedding": False, "activation_function": "gelu", "share_encoder_decoder_embeddings": True}


@strict
class LectureTransformerConfig(LectureConfig):
    """Shape of a Transformer; the defaults are the paper's base model.

    It also reads the config.json of `marian` checkpoints (`d_model`, `encoder_layers`, `encoder_attention_heads`,
    `encoder_ffn_dim`, `activation_function`, `share_encoder_decoder_embeddings`); what there has no counterpart is
    dropped.

    Args:
        vocab_size: number of source tokens; of all tokens, if source and target share a vocabulary.
        decoder_vocab_size: number of target tokens, where they have a vocabulary of their own. None: source and target
            share one, and with `tie_word_embeddings` its vectors too.
        hidden_size: width of each position's state, even; the numbers of heads must divide it.
        intermediate_size: width within the feed-forward networks of the encoder.
        num_hidden_layers: number of the encoder's blocks.
        num_attention_heads: heads per block of the encoder.
        decoder_layers: number of the decoder's blocks; None: as the encoder.
        decoder_attention_heads: heads of each attention in the decoder; None: as the encoder.
        decoder_ffn_dim: width within the feed-forward networks of the decoder; None: as the encoder.
        hidden_act: "relu", "gelu" (exact), "gelu_new" (its tanh form), "silu" or "swish" (Swish_β, β trained). Given as
            `activation_function`, "swish" is what `marian` means by it: "silu".
        norm_position: "post", the norm after the sum, as in the paper; or "pre", in front of each sublayer.
        position_encoding: "sinusoidal", sines and cosines by turns, as in the paper; "sines_first", as in Marian;
            "learned"; "relative_buckets", a trained number for each head and bucket of distances, added to the scores
            of self-attention, and all scores unscaled, as in T5; "none": the encoder is permutation-equivariant.
        relative_attention_num_buckets: of "relative_buckets", how many numbers each head has; even, at least 4.
        relative_attention_max_distance: from here on, distances share the last bucket; more than half the buckets.
        cross_attention: "target_query", queries of the target to keys and values of the source, as in the paper; or
            "source_query_key", queries and keys of the source to values of the target (slides N s44-46).
        scale_embedding: word vectors are multiplied by √hidden_size.
        max_position_embeddings: the longest source, and the longest target, with learned positions or
            "source_query_key"; the other kinds do not end.
        dropout: dropout probability in the sums of word and position vectors and in what each sublayer adds.
        attention_dropout: dropout probability in the attention weights.
        layer_norm_eps: added to the variance in the layer norms.
        tie_word_embeddings: the target's word vectors are the output matrix, and in a shared vocabulary the source's.
        use_cache: return keys and values, to go on from.
        decoder_start_token_id: what stands before a target; the paper's `<s>`, Marian's `<pad>`.

    Raises:
        ValueError: an unknown value, or fields that contradict each other.

    >>> config = LectureTransformerConfig(d_model=64, encoder_attention_heads=4)  # official names are read too
    >>> config.hidden_size, config.num_attention_heads
    (64, 4)
    """

    model_type = "lecture_transformer"
    foreign_model_types = ("marian",)
    attribute_map = {
        "encoder_layers": "num_hidden_layers",
        "encoder_attention_heads": "num_attention_heads",
        "encoder_ffn_dim": "intermediate_size",
    }
    allowed_values = {
        "hidden_act": ("relu", "gelu", "gelu_new", "silu", "swish"),
        "norm_position": ("post", "pre"),
        "position_encoding": ("sinusoidal", "sines_first", "learned", "relative_buckets", "none"),
        "cross_attention": ("target_query", "source_query_key"),
        "is_encoder_decoder": (True,),
    }
    positive_fields = (
        *TRANSFORMER_SIZES,
        "vocab_size",
        "decoder_vocab_size",
        "decoder_layers",
        "decoder_attention_heads",
        "decoder_ffn_dim",
        "max_position_embeddings",
        "relative_attention_num_buckets",
        "relative_attention_max_distance",
    )

    vocab_size: int = 37_000
    decoder_vocab_size: int | None = None
    hidden_size: int = 512
    intermediate_size: int = 2048
    num_hidden_layers: int = 6
    num_attention_heads: int = 8
    decoder_layers: int | None = None
    decoder_attention_heads: int | None = None
    decoder_ffn_dim: int | None = None
    hidden_act: str = "relu"
    norm_position: str = "post"
    position_encoding: str = "sinusoidal"
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    cross_attention: str = "target_query"
    scale_embedding: bool = True
    max_position_embeddings: int = 512
    dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    layer_norm_eps: float | int = 1e-5
    tie_word_embeddings: bool = True
    use_cache: bool = True
    is_encoder_decoder: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    decoder_start_token_id: int | None = None

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Read the fields of a configuration, those of a `marian` checkpoint too.

        Raises:
            ValueError: the checkpoint is of a decoder alone, or of T5.
        """
        if config_dict.get("model_type") in _T5_TYPES:
            raise ValueError(
                f"LectureTransformerConfig cannot read a checkpoint of model_type {config_dict['model_type']!r}: T5 "
                "has RMSNorm where this model has LayerNorm, no biases in its linear maps, and heads whose width is a "
                "field of its own; its position bias alone is the same (position_encoding='relative_buckets'). Load it "
                "with AutoModelForSeq2SeqLM, as transformers' own model"
            )
        if config_dict.get("model_type") == "marian":
            config_dict = _MARIAN_DEFAULTS | config_dict | {"position_encoding": "sines_first"}
            if config_dict.get("is_decoder") or not config_dict.get("is_encoder_decoder", True):
                raise ValueError("is_decoder is set: the checkpoint is of Marian's decoder alone, without an encoder")
            if config_dict["share_encoder_decoder_embeddings"]:
                config_dict["decoder_vocab_size"] = None
        return super().from_dict(config_dict, **kwargs)

    @property
    def longest_input(self) -> int | None:
        """Tokens of a source, or of a target, that the model can read: learned positions end, and so does T."""
        ends = self.position_encoding == "learned" or self.cross_attention == "source_query_key"
        return self.max_position_embeddings if ends else None

    def check_fields(self) -> None:
        """Check that each sinusoid has its cosine, and that the buckets reach their distance."""
        buckets, distance = self.relative_attention_num_buckets, self.relative_attention_max_distance
        if buckets < 4 or buckets % 2 or distance <= buckets // 2:
            raise ValueError(
                f"LectureTransformerConfig.relative_attention_num_buckets is {buckets} and "
                f"relative_attention_max_distance {distance}; the buckets must be an even number of at least 4, and "
                "the distance more than half of it"
            )
        if self.position_encoding in ("sinusoidal", "sines_first") and self.hidden_size % 2:
            raise ValueError(
                f"LectureTransformerConfig.hidden_size is {self.hidden_size}; with position_encoding="
                f"{self.position_encoding!r} it must be even, half sines and half cosines"
            )

    @property
    def caching_attentions(self) -> int:
        """Attentions that keep the target's keys and values; with "source_query_key" each block has two."""
        blocks = self.decoder_layers or self.num_hidden_layers
        return 2 * blocks if self.cross_attention == "source_query_key" else blocks

    def get_text_config(self, decoder: bool | None = None, encoder: bool | None = None) -> Any:
        """The configuration; with `decoder=True`, of the decoder's layers and vocabulary under the common names."""
        if not decoder or encoder:
            return self
        config = copy.deepcopy(self)
        config.num_hidden_layers = self.caching_attentions  # for the caches
        config.num_attention_heads = self.decoder_attention_heads or self.num_attention_heads
        config.vocab_size = self.decoder_vocab_size or self.vocab_size
        return config

    def _vocabulary_of(self, name: str) -> int:
        # Padding is in both vocabularies; all other ids are the target's.
        target = self.vocab_size if self.decoder_vocab_size is None else self.decoder_vocab_size
        return min(self.vocab_size, target) if name == "pad_token_id" else target
