# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What causal language models share: the loss, and the log-probability of each token."""

import inspect
import warnings
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.modeling_utils import slice_logits_to_keep

from hf_lecture_models.layers.linear_cross_entropy import has_own_loss, linear_cross_entropy, target_log_probs
from hf_lecture_models.layers.recurrent_padding import last_token_index, padding_mask


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
    last_token_index = positions.where(real, 0).cummax(dim=1).values
    before = torch.cat((last_token_index[:, :1], last_token_index[:, :-1]), dim=1)  # (batch, seq)
    rows = torch.arange(input_ids.shape[0], device=input_ids.device)[:, None]
    normalisers = logits.float().logsumexp(dim=-1).gather(1, before)
    scores = logits[rows, before, input_ids].float() - normalisers
    return scores.masked_fill(~scored_positions(real, input_ids, config), 0.0)


def _names_argument(model: Any, name: str) -> bool:
    return name in inspect.signature(model.forward).parameters


class CausalLMMixin:
    """`score` for causal language models that predict from `logits`. Put it before the pre-trained base class."""

    @property
    def longest_input(self) -> int | None:
        """Tokens that the model can read; None where it has no bound."""
        return None

    def _prepare_generated_length(self, *args: Any, **kwargs: Any) -> Any:
        # `generate()` ends where the model does: other programs ask for a thousand tokens when nobody said how many.
        config = super()._prepare_generated_length(*args, **kwargs)  # type: ignore[misc]
        longest, given = self.longest_input, kwargs["input_ids_length"]
        # The last token is never read.
        if longest is not None and given <= longest < config.max_length - 1:
            warnings.warn(
                f"{config.max_length - given} new tokens after {given} are more than the model can read, {longest} in "
                "all; generation stops there",
                stacklevel=4,
            )
            config.max_length = longest + 1
        return config

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


class HiddenStateCausalLM(CausalLMMixin):
    """Loss and score of a model whose output layer `lm_head` reads the last hidden state of `model`.

    Nothing here lays out the logits of all positions unless the caller asks for them.
    """

    loss_without_logits = True
    """The loss counts all labels whatever `logits_to_keep` is; keeping 1 makes training faster and smaller."""
    config: Any
    model: Any
    lm_head: Any

    def loss_and_logits(
        self,
        hidden: Tensor,
        attention_mask: Tensor | None,
        labels: Tensor | None,
        logits_to_keep: int | Tensor,
        options: dict[str, Any],
    ) -> tuple[Tensor | None, Tensor]:
        """What the model's `forward` does after its last layer.

        Args:
            hidden: (batch, seq, hidden), the last hidden state.
            attention_mask: (batch, at least seq), 1 = real token; None where all are.
            labels: (batch, seq), the ids to predict, -100 where none is; `labels[:, t]` is predicted from what stands
                before t. The last real token of this call predicts, over padding; where there is none, no label counts.
            logits_to_keep: the last so many positions, or a tensor of positions, to compute logits for; 0 for all. The
                loss always counts all labels; if not all logits are kept, it is computed in pieces.
            options: other arguments of `forward`. `shift_labels` (batch, seq) takes the place of `labels`:
                `shift_labels[:, t]` is what comes after t. `num_items_in_batch` divides the summed loss; without it,
                the number of labels does.

        Returns:
            The loss (scalar, nats, float32; None without labels), and logits (batch, positions kept, vocab_size).
        """
        logits = self.lm_head(slice_logits_to_keep(hidden, logits_to_keep))
        targets = options.get("shift_labels")
        if targets is None and labels is not None:
            targets = F.pad(labels[:, 1:], (0, 1), value=-100)
        if targets is None:
            return None, logits
        complete = isinstance(logits_to_keep, int) and logits_to_keep == 0 and not has_own_loss(self.lm_head)
        source, targets = gather_predicting_states(
            logits if complete else hidden, targets, padding_mask(attention_mask, hidden)
        )
        if complete:
            total = F.cross_entropy(source.float(), targets, ignore_index=-100, reduction="sum")
        else:
            total = linear_cross_entropy(source, self.lm_head, targets)
        items = options.get("num_items_in_batch")
        return total / ((targets != -100).sum().clamp(min=1) if items is None else items), logits

    @torch.no_grad()
    def score(self, input_ids: Tensor, attention_mask: Tensor | None = None, wanted: Tensor | None = None) -> Tensor:
        """As `CausalLMMixin.score`; rows may be long, for the logits of all positions never exist at once.

        `wanted` (batch, seq), bool, says where a score is asked for; all other positions cost no softmax and get 0.
        """
        real = real_token_mask(input_ids, attention_mask, self.config.pad_token_id)
        hidden = self.model(input_ids, real.long(), use_cache=False).last_hidden_state
        # What predicts a token is the last real position before it, which a hole in the mask may have pushed back.
        before = last_token_index(real).roll(1, 1)  # (batch, seq); nothing asks for the first
        hidden = hidden.gather(1, before.unsqueeze(-1).expand_as(hidden))
        scored = scored_positions(real, input_ids, self.config)
        if wanted is not None:
            scored = scored & wanted
        scores = torch.zeros(input_ids.shape, device=input_ids.device)
        if bool(scored.any()):
            found = target_log_probs(hidden[scored], self.lm_head, input_ids[scored], self.config.vocab_size)
            scores[scored] = found.float()
        return scores


def gather_predicting_states(source: Tensor, targets: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor]:
    """What predicts each target, flat: (batch * seq, width) and (batch * seq,)."""
    targets, source = targets.to(source.device), source.flatten(0, 1)
    if real is not None:
        real = real.to(source.device)
        targets = targets.masked_fill(real.cumsum(1) == 0, -100)
        rows = torch.arange(len(real), device=real.device)[:, None] * real.shape[1]
        source = source.index_select(0, (rows + last_token_index(real)).flatten())
    return source, targets.flatten()


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
