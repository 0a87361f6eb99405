# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Dynamic evaluation: a model learns each segment of the text after it has scored this segment.

B. Krause, E. Kahembwe, I. Murray and S. Renals, Dynamic Evaluation of Neural Sequence Models, 2018, section 5. With the
trained weights θ_g, the current weights θ, and L the mean loss of the segment that was just scored,

    θ ← θ - η ∇L(θ) + λ (θ_g - θ)                                                    (gradient descent)
    θ ← θ - η ∇L(θ) / (R + ε) + λ (θ_g - θ) ⊙ R / avg(R),    R = sqrt(mean of ∇L² over training batches)    (RMS)

The second rule moves the weights most whose gradients were small in training, and pulls the weights back most whose
gradients were large.

Deviations:
- avg(R) is the mean over the model's tensors of each tensor's mean, and λ R / avg(R) is at most 1, as in the authors'
  program.
- The batches of R are pieces of the training text, each read from a zero state; the loss is the mean over a batch.
"""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer, input_limit
from hf_lecture_models.evaluation.scoring import encode_stream
from hf_lecture_models.io.progress import ProgressBar

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class DynamicEvaluation:
    """Options of dynamic evaluation.

    >>> DynamicEvaluation(learning_rate=0.1, decay=0.001)
    DynamicEvaluation(learning_rate=0.1, decay=0.001, segment=20, epsilon=2e-05)

    Args:
        learning_rate: η, at least 0; about 0.1 for gradient descent, and 0.0001 for the RMS rule.
        decay: λ, from 0 to 1: how far the weights return to the trained ones after each segment.
        segment: tokens between two steps.
        epsilon: ε, above 0; the RMS rule alone reads it.
        gradient_rms: R of each weight by name, from `gradient_rms`; None for gradient descent.

    Raises:
        ValueError: a value is out of its range.
    """

    learning_rate: float
    decay: float = 0.0
    segment: int = 20
    epsilon: float = 2e-5
    gradient_rms: Weights | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.learning_rate < math.inf:
            raise ValueError(f"learning_rate is {self.learning_rate}; it must be a number of at least 0")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay is {self.decay}; it must be from 0 to 1")
        if self.segment < 1:
            raise ValueError(f"segment is {self.segment}; it must be at least 1 token")
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon is {self.epsilon}; it must be above 0")


class AdaptedCopy:
    """A copy of a model that learns, in float32; the model itself never does.

    Args:
        model: any causal language model with weights that can be trained.
        weights: the weights to start from, returned by `weights()` of an earlier copy; None for the trained ones.

    Raises:
        ValueError: as `trainable_weights`; or `weights` or `options.gradient_rms` belong to another model.
    """

    def __init__(self, model: Any, options: DynamicEvaluation, weights: Weights | None = None) -> None:
        trained = trainable_weights(model)
        self.model, self.options = copy.deepcopy(model).float().eval(), options
        self.parameters = {name: self.model.get_parameter(name) for name in trained}
        self.trained = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        for found, what in ((weights, "the state"), (options.gradient_rms, "gradient_rms")):
            if found is not None and {n: t.shape for n, t in found.items()} != {n: t.shape for n, t in trained.items()}:
                raise ValueError(f"{what} is of another model: its weights have other names or shapes")
        if weights is not None:
            with torch.no_grad():
                for name, parameter in self.parameters.items():
                    parameter.copy_(weights[name])
        self._set_rates()

    def _set_rates(self) -> None:
        """Compute the factors of each weight's gradient, and of its distance from the trained weight."""
        rate, decay, rms = self.options.learning_rate, self.options.decay, self.options.gradient_rms
        if rms is None:
            self.rates = {name: (one.new_tensor(rate), one.new_tensor(decay)) for name, one in self.trained.items()}
            return
        mean = sum(float(one.mean()) for one in rms.values()) / len(rms)
        self.rates = {}
        for name, tensor in self.trained.items():
            r = rms[name].to(tensor)
            self.rates[name] = rate / (r + self.options.epsilon), (decay * r / max(mean, 1e-30)).clamp(max=1)

    def learn(self, losses: Tensor) -> None:
        """Take one step down the gradient of the mean of (tokens,) losses, and one back towards the trained weights."""
        gradients = self.gradients(losses)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                rate, decay = self.rates[name]
                if self.options.decay:
                    parameter.lerp_(self.trained[name], decay)
                if name in gradients:
                    parameter.addcmul_(rate, gradients[name], value=-1)

    def gradients(self, losses: Tensor) -> dict[str, Tensor]:
        """Return the gradients of the mean of (tokens,) losses, by the names of the weights that it depends on."""
        if not len(losses):
            return {}
        with torch.enable_grad():
            loss = losses.mean()
        found = torch.autograd.grad(loss, list(self.parameters.values()), allow_unused=True)
        return {name: one for name, one in zip(self.parameters, found, strict=True) if one is not None}

    def weights(self) -> dict[str, Tensor]:
        """Return copies of the current weights, by name."""
        return {name: parameter.detach().clone() for name, parameter in self.parameters.items()}


@contextmanager
def learning() -> Iterator[None]:
    """Enable gradients of models in evaluation mode, without cuDNN, whose recurrent layers have none in this mode."""
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        yield


def trainable_weights(model: Any) -> dict[str, Tensor]:
    """Return the weights of a model that can learn, by name; tied weights once.

    Raises:
        ValueError: the model has no such weights, or they are quantised or not in memory (offloaded).
    """
    name = type(model).__name__
    if getattr(model, "is_quantized", False) or any(type(p.data) is not Tensor for p in model.parameters()):
        raise ValueError(f"the weights of this {name} are quantised, and cannot learn: load it without quantization")
    found = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    if not found:
        raise ValueError(f"{name} has no weights that learn by gradients; dynamic evaluation is of neural models")
    if any(weight.is_meta for weight in model.parameters()):
        raise ValueError(f"the weights of this {name} are offloaded: load it without device_map, so that it can learn")
    return found


def gradient_rms(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    batches: int = 100,
    batch_size: int = 16,
    length: int = 64,
    seed: int = 0,
    progress: bool = False,
) -> dict[str, Tensor]:
    """Return R of the RMS rule: each weight's root mean square gradient over batches of the training text.

    >>> from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat sat"])
    >>> model = RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=4))
    >>> gradient_rms(model, tokenizer, ["the cat sat"], batches=1)["lm_head.bias"].shape
    torch.Size([7])

    Args:
        model: any causal language model with weights that can be trained.
        texts: the training texts, as one stream from which pieces are drawn.
        batches: the number of gradients, each over `batch_size` pieces of `length` tokens.
        seed: determines which pieces are drawn.

    Raises:
        ValueError: as `AdaptedCopy`, or there are fewer than two tokens.
    """
    check_tokenizer(model, tokenizer)
    _, stream, predicted = encode_stream(tokenizer, texts)
    length = min(length, input_limit(model) or length, len(stream) - 1)
    if length < 1:
        raise ValueError("the training texts have fewer than two tokens, so there are no gradients of them")
    random, learner = np.random.default_rng(seed), AdaptedCopy(model, DynamicEvaluation(0.0))
    squares = {name: torch.zeros_like(tensor) for name, tensor in learner.trained.items()}
    with evaluation_mode(learner.model), learning():
        for _ in ProgressBar(range(batches), desc="gradients", shown=progress):
            places = random.integers(0, len(stream) - length, batch_size)[:, None] + np.arange(length)
            losses = _losses(learner.model, stream[places], stream[places + 1])[predicted[places + 1].flatten()]
            for name, gradient in learner.gradients(losses).items():
                squares[name] += gradient.square()
    return {name: (total / batches).sqrt() for name, total in squares.items()}


def _losses(model: Any, inputs: np.ndarray, targets: np.ndarray) -> Tensor:
    """Return -ln p of each target, (rows * tokens,), from ids (rows, tokens)."""
    logits = model(input_ids=torch.from_numpy(inputs).to(model.device)).logits.float().flatten(0, 1)
    return functional.cross_entropy(logits, torch.from_numpy(targets).to(model.device).flatten(), reduction="none")
