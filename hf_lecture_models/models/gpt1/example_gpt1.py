# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts with the special tokens that GPT-1's heads read, to trace a model with."""

import torch
from torch import Tensor

from hf_lecture_models.models.gpt1.modeling_gpt1 import Gpt1PreTrainedModel


def place_task_tokens(model: Gpt1PreTrainedModel, ids: Tensor, mask: Tensor) -> Tensor:
    """Return ids (..., seq) with special tokens where the heads look: Extract last, Delim in the middle of pairs.

    >>> from hf_lecture_models import Gpt1Config, Gpt1ForSequenceClassification
    >>> sizes = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    >>> model = Gpt1ForSequenceClassification(Gpt1Config(**sizes, extract_token_id=8))
    >>> place_task_tokens(model, torch.tensor([[8, 1, 2, 3]]), torch.tensor([[1, 1, 1, 0]]))
    tensor([[0, 1, 8, 3]])
    """
    config = model.config
    extract, delim = config.extract_token_id, config.delim_token_id
    if extract is None:
        return ids
    ordinary = torch.tensor([token for token in range(config.vocab_size) if token not in (extract, delim)])
    ids, first = ordinary[ids % len(ordinary)], mask.argmax(-1, keepdim=True)
    last = first + mask.sum(-1, keepdim=True) - 1
    ids = ids.scatter(-1, last, extract)
    return ids if delim is None or not config.both_orders else ids.scatter(-1, (first + last + 1) // 2, delim)
