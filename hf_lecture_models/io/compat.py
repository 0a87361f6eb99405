# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Names from young or private places of transformers, which may move with any release: other modules take them here.

The file travels with published code, where it is the first to say that the installed transformers is too old, or of a
major version that nobody has tried.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import wraps
from inspect import signature
from typing import Any

import torch
import transformers

OLDEST_TRANSFORMERS = "5.20"
TRIED_TRANSFORMERS = ("5.20.0", "5.23.0", "5.24.0")
"""The versions with which the tests were run; a folder that was written with any of them is read with all."""


def check_transformers(version: str) -> None:
    """Raise an ImportError for transformers before `OLDEST_TRANSFORMERS`, and warn of a later major version."""
    newest = _numbers(TRIED_TRANSFORMERS[-1])
    known = f"'transformers>={OLDEST_TRANSFORMERS},<{newest[0] + 1}'"
    if _numbers(version) < _numbers(OLDEST_TRANSFORMERS):
        raise ImportError(
            f"this code needs transformers {OLDEST_TRANSFORMERS} or newer, not {version}: pip install {known}"
        )
    if _numbers(version)[0] > newest[0]:
        warnings.warn(
            f"this code was written for transformers {newest[0]} and tried with {', '.join(TRIED_TRANSFORMERS)}; with "
            f"{version}, results may differ: compare them, or pip install {known}",
            stacklevel=2,
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


# Before the imports, which fail under an older version for the absence of one name or another.
check_transformers(transformers.__version__)

from huggingface_hub.dataclasses import strict
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig, PythonBackend, TokenizersBackend, ViTImageProcessorPil
from transformers import initialization as init
from transformers.cache_utils import CacheLayerMixin, DynamicLayer
from transformers.generation.continuous_batching.cache import PagedAttentionCache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, create_bidirectional_mask, create_causal_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.models.auto.tokenization_auto import get_tokenizer_config, tokenizer_class_from_name
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

_NAMES = {"cache", "past_key_values"} & signature(
    transformers.GenerationMixin.prepare_inputs_for_generation
).parameters.keys()
if len(_NAMES) != 1:  # `generate()` would go on without the state, and say nothing
    raise ImportError(
        f"generate() of transformers {transformers.__version__} has another name for a model's state than this code "
        f"knows: pip install 'transformers>={OLDEST_TRANSFORMERS},<={TRIED_TRANSFORMERS[-1]}'"
    )
(CACHE,) = _NAMES
"""The name of a model's state in its outputs and among its arguments: `cache` from transformers 5.24 on."""
LAYERS_FILL_PAGES = CACHE == "cache"
"""Whether the layers write into the pages of continuous batching; before transformers 5.24, its attention did."""


def with_past_key_values(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with `cache` renamed to `past_key_values`, as each `forward` here has it.

    The pages of continuous batching are `cache` in every version, and stay: each layer's attention reads them.

    Raises:
        TypeError: both names are given.
    """
    cache = arguments.get("cache")
    if cache is None or isinstance(cache, PagedAttentionCache):
        return arguments
    if arguments.get("past_key_values") is not None:
        raise TypeError("cache and past_key_values are two names of one argument; give one of them")
    return {name: value for name, value in arguments.items() if name != "cache"} | {"past_key_values": cache}


def has_mask_function(implementation: str) -> bool:
    """Return whether transformers makes masks for the attention function of this name.

    >>> has_mask_function("sdpa"), has_mask_function("vllm")
    (True, False)
    """
    return implementation in ALL_MASK_ATTENTION_FUNCTIONS._global_mapping


def cache_of(outputs: Any) -> Any:
    """Return the state among a model's outputs, or None."""
    return getattr(outputs, CACHE, None)


def train_as_causal_lm(model_class: type) -> None:
    """Have transformers' Trainer count and smooth the labels of `model_class` as those of the next token.

    It shifts the labels, to smooth them, where it knows the name of the class. It divides the loss of a step by the
    labels that it counts beforehand, in all batches of the step, and no argument or hook reaches that count. So a
    model's `prepare_labels(batch, smoothed)` is called first: it sets those to -100 that the model does not predict.
    """
    from transformers import trainer as module  # seconds that a model alone does not need

    trainer_class: Any = module.Trainer
    if model_class.__name__ not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[model_class.__name__] = model_class.__name__
    count = trainer_class._get_num_items_in_batch
    if hasattr(count, "prepares_labels"):  # published code brings its own copy of this file
        return

    @wraps(count)
    def count_prepared(trainer: Any, batch_samples: list[Any], *args: Any, **kwargs: Any) -> Any:
        model = trainer.accelerator.unwrap_model(trainer.model)
        for batch in batch_samples if hasattr(model, "prepare_labels") else ():
            if isinstance(batch, Mapping):  # trl's prompts to generate from are lists
                model.prepare_labels(batch, smoothed=trainer.label_smoother is not None)
        return count(trainer, batch_samples, *args, **kwargs)

    count_prepared.prepares_labels = True  # type: ignore[attr-defined]
    trainer_class._get_num_items_in_batch = count_prepared


try:
    from transformers.modeling_utils import slice_logits_to_keep
except ImportError:  # new in 5.21

    def slice_logits_to_keep(hidden_states: torch.Tensor, logits_to_keep: int | torch.Tensor) -> torch.Tensor:
        """Return the last so many positions (0: all), those of these indices, or those that a mask marks."""
        if isinstance(logits_to_keep, int):
            return hidden_states[:, -logits_to_keep:]
        if logits_to_keep.ndim == 1:
            return hidden_states[:, logits_to_keep]
        if logits_to_keep.dtype == torch.bool:
            return hidden_states[logits_to_keep]
        return hidden_states.take_along_dim(logits_to_keep[..., None], dim=1)
