# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Losses of float64 are computed in float64, those of half precision in float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers.modeling_outputs import Seq2SeqLMOutput, SequenceClassifierOutput

from hf_lecture_models import (
    Gpt1Config,
    Gpt1ForCausalLM,
    GravesConfig,
    GravesForSequencePrediction,
    JointGaussianForSequencePrediction,
    TransfoXLConfig,
    TransfoXLLMHeadModel,
)
from hf_lecture_models.base.heads.classification import sequence_classification_loss
from hf_lecture_models.base.heads.losses import cross_entropy
from hf_lecture_models.base.heads.question_answering import question_answering_loss
from hf_lecture_models.base.scoring import score_from_logits
from hf_lecture_models.layers.adaptive_softmax import AdaptiveSoftmax
from hf_lecture_models.layers.linear_cross_entropy import linear_cross_entropy
from hf_lecture_models.layers.noise_contrastive import NoiseContrastiveLinear
from hf_lecture_models.layers.positions import SinusoidalPositions
from hf_lecture_models.layers.sampled_softmax import SampledSoftmaxLinear
from hf_lecture_models.layers.word_prediction import HierarchicalSoftmax, NegativeSampling
from hf_lecture_models.tasks.classification.weights import weighted_loss
from hf_lecture_models.tasks.language_models.label_smoothing import smoothed_loss

LABELS, TRUTHS = torch.tensor([1, 4, -100, 0]), torch.tensor([[1.0, 0, 0, 1, 0], [0, 1, -100, 0, 1]])
WORDS = torch.tensor([3, 0, 6, 5])


def built(layer: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(1)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, generator=generator)
    if hasattr(layer, "set_token_counts"):
        layer.set_token_counts(torch.tensor([5, 1, 0, 3, 2, 7, 4]))
    return layer


def of_layer(make: Callable[[], nn.Module], training: bool = True) -> Callable[[Tensor], Tensor]:
    def loss(states: Tensor) -> Tensor:
        layer = built(make()).to(states.dtype).train(training)
        torch.manual_seed(0)  # of the noise
        if hasattr(layer, "loss") or isinstance(layer, nn.Linear):
            return linear_cross_entropy(states, layer, WORDS)
        return layer(states, WORDS).sum()  # type: ignore[no-any-return]

    return loss


def weighted(logits: Tensor) -> Tensor:
    outputs = SequenceClassifierOutput(loss=cross_entropy(logits, LABELS), logits=logits)
    return weighted_loss(LABELS, torch.tensor([1.0, 2, 3, 4, 5]))(outputs)


LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "classes": lambda logits: cross_entropy(logits, LABELS),
    "truths": lambda logits: sequence_classification_loss(logits[:2], TRUTHS),
    "numbers": lambda logits: sequence_classification_loss(logits[:2], TRUTHS, "regression"),
    "answers": lambda logits: question_answering_loss(logits.view(2, 5, 2), LABELS[:2].repeat(2, 1)),
    "weighted classes": weighted,
    "matrix": of_layer(lambda: nn.Linear(5, 7)),
    "adaptive softmax": of_layer(lambda: AdaptiveSoftmax(5, 7, [2, 4])),
    "noise contrast": of_layer(lambda: NoiseContrastiveLinear(5, 7, 4)),
    "noise contrast, evaluated": of_layer(lambda: NoiseContrastiveLinear(5, 7, 4), training=False),
    "sampled softmax": of_layer(lambda: SampledSoftmaxLinear(5, 7, 4)),
    "negative sampling": of_layer(lambda: NegativeSampling(7, 5, 3, 0.75)),
    "hierarchical softmax": of_layer(lambda: HierarchicalSoftmax(7, 5)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_in_each_type(name: str) -> None:
    """In float64 differences of 1e-6 give the gradient; in half precision, the loss is that of the same numbers."""
    inputs = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)).bfloat16()
    wide = inputs.double().requires_grad_()
    assert LOSSES[name](wide).dtype == torch.float64
    assert torch.autograd.gradcheck(LOSSES[name], wide, eps=1e-6, atol=1e-7, rtol=1e-7)
    rough, exact = LOSSES[name](inputs), LOSSES[name](inputs.float())
    assert rough.dtype == exact.dtype == torch.float32
    assert_close(rough, exact, rtol=0.03, atol=0)
    assert_close(exact.double(), LOSSES[name](wide).detach(), rtol=1e-5, atol=0)


def test_smoothed_labels_equal_torchs_loss() -> None:
    """Its backward pass runs once, so differences are not taken."""
    logits = torch.randn(1, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    ours = smoothed_loss(Seq2SeqLMOutput(logits=logits), LABELS[None], 0.1)
    theirs = nn.functional.cross_entropy(logits[0], LABELS, label_smoothing=0.1)
    assert_close(ours, theirs, rtol=0, atol=1e-14)
    assert_close(*(torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs)), rtol=0, atol=1e-14)


def test_noise_has_all_digits() -> None:
    layer = built(NoiseContrastiveLinear(5, 7, 4)).double()
    expected = [math.log((count + 1) / 29) for count in (5, 1, 0, 3, 2, 7, 4)]
    assert layer.log_noise().tolist() == pytest.approx(expected, abs=1e-15)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_scores(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    shape = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    models = (Gpt1ForCausalLM(Gpt1Config(**shape)), TransfoXLLMHeadModel(TransfoXLConfig(**shape, mem_len=4)))
    ids, wide = torch.tensor([[3, 1, 4, 1]]), torch.float64 if dtype == torch.float64 else torch.float32
    for model in models:
        model.to(dtype).eval()
        expected = model(ids).logits.to(wide).log_softmax(-1)[0, range(3), ids[0, 1:]]
        for scores in (model.score(ids), score_from_logits(model, ids)):
            assert scores.dtype == wide
            assert_close(scores[0, 1:], expected, rtol=0, atol=1e-13 if wide == torch.float64 else 1e-2)


def test_sinusoids_have_all_digits() -> None:
    words, positions = torch.zeros(1, 3, 6, dtype=torch.float64), torch.tensor([[0, 7, 1000]])
    angles = np.array([0, 7, 1000])[:, None] / 10_000 ** (np.arange(0, 6, 2) / 6)
    expected = np.stack((np.sin(angles), np.cos(angles)), -1).reshape(3, 6)
    found = SinusoidalPositions(6)(words, positions, positions[:, None])[0][0]
    assert_close(found, torch.tensor(expected), rtol=0, atol=1e-12)


@torch.no_grad()
def test_densities_have_all_digits() -> None:
    """Of a joint Gaussian with μ = 0 and Σ = 1: -ln p = |x|² / 2 + ln 2π."""
    generator = np.random.default_rng(0)
    model = JointGaussianForSequencePrediction.fit([generator.normal(size=(50, 2))], order=1)
    nn.init.zeros_(model.joint.mean)
    model.joint.factor.copy_(torch.eye(4))
    model.double()
    points = torch.randn(1, 5, 2, dtype=torch.float64)
    outputs = model(points=points, labels=torch.zeros(1, 5, dtype=torch.long))
    assert outputs.logits.dtype == outputs.loss.dtype == torch.float64
    expected = points.square().sum(-1).mean() / 2 + math.log(2 * math.pi)
    assert_close(outputs.loss, expected, rtol=0, atol=1e-12)
    drawn = GravesForSequencePrediction(GravesConfig(point_size=2)).double().generate_points(3, seed=0)
    assert drawn.dtype == torch.float64
