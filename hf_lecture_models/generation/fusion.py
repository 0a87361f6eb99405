# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Shallow fusion: the log-probabilities of a language model are added to those of the model that generates.

    s(w | h) = ln p(w | h) + weight * ln p_LM(w | h)

(C. Gulcehre et al., On Using Monolingual Corpora in Neural Machine Translation, 2015.) In greedy search and sampling,
transformers passes logits, which differ from ln p by one number per row and so change no choice; in beam search it
passes ln p, and sums s without normalising it. `generate(renormalize_logits=True)` normalises s after each step.
"""

import inspect
import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LogitsProcessor

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.encoding import start_token_id


class NGramLogitsProcessor(LogitsProcessor):
    """A logits processor that adds weight * ln p of an n-gram, or any causal language model over the same vocabulary.

        model.generate(**prompt, logits_processor=[NGramLogitsProcessor(ngram, tokenizer, weight=0.3)])

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a cat ran", "a dog sat"])
    >>> ngram = NGramForCausalLM.fit(["a cat ran"], tokenizer, order=2, smoothing="add_alpha")
    >>> a, cat, dog = tokenizer.convert_tokens_to_ids(["a", "cat", "dog"])
    >>> processor = NGramLogitsProcessor(ngram, tokenizer, weight=0.5)
    >>> scores = processor(torch.tensor([[tokenizer.bos_token_id, a]]), torch.zeros(1, len(tokenizer)))
    >>> bool(scores[0, cat] > scores[0, dog])
    True

    Each call computes from `input_ids` alone, so beams may be reordered. A model of fixed order reads the last tokens
    only; any other reads the whole row again at each step. Padding at the beginning of a row is ignored. A token of
    p_LM = 0 is excluded.

    Args:
        model: the language model that is added.
        tokenizer: of the model that generates; if it has no padding token, its beginning of text is used as padding.
        weight: 0 and above; 0 changes nothing.
        model_tokenizer: of `model`, to be compared with `tokenizer`; None: an n-gram's `own_tokenizer`, and any other
            `model` was trained with `tokenizer`.

    Raises:
        ValueError: the vocabularies differ, or the weight is negative, infinite or NaN; in a call, the model that
            generates has another vocabulary, or `model` excludes all tokens that are left.
    """

    def __init__(self, model: Any, tokenizer: Any, weight: float = 0.3, model_tokenizer: Any = None) -> None:
        if not 0 <= weight < math.inf:
            raise ValueError(f"weight is {weight}; it must be a number of at least 0")
        if model_tokenizer is not None:
            _check_same_tokens(tokenizer, model_tokenizer)
        if len(tokenizer) > model.config.vocab_size:
            raise ValueError(
                f"the tokenizer has {len(tokenizer)} tokens but the vocab_size of the added model is "
                f"{model.config.vocab_size}; train the added model with the same tokenizer"
            )
        own = trait(model, "own_tokenizer")
        if model_tokenizer is None and own is not None and own is not tokenizer:
            _check_same_tokens(tokenizer, own)
        self.model, self.weight = model, weight
        begin = start_token_id(tokenizer)
        self.pad_token_id = begin if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self.padding_begins = self.pad_token_id == begin
        order = trait(model, "order")
        self.context_size = None if order is None else max(1, order - 1)
        self.takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return the fused scores: (batch * beams, seq) ids and (batch * beams, vocab) scores of the next token."""
        if scores.shape[-1] != self.model.config.vocab_size:
            raise ValueError(
                f"the model that generates predicts {scores.shape[-1]} tokens, the added model "
                f"{self.model.config.vocab_size}; both must have the same vocabulary"
            )
        if self.weight == 0:
            return scores
        fused = scores + self.weight * self.log_probs(input_ids).to(scores)
        if bool((fused == -math.inf).all(dim=-1).any()):
            raise ValueError(
                "the added model gives probability 0 to every token that is left; use a smoothing that gives none, "
                "such as modified_kneser_ney"
            )
        return fused

    def log_probs(self, input_ids: Tensor) -> Tensor:
        """Return ln p_LM of the token that comes after each row: (batch, seq) -> (batch, vocab)."""
        ids, real = self._without_padding(input_ids.to(self.model.device))
        if self.context_size is not None:
            ids, real = ids[:, -self.context_size :], real[:, -self.context_size :]
        options: dict[str, Any] = {"attention_mask": real.long(), "logits_to_keep": 1, "use_cache": False}
        if self.takes_positions:
            options["position_ids"] = (real.cumsum(1) - 1).clamp(min=0)
        with evaluation_mode(self.model):
            return self.model(input_ids=ids, **options).logits[:, -1].float().log_softmax(-1)

    def _without_padding(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return ids and a mask of the real ones, all but the padding at the beginning of a row.

        Padding after an end counts as real: generation ignores the scores there.
        """
        if self.pad_token_id is None:
            return ids, torch.ones_like(ids, dtype=torch.bool)
        if self.padding_begins:
            # One token for both (GPT-2): any number of them means one beginning, so each row gets one.
            ids = functional.pad(ids, (1, 0), value=self.pad_token_id)
        real = (ids != self.pad_token_id).cumsum(1) > 0
        if self.padding_begins:
            real = real | functional.pad(real[:, 1:], (0, 1))
        real[:, -1] = True  # in a row of padding alone
        return ids, real


def _check_same_tokens(tokenizer: Any, other: Any) -> None:
    ours, theirs = tokenizer.get_vocab(), other.get_vocab()
    differing = sorted(token for token in ours.keys() | theirs.keys() if ours.get(token) != theirs.get(token))
    if differing:
        raise ValueError(
            f"the two models have different vocabularies: {len(differing)} tokens, such as {differing[0]!r}, have "
            "another id or none in one of them; train both with one tokenizer"
        )
