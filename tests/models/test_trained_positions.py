# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Models whose positions are trained: the longest input is as long as they are many, and padding takes none."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    LectureBertConfig,
    LectureBertForMaskedLM,
    SelfAttentionConfig,
    SelfAttentionForCausalLM,
)
from tests.model_tests import perturb

SHAPE: dict[str, Any] = {"vocab_size": 20, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
MODELS: dict[str, Any] = {
    "bert": lambda: LectureBertForMaskedLM(LectureBertConfig(**SHAPE, max_position_embeddings=8)),
    "gpt1": lambda: Gpt1ForCausalLM(Gpt1Config(**SHAPE, max_position_embeddings=8)),
    "self_attention": lambda: SelfAttentionForCausalLM(
        SelfAttentionConfig(**SHAPE, max_position_embeddings=8, position_encoding="learned")
    ),
}


def build(kind: str) -> Any:
    model = MODELS[kind]()
    perturb(model, 0.4)
    model.tie_weights()
    return model.eval()


@pytest.mark.parametrize("kind", MODELS)
def test_the_longest_input_and_one_more(kind: str) -> None:
    model, ids = build(kind), torch.randint(1, 20, (2, 9))
    assert model(ids[:, :8]).logits.shape == (2, 8, 20)
    assert model.longest_input == 8
    for given in ({"input_ids": ids}, {"inputs_embeds": model.get_input_embeddings()(ids)}):
        with pytest.raises(ValueError, match=r"position 8; .*positions 0 to 7 \(max_position_embeddings=8\)"):
            model(**given)
    for wrong in (8, -1):
        with pytest.raises(ValueError, match=f"position {wrong}; .*max_position_embeddings=8"):
            model(ids[:, :3], position_ids=torch.tensor([[0, wrong, 2]]))


@pytest.mark.parametrize("kind", MODELS)
def test_padding_takes_no_position(kind: str) -> None:
    """A row with 8 real tokens fits into 8 positions, however much padding stands before or after it."""
    model, ids = build(kind), torch.randint(1, 20, (1, 8))
    expected = model(ids).logits
    for before, after in ((4, 0), (0, 4), (3, 2)):
        padded, mask = F.pad(ids, (before, after)), F.pad(torch.ones_like(ids), (before, after))
        assert_close(model(padded, mask).logits[:, before : before + 8], expected, rtol=0, atol=1e-5)
        with pytest.raises(ValueError, match="max_position_embeddings=8"):
            model(padded)


@pytest.mark.parametrize("kind", ["gpt1", "self_attention"])
def test_generation_stops_at_the_last_position(kind: str) -> None:
    model, ids = build(kind), torch.randint(1, 20, (1, 9))
    options = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    # The last token that is generated is never read.
    for use_cache in (True, False):
        assert model.generate(ids[:, :5], max_new_tokens=4, use_cache=use_cache, **options).shape == (1, 9)
        for more in ({"max_new_tokens": 5}, {"max_length": 100}, {"max_new_tokens": 100, "num_beams": 2}):
            with pytest.warns(UserWarning, match="after 5 are more than the model can read, 8 in all"):
                assert model.generate(ids[:, :5], use_cache=use_cache, **options, **more).shape == (1, 9)
        with pytest.raises(ValueError, match="max_position_embeddings=8"):
            model.generate(ids, max_new_tokens=1, use_cache=use_cache, **options)
    cache = model(ids[:, :8], use_cache=True).past_key_values
    for call in (lambda: model.score(ids), lambda: model(ids[:, 8:], past_key_values=cache)):
        with pytest.raises(ValueError, match="max_position_embeddings=8"):
            call()
