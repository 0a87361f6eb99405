# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Finite-state machines of n-gram models, read back by a program of the test's own: the same scores."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
import torch

from hf_lecture_models.models.ngram.conversion_ngram import save_fst
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.test_kenlm_ngram import zipf_texts

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")


class Machine:
    """The text as OpenFst reads it: arcs, final weights, and the start, where the first line begins."""

    def __init__(self, path):
        self.arcs, self.finals, self.back_off, self.start = defaultdict(dict), {}, {}, None
        symbols = dict(line.split("\t") for line in path.with_name("m.syms").read_text().splitlines())
        assert symbols["<epsilon>"] == "0"
        for line in path.read_text().splitlines():
            source, *rest = line.split("\t")
            self.start = source if self.start is None else self.start
            if len(rest) == 1:
                assert source not in self.finals
                self.finals[source] = float(rest[0])
                continue
            target, label, weight = rest
            assert label in symbols
            assert label not in self.arcs[source]
            if label == "<epsilon>":
                assert source not in self.back_off
                self.back_off[source] = (target, float(weight))
            else:
                self.arcs[source][label] = (target, float(weight))

    def by_failure(self, words):
        """-ln P, a back-off arc being taken only where no arc has the word."""
        state, cost = self.start, 0.0
        for word in [*words, None]:
            while (found := self.found(state, word)) is None:
                if state not in self.back_off:
                    return math.inf
                state, weight = self.back_off[state]
                cost += weight
            state, weight = found
            cost += weight
        return cost

    def found(self, state, word):
        if word is not None:
            return self.arcs[state].get(word)
        return ("end", self.finals[state]) if state in self.finals else None

    def by_epsilon(self, words):
        """-ln of the best path, a back-off arc being taken anywhere (Viterbi)."""
        costs = self.closed({self.start: 0.0})
        for word in words:
            reached = {}
            for state, cost in costs.items():
                if word in self.arcs[state]:
                    target, weight = self.arcs[state][word]
                    reached[target] = min(cost + weight, reached.get(target, math.inf))
            costs = self.closed(reached)
        return min((cost + self.finals.get(state, math.inf) for state, cost in costs.items()), default=math.inf)

    def closed(self, costs):
        waiting = list(costs)
        while waiting:
            state = waiting.pop()
            if state in self.back_off:
                target, weight = self.back_off[state]
                if costs[state] + weight < costs.get(target, math.inf):
                    costs[target] = costs[state] + weight
                    waiting.append(target)
        return costs


def machine(model, tokenizer, folder):
    states, arcs = save_fst(model, folder / "m.fst.txt", tokenizer)
    read = Machine(folder / "m.fst.txt")
    named = {*read.arcs, *read.finals, *read.back_off}
    assert named <= set(map(str, range(states)))
    assert arcs == sum(map(len, read.arcs.values())) + len(read.back_off)
    return read


def score(model, tokenizer, words):
    ids = tokenizer.convert_tokens_to_ids(["<s>", *words, "</s>"])
    return model.score(torch.tensor([ids]))[0].double().sum().item()


@pytest.mark.parametrize(
    ("order", "smoothing", "prune"),
    [(1, "kneser_ney", None), (2, "katz", None), (3, "modified_kneser_ney", [0, 1, 2]), (4, "good_turing", [0, 0, 1])],
)
def test_a_thousand_sentences_have_the_same_scores(tmp_path, order, smoothing, prune):
    texts = zipf_texts(0, 400, 60)
    tokenizer = WordTokenizer.train(texts, progress=False)
    prune = prune and prune[:order]
    model = NGramForCausalLM.fit(texts, tokenizer, order, smoothing, prune=prune, progress=False)
    read = machine(model, tokenizer, tmp_path)
    sentences = [text.replace("w7", "<unk>").split() for text in zipf_texts(1, 1000, 60)]
    longest = max(map(len, sentences)) + 2
    rows = [tokenizer.convert_tokens_to_ids(["<s>", *words, "</s>"]) for words in sentences]
    ids = torch.tensor([[*row, *[tokenizer.pad_token_id] * (longest - len(row))] for row in rows])
    expected = model.score(ids).double().sum(1).tolist()
    assert [-read.by_failure(words) for words in sentences] == pytest.approx(expected, abs=1e-4)
    best = np.array([read.by_epsilon(words) for words in sentences])
    assert (best <= -np.array(expected) + 1e-4).all()
    if smoothing in ("katz", "good_turing"):
        assert (best < -np.array(expected) - 1e-4).any()  # the two readings do differ


def test_probability_0_bars_the_way(tmp_path):
    """Maximum likelihood: after a seen context nothing else is possible, not even through shorter ones."""
    texts = ["a b", "a c", "b a"]
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, 2, "maximum_likelihood", progress=False)
    read = machine(model, tokenizer, tmp_path)
    for words in (["a", "b"], ["a", "a"], ["c"], ["b", "a", "c"], []):
        assert -read.by_failure(words) == pytest.approx(score(model, tokenizer, words), abs=1e-5)


ODD = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=2

\\1-grams:
-99\t<s>\t-0.3
-1\t</s>
-0.5\ta\t-0.2
-0.9\tb\t-0.1
-1.1\t<unk>

\\2-grams:
-0.4\t<s> a\t-0.6
-0.2\ta b\t-0.05
-99\tb a
-0.3\tb </s>

\\3-grams:
-0.1\t<s> a a
-0.7\ta b b

\\end\\
"""


def test_an_arpa_file_of_another_program(tmp_path):
    """Suffixes that are not stored, a weight where nothing goes on, a stored n-gram of probability 0."""
    (tmp_path / "odd.arpa").write_text(ODD)
    model, tokenizer = NGramForCausalLM.from_arpa(tmp_path / "odd.arpa")
    read = machine(model, tokenizer, tmp_path)
    assert "Infinity" in (tmp_path / "m.fst.txt").read_text()
    rng = np.random.default_rng(0)
    for _ in range(200):
        words = list(rng.choice(["a", "b", "<unk>"], rng.integers(0, 7)))
        assert -read.by_failure(words) == pytest.approx(score(model, tokenizer, words), abs=1e-5)


def test_what_a_machine_cannot_hold(tmp_path):
    tokenizer = WordTokenizer.train(["a b"], progress=False)
    stupid = NGramForCausalLM.fit(["a b"], tokenizer, 2, "stupid_backoff", progress=False)
    with pytest.raises(ValueError, match="stupid back-off has scores"):
        save_fst(stupid, tmp_path / "m.fst.txt", tokenizer)
    tokenizer = WordTokenizer.train(["a <epsilon>"], progress=False)
    model = NGramForCausalLM.fit(["a <epsilon>"], tokenizer, 2, "katz", progress=False)
    with pytest.raises(ValueError, match="'<epsilon>' is empty, holds white space or is <epsilon>"):
        save_fst(model, tmp_path / "m.fst.txt", tokenizer)
    assert not list(tmp_path.iterdir())
