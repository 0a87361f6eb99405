# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Two language models over the same words, one for each direction, with one output layer (ELMo's pre-training)."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.utils.generic import ModelOutput, can_return_tuple

from hf_lecture_models.base.heads.losses import NOT_COUNTED, class_labels, mean_over_items
from hf_lecture_models.base.heads.model_head import ModelHead
from hf_lecture_models.io.compat import CACHE, cache_of
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy
from hf_lecture_models.layers.text_vectors import real_tokens


@dataclass
class BidirectionalLMOutput(ModelOutput):
    """The outputs of `BidirectionalLMHead`; the logits are (batch, seq, num_words), the losses scalars in nats."""

    loss: Tensor | None = None
    forward_loss: Tensor | None = None
    backward_loss: Tensor | None = None
    forward_logits: Tensor | None = None
    backward_logits: Tensor | None = None
    if CACHE == "cache":
        cache: Cache | None = None
    else:
        past_key_values: Cache | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class BidirectionalLMHead(ModelHead):
    """forward_logits, backward_logits = lm_head(h→), lm_head(h←) of the base model's last hidden state [h→; h←].

    The configuration of a model with this head has `num_words`: how many words are predicted.

    transformers' Trainer counts labels and not predictions: it sends no `num_items_in_batch` here, and gives the
    micro-batches of a step equal weights.
    """

    accepts_loss_kwargs = False
    lm_head: nn.Module

    def add_layers(self, config: Any) -> None:
        """Build `lm_head`, one for both directions."""
        self.lm_head = nn.Linear(config.output_size // 2, config.num_words)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> BidirectionalLMOutput:
        """Predict each word from those before it, and from those after it.

        Args:
            input_ids: (batch, seq, ...), what the base model reads.
            labels: (batch, seq), the words' numbers, 0 to num_words - 1; -100 where none is to be predicted.
            num_items_in_batch: the number of predictions of the whole training step, both directions'.

        Returns:
            Without labels the logits: `forward_logits[:, t]` of the word at t + 1, `backward_logits[:, t]` of that at
            t - 1. With them `loss`, the mean over all predictions, and the mean of each direction.

        Raises:
            ValueError: labels of another shape, or that name no word.
        """
        outputs = self.base_model_outputs(input_ids=input_ids, attention_mask=attention_mask, **kwargs)
        ahead, back = outputs.last_hidden_state.chunk(2, -1)
        carried = {CACHE: cache_of(outputs), "hidden_states": outputs.get("hidden_states")}
        if labels is None:
            logits = {"forward_logits": self.lm_head(ahead), "backward_logits": self.lm_head(back)}
            return BidirectionalLMOutput(**logits, **carried)
        labels = class_labels(labels, ahead.shape[:2], self.config.num_words).to(ahead.device)
        # A prediction needs two real words side by side, that which is read last and that which comes next.
        real = real_tokens(attention_mask, ahead)
        both = real[:, 1:] & real[:, :-1]
        sums, counts = [], []
        for states, words in ((ahead[:, :-1], labels[:, 1:]), (back[:, 1:], labels[:, :-1])):
            words = words.masked_fill(~both, NOT_COUNTED).flatten()
            sums.append(linear_cross_entropy(states.flatten(0, 1), self.lm_head, words))
            counts.append((words != NOT_COUNTED).sum())
        loss = mean_over_items(sums[0] + sums[1], counts[0] + counts[1], num_items_in_batch)
        forward_loss, backward_loss = map(mean_over_items, sums, counts)
        return BidirectionalLMOutput(loss, forward_loss, backward_loss, **carried)
