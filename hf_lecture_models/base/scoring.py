# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The log-probability of each token under any causal language model, from its logits."""

import inspect
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.base.traits import trait
from hf_lecture_models.layers.execution import at_least_float32
from hf_lecture_models.layers.inputs import last_token_index, real_token_mask, scored_positions


def token_scores(model: Any, input_ids: Tensor, attention_mask: Tensor, wanted: Tensor) -> Tensor:
    """Return ln p of each token by the model's own `score`, which needs less memory, or else `score_from_logits`.

    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> model = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_embd=12))
    >>> ids = torch.tensor([[1, 2, 3]])
    >>> token_scores(model, ids, torch.ones_like(ids), ids > 1).shape
    torch.Size([1, 3])

    Args:
        input_ids, attention_mask: (batch, seq).
        wanted: bool, (batch, seq) or (seq,), the places that are asked for: a context costs no softmax where `score`
            takes this argument. Scores of other places may be anything.
    """
    score = trait(model, "score")
    if score is None:
        return score_from_logits(model, input_ids, attention_mask)
    options = {"wanted": wanted} if "wanted" in inspect.signature(score).parameters else {}
    return score(input_ids, attention_mask, **options)


def score_from_logits(model: Any, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """Return the natural log-probability of each token given all before it, under any causal LM of transformers.

    Our models' method `score` needs less memory: the logits of all positions never exist at once.

    Args:
        input_ids: (batch, seq).
        attention_mask: (batch, seq), 1 = real token; left out, everything but `pad_token_id` is real.
        kwargs: further arguments of the model.

    Returns:
        (batch, seq), float32 or wider: ln p(`input_ids[:, t]` | before); 0 at the first real token of each row, at
        `<s>` wherever it stands and at padding; -inf where the probability is 0.
    """
    config = model.config
    real = real_token_mask(input_ids, attention_mask, getattr(config, "pad_token_id", None))
    # A row that is padded on the left needs its positions counted from its own first token.
    named = inspect.signature(model.forward).parameters
    if "position_ids" not in kwargs and not bool(real.all()) and "position_ids" in named:
        kwargs["position_ids"] = (real.cumsum(dim=1) - 1).clamp(min=0)
    logits = model(input_ids=input_ids, attention_mask=real.long(), **kwargs).logits
    # The last real position before a token predicts it; a hole in the mask may be between them.
    before = last_token_index(real).roll(1, 1)  # (batch, seq); nothing asks for the first
    rows = torch.arange(input_ids.shape[0], device=input_ids.device)[:, None]
    normalisers = at_least_float32(logits).logsumexp(dim=-1).gather(1, before)
    scores = at_least_float32(logits[rows, before, input_ids]) - normalisers
    special = (getattr(config, name, None) for name in ("bos_token_id", "eos_token_id"))
    return scores.masked_fill(~scored_positions(real, input_ids, *special), 0.0)
