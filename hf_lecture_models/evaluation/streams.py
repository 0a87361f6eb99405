# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Texts that follow each other in one stream, scored with the state and context that carry across them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.evaluation.adaptation import score_adapted
from hf_lecture_models.evaluation.encoding import encode_texts
from hf_lecture_models.evaluation.scoring import (
    ContextLimit,
    TextScore,
    check_batch_size,
    join_rows,
    score_rows,
    score_with_state,
    split_stream,
    stream_rows,
)


def score_stream(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    batch_size: int = 64,
    progress: bool = False,
    adaptation: Any = (),
) -> list[TextScore]:
    """Log-probabilities of texts that follow each other in one stream, `<s> ... </s> <s> ... </s>`.

    State and context carry across the texts; `<s>` is input and never predicted. A text that a closed vocabulary
    cannot encode has probability 0 and is left out of the stream. Arguments and errors as in `score_texts`, and

        adaptation: a cache or dynamic evaluation, or several, as `evaluation.adaptation.score_adapted` takes them; the
            stream then goes through the model in one row, whatever `batch_size`.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the cat ran"])
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="add_alpha")
    >>> [len(score.ids) for score in score_stream(model, tokenizer, ["the cat sat", "sat"])]
    [4, 2]
    """
    check_batch_size(batch_size)
    if adaptation != ():
        return score_adapted(model, tokenizer, texts, adaptation, progress=progress)[0]
    encoded = encode_texts(tokenizer, texts)
    rows = stream_rows(tokenizer, encoded)
    check_tokenizer(model, tokenizer)
    stream = join_rows(rows)[0]
    limit = ContextLimit.of(model)
    with evaluation_mode(model), torch.no_grad():
        if not len(stream):
            log_probs = np.zeros(0)
        elif limit.carries_state:
            log_probs = score_with_state(model, stream, limit.longest, progress)
        else:
            log_probs = score_rows(model, [stream], limit, batch_size, progress)[0]
    return split_stream(encoded, rows, np.concatenate([[0.0], log_probs]))
