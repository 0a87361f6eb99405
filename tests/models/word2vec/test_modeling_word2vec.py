# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""word2vec against loops in numpy, the formula of one pair's gradient, and gensim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import AutoModelForPreTraining, PreTrainedModel

from hf_lecture_models import Word2VecConfig, Word2VecForPreTraining, Word2VecModel, WordTokenizer
from hf_lecture_models.layers.huffman import huffman_tree
from hf_lecture_models.layers.word_prediction import HierarchicalSoftmax, NegativeSampling
from tests.model_tests import Tensors, TokenTests, token_inputs

SPECIAL = {"unk_token_id": 0, "bos_token_id": 17, "eos_token_id": 18, "pad_token_id": 19}
COUNTS = torch.tensor([0, 9, 7, 7, 5, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0, 0])


def window_means(vectors: Tensor, words: Tensor, window: int) -> Tensor:
    """The mean of the vectors around each position, by loops; 0 where there is none."""
    means = torch.zeros_like(vectors)
    for row, is_word in enumerate(words):
        places = is_word.nonzero()[:, 0].tolist()
        for number, place in enumerate(places):
            around = [places[other] for other in range(len(places)) if 0 < abs(other - number) <= window]
            if around:
                means[row, place] = vectors[row, around].mean(0)
    return means


class Word2VecTests(TokenTests):
    """Not collected by itself."""

    sequence_inputs = ("input_ids", "attention_mask")
    fields: ClassVar[dict[str, Any]] = {}

    def config(self) -> Word2VecConfig:
        return Word2VecConfig(**{"vocab_size": 20, "hidden_size": 6, "window_size": 2} | SPECIAL | self.fields)

    def make_inputs(self, batch: int, lengths: Sequence[int]) -> Tensors:
        return token_inputs(self.config(), lengths)


class TestModel(Word2VecTests):
    model_class = Word2VecModel
    bidirectional = False
    pipeline_task = "feature-extraction"
    # A word has one vector, wherever it stands.
    overfit: ClassVar[dict[str, float]] = {"remaining": 0.5}

    def processing_class(self) -> Any:
        return WordTokenizer.from_words([f"w{number}" for number in range(1, 17)])

    def pipeline_inputs(self) -> list[Any]:
        return ["w3 w1 w4", "w1", "w5 w9"]

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        vectors = model.embed_tokens.weight[inputs["input_ids"]]
        return {"last_hidden_state": vectors * inputs["attention_mask"].unsqueeze(-1)}


class PreTrainingTests(Word2VecTests):
    """Not collected by itself: input and output vectors."""

    model_class = Word2VecForPreTraining
    auto_class = AutoModelForPreTraining
    # What is left at the end is the noise, drawn anew at every step from twenty words.
    overfit: ClassVar[dict[str, float]] = {"remaining": 0.8}

    def build(self) -> PreTrainedModel:
        model = super().build()
        model.set_token_counts(COUNTS)
        return model

    def training_loss(self, model: PreTrainedModel, inputs: Tensors) -> Tensor:
        return model(**inputs, labels=inputs["input_ids"]).loss

    @pytest.mark.slow
    def test_compiles_in_one_piece(self) -> None:
        """What predicts; the number of pairs, and so the loss, depends on what is drawn."""
        model, inputs = self.build(), self.make_inputs(3, (5, 3, 4))
        torch.compiler.reset()
        compiled: Any = torch.compile(model, fullgraph=True, backend="eager")
        self.assert_equal(self.outputs(compiled, inputs), self.outputs(model, inputs), "compiled")

    def reference(self, model: PreTrainedModel, inputs: Tensors) -> Tensors:
        ids = inputs["input_ids"]
        vectors = model.model.embed_tokens.weight[ids] * inputs["attention_mask"].unsqueeze(-1)
        if model.config.architecture == "cbow":
            words = inputs["attention_mask"].bool() & (ids != 0) & (ids < 17)
            vectors = window_means(vectors, words, model.config.window_size)
        return {"last_hidden_state": vectors}


class TestSkipGram(PreTrainingTests):
    bidirectional = False


class TestCbow(PreTrainingTests):
    fields: ClassVar[dict[str, Any]] = {"architecture": "cbow", "window_size": 5}
    bidirectional = True

    @pytest.mark.skip(reason="the vector of a position is that of its neighbours: its own word does not move it")
    def test_reading_direction(self) -> None: ...


class TestHierarchicalSoftmax(PreTrainingTests):
    fields: ClassVar[dict[str, Any]] = {"output_layer": "hierarchical_softmax"}
    bidirectional = False


def build(**fields: Any) -> Word2VecForPreTraining:
    torch.manual_seed(0)
    config = Word2VecConfig(**{"vocab_size": 20, "hidden_size": 6, "window_size": 2} | SPECIAL | fields)
    model = Word2VecForPreTraining(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    model.set_token_counts(COUNTS)
    return model


# The loss


@pytest.mark.parametrize("architecture", ["skip_gram", "cbow"])
def test_loss_by_loops(architecture: str) -> None:
    """All pairs of two texts, with an unknown word between, in numpy; the windows and the noise are drawn again."""
    model = build(architecture=architecture, window_size=3).eval()
    ids = torch.tensor([[17, 3, 1, 0, 4, 1, 18], [5, 9, 2, 6, 19, 19, 19]])
    found = model(ids, labels=ids)
    u, v = (weight.detach().double().numpy() for weight in (model.model.embed_tokens.weight, model.output.weight))
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 4, (2, 7, 1), generator=generator)[..., 0].tolist()
    pairs = []
    for row, places in enumerate([[1, 2, 4, 5], [0, 1, 2, 3]]):
        words = [int(ids[row, place]) for place in places]
        for t, place in enumerate(places):
            around = [words[s] for s in range(4) if 0 < abs(s - t) <= sizes[row][place]]
            if architecture == "cbow":
                pairs.append((u[around].mean(0), words[t]))
            else:
                pairs += [(u[words[t]], word) for word in around]
    noise = model.output.draw_noise(len(pairs), 5, generator=generator).tolist()
    losses = []
    for (h, word), drawn in zip(pairs, noise, strict=True):
        wrong = [np.log1p(np.exp(h @ v[n])) for n in drawn if n != word]
        losses.append(np.log1p(np.exp(-h @ v[word])) + sum(wrong))
    assert found.num_pairs == len(pairs)
    assert found.loss.item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_gradient_of_one_pair() -> None:
    """∂/∂h = (σ(h·v_w) - 1) v_w + Σ σ(h·v_n) v_n, and each output vector its factor times h."""
    layer = NegativeSampling(8, 4, num_negatives=3, noise_exponent=0.75)
    nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(1))
    h = torch.randn(1, 4, generator=torch.Generator().manual_seed(2), requires_grad=True)
    noise = layer.draw_noise(1, 3, generator=torch.Generator().manual_seed(3))[0]
    assert 1 not in noise.tolist()
    layer(h, torch.tensor([1]), torch.Generator().manual_seed(3)).sum().backward()
    v, sigma = layer.weight.detach(), torch.sigmoid(layer.weight.detach() @ h.detach()[0])
    expected_h, expected_v = (sigma[1] - 1) * v[1], torch.zeros(8, 4)
    expected_v[1] = (sigma[1] - 1) * h.detach()[0]
    for word in noise.tolist():
        expected_h = expected_h + sigma[word] * v[word]
        expected_v[word] += sigma[word] * h.detach()[0]
    assert_close(h.grad[0], expected_h)
    assert_close(layer.weight.grad, expected_v)


def test_probabilities_of_the_tree_add_up_to_one() -> None:
    layer = HierarchicalSoftmax(20, 6)
    nn.init.normal_(layer.weight)
    h = torch.randn(1, 6).expand(20, 6)
    assert_close((-layer(h, torch.arange(20))).exp().sum(), torch.tensor(1.0))
    layer.set_token_counts(COUNTS)
    probabilities = (-layer(h, torch.arange(20))).exp()
    assert_close(probabilities.sum(), torch.tensor(1.0))
    assert not probabilities[COUNTS == 0].any()


def test_noise_follows_the_counts() -> None:
    """By count to the power 0.75, none for words that do not occur; without counts all words are equal."""
    layer = NegativeSampling(20, 6, 5, 0.75)
    assert_close(layer.cumulative_noise().diff(), torch.full((19,), 0.05, dtype=torch.double))
    layer.set_token_counts(COUNTS)
    expected = COUNTS.double() ** 0.75 / (COUNTS.double() ** 0.75).sum()
    drawn = torch.bincount(layer.draw_noise(200_000, generator=torch.Generator().manual_seed(0)), minlength=20)
    assert not drawn[COUNTS == 0].any()
    assert_close(drawn / 200_000, expected.float(), rtol=0, atol=0.004)


def test_windows_are_drawn_evenly_in_training_and_fixed_in_evaluation() -> None:
    model, words = build(window_size=3), torch.ones(1, 4000, dtype=torch.bool)
    sizes = model.windows(words)[0, 3:-3].sum(1) // 2
    assert_close(torch.bincount(sizes)[1:] / len(sizes), torch.full((3,), 1 / 3), rtol=0, atol=0.03)
    ids = torch.tensor([[3, 1, 4, 5, 9, 2]])
    assert model.eval()(ids, labels=ids).loss == model(ids, labels=ids).loss
    assert len({model.train()(ids, labels=ids).loss.item() for _ in range(5)}) > 1


def test_a_text_of_one_word_has_no_pair() -> None:
    for architecture in ("skip_gram", "cbow"):
        ids = torch.tensor([[17, 3, 18]])
        outputs = build(architecture=architecture)(ids, labels=ids)
        assert (outputs.loss.item(), outputs.num_pairs.item()) == (0.0, 0)


def test_vectors_of_special_tokens_stay_zero() -> None:
    model = Word2VecForPreTraining(Word2VecConfig(vocab_size=20, hidden_size=6, **SPECIAL)).train()
    nn.init.normal_(model.output.weight)
    ids = torch.tensor([[17, 3, 0, 1, 18, 19]])
    model(ids, labels=ids).loss.backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    rows = model.model.embed_tokens.weight.abs().sum(1)
    assert (rows == 0).tolist() == [i in (0, 17, 18, 19) for i in range(20)]


# Against gensim


@pytest.mark.parametrize("counts", [COUNTS.tolist(), [5, 5, 5, 5, 5, 5, 5], [100, 40, 39, 2, 2, 2, 1, 1]])
def test_codes_of_gensim(counts: list[int]) -> None:
    word2vec = pytest.importorskip("gensim.models").Word2Vec(hs=1, negative=0, sorted_vocab=0, min_count=0)
    ids = [index for index, count in enumerate(counts) if count]
    word2vec.build_vocab_from_freq({str(index): counts[index] for index in ids})
    layer = HierarchicalSoftmax(len(counts), 2)
    layer.set_token_counts(torch.tensor(counts))
    nodes, bits = layer.paths(torch.tensor(ids))
    for index, node, bit in zip(ids, nodes, bits, strict=True):
        on_path = node >= 0
        assert word2vec.wv.get_vecattr(str(index), "code").tolist() == bit[on_path].flip(0).tolist()
        assert word2vec.wv.get_vecattr(str(index), "point").tolist() == node[on_path].flip(0).tolist()


def test_gensim_gives_the_same_probability_to_a_sentence() -> None:
    """Its `score`: the sum of ln P over all pairs in whole windows, under the hierarchical softmax."""
    gensim = pytest.importorskip("gensim.models")
    words = [str(index) for index in range(1, 17)]
    theirs = gensim.Word2Vec(hs=1, negative=0, sg=1, vector_size=6, window=2, sorted_vocab=0, min_count=0, sample=0)
    theirs.build_vocab_from_freq({word: int(COUNTS[int(word)]) for word in words})
    theirs.prepare_weights()
    model = build(output_layer="hierarchical_softmax").eval()
    with torch.no_grad():
        model.output.weight.mul_(0.3)  # it leaves out scores beyond 6
    theirs.wv.vectors[:] = model.model.embed_tokens.weight[1:17].detach().numpy()
    theirs.syn1[:] = model.output.weight[:16].detach().numpy()
    sentence = ["3", "1", "4", "1", "5", "9", "2", "6"]
    ids = torch.tensor([[int(word) for word in sentence]])
    row, place, target = model.windows(torch.ones_like(ids, dtype=torch.bool), drawn=False).nonzero(as_tuple=True)
    losses = model.output(model(ids).last_hidden_state[row, place], ids[row, target])
    # It reads ln σ from a table, whose places are off by 0.4 %.
    assert -losses.sum().item() == pytest.approx(theirs.score([sentence], total_sentences=1)[0], rel=0.03)


def test_codes_are_the_shortest_there_are() -> None:
    """Their mean length lies within one bit of the entropy (Shannon's bounds)."""
    counts = torch.tensor([2**n for n in range(12)] + [3, 3, 7])
    layer = HierarchicalSoftmax(len(counts), 2)
    layer.set_token_counts(counts)
    lengths = (layer.paths(torch.arange(len(counts)))[0] >= 0).sum(1)
    q = counts / counts.sum()
    entropy = -(q * q.log2()).sum()
    assert entropy <= (q * lengths).sum() < entropy + 1
    assert huffman_tree([0, 0])[0].tolist() == [-1, -1, -1], "no word, no tree"


# Counts, files


def test_counts_are_checked_and_set_once(tmp_path: Path) -> None:
    model = Word2VecForPreTraining(Word2VecConfig(vocab_size=20, hidden_size=6, **SPECIAL))
    for wrong in (COUNTS[:5], COUNTS.float(), COUNTS - 1, torch.zeros(20, dtype=torch.long)):
        with pytest.raises(ValueError, match="counts"):
            model.set_token_counts(wrong)
    model.set_token_counts(COUNTS + 1)
    assert model.output.token_counts[[0, 17, 18, 19]].tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="has token counts"):
        model.set_token_counts(COUNTS)
    model.save_pretrained(tmp_path)
    loaded = Word2VecForPreTraining.from_pretrained(tmp_path)
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    with pytest.raises(ValueError, match="cannot be resized"):
        loaded.resize_token_embeddings(30)
