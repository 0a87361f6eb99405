# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec's data, and its updates against autograd on the formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from hf_lecture_models import Word2VecConfig, Word2VecForPreTraining
from hf_lecture_models.tasks.word_vectors.updates import RowAdagrad, WordUpdates
from hf_lecture_models.tasks.word_vectors.windows import WindowOptions, WordBlocks, WordLine, keep_probabilities
from hf_lecture_models.trainer.batches import Batch, RowShard

OPTIONS = WindowOptions(window_size=3, block_words=4, blocks=2, updates=2, noise=6)
COUNTS = torch.arange(20) % 7


def build(**fields: Any) -> Word2VecForPreTraining:
    torch.manual_seed(0)
    model = Word2VecForPreTraining(Word2VecConfig(**{"vocab_size": 20, "hidden_size": 6, "window_size": 3} | fields))
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    model.set_token_counts(COUNTS)
    return model


def line(*lengths: int, seed: int = 0) -> WordLine:
    """Texts of random words that occur in `COUNTS`."""
    possible = COUNTS.nonzero()[:, 0].numpy()
    ids = np.random.default_rng(seed).choice(possible, sum(lengths))
    return WordLine(ids, np.repeat(np.arange(len(lengths)), lengths))


def blocks_of(words: WordLine, options: WindowOptions = OPTIONS, seed: int = 0, keep: float = 1.0) -> WordBlocks:
    noise = np.cumsum(COUNTS.numpy() ** 0.75)
    return WordBlocks(words, np.full(20, keep, np.float32), noise / noise[-1], options, seed)


def formula(model: Word2VecForPreTraining, batch: Batch) -> tuple[Tensor, int]:
    """The summed loss of a batch of one update, pair by pair."""
    words, texts, sizes, noise = (batch.inputs[name] for name in ("words", "texts", "sizes", "noise"))
    u, v = model.model.embed_tokens.weight, model.output.weight
    total, pairs = torch.zeros(()), 0
    for row in range(len(words)):
        for middle in range(sizes.shape[1]):
            t = middle + 3
            if texts[row, t] < 0:
                continue
            reach = int(sizes[row, middle])
            around = [s for s in range(t - reach, t + reach + 1) if s != t and texts[row, s] == texts[row, t]]
            if model.config.architecture == "cbow":
                found = [(u[words[row, around]].mean(0), words[row, t])] if around else []
            else:
                found = [(u[words[row, t]], words[row, s]) for s in around]
            for h, word in found:
                pairs += 1
                if model.config.output_layer == "hierarchical_softmax":
                    total = total + model.output(h[None], word[None])[0]
                    continue
                drawn = noise[0][noise[0] != word]
                total = total + F.softplus(-h @ v[word]) + 5 / 6 * F.softplus(v[drawn] @ h).sum()
    return total, pairs


@pytest.mark.parametrize("architecture", ["skip_gram", "cbow"])
@pytest.mark.parametrize("output_layer", ["negative_sampling", "hierarchical_softmax"])
def test_gradients_of_an_update(architecture: str, output_layer: str) -> None:
    """By autograd; the blocks end in the middle of texts and behind the last one."""
    model = build(architecture=architecture, output_layer=output_layer)
    noise = 6 if output_layer == "negative_sampling" else 0
    options = WindowOptions(window_size=3, block_words=4, blocks=9, updates=1, noise=noise)
    batch = blocks_of(line(9, 1, 5, 2, 8), options).next_step()[0]
    loss, pairs = formula(model, batch)
    expected = torch.autograd.grad(loss, list(model.parameters()))
    words, texts, sizes, drawn = (batch.inputs[name] for name in ("words", "texts", "sizes", "noise"))
    with torch.no_grad():
        found = WordUpdates(model, 9).gradients(words, texts, sizes, drawn[0])
    assert_close(found.loss, loss.detach())
    assert found.pairs == pairs
    assert architecture == "cbow" or batch.num_items == pairs
    for weight, rows, gradients, wanted in (
        (model.model.embed_tokens.weight, found.input_rows, found.input_gradients, expected[0]),
        (model.output.weight, found.output_rows, found.output_gradients, expected[1]),
    ):
        assert_close(torch.zeros_like(weight).index_add_(0, rows, gradients), wanted, rtol=1e-4, atol=1e-5)


def test_an_update_of_rows() -> None:
    """Adagrad by hand, two steps; a row that is named twice has one gradient, and all others stay."""
    weight = nn.Parameter(torch.ones(5, 2))
    optimizer = RowAdagrad([{"params": [weight]}], lr=0.5)
    optimizer.update_rows(weight, torch.tensor([3, 1, 3]), torch.tensor([[1.0, 0.0], [0.0, 2.0], [2.0, 4.0]]))
    optimizer.update_rows(weight, torch.tensor([3]), torch.tensor([[6.0, 8.0]]))
    first, second = np.sqrt((9 + 16) / 2), np.sqrt((9 + 16 + 36 + 64) / 2)
    expected = torch.ones(5, 2)
    expected[1, 1] -= 0.5 * 2 / np.sqrt(2)
    expected[3] -= 0.5 * torch.tensor([3, 4]) / first + 0.5 * torch.tensor([6, 8]) / second
    assert_close(weight.detach(), expected)
    with pytest.raises(RuntimeError, match="update_rows"):
        optimizer.step()


def test_updates_follow_each_other() -> None:
    """A step of two updates is that of each alone, and its loss that of the last."""
    models = [build(), build()]
    batch = blocks_of(line(30, 7)).next_step()[0]
    together, apart = (RowAdagrad([{"params": list(model.parameters())}], lr=0.1) for model in models)
    loss = WordUpdates(models[0], 2)(together, batch)
    losses = []
    for number in range(len(batch.inputs["noise"])):
        rows = slice(2 * number, 2 * number + 2)
        part = {name: tensor[rows] for name, tensor in batch.inputs.items() if name != "noise"}
        part["noise"] = batch.inputs["noise"][number : number + 1]
        total, pairs = formula(models[1], Batch(part, 0))
        expected = total.item() / pairs
        losses.append(float(WordUpdates(models[1], 2)(apart, Batch(part, 0))))
    assert len(losses) > 1
    assert float(loss) == losses[-1] == pytest.approx(expected)
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("architecture", ["skip_gram", "cbow"])
@pytest.mark.parametrize("output_layer", ["negative_sampling", "hierarchical_softmax"])
def test_updates_under_autocast_are_those_in_float32_to_bfloat16s_precision(
    architecture: str, output_layer: str
) -> None:
    changes = []
    for enabled in (False, True):
        model = build(architecture=architecture, output_layer=output_layer)
        options = replace(OPTIONS, noise=6 if output_layer == "negative_sampling" else 0)
        batch = blocks_of(line(30, 7), options).next_step()[0]
        before = [parameter.detach().clone() for parameter in model.parameters()]
        optimizer = RowAdagrad([{"params": list(model.parameters())}], lr=0.1)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            WordUpdates(model, 2)(optimizer, batch)
        changes.append(torch.cat([(p.detach() - q).flatten() for p, q in zip(model.parameters(), before, strict=True)]))
    assert not torch.equal(*changes)
    # Adagrad's first steps are about 0.1 in size whatever the gradient.
    assert_close(changes[1], changes[0], rtol=0, atol=0.02)


def test_a_step_without_words_changes_nothing() -> None:
    """Subsampling may leave an epoch with fewer blocks than it has steps."""
    model = build()
    batch = blocks_of(line(30, 7)).next_step()[0]
    nothing = Batch({name: tensor[:0] for name, tensor in batch.inputs.items()}, 0)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    assert WordUpdates(model, 2)(RowAdagrad([{"params": list(model.parameters())}], lr=0.1), nothing) == 0
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_an_epoch_has_every_word_once_in_the_middle_of_its_window() -> None:
    words, blocks = line(9, 1, 5, 2, 8), blocks_of(line(9, 1, 5, 2, 8))
    seen: list[tuple[int, ...]] = []
    for _ in range(blocks.steps_per_epoch):
        inputs = blocks.next_step()[0].inputs
        seen += [tuple(row) for row in inputs["words"].tolist()]
    assert sorted(sum((row[3:7] for row in seen), ())) == sorted([*words.ids.tolist(), -1, -1, -1])
    around = np.concatenate(([-1] * 3, words.ids, [-1] * 6)).tolist()
    assert sorted(seen) == sorted(tuple(around[start : start + 10]) for start in range(0, 25, 4))


def test_drawing_follows_from_seed_epoch_and_step() -> None:
    texts = line(40, 40)
    blocks, other = blocks_of(texts, keep=0.5), blocks_of(texts, keep=0.5)
    steps = [blocks.next_step()[0].inputs for _ in range(3 * blocks.steps_per_epoch)]
    for _ in range(blocks.steps_per_epoch + 1):
        other.next_step()
    again = blocks_of(texts, keep=0.5)
    again.load_state_dict(other.state_dict())
    for expected in steps[blocks.steps_per_epoch + 1 :]:
        found = again.next_step()[0].inputs
        assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert not torch.equal(steps[0]["sizes"], steps[blocks.steps_per_epoch]["sizes"][: len(steps[0]["sizes"])])


def test_frequent_words_are_thinned() -> None:
    """By both formulas, as often as they say, anew in every epoch."""
    counts = np.array([8000, 1900, 99, 1])
    words = WordLine(np.repeat(np.arange(4), counts), np.zeros(10_000, np.int64))
    for formula, expected in {"program": [0.0366, 0.0778, 0.4188, 1], "paper": [0.0354, 0.0725, 0.3178, 1]}.items():
        keep = keep_probabilities(counts, 1e-3, formula)
        assert keep.tolist() == pytest.approx(expected, abs=1e-4)
        kept = words.subsampled(keep, np.random.default_rng(0))
        assert (np.bincount(kept.ids) / counts).tolist() == pytest.approx(expected, abs=0.1)
        assert np.bincount(kept.ids)[:2] / counts[:2] == pytest.approx(np.array(expected[:2]), abs=0.015)
    assert (keep_probabilities(counts, 0) == 1).all()


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(ValueError, match="no two words of the vocabulary in one text"):
        blocks_of(line(1, 1, 1))
    for shard in (RowShard(2, accumulation_steps=2), RowShard(2, num_processes=2)):
        with pytest.raises(ValueError, match="one process and without accumulation_steps"):
            blocks_of(line(9)).set_shard(shard)
