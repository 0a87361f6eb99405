# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Register models with transformers, so that Auto classes, pipelines and other programs find them."""

import sys
from collections.abc import Callable
from typing import Any

# Importing processing_utils runs transformers/__init__ again and replaces the module object; afterwards it stays.
import transformers.processing_utils  # noqa: F401
from transformers import AutoConfig

from hf_lecture_models.io.compat import PreTrainedConfig
from hf_lecture_models.io.compat_files import register_checkpoint_conversion_mapping
from hf_lecture_models.io.optional_packages import register_adapter_targets


def register(
    config_class: type[PreTrainedConfig],
    models: list[tuple[Any, type]],
    adapters: dict[str, str] | None = None,
    official_weights: Callable[[], list[Any]] | None = None,
) -> None:
    """Register a configuration and its models, given as pairs (Auto class, model class).

    `adapters` names the modules to which peft adds adapters by default (`register_adapter_targets`).
    `official_weights` gives the conversions with which `from_pretrained` reads official checkpoints.

    The classes also become attributes of the `transformers` module: `transformers serve`, TRL and others look up
    `getattr(transformers, config.architectures[0])`.

    Raises:
        ValueError: the model type or a class name is already transformers' own.
    """
    AutoConfig.register(config_class.model_type, config_class)
    for auto_class, model_class in models:
        auto_class.register(config_class, model_class)
        # Class names that transformers looks up by themselves: Trainer shifts the labels of a language model, to smooth
        # them, if the table of causal language models has its name.
        auto_class._model_mapping._model_mapping[config_class.model_type] = model_class.__name__
        if official_weights is not None:
            # By the name of the class: a mapping by model type would be looked up under the checkpoint's own.
            # Overwrite: pytest, asked to collect one folder alone, imports the module a second time.
            register_checkpoint_conversion_mapping(model_class.__name__, official_weights(), overwrite=True)
    if adapters is not None:
        register_adapter_targets(config_class.model_type, adapters)
    for cls in (config_class, *(model_class for _, model_class in models)):
        expose(cls)


def expose(cls: type) -> None:
    """Make `cls` an attribute of the `transformers` module, refusing a name that transformers owns."""
    module = sys.modules["transformers"]
    current = getattr(module, cls.__name__, cls)
    if current is not cls and not current.__module__.startswith("hf_lecture_models"):
        raise ValueError(f"transformers has a class {cls.__name__} of its own; give ours a prefix")
    setattr(module, cls.__name__, cls)
