# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The forward pass that encoder-decoders share: the source is read once, then the target."""

from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqModelOutput

from hf_lecture_models.base.modeling import model_forward
from hf_lecture_models.io.compat import cache_of


class EncoderDecoderModel:
    """The base model of an encoder-decoder; it stands before the pre-trained base class.

    An architecture builds `encoder` and `decoder` and defines `decode`.

    `forward` reads sources, ids (batch, source) or `inputs_embeds`, with `attention_mask`, 1 = real token; or
    `encoder_outputs` in their place. Of the targets it reads `decoder_input_ids` (batch, target), which begin with
    the start token, or `decoder_inputs_embeds`, with `decoder_attention_mask` (batch, seen + target), and continues
    from `past_key_values`.

    It returns a `Seq2SeqModelOutput`: `last_hidden_state` (batch, target, size), `past_key_values`,
    `encoder_last_hidden_state`, and on request `encoder_hidden_states`, `encoder_attentions`, `decoder_hidden_states`,
    `decoder_attentions` and `cross_attentions`.
    """

    config: Any
    encoder: Any
    decoder: Any
    _can_record_outputs: Any = {}  # encoder and decoder record their own

    def decode(self, encoded: Any, source_mask: Tensor | None, **target: Any) -> Any:
        """Return the decoder's outputs.

        Args:
            encoded: the encoder's outputs.
            source_mask: (batch, source), 1 = real token.
            target: `input_ids`, `inputs_embeds`, `attention_mask`, `past_key_values` and `use_cache` of the decoder,
                and options that both parts take.
        """
        raise NotImplementedError(f"{type(self).__name__} must define decode: what its decoder reads of the source")

    def as_encoded(self, encoder_outputs: Any) -> Any:
        """Return `encoder_outputs` as a caller gave them, a tuple too, in the form that `decode` reads."""
        return as_encoded(encoder_outputs)

    @model_forward
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Read the sources, unless the encoder's outputs for them are given, and the targets."""
        kwargs["return_dict"] = True
        if encoder_outputs is None:
            encoded = self.encoder(input_ids, attention_mask, inputs_embeds, **kwargs)
        else:
            encoded = self.as_encoded(encoder_outputs)
        target = {"input_ids": decoder_input_ids, "inputs_embeds": decoder_inputs_embeds}
        state = {"past_key_values": past_key_values, "use_cache": use_cache}
        decoded = self.decode(
            encoded, attention_mask, attention_mask=decoder_attention_mask, **target, **state, **kwargs
        )
        return joined_outputs(encoded, decoded)

    def get_input_embeddings(self) -> nn.Module:
        """Return the source's word vectors; with one vocabulary, they are the target's too."""
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the source's word vectors; where the target's are tied to them, those too."""
        self.encoder.embed_tokens = value
        shared = self.config.decoder_vocab_size is None and self.config.tie_word_embeddings
        if shared and hasattr(self.decoder, "embed_tokens"):
            self.decoder.embed_tokens = value

    def other_input_embeddings(self) -> list[nn.Module]:
        """Return the target's word vectors, where they are of the source's vocabulary but not tied."""
        if self.config.decoder_vocab_size is not None or self.config.tie_word_embeddings:
            return []
        return [self.decoder.embed_tokens] if hasattr(self.decoder, "embed_tokens") else []


class ImageEncoderDecoderModel:
    """The base model of an encoder of images and a decoder of texts; it stands before the pre-trained base class.

    An architecture builds `encoder` and `decoder`.

    `forward` reads images `pixel_values` (batch, num_channels, height, width) of `image_size`; of another size, in
    multiples of `patch_size`, with `interpolate_pos_encoding=True`; or `encoder_outputs` in their place. Of the texts
    it reads `decoder_input_ids` (batch, target), which begin with the start token, or `decoder_inputs_embeds`, with
    `decoder_attention_mask` (batch, seen + target), and continues from `past_key_values`, an `EncoderDecoderCache`.

    It returns a `Seq2SeqModelOutput`: `last_hidden_state` (batch, target, hidden_size), `past_key_values`,
    `encoder_last_hidden_state` (batch, 1 + patches, hidden_size), and on request the states and weights of both parts;
    `cross_attentions` are (batch, heads, target, 1 + patches) of each layer, [CLS] first.
    """

    encoder: Any
    decoder: Any
    _can_record_outputs: Any = {}  # encoder and decoder record their own

    @model_forward
    def forward(
        self,
        pixel_values: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        past_key_values: Cache | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        interpolate_pos_encoding: bool | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Read the images, unless the encoder's outputs for them are given, and the texts."""
        kwargs["return_dict"] = True
        if encoder_outputs is None:
            encoded = self.encoder(pixel_values, interpolate_pos_encoding, **kwargs)
        else:
            encoded = as_encoded(encoder_outputs)
        decoded = self.decoder(
            decoder_input_ids,
            decoder_attention_mask,
            encoder_hidden_states=encoded.last_hidden_state,
            past_key_values=past_key_values,
            inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            **kwargs,
        )
        return joined_outputs(encoded, decoded)

    def get_input_embeddings(self) -> nn.Module:
        """Return the word vectors of the texts."""
        return self.decoder.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the word vectors of the texts."""
        self.decoder.embed_tokens = value


def as_encoded(encoder_outputs: Any) -> Any:
    """Return an encoder's outputs as a caller gave them, a tuple too, with names."""
    return BaseModelOutput(*encoder_outputs) if isinstance(encoder_outputs, tuple) else encoder_outputs


def joined_outputs(encoded: Any, decoded: Any) -> Seq2SeqModelOutput:
    """Return the outputs of encoder and decoder as one, under the names that encoder-decoders have for them."""
    return Seq2SeqModelOutput(
        decoded.last_hidden_state,
        cache_of(decoded),
        decoder_hidden_states=decoded.hidden_states,
        decoder_attentions=decoded.attentions,
        cross_attentions=decoded.cross_attentions,
        encoder_last_hidden_state=encoded.last_hidden_state,
        encoder_hidden_states=encoded.hidden_states,
        encoder_attentions=encoded.get("attentions"),
    )


def keys_and_values(config: Any, given: Any, use_cache: bool | None) -> EncoderDecoderCache | None:
    """Return the cache of a call: the one given, or a new one if one is asked for.

    Args:
        config: of the model; its `caching_attentions` is the number of attentions that keep the target's.

    Raises:
        ValueError: the one given is of another class, or holds fewer attentions.
    """
    if given is None:
        if not use_cache:
            return None
        config = config.get_text_config(decoder=True)
        return EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config))
    if not isinstance(given, EncoderDecoderCache):
        raise ValueError(
            f"past_key_values is a {type(given).__name__}; keys and values of target and source are needed, "
            "EncoderDecoderCache(DynamicCache(), DynamicCache())"
        )
    found, needed = len(given.self_attention_cache.layers), config.caching_attentions
    if 0 < found < needed:
        raise ValueError(
            f"past_key_values holds the target's keys and values of {found} attentions; the model has {needed}, with "
            "cross_attention='source_query_key' two in each layer: prefix tuning (peft) writes one"
        )
    return given


def checked_source(source: Tensor | None, target: Tensor) -> Tensor:
    """Return `source` (batch, source, size), which has as many rows as `target` (batch, target, size).

    Raises:
        ValueError: it has more or fewer, or is missing.
    """
    sources = 0 if source is None else source.shape[0]
    if source is None or target.shape[0] != sources:
        raise ValueError(
            f"decoder_input_ids has {target.shape[0]} row(s), but the source {sources}: give each a target"
        )
    return source
