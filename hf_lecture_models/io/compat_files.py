# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""More names from recent or private places of transformers (`io/compat.py`): those that no published code needs.

They read saved files, convert weights and register classes.
"""

import transformers
from transformers.conversion_mapping import register_checkpoint_conversion_mapping
from transformers.core_model_loading import (
    Chunk,
    Concatenate,
    ConversionOps,
    Transpose,
    WeightConverter,
    WeightRenaming,
    rename_source_key,
)
from transformers.integrations.accelerate import get_device
from transformers.modeling_utils import load_state_dict
from transformers.models.auto.video_processing_auto import AutoVideoProcessor

__all__ = [
    "GENERATION_PARAMETERS",
    "AutoVideoProcessor",
    "Chunk",
    "Concatenate",
    "ConversionOps",
    "Transpose",
    "WeightConverter",
    "WeightRenaming",
    "get_device",
    "load_state_dict",
    "register_checkpoint_conversion_mapping",
    "rename_source_key",
]

# Ids of tokens are fields of models too.
GENERATION_PARAMETERS = frozenset(
    name for name in vars(transformers.GenerationConfig()) if not (name.startswith("_") or name.endswith("_token_id"))
)
"""The names of the parameters of `generate()`; some are fields of models too (`use_cache`)."""
