# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What texts have in common is scored once, and equal to what each gets alone."""

import numpy as np
import pytest
import torch

from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM, WordTokenizer
from hf_lecture_models.evaluation.scoring import score_texts

TEXTS = ["the cat saw the dog", "the cat ran", "a dog ran", "the cat saw the cat", "the cat", "", "the cat ran"]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_shared_beginnings(monkeypatch, batch_size):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    model = RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **ids))
    alone = [score_texts(model, tokenizer, [text])[0].log_probs for text in TEXTS]
    computed, score = [], model.score

    def counting(input_ids, attention_mask=None, wanted=None):
        computed.append(int((wanted & attention_mask.bool()).sum()))
        return score(input_ids, attention_mask, wanted)

    monkeypatch.setattr(model, "score", counting)
    together = score_texts(model, tokenizer, TEXTS, batch_size=batch_size)
    for one, expected in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.log_probs, expected, rtol=1e-5)
    # Not even rounding parts them: the, cat, saw, the.
    assert together[0].log_probs[:4].tolist() == together[3].log_probs[:4].tolist()
    texts = [(*text.split(), "</s>") for text in TEXTS]
    assert sum(computed) == len({text[: end + 1] for text in texts for end in range(len(text))})
    assert torch.is_grad_enabled()
