# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which models the live page `next_word` computes: the same rules as in the heads of its JavaScript files."""

from typing import Any

from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.checks_ngram import SMOOTHINGS
from hf_lecture_models.models.recurrent import RecurrentForCausalLM
from hf_lecture_models.models.self_attention import SelfAttentionForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

SETTINGS: dict[type, dict[str, tuple[Any, ...]]] = {
    NGramForCausalLM: {
        "smoothing": (*(name for name in SMOOTHINGS if name != "stupid_backoff"), None),
        "num_classes": (None,),
        "quantisation_bits": (None,),
        "hashed": (False,),
        "components": (None,),
        "mixture_weights": (None,),
    },
    RecurrentForCausalLM: {
        "cell_type": ("lstm",),
        "output_layer": ("softmax", "noise_contrastive"),
        "bidirectional": (False,),
        "projection_size": (None,),
        "output_projection_size": (None,),
        "pooling": ("last",),
        "pair_combination": (None,),
    },
    SelfAttentionForCausalLM: {
        "position_encoding": ("alibi", "sinusoidal", "learned", "relative", "none"),
        "norm_position": ("post", "pre"),
        "hidden_act": ("gelu_new", "relu", "silu", "swish"),
    },
}
"""Class -> field of its configuration -> the values that are computed; those of all other fields are."""

_ADVICE = {
    "smoothing": "its scores are no probabilities; fit with another smoothing",
    "num_classes": "fit n-grams of words, without classes",
    "quantisation_bits": "take the model from before `quantise`",
    "hashed": "take the ARPA file that KenLM made its file from",
    "components": "mix the models as one back-off model: the verb `mix` with `static`",
    "mixture_weights": "mix the models as one back-off model: the verb `mix` with `static`",
}


def refuse_model(name: str, model: Any, tokenizer: Any) -> None:
    """Raise a ValueError if the page does not compute a model, or does not read its tokenizer.

    Args:
        name: of the model, for the message.
        model: any model.
        tokenizer: of the model.
    """
    settings = SETTINGS.get(type(model))
    if settings is None:
        raise ValueError(
            f"{name} is a {type(model).__name__}, and the page computes n-gram, LSTM and self-attention language "
            "models: name one of these"
        )
    for field, values in settings.items():
        if (value := getattr(model.config, field)) not in values:
            allowed = " or ".join(map(repr, values))
            advice = _ADVICE.get(field) or f"train a model with {field}={allowed}"
            raise ValueError(f"{name} has {field}={value!r}, which the page does not compute: {advice}")
    _refuse_tokenizer(name, tokenizer)


def _refuse_tokenizer(name: str, tokenizer: Any) -> None:
    if not isinstance(tokenizer, WordTokenizer) or tokenizer.unknown_words not in ("token", "refused"):
        kind = type(tokenizer).__name__
        if isinstance(tokenizer, WordTokenizer):
            kind += f" with unknown_words={tokenizer.unknown_words!r}"
        raise ValueError(
            f"the tokenizer of {name} is a {kind}, which the page does not read: train a model of words, with the "
            "tokenizer `word` and its `unknown_words` as they are by default"
        )
    if not tokenizer.is_unmodified():
        raise ValueError(f"the tokenizer of {name} was changed after its training, and the page would split otherwise")
    if not tokenizer.encode(""):
        raise ValueError(
            f"the tokenizer of {name} puts nothing before a text, and the page predicts the first word from <s>: set "
            "add_bos_token to true in tokenizer_config.json, if the model was trained so"
        )
