# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The names of classes: from the labels of data to a model's configuration, and from a configuration to ids."""

import inspect
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transformers import AutoConfig

from hf_lecture_models.base.traits import trait
from hf_lecture_models.tasks.core.factories import adopt_special_tokens, load_checkpoint, log_once, make_model
from hf_lecture_models.tasks.core.frozen import freeze_backbone
from hf_lecture_models.tasks.core.heads import HeadRecipe

_CLASSES_SHOWN = 30


def named_by_text(field: str, mapping: Mapping[Any, Any]) -> dict[str, str]:
    """Return a recipe's mapping of names to names as texts.

    Raises:
        ValueError: as `keyed_by_text`.
    """
    return {name: str(value) for name, value in keyed_by_text(field, mapping).items()} if mapping else {}


def keyed_by_text(field: str, mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a recipe's mapping with its keys as texts: YAML reads a name such as 7 as a number.

    >>> keyed_by_text("label_names", {7: "seven"})
    {'7': 'seven'}

    Raises:
        ValueError: YAML has read a name such as `no` as true or false.
    """
    for name in mapping:
        if isinstance(name, bool):
            raise ValueError(f'recipe: {field} has the name {name}; put a name such as "no" or "yes" into quotes')
    return {str(name): value for name, value in mapping.items()}


def names_of_labels(labels: Iterable[str], label_names: Mapping[str, str]) -> list[str]:
    """Return the names of the classes of labels, in the order of their numbers or of the alphabet.

    >>> names_of_labels(["1", "-1", "0", "1"], {"-1": "negative", "0": "neutral"})
    ['negative', 'neutral', '1']
    """
    ordered = sorted(set(labels))  # so that `01` and `1` always have the same order
    if all(re.fullmatch(r"[+-]?\d+", label) for label in ordered):
        ordered.sort(key=int)
    return list(dict.fromkeys(label_names.get(label, label) for label in ordered))


def log_found_classes(labels: Iterable[str], names: Sequence[str], label_names: Mapping[str, str], of: str) -> None:
    """Log which classes were found and how often, and which of them may be spellings of the same class.

    Args:
        labels: the labels of the data.
        names: the classes, from `names_of_labels`.
        of: the source of the labels, such as "train.tsv".
    """
    found = Counter(label_names.get(label, label) for label in labels)
    shown = ", ".join(f"{name} ({found[name]:,})" for name in names[:_CLASSES_SHOWN])
    more = f" and {len(names) - _CLASSES_SHOWN:,} more" if len(names) > _CLASSES_SHOWN else ""
    log_once(f"{len(names):,} classes in {of}: {shown}{more}")
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(" ".join(unicodedata.normalize("NFKC", name).casefold().split()), name)
        if other != name:
            log_once(
                f"warning: {other!r} and {name!r} are two classes, but differ in blanks or small letters alone; "
                f"if one class is meant, label_names: {{{name!r}: {other!r}}} in the recipe makes one of them"
            )


def class_fields(names: Sequence[str]) -> dict[str, Any]:
    """Return the fields of the configuration that hold the classes of a head."""
    return {"id2label": dict(enumerate(names)), "label2id": dict(zip(names, range(len(names)), strict=True))}


def classes_of(config: Any) -> list[str]:
    """Return a model's classes, in the order of their ids."""
    return [config.id2label[index] for index in range(config.num_labels)]


def has_default_names(config: Any) -> bool:
    """Return whether the classes have only transformers' default names, which number them."""
    return list(config.id2label.values()) == list(map("LABEL_{}".format, config.id2label))


def ids_of_tags(config: Any) -> dict[str, int]:
    """Return the ids of a model's tags by name, and by number if they have no names of their own."""
    names = classes_of(config)
    numbers = {str(index): index for index in range(len(names))} if has_default_names(config) else {}
    return numbers | {name: index for index, name in enumerate(names)}


def make_head(auto_class: Any, recipe: Any, processor: Any, fields: Mapping[str, Any]) -> Any:
    """Return the recipe's model with a head: a new one, or a checkpoint, whose new weights are logged.

    Args:
        fields: the fields of the configuration that hold the head's classes.

    Raises:
        ValueError, OSError: as `make_model` and `load_checkpoint`.
    """
    tokenizer = processor if hasattr(processor, "get_vocab") else None
    if not recipe.from_pretrained:
        model = make_model(auto_class, recipe.model | dict(fields), tokenizer, recipe.seed)
        if tokenizer is not None:
            # Pipelines pass a model all outputs of its tokenizer, but many models have no token types.
            readable = inspect.signature(model.forward).parameters
            tokenizer.model_input_names = [name for name in tokenizer.model_input_names if name in readable]
        return model
    return _load_with_head(auto_class, recipe, tokenizer, fields)


def _load_with_head(auto_class: Any, recipe: Any, tokenizer: Any, fields: Mapping[str, Any]) -> Any:
    """Load the checkpoint of a recipe with a head for these classes; its new weights are logged."""
    # The default of a recipe is a whole model; fields without its type change the checkpoint's.
    changes = {} if "model_type" in recipe.model else recipe.model
    model, new = load_checkpoint(auto_class, recipe.from_pretrained, recipe.seed, **changes, **fields)
    if new:
        log_once(f"weights that {recipe.from_pretrained} does not hold start anew: {', '.join(new)}")
    has_new_tokens = tokenizer is not None and _adopt(model, tokenizer, recipe.seed)
    if isinstance(recipe, HeadRecipe) and recipe.freeze_backbone:
        freeze_backbone(model, new)
        if has_new_tokens:
            log_once("the word vectors of the new tokens are random, and freeze_backbone leaves them so")
        if trait(model, "auxiliary_lm_weight"):
            log_once(
                "auxiliary_lm_weight trains nothing of a frozen backbone; --model.auxiliary_lm_weight 0 saves its time"
            )
    return model


def _adopt(model: Any, tokenizer: Any, seed: int) -> bool:
    """Give a checkpoint's model the ids of its tokenizer, and return whether some tokens are new to it."""
    known_tokens = model.config.vocab_size
    if trait(model, "text_template"):
        adopt_special_tokens(model, tokenizer, seed)
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model.config.vocab_size > known_tokens


def in_the_order_of_checkpoint(names: list[str], recipe: Any, head: str) -> list[str]:
    """Return the classes of the data in the order of a checkpoint whose head has the same classes.

    Args:
        head: the end of the model class's name, such as "ForSequenceClassification".

    Raises:
        ValueError: the checkpoint has as many other classes, which cannot be matched.
    """
    log_other_classes(recipe, head, names)
    own = checkpoint_classes(recipe, head)
    if len(own) != len(names):
        return names
    if {name.casefold() for name in own} != {name.casefold() for name in names}:
        raise ValueError(
            f"{recipe.from_pretrained} tells apart {', '.join(own)}, the data {', '.join(names)}; "
            "`label_names.LABEL` gives a label of the data the checkpoint's name"
        )
    return own


def checkpoint_classes(recipe: Any, head: str) -> list[str]:
    """Return the named classes of the recipe's checkpoint; [] without a checkpoint, or if it has no such head.

    Args:
        head: the end of the model class's name, such as "ForTokenClassification".
    """
    config = _config_with_head(recipe, head)
    return [] if config is None or has_default_names(config) else classes_of(config)


def log_other_classes(recipe: Any, head: str, names: Sequence[str]) -> None:
    """Log how a checkpoint's head changes if its classes have no names, or another number than those of the data.

    Args:
        head: the end of the model class's name.
        names: the classes of the data.
    """
    config = _config_with_head(recipe, head)
    if config is not None and config.num_labels != len(names):
        classes = f"{recipe.from_pretrained} tells apart {config.num_labels} classes, the data {len(names)}"
        log_once(f"{classes}: its head starts anew")
    elif config is not None:
        log_default_names(config, recipe.from_pretrained, names)


def log_default_names(config: Any, source: str, names: Sequence[str]) -> None:
    """Log the names that are taken for a model's numbered classes, if they are as many.

    Args:
        source: the model's folder or name.
    """
    if has_default_names(config) and config.num_labels == len(names):
        order = ", ".join(f"{config.id2label[index]} for {name}" for index, name in enumerate(names))
        fix = "id2label in its config.json may name them otherwise"
        log_once(f"the classes of {source} have no names and are taken in order, {order}; {fix}")


def _config_with_head(recipe: Any, head: str) -> Any:
    """Return the configuration of the recipe's checkpoint; None without a checkpoint, or if it has no such head."""
    if not recipe.from_pretrained:
        return None
    config = AutoConfig.from_pretrained(recipe.from_pretrained)
    return config if any(name.endswith(head) for name in config.architectures or ()) else None
