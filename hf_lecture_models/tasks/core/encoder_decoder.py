# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""New encoder-decoders and their tokenizers, for translation and all other tasks whose models write a text."""

from collections.abc import Mapping
from typing import Any

from transformers import CONFIG_MAPPING, AutoModelForSeq2SeqLM

from hf_lecture_models.base.limits import longest_input
from hf_lecture_models.tasks.core.factories import (
    field_names,
    load_checkpoint,
    log_once,
    make_model,
    make_tokenizer,
    without_sampling,
)

_LONGEST = 256
"""The most tokens of a written text, unless a call or the model has a lower limit."""


def make_encoder_decoder(recipe: Any, processor: Any) -> Any:
    """Return the recipe's checkpoint, or a new model; its `generate` stops at the longest target that it can write."""
    if recipe.from_pretrained:
        model, new = load_checkpoint(AutoModelForSeq2SeqLM, recipe.from_pretrained, recipe.seed)
        if new:
            log_once(f"weights that {recipe.from_pretrained} does not hold start anew: {', '.join(new)}")
    else:
        fields = special_fields(str(recipe.model.get("model_type")), processor) | recipe.model
        model = make_model(AutoModelForSeq2SeqLM, fields, processor, recipe.seed)
    decoding = model.generation_config
    # The start token counts too. A call's own max_length or max_new_tokens replaces `max_length`.
    decoding.max_length, decoding.max_new_tokens = min(_LONGEST + 1, longest_input(model, processor)), None
    return model


def new_tokenizer(options: Mapping[str, Any], texts: list[str]) -> Any:
    """Return a new tokenizer for either side, without a start token: the model adds the decoder's."""
    tokenizer = make_tokenizer(without_sampling(options) if "sampling" in options else options, texts)
    if getattr(tokenizer, "template", None) is None:
        tokenizer.add_bos_token, tokenizer.add_eos_token = False, True
    tokenizer.padding_side = "right"
    return tokenizer


def special_fields(model_type: str, processor: Any) -> dict[str, Any]:
    """Return the fields of an encoder-decoder's configuration that follow from the tokenizer."""
    names = field_names(CONFIG_MAPPING[model_type]) if model_type in CONFIG_MAPPING else []
    start = processor.bos_token_id if processor.bos_token_id is not None else processor.pad_token_id
    fields = {"decoder_start_token_id": start, "forced_eos_token_id": None, "is_encoder_decoder": True}
    if hasattr(processor, "target"):
        fields |= {"decoder_vocab_size": len(processor.target), "share_encoder_decoder_embeddings": False}
    elif "share_encoder_decoder_embeddings" in names:
        fields["decoder_vocab_size"] = len(processor)
    return {name: value for name, value in fields.items() if name in names}
