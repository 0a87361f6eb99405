# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The shortest length of generated texts, `min_length` and `min_new_tokens`, without work that changes nothing.

At every step, transformers' processors look for each token of the vocabulary among those that end a text, and copy the
scores twice. These set the scores of the few that do, and nothing once the length is reached. The scores are the same.
"""

import math
from typing import Any

from torch import Tensor
from transformers import MinLengthLogitsProcessor, MinNewTokensLengthLogitsProcessor


class _NoEndYet:
    """Set the scores of the tokens that end a text to -inf, while it is shorter than `shortest`."""

    eos_token_id: Tensor
    shortest: int

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return the scores (batch, vocab) of the tokens after `input_ids` (batch, seq)."""
        if input_ids.shape[-1] >= self.shortest:
            return scores
        ends = self.eos_token_id.to(scores.device)
        ends = ends[(ends >= 0) & (ends < scores.shape[-1])]
        # A loop of one's own (`custom_generate`) may still need the scores as they were.
        return scores.index_fill(1, ends, -math.inf)


class MinLength(_NoEndYet, MinLengthLogitsProcessor):
    """`min_length`: the tokens of prompt and text."""

    def __init__(self, like: MinLengthLogitsProcessor):
        self.min_length, self.eos_token_id = like.min_length, like.eos_token_id
        self.shortest = like.min_length


class MinNewTokens(_NoEndYet, MinNewTokensLengthLogitsProcessor):
    """`min_new_tokens`: the tokens after the prompt."""

    def __init__(self, like: MinNewTokensLengthLogitsProcessor):
        self.prompt_length_to_skip, self.min_new_tokens = like.prompt_length_to_skip, like.min_new_tokens
        self.eos_token_id, self.shortest = like.eos_token_id, like.prompt_length_to_skip + like.min_new_tokens


OURS: dict[type, Any] = {MinLengthLogitsProcessor: MinLength, MinNewTokensLengthLogitsProcessor: MinNewTokens}
"""The classes of transformers that are replaced, which a subclass is not."""


def replace_processors(processors: Any) -> None:
    """Replace those of a `LogitsProcessorList` for which there is one here.

    >>> import torch
    >>> processors = [MinLengthLogitsProcessor(3, 1)]
    >>> replace_processors(processors)
    >>> processors[0](torch.tensor([[4, 2]]), torch.zeros(1, 3))
    tensor([[0., -inf, 0.]])
    """
    processors[:] = [OURS[type(one)](one) if type(one) in OURS else one for one in processors]
