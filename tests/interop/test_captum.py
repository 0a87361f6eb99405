# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""captum attributes a prediction to the tokens of the input, and to nothing else."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from hf_lecture_models import ElmoConfig, ElmoForSequenceClassification, ElmoTokenizer
from tests.interop.installed import need
from tests.interop.small_models import TEXTS, small_model, small_tokenizer

pytestmark = pytest.mark.slow

need("captum")


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("name", ["feed_forward", "recurrent", "gpt1", "self_attention"])
def test_integrated_gradients_of_the_word_vectors(name: str) -> None:
    """One attribution for each number of each token's vector, which together are what the prediction changes by."""
    from captum.attr import LayerIntegratedGradients

    tokenizer = small_tokenizer()
    model = small_model(name, tokenizer).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    ids = tokenizer(TEXTS[:2], return_tensors="pt", padding=True)["input_ids"]
    nothing = torch.full_like(ids, tokenizer.pad_token_id)

    def predicted(ids: Tensor) -> Tensor:
        return model(ids, use_cache=False).logits[:, -1].log_softmax(-1)[:, 3]

    attribute = LayerIntegratedGradients(predicted, model.get_input_embeddings()).attribute
    attributions = attribute(ids, baselines=nothing, n_steps=200)
    assert attributions.shape == (*ids.shape, model.config.hidden_size)
    assert attributions.abs().sum(dim=(0, 2)).count_nonzero() >= 3
    with torch.no_grad():
        assert_close(attributions.sum(dim=(1, 2)), predicted(ids) - predicted(nothing), rtol=0, atol=1e-3)


def test_integrated_gradients_of_both_readers_of_characters() -> None:
    """ELMo's heads have character vectors of their own; with both layers named, nothing of a prediction is missing."""
    from captum.attr import LayerIntegratedGradients

    torch.manual_seed(0)
    shape = {"char_filters": [[2, 5]], "hidden_size": 8, "projection_size": 4, "word_vector_size": 3}
    model = ElmoForSequenceClassification(ElmoConfig(**shape, task_hidden_size=4, num_labels=3)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    ids = ElmoTokenizer()(TEXTS[:2], return_tensors="pt", padding=True)["input_ids"]
    nothing = torch.ones_like(ids)

    def predicted(ids: Tensor) -> Tensor:
        return model(ids).logits[:, 1]

    layers = [model.model.characters.embed, model.reader.characters.embed]
    found = LayerIntegratedGradients(predicted, layers).attribute(ids, baselines=nothing, n_steps=300)
    by_layer = torch.stack([attributions.flatten(1).sum(1) for attributions in found])
    with torch.no_grad():
        assert_close(by_layer.sum(0), predicted(ids) - predicted(nothing), rtol=0, atol=5e-3)
    assert by_layer[1].abs().max() > 0.1
