# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Graves' network: LSTMs predict the next point of a sequence by the parameters of a mixture of Gaussians.

Graves, "Generating sequences with recurrent neural networks", 2013, sections 2 (the network) and 4.1 (the mixture).
Slides N s7-15 and s18, R:265-273 (sequences of real numbers need densities).

With the points x_1, ..., x_T of a sequence, x_0 = 0, and N layers,

    h^1_t = LSTM(x_{t-1}, h^1_{t-1})
    h^n_t = LSTM([x_{t-1}; h^{n-1}_t], h^n_{t-1}),  n = 2, ..., N        from the input to all layers
    ŷ_t = b + Σ_n W_n h^n_t                                              from all layers to the output
    loss = -Σ_t ln p(x_t | ŷ_t),  over the number of points

where the LSTM is that of `models/recurrent/modeling_recurrent.py`. ŷ is, for points of two numbers with a pen and K
components (`layers/gaussian_mixture.py` holds the mixtures as code),

    ŷ = (ê, π̂_k, μ̂_k, σ̂_k, ρ̂_k)
    e = σ(-ê), π = softmax(π̂), μ = μ̂, σ = exp(σ̂), ρ = tanh(ρ̂)
    p(x) = Σ_k π_k N(x | μ_k, σ_k, ρ_k) times e if the pen is lifted, else 1 - e

With the responsibility γ_k = π_k N_k / Σ_j π_j N_j, the gradients of -ln p are π_k - γ_k in π̂_k, and in a σ̂ or μ̂ of
component k γ_k times the gradient of -ln N_k, so that a component learns from the points that it explains. `mixture`
"diagonal" has no ρ and takes points of any width; `loss_type` "squared_error" has ŷ = μ̂ and σ = 1 (slide N s18):
-ln p = |x - μ|² / 2 + n/2 ln 2π.

The gradient of a point's loss is clipped to `output_gradient_clip` in each number of ŷ, as in the paper.

Deviations:
- σ = sigma_floor + exp(σ̂) and ρ = max_correlation tanh(ρ̂). Where a pen rests, the data repeat one point, and a
  component without a floor grows narrower for ever.
- The LSTMs' initial weights are uniform within 1/√hidden_size, the output's normal with a deviation of 0.075.
- No peephole connections in the LSTM. Its gradients are not clipped, the output's are.
- The loss is a mean over points, the paper's a sum over a sequence. It has the data's own order of numbers, pen last.
- Slide N s14 writes P(x_{t+1} | y_t), with x_t the input at step t; here ŷ_t predicts x_t from x_{t-1} and before.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_lecture_models.base.heads.sequence_prediction import SequencePredictionHead, SequencePredictionOutput
from hf_lecture_models.base.modeling import LayeredPreTrainedModel, model_forward
from hf_lecture_models.layers.gaussian_mixture import BivariateMixture, GaussianMixture, UnitVariance
from hf_lecture_models.layers.inputs import padding_mask
from hf_lecture_models.layers.previous_points import previous_points
from hf_lecture_models.layers.recurrent_cache import RecurrentCache, carried_states, seen_tokens
from hf_lecture_models.layers.recurrent_layer import RecurrentLayer
from hf_lecture_models.models.graves.configuration_graves import GravesConfig

MIXTURES: dict[str, type[GaussianMixture]] = {"bivariate": BivariateMixture, "diagonal": GaussianMixture}


class GravesLayer(GradientCheckpointingLayer, RecurrentLayer):
    """One layer: h^n_t = LSTM([x_{t-1}; h^{n-1}_t], h^n_{t-1})."""


class GravesPreTrainedModel(LayeredPreTrainedModel):
    """The base of Graves' network."""

    config: GravesConfig
    main_input_name = "points"
    _is_stateful = True


class GravesForSequencePrediction(SequencePredictionHead, GravesPreTrainedModel):
    """The network, which gives every point a density.

    >>> import torch
    >>> model = GravesForSequencePrediction(GravesConfig(hidden_size=8)).eval()
    >>> points = torch.tensor([[[3.0, 1.0, 0.0], [4.0, 1.0, 1.0]]])  # dx, dy, and whether the pen is lifted then
    >>> model(points, labels=torch.zeros(1, 2, dtype=torch.long)).loss.isclose(-model.log_density(points).mean())
    tensor(True)
    >>> model.generate_points(5, seed=0).shape
    torch.Size([1, 5, 3])
    """

    def __init__(self, config: GravesConfig):
        super().__init__(config)
        self.layers = nn.ModuleList()
        for number in range(config.num_hidden_layers):
            inputs = config.point_width + (config.hidden_size if number else 0)
            self.layers.append(GravesLayer(nn.LSTM(inputs, config.hidden_size, batch_first=True)))
        self.mixture = UnitVariance if config.loss_type == "squared_error" else MIXTURES[config.mixture]
        num_outputs = self.mixture.num_outputs(config.num_mixtures, config.point_size)
        self.output = nn.Linear(config.num_hidden_layers * config.hidden_size, config.has_pen + num_outputs)
        self.post_init()

    @model_forward(tie_last_hidden_states=False)
    def forward(
        self,
        points: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: RecurrentCache | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> SequencePredictionOutput:
        """Predict each point from those before it.

        Args:
            points: (batch, seq, numbers), in the data's units.
            attention_mask: (batch, seq), 1 = real point; padding, wherever it is, changes nothing.
            past_key_values: the state to start from, and the last point; it is not changed.
            labels: (batch, seq), which points the loss counts: -100 = not counted, any other integer = counted.
            num_items_in_batch: the points that count in the whole training step.

        Raises:
            ValueError: points are NaN, infinite, or of another width.
        """
        mask = None if attention_mask is None else padding_mask(attention_mask, points, seen_tokens(past_key_values))
        x = self.scaled_points(points, mask)
        batch, seq, width = x.shape
        sizes = [(batch, self.config.hidden_size)] * 2
        *states, last = carried_states(past_key_values, [*[sizes] * len(self.layers), [(batch, 1, width)]])
        before, newest = previous_points(x, mask, x.new_zeros(batch, 1, width) if last is None else last[0])
        before = before.squeeze(2).to(self.dtype)  # x_{t-1}, (batch, seq, numbers)
        if self.training and torch.is_grad_enabled():
            before.requires_grad_()  # checkpointing with use_reentrant gives no gradients to a layer without it
        hidden, after = list[Tensor](), list[Any]()
        for layer, state in zip(self.layers, states, strict=True):
            h, state = layer(torch.cat((before, *hidden[-1:]), -1), state, mask)
            hidden.append(h)
            after.append(state)
        y = self.output(torch.cat(hidden, -1))
        loss = None if labels is None else self.loss(y, x, mask, labels, num_items_in_batch)
        cache = RecurrentCache.after(past_key_values, [*after, (newest,)], seq) if use_cache else None
        return SequencePredictionOutput(loss, y, cache)

    def distribution(self, logits: Tensor) -> tuple[GaussianMixture, Tensor | None]:
        """Return the mixture that ŷ (batch, seq, outputs) describes, and -ê."""
        config, pen = self.config, None
        if config.has_pen:
            pen, logits = -logits[..., 0], logits[..., 1:]
        return self.mixture.from_outputs(
            logits, config.num_mixtures, config.point_size, config.sigma_floor, config.max_correlation
        ), pen
