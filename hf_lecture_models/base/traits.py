# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What other code reads from a model or its configuration, and the values for models that do not declare them.

A model declares a value by an attribute, property, method or field of this name. Models of transformers have some of
these names too; where they lack one, the value below counts.
"""

from typing import Any

_OF_CONFIGURATION: dict[str, Any] = {
    # n of a model that sees no more than the n - 1 tokens before a token.
    "order": None,
    # Positions that the model was trained on, also where it reads longer inputs.
    "max_position_embeddings": None,
    # Tokens that are read at once by a model whose memory depends on where a text is cut.
    "segment_length": None,
    # Whether the scores of all tokens sum to one.
    "is_distribution": True,
    # Numbers that are stored in tables and not in parameters.
    "table_entries": 0,
    # Kinds of `token_type_ids`.
    "type_vocab_size": 1,
    # Length of a word that is a row of numbers, those of its characters.
    "max_characters_per_token": None,
    # Tokens for which attention is computed together.
    "attention_block": 0,
    "num_hidden_layers": None,
    "num_attention_heads": None,
    # How the vectors of two texts that are read separately become one.
    "pair_combination": None,
    # Whether a classifier reads a pair in both orders, and so nothing but pairs.
    "both_orders": False,
    # The token whose state a head reads, which the template of a text must have.
    "extract_token_id": None,
    # Weight of a language model's loss beside the head's.
    "auxiliary_lm_weight": 0,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
    # Height and width of the images, and their channels.
    "image_size": None,
    "num_channels": 3,
    # Numbers of a point.
    "point_width": 0,
}
_OF_MODEL: dict[str, Any] = {
    # Whether `past_key_values` is a state and no keys and values; the name is transformers'.
    "_is_stateful": False,
    # Names of the classes of blocks that stay in one piece; transformers' name too.
    "_no_split_modules": None,
    # Method: ln p of each token, without all logits at once (`CausalLMHead.score`).
    "score": None,
    # Method: the same for rows that are joined.
    "score_joined": None,
    # The tokenizer that the model was estimated with.
    "own_tokenizer": None,
    # Whether `forward` computes the loss of training without the logits, if `logits_to_keep` says so.
    "loss_without_logits": False,
    # Whether training needs `set_token_counts` first.
    "needs_token_counts": False,
    # The template of special tokens that a head's texts need, a key of `tokenization.templates.TEMPLATES`.
    "text_template": None,
    # Method: puts the special tokens that a head reads into any ids, to trace the model with them.
    "place_task_tokens": None,
    # The layer that predicts the mean color of a patch.
    "color_head": None,
}


def trait(model: Any, name: str) -> Any:
    """Return what a model, ours or of transformers, declares, or the value above if it declares nothing.

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> from hf_lecture_models import NGramConfig, NGramForCausalLM
    >>> models = (NGramForCausalLM(NGramConfig(vocab_size=9, order=3)), GPT2LMHeadModel(GPT2Config(n_embd=12)))
    >>> [trait(model, "order") for model in models]
    [3, None]

    Args:
        model: a model, or a class of models if the model declares it as a class attribute.

    Raises:
        KeyError: no trait has this name.
    """
    if name in _OF_MODEL:
        return getattr(model, name, _OF_MODEL[name])
    return getattr(model.config, name, _OF_CONFIGURATION[name])
