# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Names from young or private places of transformers, which may move with any release: other modules take them here.

The file travels with published code, where it is the first to say that the installed transformers is too old.
"""

from __future__ import annotations

import torch
import transformers

OLDEST_TRANSFORMERS = "5.20"
"""The oldest version of transformers that the tests were run with."""


def check_transformers(version: str) -> None:
    """Refuse a version of transformers that is older than `OLDEST_TRANSFORMERS`.

    Raises:
        ImportError: it is older.

    >>> check_transformers("4.57.6")
    Traceback (most recent call last):
    ImportError: this code needs transformers 5.20 or newer, not 4.57.6: pip install 'transformers>=5.20,<5.24'
    """
    if _minor(version) < _minor(OLDEST_TRANSFORMERS):
        raise ImportError(
            f"this code needs transformers {OLDEST_TRANSFORMERS} or newer, not {version}: "
            f"pip install 'transformers>={OLDEST_TRANSFORMERS},<5.24'"
        )


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


# Before the imports, which fail under an older version for the absence of one name or another.
check_transformers(transformers.__version__)

from huggingface_hub.dataclasses import strict
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig, PythonBackend, TokenizersBackend, ViTImageProcessorPil
from transformers import initialization as init
from transformers.cache_utils import CacheLayerMixin, DynamicLayer
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
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, load_state_dict
from transformers.models.auto.tokenization_auto import get_tokenizer_config, tokenizer_class_from_name
from transformers.models.auto.video_processing_auto import AutoVideoProcessor
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

try:
    from transformers.modeling_utils import slice_logits_to_keep
except ImportError:  # new in 5.21

    def slice_logits_to_keep(hidden_states: torch.Tensor, logits_to_keep: int | torch.Tensor) -> torch.Tensor:
        """Return the last so many positions (0: all), those of these indices, or those that a mask marks.

        Args:
            hidden_states: (batch, seq, hidden).
            logits_to_keep: a number; (kept,) of all rows; (batch, kept) of each; (batch, seq) bool, of all rows in one.
        """
        if isinstance(logits_to_keep, int):
            return hidden_states[:, -logits_to_keep:]
        if logits_to_keep.ndim == 1:
            return hidden_states[:, logits_to_keep]
        if logits_to_keep.dtype == torch.bool:
            return hidden_states[logits_to_keep]
        return hidden_states.take_along_dim(logits_to_keep[..., None], dim=1)
