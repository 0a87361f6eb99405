# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every efficient attention against all scores written out, in every way in which it is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode
from transformers import LongformerConfig, LongformerModel, ReformerConfig
from transformers.models.reformer.modeling_reformer import LSHSelfAttention

from hf_lecture_models.layers import hashing_attention, linear_attention
from hf_lecture_models.layers.efficient_attention import EfficientAttention, Rows
from hf_lecture_models.layers.hashing_attention import BidirectionalHashingAttention, CausalHashingAttention
from hf_lecture_models.layers.hierarchical_attention import (
    BidirectionalHierarchicalAttention,
    CausalHierarchicalAttention,
)
from hf_lecture_models.layers.linear_attention import BidirectionalLinearAttention, CausalLinearAttention
from hf_lecture_models.layers.local_attention import BidirectionalLocalAttention, CausalLocalAttention
from hf_lecture_models.layers.low_rank_attention import LowRankAttention
from hf_lecture_models.layers.performer_attention import (
    BidirectionalPerformerAttention,
    CausalPerformerAttention,
    orthogonal_gaussian,
)
from hf_lecture_models.layers.random_attention import BidirectionalRandomAttention, CausalRandomAttention
from tests.layers.efficient_references import dense_reference, masked_attention, projected
from tests.model_tests import perturb

LOCAL = {"window_size": 3, "num_sentinels": 2}
RANDOM = {**LOCAL, "num_random_blocks": 2, "longest": 40, "seed": 0}
HASHING = {"num_hashes": 2, "num_buckets": 4, "seed": 0}
CAUSAL: dict[str, tuple[Callable[..., EfficientAttention], dict[str, int]]] = {
    "local": (CausalLocalAttention, LOCAL),
    "local without sentinels": (CausalLocalAttention, {"window_size": 3, "num_sentinels": 0}),
    "random": (CausalRandomAttention, RANDOM),
    "hierarchical": (CausalHierarchicalAttention, {"block_size": 4}),
    "linear": (CausalLinearAttention, {}),
    "performer": (CausalPerformerAttention, {"num_features": 7, "seed": 0}),
    "hashing": (CausalHashingAttention, HASHING),
}
BIDIRECTIONAL: dict[str, tuple[Callable[..., EfficientAttention], dict[str, int]]] = {
    "local": (BidirectionalLocalAttention, LOCAL),
    "local without sentinels": (BidirectionalLocalAttention, {"window_size": 3, "num_sentinels": 0}),
    "random": (BidirectionalRandomAttention, RANDOM),
    "hierarchical": (BidirectionalHierarchicalAttention, {"block_size": 4}),
    "low rank": (LowRankAttention, {"projected_length": 5, "longest": 40}),
    "linear": (BidirectionalLinearAttention, {}),
    "performer": (BidirectionalPerformerAttention, {"num_features": 7, "seed": 0}),
    "hashing": (BidirectionalHashingAttention, {**HASHING, "chunk_size": 3}),
}
ALL = {f"causal {name}": made for name, made in CAUSAL.items()} | {
    f"bidirectional {name}": made for name, made in BIDIRECTIONAL.items()
}
every = pytest.mark.parametrize("name", list(ALL))
every_causal = pytest.mark.parametrize("name", [name for name in ALL if name.startswith("causal")])


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts have several chunks too."""
    monkeypatch.setattr(linear_attention, "CHUNK", 4)
    monkeypatch.setattr(hashing_attention, "QUERIES", 4)


def build(name: str, **sizes: int) -> Any:
    make, fields = ALL[name]
    layer = make(12, 3, **{**fields, **sizes})
    perturb(layer, 0.5)
    return layer


def random_states(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randn(batch, length, 12, generator=torch.Generator().manual_seed(seed))


def whole_rows(hidden: Tensor) -> Rows:
    real = torch.ones(hidden.shape[:2], dtype=torch.bool)
    return Rows.of(real, torch.zeros(len(hidden), dtype=torch.long), padded=False)


def gradients(layer: Any, hidden: Tensor, output: Tensor) -> list[Tensor]:
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(9))
    tensors = [hidden, *layer.parameters()]
    found = torch.autograd.grad((output * weights).sum(), tensors, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]


def assert_same(layer: Any, hidden: Tensor, ours: Tensor, theirs: Tensor) -> None:
    """Outputs, and the gradients of input and weights."""
    assert_close(ours, theirs, rtol=0, atol=1e-5)
    for our, their in zip(gradients(layer, hidden, ours), gradients(layer, hidden, theirs), strict=True):
        scale = max(their.abs().max().item(), 1.0)
        assert_close(our, their, rtol=0, atol=2e-5 * scale)


@every
@pytest.mark.parametrize("length", [1, 2, 6, 17])
def test_equal_to_all_scores_written_out(name: str, length: int) -> None:
    layer, hidden = build(name), random_states(2, length).requires_grad_()
    assert_same(layer, hidden, layer(hidden, whole_rows(hidden))[0], dense_reference(layer, hidden))


@pytest.mark.parametrize("name", [name for name in ALL if name.endswith(("linear", "performer"))])
def test_float64_is_computed_in_float64(name: str) -> None:
    """Half precision is summed up in float32, which would leave 7 of 16 digits; gradients are those of differences."""
    layer, hidden = build(name).double(), random_states(2, 6).double().requires_grad_()
    output = layer(hidden, whole_rows(hidden))[0]
    assert_close(output, dense_reference(layer, hidden), rtol=0, atol=1e-12)
    assert torch.autograd.gradcheck(lambda states: layer(states, whole_rows(states))[0], hidden)


@every
@pytest.mark.parametrize("holes", [False, True])
@torch.no_grad()
def test_padding_anywhere_changes_nothing(name: str, holes: bool) -> None:
    layer, lengths = build(name), (11, 4, 1, 0, 9)
    mask = torch.zeros(5, 13, dtype=torch.bool)
    for row, length in enumerate(lengths):
        places = torch.randperm(13, generator=torch.Generator().manual_seed(row))[:length] if holes else slice(length)
        mask[row, places] = True
    for moved in (mask, mask.flip(1)):
        hidden = random_states(5, 13)
        output, _ = layer(hidden, Rows.of(moved, torch.zeros(5, dtype=torch.long)))
        assert output.isfinite().all()
        for row in (0, 1, 2, 4):
            alone = hidden[row][moved[row]][None]
            assert_close(output[row][moved[row]][None], layer(alone, whole_rows(alone))[0], rtol=0, atol=1e-5)


@every_causal
@pytest.mark.parametrize("sizes", [(1,) * 14, (5, 1, 1, 7), (2, 9, 3), (13, 1)], ids=str)
def test_pieces_equal_the_whole(name: str, sizes: Sequence[int]) -> None:
    """Each from the state after the one before, in rows of which some are padded; gradients flow through the state."""
    layer, hidden = build(name), random_states(3, 14).requires_grad_()
    mask = torch.ones(3, 14, dtype=torch.bool)
    mask[1, :6] = mask[2, 3:8] = mask[2, 13] = False
    state, seen, outputs = None, torch.zeros(3, dtype=torch.long), []
    for piece, real in zip(hidden.split(sizes, 1), mask.split(sizes, 1), strict=True):
        output, state = layer(piece, Rows.of(real, seen), state)
        shapes = [tuple(tensor.shape) for tensor in state]
        for shape, expected in zip(shapes, layer.state_shapes(3), strict=True):
            assert all(wanted in (-1, size) for size, wanted in zip(shape, expected, strict=True))
        seen = state[-1]
        outputs.append(output)
    assert seen.tolist() == [14, 8, 8]
    whole, _ = layer(hidden, Rows.of(mask, torch.zeros(3, dtype=torch.long)))
    assert_same(layer, hidden, *(o.masked_fill(~mask[..., None], 0.0) for o in (torch.cat(outputs, 1), whole)))


@every_causal
@pytest.mark.parametrize("factor", [-5, 5, 100])
@torch.no_grad()
def test_a_large_last_token_moves_no_earlier_output(name: str, factor: int) -> None:
    """Also where a maximum over all keys would only make small numbers vanish."""
    layer, hidden = build(name), random_states(4, 18)
    larger = torch.cat((hidden[:, :-1], factor * hidden[:, -1:]), 1)
    before, after = (layer(each, whole_rows(each))[0] for each in (hidden, larger))
    assert_close(after[:, :-1], before[:, :-1], rtol=0, atol=1e-6)
    assert not torch.allclose(after[:, -1], before[:, -1])


@every
def test_cost_of_twice_as_many_tokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiplications, not seconds: twice as many where the kind is linear, four times for causal hashing."""
    monkeypatch.setattr(linear_attention, "CHUNK", 16)
    monkeypatch.setattr(hashing_attention, "QUERIES", 16)
    sizes = {"longest": 2048} if "random" in name or "low rank" in name else {}
    if "hierarchical" in name:
        sizes = {"block_size": 16}
    layer, counts = build(name, **sizes), []
    for length in (256, 512) if "hierarchical" not in name else (256, 1024):
        if "hierarchical" in name:
            layer.block_size = int(length**0.5)
        hidden = random_states(1, length).requires_grad_()
        with FlopCounterMode(display=False) as counter:
            layer(hidden, whole_rows(hidden))[0].sum().backward()
        counts.append(counter.get_total_flops())
    bound = {"causal hashing": (3.0, 4.0)}.get(name, (1.9, 2.1))
    if "hierarchical" in name:
        bound = (6.0, 8.0)  # T^1.5
    assert bound[0] < counts[1] / counts[0] <= bound[1]


@torch.no_grad()
def test_parts_that_reach_everything_are_full_attention() -> None:
    hidden = random_states(2, 11)
    for name, sizes in (
        ("causal local", {"window_size": 11, "num_sentinels": 0}),
        ("bidirectional local", {"window_size": 11, "num_sentinels": 0}),
        ("causal hierarchical", {"block_size": 11}),
        ("bidirectional hierarchical", {"block_size": 11}),
        ("bidirectional low rank", {"projected_length": 11, "longest": 11}),
    ):
        layer = build(name, **sizes)
        if "low rank" in name:
            for mix in (layer.key_mix, layer.value_mix):
                mix.copy_(torch.eye(11))
        allowed = torch.ones(11, 11, dtype=torch.bool)
        for row, text in enumerate(hidden):
            parts = projected(text, layer.qkv_proj.weight, layer.qkv_proj.bias, 3)
            mask = allowed.tril() if layer.is_causal else allowed
            full = torch.cat([masked_attention(*head, mask) for head in zip(*parts, strict=True)], -1)
            ours = layer(hidden, whole_rows(hidden))[0][row]
            assert_close(ours, layer.o_proj(full), rtol=0, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}")


def test_local_attention_equals_longformer() -> None:
    """transformers' own, whose window counts both sides, in outputs and gradients; the masks of global tokens too."""
    config = LongformerConfig(
        attention_window=[8], hidden_size=12, num_attention_heads=3, num_hidden_layers=1, intermediate_size=8
    )
    config.attention_probs_dropout_prob = 0.0
    theirs = LongformerModel(config).encoder.layer[0].attention.self.eval()
    perturb(theirs, 0.4)
    layer = build("bidirectional local", window_size=4, num_sentinels=3)
    with torch.no_grad():
        layer.o_proj.weight.copy_(torch.eye(12))
        layer.o_proj.bias.zero_()
    hidden = random_states(2, 24).requires_grad_()
    weights = {
        "qkv_proj": (theirs.query, theirs.key, theirs.value),
        "sentinels.qkv_proj": (theirs.query_global, theirs.key_global, theirs.value_global),
    }
    joined = {
        f"{name}.{kind}": torch.cat([getattr(part, kind) for part in parts])
        for name, parts in weights.items()
        for kind in ("weight", "bias")
    }
    ours, _ = torch.func.functional_call(layer, joined, (hidden, whole_rows(hidden)))
    mask = torch.zeros(2, 24)
    mask[:, :3] = 10000.0
    flags = {"is_index_masked": mask < 0, "is_index_global_attn": mask > 0, "is_global_attn": True}
    expected = theirs(hidden, attention_mask=mask, **flags)[0]
    assert_same(theirs, hidden, ours, expected)


@pytest.mark.parametrize("rounds", [1, 3])
def test_hashing_attention_equals_reformer(rounds: int) -> None:
    """transformers' own with one chunk, where all tokens see all, themselves last; also of one token."""
    layer = build("bidirectional hashing", num_hashes=rounds, chunk_size=24)
    with torch.no_grad():
        layer.rotations.zero_()  # one bucket
        layer.qkv_proj.bias.zero_()
        layer.o_proj.weight.copy_(torch.eye(12))
        layer.o_proj.bias.zero_()
    shape = {"hidden_size": 12, "num_attention_heads": 3, "attention_head_size": 4, "attn_layers": ["lsh"]}
    chunks = {"lsh_attn_chunk_length": 24, "lsh_num_chunks_before": 0, "num_hashes": 1, "num_buckets": 4}
    theirs = LSHSelfAttention(ReformerConfig(**shape, **chunks, lsh_attention_probs_dropout_prob=0.0)).eval()
    theirs.query_key.weight, theirs.value.weight = (nn.Parameter(w) for w in layer.qkv_proj.weight.chunk(2))
    for length in (1, 24):
        hidden = random_states(2, length).requires_grad_()
        ours, expected = layer(hidden, whole_rows(hidden))[0], theirs(hidden).hidden_states
        assert_close(ours, expected, rtol=0, atol=1e-5)
        weights = random_states(2, length, seed=1)
        found = [torch.autograd.grad((output * weights).sum(), hidden)[0] for output in (ours, expected)]
        assert_close(*found, rtol=0, atol=1e-4)  # they add 1e-6 within the length of k


def by_shared_weights(layer: BidirectionalHashingAttention, hidden: Tensor, rows: Rows) -> Tensor:
    """Each pair's weight shared among the rounds in which it meets; a softmax, and the logarithm of its sum."""
    x, k, v = layer.vectors(rows.to_front(hidden))
    size, seq = layer.chunk_size, hidden.shape[1]
    buckets = layer.buckets(k, rows)
    rank = (buckets * seq + torch.arange(seq)).argsort(-1).argsort(-1)
    near = (rank[..., :, None] // size - rank[..., None, :] // size).abs() <= 1
    meets = near & (buckets[..., :, None] == buckets[..., None, :])  # (batch, heads, hashes, seq, seq)
    scores = (x @ k.transpose(-1, -2)).masked_fill(torch.eye(seq, dtype=torch.bool), -5e4)
    scores = (scores - meets.sum(2).clamp(min=1).to(x.dtype).log())[:, :, None]
    scores = scores.masked_fill(~meets, torch.finfo(x.dtype).min)
    shares = scores.logsumexp(-1, keepdim=True).softmax(2)
    heads = (shares * (scores.softmax(-1) @ v[:, :, None])).sum(2)
    return layer.o_proj(rows.to_places(heads.transpose(1, 2).flatten(2)))


@pytest.mark.parametrize("case", range(12))
def test_rounds_of_hashing_equal_shared_weights(case: int) -> None:
    """In float64: outputs, gradients, and gradients of gradients, with padding."""
    sizes = {"num_hashes": 1 + case % 4, "num_buckets": 2 + 2 * (case % 3), "chunk_size": 1 + case % 5, "seed": case}
    layer, hidden = build("bidirectional hashing", **sizes).double(), random_states(3, 15, case).double()
    hidden.requires_grad_()
    mask = torch.rand(3, 15, generator=torch.Generator().manual_seed(case)) < (0.7, 1.1)[case % 2]
    rows, weights, found = Rows.of(mask, torch.zeros(3, dtype=torch.long)), random_states(3, 15, 99).double(), []
    for output in (layer(hidden, rows)[0], by_shared_weights(layer, hidden, rows)):
        output = output.masked_fill(~mask[..., None], 0.0)
        tensors = [hidden, *layer.parameters()]
        first = torch.autograd.grad((output * weights + output.square()).sum(), tensors, create_graph=True)
        second = torch.autograd.grad(sum(one.square().sum() for one in first), tensors)
        found.append([output, *first, *second])
    for ours, expected in zip(*found, strict=True):
        assert_close(ours, expected, rtol=1e-11, atol=1e-11 * max(1.0, expected.abs().max().item()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["causal hashing", "bidirectional hashing"])
@torch.no_grad()
def test_half_precision_of_hashing_has_no_nan(name: str, dtype: torch.dtype) -> None:
    """Also of tokens alone in their buckets, of padding, and of values near the largest number of float16."""
    layer, hidden = build(name).to(dtype), random_states(2, 30).to(dtype)
    layer.qkv_proj.bias[12:] = 1500.0
    layer.qkv_proj.weight[12:] = 0.0
    layer.o_proj.weight.copy_(torch.eye(12))
    layer.o_proj.bias.zero_()
    mask = torch.ones(2, 30, dtype=torch.bool)
    mask[0, :7] = mask[1] = False
    output = layer(hidden, Rows.of(mask, torch.zeros(2, dtype=torch.long)))[0]
    assert_close(output, torch.full_like(output, 1500.0), rtol=0.02, atol=0)


@pytest.mark.parametrize("buckets", [2**15 - 4, 2**15 - 2])
@torch.no_grad()
def test_buckets_are_kept_in_the_smallest_integers(buckets: int) -> None:
    """Rotations by which each token has the last bucket, and padding the one after it."""
    layer = build("causal hashing", num_hashes=1, num_buckets=buckets)
    layer.rotations.zero_()
    layer.rotations[..., -1] = 1.0
    hidden = random_states(2, 6)
    mask = torch.ones(2, 6, dtype=torch.bool)
    mask[0, :3] = False
    rows = Rows.of(mask, torch.zeros(2, dtype=torch.long))
    output, (_, _, kept, _) = layer(hidden, rows)
    assert kept.dtype == (torch.int16 if buckets == 2**15 - 4 else torch.int32)
    assert set(kept.unique().tolist()) <= {buckets // 2 - 1, buckets - 1, buckets}
    assert (kept == buckets).sum() == 3 * 3
    expected = dense_reference(layer, hidden[1:])
    assert_close(output[1:], expected, rtol=0, atol=1e-5)
    last = hidden[:, -1:]
    after = layer(last, Rows.of(torch.ones(2, 1, dtype=torch.bool), rows.counts), layer(hidden, rows)[1])[0]
    assert_close(after[1:], dense_reference(layer, torch.cat((hidden[1:], last[1:]), 1))[:, -1:], rtol=0, atol=1e-5)


# What is drawn

DRAWN = [name for name in ALL if any(kind in name for kind in ("random", "performer", "hashing"))]


@pytest.mark.parametrize("name", DRAWN)
@torch.no_grad()
def test_drawn_numbers_are_saved(name: str) -> None:
    """A layer of another seed computes the same once it has the weights, says so, and is refused."""
    layer, other, hidden = build(name), build(name, seed=1), random_states(2, 30)
    expected = layer(hidden, whole_rows(hidden))[0]
    assert not torch.allclose(other(hidden, whole_rows(hidden))[0], expected)
    assert torch.equal(build(name)(hidden, whole_rows(hidden))[0], expected)
    other.check_drawn()
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(hidden, whole_rows(hidden))[0], expected)
    with pytest.raises(ValueError, match=r"drawn from the seed 0, and this configuration draws from 1"):
        other.check_drawn()


@pytest.mark.parametrize("bad", [40, -2, 3, 4])
def test_blocks_of_another_pattern_are_refused(bad: int) -> None:
    layer = build("causal random")
    layer.random_blocks[3, 0] = bad
    with pytest.raises(ValueError, match=f"block 3 attend to block {bad}"):
        layer.check_drawn()


def test_random_blocks_are_outside_of_the_window() -> None:
    for name in ("causal random", "bidirectional random"):
        table = build(name, window_size=2, num_random_blocks=3).random_blocks
        for block, row in enumerate(table.tolist()):
            chosen = [other for other in row if other >= 0]
            assert len(chosen) == len(set(chosen)) == min(3, 20 if "bi" in name else max(block - 1, 0))
            assert all(abs(other - block) >= 2 for other in chosen)
            assert "bi" in name or all(other < block for other in chosen)


@torch.no_grad()
def test_random_features_are_unbiased() -> None:
    """The mean of φ(q)·φ(k) over draws is exp(q·k / √head_dim), and its error falls as 1/√draws."""
    q, k = (torch.randn(5, 4, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    exact, errors = (q * k).sum(-1).div(2).exp(), []
    for draws in (100, 10_000):
        layer = BidirectionalPerformerAttention(4, 1, num_features=4 * draws, seed=3)
        (f_q, s_q), (f_k, s_k) = layer.features(q), layer.features(k)
        products = (f_q * f_k).sum(-1) * (s_q + s_k).exp()
        errors.append((products / exact - 1).abs().mean().item())
    assert errors[1] < 0.03 < errors[0] < 0.5


def test_rows_of_directions_are_orthogonal_and_gaussian() -> None:
    drawn = orthogonal_gaussian(4000, 8, torch.Generator().manual_seed(0))
    assert drawn.shape == (4000, 8)
    group = drawn[8:16] @ drawn[8:16].T
    assert_close(group, group.diagonal().diag(), rtol=0, atol=1e-5)
    assert_close(drawn.square().sum(1).mean(), torch.tensor(8.0), rtol=0.03, atol=0)
    assert_close(drawn.T @ drawn / 4000, torch.eye(8), rtol=0, atol=0.1)


@torch.no_grad()
def test_more_random_features_come_nearer_to_the_softmax() -> None:
    """On average over draws; and more rounds of hashing come nearer to all scores."""
    hidden = random_states(1, 40)
    distances = []
    for features in (4, 64, 1024):
        found = []
        for seed in range(4):
            layer = build("bidirectional performer", num_features=features, seed=seed)
            parts = projected(hidden[0], layer.qkv_proj.weight, layer.qkv_proj.bias, 3)
            full = [masked_attention(*head, torch.ones(40, 40).bool()) for head in zip(*parts, strict=True)]
            exact = layer.o_proj(torch.cat(full, -1))
            found.append((layer(hidden, whole_rows(hidden))[0][0] - exact).abs().mean())
        distances.append(torch.stack(found).mean().item())
    assert distances[0] > distances[1] > distances[2]
