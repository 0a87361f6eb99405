# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Exercises on the Transformer: attention, layer normalisation, relative positions, linear attention."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import elu

from hf_lecture_models.lab.exercises import adapter
from hf_lecture_models.lab.exercises.draws import normal, uniform
from hf_lecture_models.lab.exercises.exercise import Case, Exercise, Slip


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return the outputs of attention with a mask, for each head.

    Slides R:782-834, Y:477-503; Vaswani et al. 2017, section 3.2. For each query t,

        a_t = softmax over s of (q_t · k_s / √head_dim),   s over the keys that t may attend to
        o_t = Σ_s a_t[s] v_s

    Keys that a query may not attend to have weight 0, and the weights of the others add up to 1.

    Args:
        q: (batch, heads, seq, head_dim).
        k: (batch, heads, keys, head_dim).
        v: (batch, heads, keys, head_dim).
        mask: (batch, 1, seq, keys) bool, True = may attend. Each query may attend to one key at least.

    Returns:
        (batch, heads, seq, head_dim).
    """
    raise NotImplementedError


def _attention_cases(generator: torch.Generator) -> list[Case]:
    cases = []
    for batch, heads, seq, keys, size in ((1, 1, 2, 3, 2), (1, 2, 3, 5, 4), (2, 2, 4, 6, 5), (2, 3, 5, 5, 2)):
        # A query attends to its own place, but not to the one after it, and to others at random. Each key is attended
        # to, so that a softmax over the wrong axis is not NaN, which would give no hint.
        place = torch.arange(seq)
        mask = uniform(generator, batch, 1, seq, keys) < 0.5
        mask[:, :, place, place] = True
        mask[:, :, 0, seq:] = True
        mask[:, :, place, (place + 1) % keys] = False
        shapes = {"q": seq, "k": keys, "v": keys}
        case = {name: normal(generator, batch, heads, length, size) for name, length in shapes.items()}
        cases.append({**case, "mask": mask})
    return cases


def _wrong_attention(
    scale: Callable[[Tensor], float] = lambda q: q.shape[-1] ** -0.5,
    axis: int = -1,
    masked: str = "scores",
    turned: bool = False,
) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """Return an attention that differs in one of these from the right one."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        hidden = mask if turned else ~mask
        scores = q @ k.transpose(-1, -2)
        if masked == "zeros before":
            scores = scores.masked_fill(hidden, 0.0)
        elif masked == "scores":
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = (scores * scale(q)).softmax(axis)
        return (weights.masked_fill(hidden, 0.0) if masked == "weights" else weights) @ v

    return attend


ATTENTION = Exercise(
    attention,
    "attention of several heads with a mask",
    "R:782-834, Y:477-503",
    adapter.attention,
    _attention_cases,
    ("o",),
    (
        Slip(_wrong_attention(scale=lambda q: 1.0), "the scores are not divided by √head_dim"),
        Slip(_wrong_attention(scale=lambda q: 1 / q.shape[-1]), "the scores are divided by head_dim, not by its root"),
        Slip(
            _wrong_attention(scale=lambda q: (q.shape[-1] * q.shape[1]) ** -0.5),
            "the scores are divided by √(heads · head_dim), the width of the model, as slide Y:495 has it; the paper "
            "divides by the root of one head's width",
        ),
        Slip(_wrong_attention(axis=-2), "the softmax runs over the queries; the keys of a query have to add up to 1"),
        Slip(
            _wrong_attention(masked="weights"),
            "the mask is applied after the softmax, so the other weights no longer add up to 1; set the scores to "
            "minus infinity before it",
        ),
        Slip(
            _wrong_attention(masked="zeros before"),
            "masked scores are set to 0, and exp(0) = 1 is a weight like any other; set them to minus infinity",
        ),
        Slip(_wrong_attention(turned=True), "the mask is read the wrong way round: True means may attend"),
        Slip(_wrong_attention(masked="never"), "the mask is not applied"),
    ),
    has_gradients=True,
)


def layer_norm_gradient(x: Tensor, weight: Tensor, dy: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of layer normalisation with respect to x, weight and bias, without autograd.

    Slide R:838-854; Ba, Kiros & Hinton 2016. For each row x of C features, with the mean μ and the biased variance
    σ² = Σ_c (x_c - μ)² / C,

        x̂ = (x - μ) / √(σ² + ε),   y = weight ⊙ x̂ + bias

    dy is the gradient of some loss with respect to y. μ and σ² depend on x as well, so the gradient goes through them.

    Args:
        x: (batch, seq, C).
        weight: (C,), γ on the slide.
        dy: (batch, seq, C).
        eps: ε.

    Returns:
        The gradients of the loss with respect to x (batch, seq, C), weight (C,) and bias (C,).
    """
    raise NotImplementedError


def _norm_cases(generator: torch.Generator) -> list[Case]:
    shapes = ((1, 1, 3), (1, 2, 4), (2, 3, 5), (3, 4, 16))
    return [
        {
            "x": 2 * normal(generator, *shape) + 1,
            "weight": normal(generator, shape[-1]),
            "dy": normal(generator, *shape),
            "eps": 0.1 if number == 1 else 1e-5,
        }
        for number, shape in enumerate(shapes)
    ]


def _wrong_norm(
    through_mean: bool = True,
    through_variance: bool = True,
    bessel: bool = False,
    weighted: bool = True,
    inside: bool = True,
    raw: bool = False,
) -> Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor, Tensor]]:
    """Return a gradient that differs in one of these from the right one."""

    def gradient(x: Tensor, weight: Tensor, dy: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        variance = x.var(-1, correction=int(bessel), keepdim=True)
        deviation = (variance + eps).sqrt() if inside else variance.sqrt() + eps
        centred = x - x.mean(-1, keepdim=True)
        normal_x = centred / deviation
        g = dy * weight if weighted else dy
        dx = g.clone()
        if through_mean:
            dx -= g.mean(-1, keepdim=True)
        if through_variance:
            dx -= normal_x * (g * normal_x).sum(-1, keepdim=True) / (x.shape[-1] - int(bessel))
        return dx / deviation, (dy * (centred if raw else normal_x)).sum((0, 1)), dy.sum((0, 1))

    return gradient


LAYER_NORM_GRADIENT = Exercise(
    layer_norm_gradient,
    "the gradient of layer normalisation, without autograd",
    "R:838-854",
    adapter.layer_norm_gradient,
    _norm_cases,
    ("the gradient of x", "the gradient of weight", "the gradient of bias"),
    (
        Slip(
            _wrong_norm(through_mean=False, through_variance=False),
            "the mean and the variance are taken as constants; both depend on x, and the gradient goes through them",
        ),
        Slip(
            _wrong_norm(through_variance=False),
            "the gradient goes through the mean, but not through the variance: the term with x̂ is missing",
        ),
        Slip(
            _wrong_norm(bessel=True),
            "the variance is divided by C - 1 (Bessel's correction, the default of torch.var); layer norm divides by C",
        ),
        Slip(_wrong_norm(weighted=False), "the weight is left out of the gradient of x: start from weight ⊙ dy"),
        Slip(_wrong_norm(raw=True), "the gradient of the weight has x - μ in place of x̂: divide by √(σ² + ε)"),
        Slip(_wrong_norm(inside=False), "ε is added to the standard deviation; it belongs under the root"),
    ),
)


def relative_shift(by_distance: Tensor) -> Tensor:
    """Return the scores of each query by key, from its scores by distance.

    Transformer-XL (slide Y:648; Dai et al. 2019, section 3.3) adds to the score of query i and key j a
    term that depends on their distance i - j. A product of matrices gives this term for each query and all distances
    p = 0, 1, ..., keys - 1; then each row has to be moved to the keys. The keys are `memory` states of earlier text and
    the states of the segment itself, so memory = keys - seq, query i is at the place memory + i, and

        by_key[i, j] = by_distance[i, memory + i - j]   for j ≤ memory + i
        by_key[i, j] = 0                                for later keys, which the mask hides

    It can be done without a loop.

    Args:
        by_distance: (batch, heads, seq, keys), keys ≥ seq.

    Returns:
        by_key, (batch, heads, seq, keys).
    """
    raise NotImplementedError


def _shift_cases(generator: torch.Generator) -> list[Case]:
    shapes = ((1, 1, 2, 2), (1, 1, 2, 4), (1, 2, 3, 3), (2, 2, 3, 5), (2, 1, 4, 9))
    return [{"by_distance": normal(generator, *shape)} for shape in shapes]


def _wrong_shift(
    with_memory: bool = True, offset: int = 0, later: str = "zeros", backwards: bool = False
) -> Callable[[Tensor], Tensor]:
    """Return a shift that differs in one of these from the right one."""

    def shift(by_distance: Tensor) -> Tensor:
        seq, keys = by_distance.shape[2:]
        places = torch.arange(seq)[:, None] + (keys - seq if with_memory else 0)
        distances = places - torch.arange(keys)
        rows = distances.abs().clamp(max=keys - 1) if later == "kept" else distances.clamp(min=0)
        rows = (rows + offset).clamp(max=keys - 1)
        if backwards:
            rows = keys - 1 - rows
        by_key = by_distance.gather(3, rows.expand(by_distance.shape))
        return by_key if later == "kept" else by_key.where(distances >= 0, 0.0)

    return shift


RELATIVE_SHIFT = Exercise(
    relative_shift,
    "Transformer-XL's scores by distance become scores by key",
    "Y:648",
    adapter.relative_shift,
    _shift_cases,
    ("by_key",),
    (
        Slip(
            _wrong_shift(with_memory=False),
            "the memory is left out: query i is at the place memory + i, with memory = keys - seq",
        ),
        Slip(_wrong_shift(offset=1), "the distances are one too large: a query is at distance 0 from its own key"),
        Slip(_wrong_shift(later="kept"), "later keys have the score of the distance |i - j|; they have to be 0"),
        Slip(
            _wrong_shift(backwards=True),
            "the columns are read from the largest distance to 0, as some programs have them; here column p is the "
            "distance p",
        ),
        Slip(lambda by_distance: by_distance.clone(), "nothing is moved: the columns are distances still, not keys"),
    ),
    has_gradients=True,
)


def linear_attention_step(q: Tensor, k: Tensor, v: Tensor, S: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output of causal linear attention for one token, and its state after that token.

    Slide Y:597-607; Katharopoulos, Vyas, Pappas & Fleuret 2020, section 3. With the features φ(x) = elu(x) + 1, number
    by number, attention is a recurrent network whose state is a matrix S and a vector z:

        S ← S + φ(k) vᵀ,   z ← z + φ(k),   o = Sᵀ φ(q) / (z · φ(q))          of the new S and z

    Args:
        q, k: (batch, heads, head_dim), of this token.
        v: (batch, heads, value_dim).
        S: (batch, heads, head_dim, value_dim), before the token; zeros at the beginning of a text.
        z: (batch, heads, head_dim).

    Returns:
        o (batch, heads, value_dim), the new S and the new z.
    """
    raise NotImplementedError


def _step_cases(generator: torch.Generator) -> list[Case]:
    cases = []
    for number, (batch, heads, size, width) in enumerate(((1, 1, 2, 1), (1, 1, 2, 2), (2, 3, 4, 4), (2, 2, 3, 5))):
        shape = (batch, heads, size)
        case = {
            "q": normal(generator, *shape),
            "k": normal(generator, *shape),
            "v": normal(generator, *shape[:2], width),
        }
        # The first token of a text has an empty state.
        case["S"] = normal(generator, *shape, width) * bool(number)
        case["z"] = (normal(generator, *shape).abs() + 0.5) * bool(number)
        cases.append(case)
    return cases


def _wrong_step(
    features: Callable[[Tensor], Tensor] = lambda x: elu(x) + 1,
    stale: bool = False,
    divided: bool = True,
    raw_keys: bool = False,
    raw_values: bool = True,
) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Return a step that differs in one of these from the right one."""

    def step(q: Tensor, k: Tensor, v: Tensor, S: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        f_q, f_k = features(q), k if raw_keys else features(k)
        v = v if raw_values else features(v)
        new_S, new_z = S + f_k[..., None] * v[..., None, :], z + f_k
        read_S, read_z = (S, z) if stale else (new_S, new_z)
        o = torch.einsum("bhd,bhdv->bhv", f_q, read_S)
        weight = (f_q * read_z).sum(-1, keepdim=True)
        return o / weight.where(weight != 0, math.inf) if divided else o, new_S, new_z

    return step


LINEAR_ATTENTION_STEP = Exercise(
    linear_attention_step,
    "linear attention as a recurrent network: one token",
    "Y:597-607",
    adapter.linear_attention_step,
    _step_cases,
    ("o", "S", "z"),
    (
        Slip(_wrong_step(stale=True), "o reads the state before the token; a token attends to itself too"),
        Slip(_wrong_step(divided=False), "o is not divided by z · φ(q), so its weights do not add up to 1"),
        Slip(_wrong_step(features=elu), "φ(x) is elu(x) + 1, which is above 0; the 1 is missing"),
        Slip(_wrong_step(features=torch.relu), "φ(x) is elu(x) + 1, not relu(x)"),
        Slip(_wrong_step(raw_keys=True), "S and z add up k itself; the features φ(k) are missing"),
        Slip(_wrong_step(raw_values=False), "S adds up φ(v); only queries and keys have features, v stays as it is"),
    ),
    has_gradients=True,
)
