# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classes by name: from labels of the data to a model's configuration, and from a configuration to ids."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transformers import AutoConfig

from hf_lecture_models.tasks.factories import load_checkpoint, make_model, take_up_tokenizer, tell
from hf_lecture_models.tasks.frozen import freeze_backbone
from hf_lecture_models.tasks.task import HeadRecipe


def names_of_labels(labels: Iterable[str], label_names: Mapping[str, str]) -> list[str]:
    """The classes that labels name, in the order of their numbers or of the alphabet, by their names.

    >>> names_of_labels(["1", "-1", "0", "1"], {"-1": "negative", "0": "neutral"})
    ['negative', 'neutral', '1']
    """
    found = set(labels)
    ordered = sorted(found, key=int if all(re.fullmatch(r"[+-]?\d+", label) for label in found) else str)
    return list(dict.fromkeys(label_names.get(label, label) for label in ordered))


def class_fields(names: Sequence[str]) -> dict[str, Any]:
    """Fields of the configuration by which a head knows its classes."""
    return {"id2label": dict(enumerate(names)), "label2id": {name: index for index, name in enumerate(names)}}


def classes_of(config: Any) -> list[str]:
    """A model's classes, in the order of their ids."""
    return [config.id2label[index] for index in range(config.num_labels)]


def has_default_names(config: Any) -> bool:
    """Whether the classes are merely numbered, as transformers does it."""
    return all(name == f"LABEL_{index}" for index, name in config.id2label.items())


def make_head(auto_class: Any, recipe: Any, processor: Any, fields: Mapping[str, Any]) -> Any:
    """The model with a head that `recipe` asks for: a new one, or a checkpoint, whose new weights are named.

    Args:
        fields: of the configuration, by which the head knows its classes.

    Raises:
        ValueError, OSError: as `make_model` and `load_checkpoint`.
    """
    if not recipe.from_pretrained:
        model = make_model(auto_class, recipe.model | dict(fields), processor, recipe.seed)
        # Pipelines give a model all that its tokenizer returns; types of tokens, many models do not read.
        readable = inspect.signature(model.forward).parameters
        processor.model_input_names = [name for name in processor.model_input_names if name in readable]
        return model
    # The default of a recipe is a whole model; fields without its type change the checkpoint's.
    changes = {} if "model_type" in recipe.model else recipe.model
    model, new = load_checkpoint(auto_class, recipe.from_pretrained, recipe.seed, **changes, **fields)
    if new:
        tell(f"weights that {recipe.from_pretrained} does not hold start anew: {', '.join(new)}")
    known_tokens = model.config.vocab_size
    if getattr(model, "text_template", None):
        take_up_tokenizer(model, processor, recipe.seed)
    if model.config.pad_token_id is None:
        model.config.pad_token_id = processor.pad_token_id
    if isinstance(recipe, HeadRecipe) and recipe.freeze_backbone:
        freeze_backbone(model, new)
        if model.config.vocab_size > known_tokens:
            tell("the word vectors of the new tokens are random, and freeze_backbone leaves them so")
        if getattr(model.config, "auxiliary_lm_weight", 0):
            tell(
                "auxiliary_lm_weight trains nothing of a frozen backbone; --model.auxiliary_lm_weight 0 saves its time"
            )
    return model


def checkpoint_classes(recipe: Any, head: str) -> list[str]:
    """The named classes of the checkpoint that the recipe starts from; [] without one, or where it has no such head.

    Args:
        head: how its class ends, such as "ForTokenClassification".
    """
    if not recipe.from_pretrained:
        return []
    config = AutoConfig.from_pretrained(recipe.from_pretrained)
    has_head = any(name.endswith(head) for name in config.architectures or ())
    return [] if not has_head or has_default_names(config) else classes_of(config)
