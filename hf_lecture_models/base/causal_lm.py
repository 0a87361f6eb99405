# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What causal language models share: the loss, and the log-probability of each token."""

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def causal_lm_loss(
    logits: Tensor,
    labels: Tensor | None = None,
    num_items_in_batch: Tensor | int | None = None,
    shift_labels: Tensor | None = None,
) -> Tensor:
    """Cross-entropy in nats of each label given the tokens before it; position t is predicted by `logits[:, t - 1]`.

    Args:
        logits: (batch, seq, vocab).
        labels: (batch, seq); -100 is not counted.
        num_items_in_batch: divide the sum by this instead of by the number of labels counted in this batch (gradient
            accumulation).
        shift_labels: (batch, seq), in place of `labels`: what `logits[:, t]` itself predicts. A segment of a longer
            stream is given so, for its last position predicts the first token of the next.

    Returns:
        A scalar in float32; 0 where no label counts.
    """
    if shift_labels is None:
        if labels is None:
            raise ValueError("a loss needs labels or shift_labels")
        logits, shift_labels = logits[:, :-1], labels[:, 1:]
    predictions = logits.flatten(0, 1).float()  # (batch * positions, vocab)
    targets = shift_labels.flatten().to(logits.device)
    total = F.cross_entropy(predictions, targets, ignore_index=-100, reduction="sum")
    count = (targets != -100).sum().clamp(min=1) if num_items_in_batch is None else num_items_in_batch
    return total / count


def real_token_mask(input_ids: Tensor, attention_mask: Tensor | None, pad_token_id: int | None) -> Tensor:
    """(batch, seq) bool, True for real tokens: the mask where one is given, else whatever is not padding."""
    if input_ids.dim() != 2:
        raise ValueError(f"input_ids has shape {tuple(input_ids.shape)}; (batch, seq) is needed: add input_ids[None]")
    if attention_mask is not None:
        return attention_mask.bool()
    if pad_token_id is None:
        return torch.ones_like(input_ids, dtype=torch.bool)
    return input_ids != pad_token_id


def scored_positions(real: Tensor, input_ids: Tensor, config: Any) -> Tensor:
    """(batch, seq) bool: the tokens that have a probability, i.e. real ones but the first of a row and every `<s>`.

    Where one token both begins and ends texts (GPT-2), it counts as the end and has a probability.
    """
    later = real & (real.cumsum(dim=1) > 1)
    bos_token_id = getattr(config, "bos_token_id", None)
    if bos_token_id is None or bos_token_id == getattr(config, "eos_token_id", None):
        return later
    return later & (input_ids != bos_token_id)


def score_from_logits(model: Any, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """Score tokens by a forward pass of any causal LM of transformers; see `CausalLMMixin.score`."""
    config = model.config
    real = real_token_mask(input_ids, attention_mask, getattr(config, "pad_token_id", None))
    # A row that is padded on the left needs its positions counted from its own first token; models that know no
    # position_ids swallow or lack the argument, so it goes only to those that name it.
    if "position_ids" not in kwargs and not bool(real.all()) and _names_argument(model, "position_ids"):
        kwargs["position_ids"] = (real.cumsum(dim=1) - 1).clamp(min=0)
    logits = model(input_ids=input_ids, attention_mask=real.long(), **kwargs).logits
    # What predicts a token is the last real position before it, which a hole in the mask may have pushed back.
    positions = torch.arange(input_ids.shape[1], device=input_ids.device).expand_as(input_ids)
    last_real = positions.where(real, 0).cummax(dim=1).values
    before = torch.cat((last_real[:, :1], last_real[:, :-1]), dim=1)  # (batch, seq)
    rows = torch.arange(input_ids.shape[0], device=input_ids.device)[:, None]
    normalisers = logits.float().logsumexp(dim=-1).gather(1, before)
    scores = logits[rows, before, input_ids].float() - normalisers
    return scores.masked_fill(~scored_positions(real, input_ids, config), 0.0)


def _names_argument(model: Any, name: str) -> bool:
    return name in inspect.signature(model.forward).parameters


class CausalLMMixin:
    """`score` for causal language models that predict from `logits`. Put it before the pre-trained base class."""

    @torch.no_grad()
    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Natural log-probability of each token given all before it in its row.

        Args:
            input_ids: (batch, seq).
            attention_mask: (batch, seq), 1 = real token; left out, everything but `pad_token_id` is real.

        Returns:
            (batch, seq) float32: ln p(`input_ids[:, t]` | before); 0 at the first real token of each row, at `<s>`
            wherever it stands and at padding; -inf where the probability is 0.
        """
        return score_from_logits(self, input_ids, attention_mask)


def check_tokenizer(model: Any, tokenizer: Any) -> None:
    """Refuse a tokenizer that cannot belong to the model.

    Raises:
        ValueError: the tokenizer has more tokens than the model, or another end or beginning of text.
    """
    vocab_size = model.config.vocab_size
    if len(tokenizer) > vocab_size:
        raise ValueError(
            f"the tokenizer has {len(tokenizer)} tokens but the model's vocab_size is {vocab_size}; "
            "load the tokenizer that was saved with the model"
        )
    for name in ("bos_token_id", "eos_token_id"):
        ours, theirs = getattr(model.config, name, None), getattr(tokenizer, name, None)
        if ours is not None and theirs is not None and theirs not in (ours if isinstance(ours, list) else [ours]):
            raise ValueError(
                f"the tokenizer's {name} is {theirs} but the model's is {ours}; "
                "load the tokenizer that was saved with the model"
            )
