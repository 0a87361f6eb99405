# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tokenizers and models of recipes: new ones by their options, or saved ones of a folder or of the Hub."""

import difflib
import inspect
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoConfig

from hf_lecture_models.base.traits import trait
from hf_lecture_models.io.auto_classes import model_classes
from hf_lecture_models.io.compat import StrictDataclassError
from hf_lecture_models.io.files import weights_file_errors
from hf_lecture_models.io.locations import check_location
from hf_lecture_models.io.recipe import coerced
from hf_lecture_models.io.runs import log_once
from hf_lecture_models.tokenization.loading import load_saved_tokenizer
from hf_lecture_models.tokenization.registry import TOKENIZERS
from hf_lecture_models.tokenization.templates import TEMPLATES, make_post_processor, special_tokens_of, template_name

_SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
SMALL_BERT = {"model_type": "lecture_bert", **_SMALL}
"""The default model of recipes, which trains in minutes on a CPU; the configuration's own sizes are BERT-base's."""
SMALL_VIT = {"model_type": "lecture_vit", **_SMALL}
"""The default model for images; the configuration's own sizes are ViT-Base's."""
SMALL_CAPTIONER = {"model_type": "lecture_image_captioning", **_SMALL}
"""The default model of captions; the configuration's own sizes are ViT-Base's."""
SMALL_TRANSFORMER = {"model_type": "lecture_transformer", **_SMALL}
"""The default encoder-decoder; the configuration's own sizes are the paper's."""


def make_tokenizer(options: Mapping[str, Any], texts: Iterable[str]) -> Any:
    """Train a tokenizer on texts.

    >>> make_tokenizer({"type": "word"}, ["the cat", "the dog"]).tokenize("the dog sat")
    ['the', 'dog', '<unk>']

    Args:
        options: `type`, a name of `TOKENIZERS`, `template`, a name of `TEMPLATES`, and arguments of that class's
            `train`.

    Raises:
        ValueError: the type or an option is unknown, or an option has a value of the wrong type.
    """
    options = dict(options)
    kind = options.pop("type", "word")
    if not isinstance(kind, str) or kind not in TOKENIZERS:
        raise ValueError(f"recipe: tokenizer.type must be one of {', '.join(TOKENIZERS)}, not {kind!r}")
    train = TOKENIZERS[kind].train
    kinds = typing.get_type_hints(train) | {"template": str | None}
    known = dict.fromkeys([*inspect.signature(train).parameters, "template"])
    for name in ("texts", "progress", "kwargs"):
        known.pop(name, None)
    for name in options:
        if name not in known:
            raise ValueError(f"recipe: no field tokenizer.{name}; type {kind} has {', '.join(known)}")
        options[name] = coerced(options[name], kinds[name], f"tokenizer.{name}")
    if options.get("template") not in (None, *TEMPLATES):
        raise ValueError(f"recipe: tokenizer.template must be one of {', '.join(TEMPLATES)}, not {options['template']}")
    return train(texts, **options)


def without_sampling(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options by which a recipe's tokenizer is made, without `sampling`, which is for training."""
    return {name: value for name, value in options.items() if name != "sampling"}


def make_model(auto_class: Any, fields: Mapping[str, Any], tokenizer: Any, seed: int) -> Any:
    """Return a model with new weights for the tokenizer's vocabulary and special tokens.

    >>> from transformers import AutoModelForCausalLM
    >>> fields = {"model_type": "lecture_feed_forward", "hidden_size": 4}
    >>> make_model(AutoModelForCausalLM, fields, make_tokenizer({"type": "byte"}, []), seed=0).config.vocab_size
    259

    Args:
        auto_class: an Auto class, which decides the head of the model.
        fields: `model_type` and fields of its configuration.
        tokenizer: the tokenizer; None for a model that reads no tokens.

    Raises:
        ValueError: the Auto class has no such model type, that type has no such field, or fields contradict each other.
    """
    if "model_type" not in fields:
        raise ValueError("recipe: model needs a model_type, for example lecture_recurrent")
    model_type, models = str(fields["model_type"]), auto_class._model_mapping
    if model_type not in CONFIG_MAPPING or CONFIG_MAPPING[model_type] not in models:
        raise _unknown_model(model_type, auto_class)
    config_class = CONFIG_MAPPING[model_type]
    names = field_names(config_class, fields)
    if tokenizer is not None:
        template = trait(models[config_class], "text_template")
        special = _ids_of_template(template, config_class, tokenizer) if template else {}
        for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
            # BERT's configuration has no tokens for the beginning and end of a text.
            if name in names:
                special.setdefault(name, getattr(tokenizer, name))
        fields = {**special, "vocab_size": len(tokenizer), **fields}
    torch.manual_seed(seed)
    try:
        return auto_class.from_config(AutoConfig.for_model(**fields))
    except (StrictDataclassError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
        raise ValueError(f"recipe: model cannot be built: {' '.join(str(error).split())}") from error


def _unknown_model(model_type: str, auto_class: Any) -> ValueError:
    """Return the error for a model that the Auto class lacks, with the nearest name and the lectures' own."""
    names = [name for name, config in CONFIG_MAPPING.items() if config in auto_class._model_mapping]
    near = difflib.get_close_matches(model_type, names, n=1)
    return ValueError(
        f"recipe: {auto_class.__name__} has no model of model.model_type {model_type!r}; "
        + (f"did you mean {near[0]}? " if near else "")
        + f"The lectures' own: {', '.join(name for name in names if name.startswith('lecture_'))}"
    )


def field_names(config_class: Any, given: Iterable[str] = ()) -> list[str]:
    """Return the names of the fields that a configuration of this class takes.

    Raises:
        ValueError: it does not take one of those given, which transformers would silently keep in the configuration.
    """
    names = [*inspect.signature(config_class).parameters, *config_class.attribute_map, "num_labels"]
    for name in given:
        if name not in names and not hasattr(config_class, name) and not hasattr(config_class, f"_{name}"):
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean model.{near[0]}?" if near else ""
            raise ValueError(f"recipe: no field model.{name} in {config_class.__name__}{hint}")
    return names


def tokenizer_for(recipe: Any, texts: Iterable[str]) -> Any:
    """Load the tokenizer of `recipe.from_pretrained`, or train one by `recipe.tokenizer` on the texts."""
    if recipe.from_pretrained:
        return load_tokenizer(recipe.from_pretrained)
    options = recipe.tokenizer
    return make_tokenizer(without_sampling(options) if "sampling" in options else options, texts)


def load_tokenizer(name: str) -> Any:
    """Load the tokenizer of a folder or of the Hub.

    A tokenizer without a padding token gets its end-of-text token, or else its unknown token, in that role.

    Raises:
        OSError: there is no such tokenizer.
    """
    tokenizer = load_saved_tokenizer(name, local_files_only=check_location(name))
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    return tokenizer


def text_template(auto_class: Any, config_class: type) -> str | None:
    """Return the template that the Auto class's model needs; None if it reads texts with any template.

    >>> from transformers import AutoModelForSequenceClassification
    >>> from hf_lecture_models import Gpt1Config
    >>> text_template(AutoModelForSequenceClassification, Gpt1Config)
    'gpt1'
    """
    classes = model_classes(auto_class, config_class)
    return trait(classes[0], "text_template") if classes else None


def template_to_add(auto_class: Any, recipe: Any) -> str | None:
    """Return the template to add to the recipe's tokenizer; None if it needs none.

    The tokenizer of a checkpoint with the head stays as it is, and so does a template that the recipe names.

    Raises:
        OSError: there is no such checkpoint.
    """
    if not recipe.from_pretrained:
        model_type = recipe.model.get("model_type")
        named = recipe.tokenizer.get("template") or model_type not in CONFIG_MAPPING
        return None if named else text_template(auto_class, CONFIG_MAPPING[model_type])
    config = AutoConfig.from_pretrained(recipe.from_pretrained, local_files_only=check_location(recipe.from_pretrained))
    has_head = any(cls.__name__ in (config.architectures or ()) for cls in model_classes(auto_class, type(config)))
    return None if has_head else text_template(auto_class, type(config))


def templated_tokenizer(auto_class: Any, recipe: Any, texts: Iterable[str]) -> Any:
    """Return the recipe's tokenizer, and add the template that its model needs if it is missing.

    Raises:
        OSError, ValueError: as `tokenizer_for` and `add_template`.
    """
    tokenizer = tokenizer_for(recipe, texts)
    template = template_to_add(auto_class, recipe)
    if template is not None and add_template(tokenizer, template) and recipe.from_pretrained:
        special = tokenizer(" ", " ").tokens()
        log_once(f"the tokenizer gets the template {template!r}, a pair is {' '.join(special)}; new tokens start anew")
    return tokenizer


def add_template(tokenizer: Any, name: str) -> bool:
    """Set the template of any tokenizer of the Rust library, and add the special tokens that it lacks.

    >>> tokenizer = make_tokenizer({"type": "word"}, ["the cat"])
    >>> add_template(tokenizer, "gpt1"), add_template(tokenizer, "gpt1"), tokenizer("the cat").tokens()
    (True, False, ['<start>', 'the', 'cat', '<extract>'])

    Returns:
        Whether the template has changed.

    Raises:
        ValueError: the tokenizer is written in Python, or one of its words is spelled like a token of the template.
    """
    if template_name(tokenizer) == name:
        return False
    if hasattr(tokenizer, "set_template"):
        tokenizer.set_template(name)
        return True
    _add_to_backend(tokenizer, name)
    return True


def _add_to_backend(tokenizer: Any, name: str) -> None:
    """Give a template, and the special tokens that it needs, to a tokenizer of transformers' own."""
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise ValueError(
            f"{type(tokenizer).__name__} is no tokenizer of the Rust library, and can have no template {name}"
        )
    spellings = dict(TEMPLATES[name].tokens) | dict(tokenizer.special_tokens_map)
    written = TEMPLATES[name].write(spellings)
    tokenizer.add_tokens(sorted(special_tokens_of(written)), special_tokens=True)
    tokenizer._set_model_specific_special_tokens(spellings)
    tokenizer.backend_tokenizer.post_processor = make_post_processor(written, tokenizer.backend_tokenizer)


def adopt_special_tokens(model: Any, tokenizer: Any, seed: int) -> None:
    """Set the ids of the template's tokens in the model's configuration, and add word vectors for new tokens.

    New vectors are drawn as in a new model, the same ones for the same seed.
    """
    if len(tokenizer) > model.config.vocab_size:
        torch.manual_seed(seed)
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    for name, token_id in _ids_of_template(model.text_template, type(model.config), tokenizer).items():
        setattr(model.config, name, token_id)


def _ids_of_template(template: str, config_class: type, tokenizer: Any) -> dict[str, int]:
    """Return the fields of the configuration for those tokens of the template which it wants to know."""
    if template_name(tokenizer) != template:
        return {}
    names = map("{}_id".format, TEMPLATES[template].tokens)
    return {name: getattr(tokenizer, name) for name in names if hasattr(config_class, name)}


def load_checkpoint(auto_class: Any, name: str, seed: int, **fields: Any) -> tuple[Any, list[str]]:
    """Load a model of a folder or of the Hub in float32, and return it with the names of its new weights.

    Args:
        fields: fields of the configuration that replace the checkpoint's.

    Raises:
        OSError: there is no such model.
        ValueError: `auto_class` cannot load the checkpoint, the checkpoint holds no weight of its model, a field is
            unknown or has an impossible value, or the file of weights is damaged.
    """
    local_only = check_location(name)
    config = AutoConfig.from_pretrained(name, local_files_only=local_only)
    if not model_classes(auto_class, type(config)):
        saved = ", ".join(config.architectures or [config.model_type])
        raise ValueError(f"{name} holds {saved}, which {auto_class.__name__} cannot load; name a model that it loads")
    field_names(type(config), fields)
    fields |= {"local_files_only": local_only, "output_loading_info": True, "dtype": torch.float32}
    torch.manual_seed(seed)
    try:
        with weights_file_errors(name):
            # transformers' annotation ignores that output_loading_info=True returns a pair.
            loaded: Any = auto_class.from_pretrained(name, ignore_mismatched_sizes=True, **fields)
    except StrictDataclassError as error:
        raise ValueError(f"recipe: {name} cannot be loaded so: {' '.join(str(error).split())}") from error
    model, info = loaded
    new = sorted({*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])})
    if set(new) >= {key for key, _ in model.named_parameters()}:
        raise ValueError(f"{name} holds no weight of {type(model).__name__}; name a folder that save_pretrained wrote")
    return model, new
