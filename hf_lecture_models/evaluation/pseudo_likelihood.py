# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pseudo-log-likelihood that a model of masked words gives to a text.

Salazar, Liang, Nguyen and Kirchhoff, "Masked language model scoring", ACL 2020. Each token in turn is masked, and
predicted from all others: Σ_t ln P(w_t | w_1 ... w_{t-1}, w_{t+1} ... w_T). This is not the probability of the text,
which BERT does not give, because the factors condition on each other. It ranks sentences, but must not be compared with
a probability. A word of several tokens gets too much of it, since the model sees the word's other tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer, input_limit
from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.scoring import TextScore, checked, impossible_score, rows_at_once, text_score
from hf_lecture_models.tokenization.bounds import strip_bounds


def pseudo_log_likelihoods(model: Any, tokenizer: Any, texts: Sequence[str], batch_size: int = 64) -> list[TextScore]:
    """Score texts with a model of masked words; the end of a text gets no score, since the model always sees it.

    >>> from hf_lecture_models import LectureBertConfig, LectureBertForMaskedLM, WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat", "sat"], template="bert")
    >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    >>> ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    >>> model = LectureBertForMaskedLM(LectureBertConfig(**sizes, **ids))
    >>> pseudo_log_likelihoods(model, tokenizer, ["the cat sat"])[0].log_probs.shape
    (3,)

    Args:
        model: any model of transformers that predicts masked tokens, alone or with next sentences.
        tokenizer: its tokenizer, with a mask token.
        texts: the tokenizer's template is put around each.
        batch_size: the most copies of a text that are read together, each with another masked token.

    Raises:
        ValueError: no mask token; a text longer than the model reads; a tokenizer of another model; NaN.
    """
    if tokenizer.mask_token_id is None:
        raise ValueError("the tokenizer has no mask_token, so nothing can be masked; give the model's own tokenizer")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
    check_tokenizer(model, tokenizer)
    scores = []
    with evaluation_mode(model), torch.no_grad():
        for encoded in encode_texts(tokenizer, strip_bounds(texts, tokenizer)):
            if not encoded.possible:
                scores.append(impossible_score(encoded))
                continue
            options = {"return_special_tokens_mask": True, "split_special_tokens": True, "verbose": False}
            inputs = tokenizer(encoded.text, return_tensors="pt", **options)
            special = inputs.pop("special_tokens_mask")[0].bool()
            _check_length(encoded.text, len(special), input_limit(model))
            places = (~special).nonzero()[:, 0]
            log_probs = _masked_log_probs(model, tokenizer.mask_token_id, inputs, places, batch_size)
            scores.append(text_score(encoded, inputs["input_ids"][0, places].numpy(), log_probs))
    return scores


def _check_length(text: str, tokens: int, limit: int | None) -> None:
    if limit is not None and tokens > limit:
        raise ValueError(
            f"the text that begins with {text[:40]!r} has {tokens} tokens and the model reads {limit} at most; "
            "give a shorter one"
        )


def _masked_log_probs(model: Any, mask: int, inputs: Any, places: Tensor, batch_size: int) -> np.ndarray:
    """Return ln P of the token at each place, (places,) float64, with only this token masked."""
    ids = inputs["input_ids"][0]
    rows = min(batch_size, rows_at_once(model, len(ids)))
    found = [np.zeros(0)]
    for some in places.split(rows) if len(places) else ():
        row = torch.arange(len(some))
        batch = {name: one.expand(len(some), -1).clone().to(model.device) for name, one in inputs.items()}
        batch["input_ids"][row, some] = mask
        outputs = model(**batch)
        # Models of masked words and next sentences have two kinds of logits.
        logits = outputs.logits if hasattr(outputs, "logits") else outputs.prediction_logits
        found.append(checked(logits[row, some].float().log_softmax(-1)[row, ids[some].to(logits.device)]))
    return np.concatenate(found)
