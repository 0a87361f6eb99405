# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Graves' network and the joint Gaussian: the checks of all models, independent references, generation."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import multivariate_normal
from torch import nn
from torch.testing import assert_close

from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.graves import (
    GravesConfig,
    GravesForSequencePrediction,
    JointGaussianConfig,
    JointGaussianForSequencePrediction,
)
from tests.model_tests import ModelTests, assert_gradients, gradients, left_padded
from tests.models.recurrent_steps import OnTorchKernels


def make_points(lengths, numbers, has_pen, seed=0):
    """Random points, padded on the right; a row keeps its points when others join the batch."""
    points = torch.zeros(len(lengths), max(lengths), numbers)
    mask = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, length in enumerate(lengths):
        drawn = torch.randn(64, numbers, generator=torch.Generator().manual_seed(100 * seed + row)) * 3
        if has_pen:
            drawn[:, -1] = (drawn[:, -1] > 1).float()
        points[row, :length], mask[row, :length] = drawn[:length], 1
    return {"points": points, "attention_mask": mask}


class PointTests(ModelTests):
    """What every model of points must do."""

    sequence_inputs = ("points", "attention_mask")
    bidirectional = False
    extra: dict = {}

    def make_inputs(self, batch, lengths):
        config = self.config()
        return make_points(lengths, config.point_width, config.has_pen)

    def training_loss(self, model, inputs):
        labels = torch.zeros_like(inputs["attention_mask"])
        return model(**inputs, labels=labels).loss

    @torch.no_grad()
    def test_reading_direction(self):
        """The last point moves no output at all: it is what the last output predicts."""
        model, inputs = self.build(), self.make_inputs(1, (6,))
        before = model(**inputs).logits
        inputs["points"][:, 4] += 1
        after = model(**inputs).logits
        assert torch.equal(after[:, :5], before[:, :5])
        assert self.config_reads_nothing() or not torch.equal(after[:, 5], before[:, 5])

    def config_reads_nothing(self):
        return getattr(self.config(), "order", 1) == 0

    @torch.no_grad()
    def test_carried_state_equals_the_uncut_forward(self):
        model, lengths = self.build(), (8, 5, 3)
        inputs = left_padded(self.make_inputs(3, lengths), self.sequence_inputs, lengths)
        whole = self.at_real({"logits": model(**inputs).logits}, inputs)["logits"]
        cache, found = None, []
        for cut in (slice(0, 1), slice(1, 4), slice(4, 8)):
            part = {name: tensor[:, cut] for name, tensor in inputs.items()}
            outputs = model(**part, past_key_values=cache, use_cache=True)
            cache = outputs.past_key_values
            found.append(self.at_real({"logits": outputs.logits}, part)["logits"])
        assert_close(torch.cat(found, 1), whole, rtol=0, atol=1e-5)
        assert isinstance(cache, RecurrentCache)
        assert cache.get_seq_length() == 8
        saved = RecurrentCache.from_tensors(cache.to_tensors())
        last = {name: tensor[:, :2] for name, tensor in inputs.items()}
        assert torch.equal(*(model(**last, past_key_values=each).logits for each in (cache, saved)))

    @torch.no_grad()
    def test_padding_holds_anything(self):
        model, inputs = self.build(), self.make_inputs(3, (5, 3, 4))
        expected = self.at_real(self.outputs(model, inputs), inputs)
        inputs["points"][inputs["attention_mask"] == 0] = math.nan
        self.assert_equal(self.at_real(self.outputs(model, inputs), inputs), expected, "NaN at padding", 0)

    @torch.no_grad()
    def test_points_that_are_none_are_refused(self):
        model, points = self.build(), self.make_inputs(1, (5,))["points"]
        for value in (math.nan, math.inf):
            wrong = points.clone()
            wrong[0, 2, 0] = value
            with pytest.raises(ValueError, match="NaN or infinite"):
                model(points=wrong)
        for wrong in (points[..., :-1], points[:, :0]):
            with pytest.raises(ValueError, match=r"points have shape .* needs \(batch, seq"):
                model(points=wrong)
        for wrong in (points[0], points.long(), points.tolist()):
            with pytest.raises(ValueError, match="points must be a tensor of floating numbers"):
                model(points=wrong)

    @torch.no_grad()
    def test_loss_is_the_mean_over_points(self):
        model, lengths = self.build(), (5, 3, 4)
        inputs = self.make_inputs(3, lengths)
        labels = torch.zeros(3, 5, dtype=torch.long)
        labels[0, :2] = -100
        losses = []
        for row, length in enumerate(lengths):
            own = -model.log_density(inputs["points"][row : row + 1, :length])[0]
            losses += own[labels[row, :length] == 0].tolist()
        assert len(losses) == 10
        assert_close(model(**inputs, labels=labels).loss.item(), sum(losses) / 10, rtol=1e-5, atol=1e-5)
        assert_close(
            model(**inputs, labels=labels, num_items_in_batch=20).loss.item(), sum(losses) / 20, rtol=1e-5, atol=1e-5
        )
        assert model(**inputs, labels=torch.full_like(labels, -100)).loss == 0
        for wrong in (labels.float(), labels[:, 1:], [[0]]):
            with pytest.raises(ValueError, match="labels must be integers"):
                model(**inputs, labels=wrong)

    @torch.no_grad()
    def test_codes_sum_to_one(self):
        """The probabilities of all points of the grid, in steps of 2, whatever came before."""
        config = self.config()
        if config.point_size > 2 or config.has_pen:
            pytest.skip("the grid of such points is too large")
        model = self.build()
        model.config.quantization_step = 2.0
        axis = torch.arange(-100, 101) * 2.0
        grid = torch.stack(torch.meshgrid(*[axis] * config.point_size, indexing="ij"), -1).view(
            -1, 1, config.point_size
        )
        before = self.make_inputs(1, (3,))["points"].expand(len(grid), -1, -1)
        lengths = model.code_lengths(torch.cat((before, grid), 1))[:, -1]
        assert_close((-lengths * math.log(2)).exp().sum().item(), 1.0, rtol=0, atol=1e-4)

    @torch.no_grad()
    def test_generated_points(self):
        model, points = self.build(), self.make_inputs(2, (5, 5))["points"]
        first, again, other = (model.generate_points(4, seed=seed, points=points) for seed in (0, 0, 1))
        assert first.shape == (2, 4, self.config().point_width)
        assert torch.equal(first, again)
        assert not torch.equal(first, other)
        assert model.generate_points(3, num_sequences=5).shape[:2] == (5, 3)
        # Next to no temperature: the first point is the mean of the most probable component.
        cold = model.generate_points(1, temperature=1e-8, seed=0, points=points)
        cache = model(points=points, use_cache=True).past_key_values
        mixture, pen = model.distribution(model(points=points[:, :1], past_key_values=cache).logits)
        best = mixture.log_weights.argmax(-1)[..., None, None].expand(-1, -1, 1, self.config().point_size)
        expected = mixture.means.gather(-2, best).squeeze(-2) * self.config().scale + self.config().shift
        assert_close(cold[..., : self.config().point_size], expected.to(cold.dtype), rtol=1e-3, atol=1e-2)
        if pen is not None:
            assert torch.equal(cold[..., -1], (pen > 0).to(cold.dtype))
        for options in ({"n": 0}, {"n": 1, "temperature": 0.0}, {"n": 1, "num_sequences": 0}):
            with pytest.raises(ValueError, match="must be at least 1, and temperature="):
                model.generate_points(**options)


class GravesTests(OnTorchKernels, PointTests):
    model_class = GravesForSequencePrediction
    overfit = {"steps": 300, "learning_rate": 0.02, "remaining": 0.6}
    fields: dict = {}
    contradictory_configs = (
        {"point_size": 3, "mixture": "bivariate"},
        {"loss_type": "squared_error"},
        {"scale": 0.0},
        {"max_correlation": 1.0},
        {"output_gradient_clip": 0.0},
    )

    def config(self):
        return GravesConfig(
            **({"hidden_size": 6, "num_hidden_layers": 3, "num_mixtures": 4, "scale": 2.0, "shift": 0.5} | self.fields)
        )

    def reference(self, model, inputs):
        """The paper's equations, step by step, on the parameters of the model."""
        config, points = model.config, inputs["points"]
        x = points.clone()
        x[..., : config.point_size] = (points[..., : config.point_size] - config.shift) / config.scale
        states = [[torch.zeros(len(x), config.hidden_size)] * 2 for _ in model.layers]
        before, found = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            below: list = []
            for number, layer in enumerate(model.layers):
                p = dict(layer.rnn.named_parameters())
                gates = torch.cat([before, *below[-1:]], 1) @ p["weight_ih_l0"].T + p["bias_ih_l0"]
                gates = gates + states[number][0] @ p["weight_hh_l0"].T + p["bias_hh_l0"]
                i, f, g, o = gates.chunk(4, 1)
                c = f.sigmoid() * states[number][1] + i.sigmoid() * g.tanh()
                states[number] = [o.sigmoid() * c.tanh(), c]
                below.append(states[number][0])
            found.append(
                sum(
                    (h @ w.T for h, w in zip(below, model.output.weight.split(config.hidden_size, 1), strict=True)),
                    model.output.bias,
                )
            )
            before = x[:, t]
        return {"logits": torch.stack(found, 1)}


class TestBivariate(GravesTests):
    pass


class TestBivariateWithoutPen(GravesTests):
    fields = {"has_pen": False}


class TestDiagonal(GravesTests):
    fields = {"point_size": 3, "mixture": "diagonal"}


class TestSquaredError(GravesTests):
    fields = {"point_size": 2, "has_pen": False, "mixture": "diagonal", "num_mixtures": 1, "loss_type": "squared_error"}
    contradictory_configs = ({"num_mixtures": 2}, {"mixture": "bivariate"})

    @torch.no_grad()
    def test_loss_is_half_of_the_squared_error(self):
        """And n/2 ln 2π (slide N s18)."""
        model, inputs = self.build(), self.make_inputs(2, (4, 4))
        x = (inputs["points"] - 0.5) / 2
        expected = (x - model(**inputs).logits).square().sum(-1).mean() / 2 + math.log(2 * math.pi)
        assert_close(self.training_loss(model, inputs), expected)


class JointTests(PointTests):
    model_class = JointGaussianForSequencePrediction
    trainable = False
    numbers, has_pen, order = 2, False, 2
    contradictory_configs = ({"order": 1000, "point_size": 4000}, {"scale": -1.0})

    def config(self):
        return JointGaussianConfig(
            point_size=self.numbers, has_pen=self.has_pen, order=self.order, ridge=1e-3, scale=2.0, shift=0.5
        )

    @pytest.mark.xfail(strict=True, reason="a mean and a covariance have no states")
    def test_hidden_states_on_request(self):
        super().test_hidden_states_on_request()

    def sequences(self):
        """A walk that returns to a far place, so that points tell much of the next."""
        generator = torch.Generator().manual_seed(1)
        found = []
        for _ in range(40):
            points = [torch.zeros(self.numbers)]
            for _ in range(9):
                points.append(0.9 * points[-1] + 0.1 * torch.randn(self.numbers, generator=generator))
            sequence = torch.stack(points) * 4 + 40
            if self.has_pen:
                sequence = torch.cat((sequence, (torch.arange(10) % 5 == 4).float()[:, None]), 1)
            found.append(sequence)
        return found

    def fit(self):
        config = self.config()
        fields = {name: getattr(config, name) for name in ("order", "ridge", "scale", "shift")}
        model = JointGaussianForSequencePrediction.fit(self.sequences(), has_pen=self.has_pen, **fields)
        points = torch.stack(self.sequences()[:4])
        return model, {"points": points, "attention_mask": torch.ones(points.shape[:2], dtype=torch.long)}

    def reference(self, model, inputs):
        """Conditional means and factors, point by point."""
        mean, covariance = model.joint.mean, model.joint.covariance
        n, points, rows = self.numbers, inputs["points"].double(), []
        k = len(mean) - n
        scaled = torch.cat(((points[..., :n] - 0.5) / 2, points[..., n:]), -1)
        for own in scaled:
            before = torch.cat((torch.zeros(self.order, own.shape[1]), own)).double()
            for t in range(len(own)):
                y = before[t : t + self.order].flip(0).flatten()
                inverse = torch.linalg.inv(covariance[:k, :k])
                conditional = mean[k:] + covariance[k:, :k] @ inverse @ (y - mean[:k])
                factor = torch.linalg.cholesky(covariance[k:, k:] - covariance[k:, :k] @ inverse @ covariance[:k, k:])
                pen = [model.joint.pen_rate.logit()[None]] if self.has_pen else []
                rows.append(torch.cat([conditional, factor.flatten(), *pen]))
        return {"logits": torch.stack(rows).view(*points.shape[:2], -1)}


class TestJointGaussian(JointTests):
    def test_density_equals_scipys_conditional(self):
        """The joint log density of (x, y) minus the marginal one of y, in twenty contexts."""
        model = self.build()
        mean, covariance = model.joint.mean.numpy(), model.joint.covariance.numpy()
        for seed in range(20):
            points = make_points((3,), 2, False, seed)["points"]
            z = ((points[:, [1, 0, 2]] - 0.5) / 2).flatten().double().numpy()  # the newest of the two before, first
            joint = multivariate_normal(mean, covariance).logpdf(z)
            marginal = multivariate_normal(mean[:4], covariance[:4, :4]).logpdf(z[:4])
            assert_close(model.log_density(points)[0, 2].item(), joint - marginal, rtol=1e-4, atol=1e-3)

    def test_maximum_likelihood(self):
        """μ and Σ are those of all windows, with zeros before the first point."""
        model = self.build()
        padded = [torch.cat((torch.zeros(2, 2), (sequence - 0.5) / 2)) for sequence in self.sequences()]
        windows = [own[[t + 1, t, t + 2]].flatten() for own in padded for t in range(10)]
        z = torch.stack(windows).double()
        assert_close(model.joint.mean, z.mean(0), rtol=0, atol=1e-5)
        expected = torch.cov(z.T, correction=0) + 1e-3 * torch.eye(6)
        assert_close(model.joint.covariance, expected, rtol=0, atol=1e-5)

    def test_what_cannot_be_estimated_is_refused(self):
        fit = JointGaussianForSequencePrediction.fit
        for sequences in ([], [[]], [[[1.0]], [[1.0, 2.0]]]):
            with pytest.raises(ValueError, match="lists of points of the same width"):
                fit(sequences)
        with pytest.raises(ValueError, match="NaN or infinite"):
            fit([[[1.0], [math.nan]]])

    @pytest.mark.parametrize("scale", [1.0, 100.0, 1e3, 1e5])
    def test_ridge_survives(self, scale, tmp_path):
        """Two numbers that are always the same have the covariance v 11ᵀ + r I, with the eigenvalues 2v + r and r.

        The points are on the first eigenvector, so that their mean ln p is
        -ln 2π - ½ ln((2v + r) r) - v / (2v + r), whatever the scale, and however the model is loaded.
        """
        once = torch.randn(100, 1, generator=torch.Generator().manual_seed(0)) * scale
        points, r = once.expand(100, 2).contiguous(), 1e-6
        v = once.double().var(correction=0).item()
        expected = -math.log(2 * math.pi) - 0.5 * math.log((2 * v + r) * r) - v / (2 * v + r)
        model = JointGaussianForSequencePrediction.fit([points], order=0, ridge=r)
        model.save_pretrained(tmp_path)
        load = self.auto_class.from_pretrained
        models = [
            model,
            *(load(tmp_path, dtype=dtype) for dtype in ("auto", torch.float32, torch.bfloat16)),
            load(tmp_path).half(),
            load(tmp_path).to(torch.bfloat16),
        ]
        for own in models:
            assert own.log_density(points[None]).mean().item() == pytest.approx(expected, abs=1e-5)
            assert own.joint.factor.dtype == torch.float64
            labels = torch.zeros(1, 100, dtype=torch.long)
            assert own(points[None], labels=labels).loss.item() == pytest.approx(-expected, abs=1e-5)

    @pytest.mark.parametrize("offset", [0.0, 1e4])
    @pytest.mark.parametrize("size", [1.0, 100.0])
    def test_nearly_singular_covariance_in_fifty_digits(self, size, offset):
        """A sine is a straight line of two points before it. The equations, by mpmath."""
        mpmath = pytest.importorskip("mpmath")
        points = (offset + size * (torch.arange(60) / 5).sin()).float()[:, None]
        order, ridge = 3, 1e-6
        model = JointGaussianForSequencePrediction.fit([points], order=order, ridge=ridge)
        padded = [0.0] * order + points[:, 0].tolist()
        with mpmath.workdps(50):
            z = [mpmath.matrix([padded[t - back] for back in (1, 2, 3, 0)]) for t in range(order, len(padded))]
            mean = sum(z, mpmath.zeros(4, 1)) / len(z)
            covariance = sum(((own - mean) * (own - mean).T for own in z), mpmath.zeros(4)) / len(z)
            covariance += mpmath.mpf(ridge) * mpmath.eye(4)
            inverse, across = covariance[:3, :3] ** -1, covariance[3, :3]
            variance = covariance[3, 3] - (across * inverse * across.T)[0]
            expected = []
            for own in z:
                residual = own[3] - mean[3] - (across * inverse * (own[:3] - mean[:3]))[0]
                expected.append(float(-(residual**2 / variance + mpmath.log(2 * mpmath.pi * variance)) / 2))
        found = model.log_density(points[None])[0]
        assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-4)

    def test_singular_covariance_is_refused(self):
        fit, same = JointGaussianForSequencePrediction.fit, torch.randn(100, 1).expand(100, 2)
        for points, ridge in ((torch.full((9, 1), 5.0), 0), (same, 0), (torch.full((9, 1), 1e20), 1e-6)):
            with pytest.raises(ValueError, match=f"singular, with model.ridge {ridge}.*Give a larger model.ridge"):
                fit([points], order=0, ridge=ridge)

    def test_many_short_sequences_equal_one_estimate(self):
        """Rows are decomposed in several portions."""
        points = torch.randn(6000, 2, generator=torch.Generator().manual_seed(0)) + 3
        parts, whole = (
            JointGaussianForSequencePrediction.fit(sequences, order=0, ridge=0).joint
            for sequences in (points.split(7), [points])
        )
        assert_close(parts.mean, whole.mean)
        assert_close(parts.covariance, torch.cov(points.double().T, correction=0))


class TestIndependentGaussian(JointTests):
    order = 0
    state_matters = False


class TestJointGaussianWithPen(JointTests):
    numbers, has_pen, order = 2, True, 1

    def test_rate_of_the_pen(self):
        assert_close(self.build().joint.pen_rate.item(), 81 / 402, rtol=1e-12, atol=0)


def test_output_gradients_are_clipped():
    """Each number of ŷ, for the loss of one point, whatever the loss is divided by."""
    torch.manual_seed(0)
    inputs = make_points((4, 4), 3, True)
    labels = torch.zeros(2, 4, dtype=torch.long)
    found = {}
    for limit in (1e9, 0.1):
        torch.manual_seed(0)
        model = GravesForSequencePrediction(GravesConfig(hidden_size=6, output_gradient_clip=limit))
        for items in (1, 8):
            found[limit, items] = gradients(model, model(**inputs, labels=labels, num_items_in_batch=items).loss)
    assert_close(found[0.1, 8]["output.bias"], found[0.1, 1]["output.bias"] / 8)
    assert found[0.1, 1]["output.bias"].abs().max() <= 0.8 + 1e-6 < found[1e9, 1]["output.bias"].abs().max()


def test_against_torchs_stacked_network():
    """Loss and gradients of a plain network with copied weights, under torch's own distributions."""
    torch.manual_seed(0)
    config = GravesConfig(hidden_size=5, num_mixtures=3, num_hidden_layers=2, scale=2.0)
    model = GravesForSequencePrediction(config)
    inputs = make_points((6, 6), 3, True)
    first, second = nn.LSTM(3, 5, batch_first=True), nn.LSTM(8, 5, batch_first=True)
    output = nn.Linear(10, 19)
    for own, layer in ((first, model.layers[0].rnn), (second, model.layers[1].rnn), (output, model.output)):
        own.load_state_dict(layer.state_dict())
    x = inputs["points"] / torch.tensor([2.0, 2.0, 1.0])
    shifted = torch.cat((torch.zeros(2, 1, 3), x[:, :-1]), 1)
    one, _ = first(shifted)
    two, _ = second(torch.cat((shifted, one), -1))
    y = output(torch.cat((one, two), -1))
    pen, weights, means, sigmas, rhos = y.split((1, 3, 6, 6, 3), -1)
    sigmas, rhos = 1e-3 + sigmas.unflatten(-1, (3, 2)).exp(), 0.999 * rhos.tanh()
    between = rhos * sigmas.prod(-1)
    covariance = torch.stack((sigmas[..., 0] ** 2, between, between, sigmas[..., 1] ** 2), -1).unflatten(-1, (2, 2))
    mixture = torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(logits=weights),
        torch.distributions.MultivariateNormal(means.unflatten(-1, (3, 2)), covariance),
    )
    e = (-pen[..., 0]).sigmoid()
    density = mixture.log_prob(x[..., :2]) + torch.where(x[..., 2] == 1, e, 1 - e).log()
    loss = -density.mean()
    ours = model(**inputs, labels=torch.zeros(2, 6, dtype=torch.long)).loss
    assert_close(ours, loss)
    theirs = torch.autograd.grad(loss, [*first.parameters(), *second.parameters(), *output.parameters()])
    names = [name for name, _ in model.named_parameters()]
    assert_gradients(gradients(model, ours), dict(zip(names, theirs, strict=True)), rtol=1e-3, atol=1e-5)
