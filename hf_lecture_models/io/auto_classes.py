# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The model classes that transformers' Auto classes give for a configuration, its own and registered ones."""

from collections.abc import Iterator
from inspect import signature
from typing import Any

from transformers import AutoModel, AutoModelForCausalLM
from transformers.models.auto import modeling_auto

from hf_lecture_models.io.compat import PreTrainedConfig


def auto_classes() -> Iterator[tuple[str, Any]]:
    """Yield the Auto classes of models with their names, in alphabetical order."""
    return ((name, value) for name, value in sorted(vars(modeling_auto).items()) if name.startswith("AutoModel"))


def model_classes(auto_class: Any, config_class: type) -> tuple[type, ...]:
    """Return the classes that an Auto class may build from a configuration of this class, usually one or none.

    >>> from transformers import BertConfig
    >>> [cls.__name__ for cls in model_classes(AutoModelForCausalLM, BertConfig)]
    ['BertLMHeadModel']
    """
    mapping = getattr(auto_class, "_model_mapping", None)
    if mapping is None or config_class not in mapping:
        return ()
    found = mapping[config_class]
    return found if isinstance(found, tuple) else (found,)


def find_auto_class(config: PreTrainedConfig) -> Any:
    """Return the Auto class that gives the saved class, or else `AutoModelForCausalLM`.

    >>> from transformers import BertConfig
    >>> find_auto_class(BertConfig(architectures=["BertForSequenceClassification"])).__name__
    'AutoModelForSequenceClassification'
    >>> find_auto_class(BertConfig()).__name__
    'AutoModelForCausalLM'
    """
    saved = set(config.architectures or ())
    for auto_class in (AutoModelForCausalLM, *(value for _, value in auto_classes())):
        if saved & _names(auto_class, config):
            return auto_class
    return AutoModelForCausalLM


def gives_saved_model(auto_class: Any, config: PreTrainedConfig) -> bool:
    """Return True if an Auto class gives the saved class, the base model in it, or a model around a saved base model.

    Another head may find all of its weights and compute something else: BERT's for masked words as a causal language
    model would see the word that it predicts.

    >>> from transformers import BertConfig
    >>> gives_saved_model(AutoModelForCausalLM, BertConfig(architectures=["BertForMaskedLM"]))
    False
    """
    names = _names(auto_class, config)
    is_base = auto_class is AutoModel or find_auto_class(config) in (AutoModel, auto_class)
    return bool(names) and (is_base or bool(names & set(config.architectures or ())))


def learns_next_sentences(model: Any) -> bool:
    """Return True for a model that learns masked words and next sentences at once, as BERT's own pre-training does.

    >>> from transformers import BertConfig, BertForMaskedLM, BertForPreTraining
    >>> config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    >>> learns_next_sentences(BertForPreTraining(config)), learns_next_sentences(BertForMaskedLM(config))
    (True, False)
    """
    return {"labels", "next_sentence_label"} <= signature(model.forward).parameters.keys()


def _names(auto_class: Any, config: PreTrainedConfig) -> set[str]:
    return {cls.__name__ for cls in model_classes(auto_class, type(config))}
