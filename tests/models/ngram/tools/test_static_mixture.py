# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Several models as one back-off model: against dictionaries in float64, and against SRILM's figures for a toy."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from tests.memory import memory_taken
from tests.models.ngram.kenlm_ngram import arpa_of, grams_of, probing_file, trie_file
from tests.models.ngram.tools.slow_model import SlowModel, all_contexts, slow_model

pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text")

TEXTS = (
    ["a b c", "a b c a", "b a c", "c a b c", "a b d", "d a b", "a c"],
    ["a b e", "e a", "b e a b", "a b c"],
    ["f a f a b", "c f", "f", "a b c f a b"],
)


def slow_mixture(models: list[SlowModel], weights: list[float]) -> SlowModel:
    """The mixture by its definition: dictionaries, the shortest contexts first, and 1 - sums."""
    grams = sorted(set().union(*(model.probs for model in models)), key=len)
    probs = {}
    for *context, word in grams:
        p = math.fsum(
            weight * 10 ** model.log10(tuple(context), word) for model, weight in zip(models, weights, strict=True)
        )
        probs[*context, word] = math.log10(p) if p else -math.inf
    mixed = SlowModel(probs, {})
    for context in mixed.contexts():
        listed = [gram[-1] for gram in grams if gram[:-1] == context and probs[gram] > -math.inf]
        if context and len(listed) < len(mixed.words):
            left = 1 - math.fsum(10 ** probs[*context, word] for word in listed)
            mixed.backoffs[context] = math.log10(left / _left_below(mixed, context, listed))
    return mixed


def _left_below(mixed: SlowModel, context: tuple[str, ...], listed: list[str]) -> float:
    return 1 - math.fsum(10 ** mixed.log10(context[1:], word) for word in listed)


def fitted(number: int, order: int, **options: Any) -> NGramForCausalLM:
    texts = TEXTS[number]
    tokenizer = WordTokenizer.train(texts, progress=False)
    options = {"smoothing": "absolute_discounting", "progress": False, **options}
    return NGramForCausalLM.fit(texts, tokenizer, order, **options)


def read(path: Any, content: str) -> NGramForCausalLM:
    path.write_text(content, encoding="utf-8")
    return NGramForCausalLM.from_arpa(path)[0]


def check(models: list[NGramForCausalLM], weights: list[float], longest: int = 2) -> NGramForCausalLM:
    mixed = NGramForCausalLM.interpolate(models, weights=weights, static=True, progress=False)
    found = slow_model(mixed, mixed.own_tokenizer)
    expected = slow_mixture([slow_model(model, model.own_tokenizer) for model in models], weights)
    assert {gram for gram in found.probs if gram != ("<pad>",)} == expected.probs.keys() - {("<pad>",)}
    for gram, log10_prob in expected.probs.items():
        assert found.probs[gram] == pytest.approx(log10_prob, abs=1e-6), gram
    for context, log10_backoff in expected.backoffs.items():
        assert found.backoffs.get(context, 0.0) == pytest.approx(log10_backoff, abs=2e-6), context
    words = [*found.words, "unseen"]
    for context in all_contexts(words, longest):
        assert found.sum_after(context) == pytest.approx(1, abs=2e-6), context
    return mixed


@pytest.mark.parametrize("orders", [(3, 3), (2, 4), (4, 2), (1, 3), (3, 1), (1, 1), (5, 3, 2)])
def test_models_of_other_words_and_orders(orders):
    models = [fitted(number, order) for number, order in enumerate(orders)]
    check(models, [0.5, 0.3, 0.2] if len(orders) == 3 else [0.7, 0.3])


@pytest.mark.parametrize("smoothing", ["kneser_ney", "katz", "jelinek_mercer", "pitman_yor", "maximum_likelihood"])
@pytest.mark.filterwarnings("ignore")
def test_other_smoothings(smoothing):
    options = {"held_out": ["a b"]} if smoothing == "jelinek_mercer" else {}
    models = [fitted(0, 3, smoothing=smoothing, **options), fitted(1, 4, prune=[0, 1])]
    if smoothing == "maximum_likelihood":  # which has contexts of a sum below 1: unknown words are impossible there
        models[0] = fitted(0, 1, smoothing=smoothing)
    check(models, [0.25, 0.75])


def test_a_pruned_file_without_the_shorter_ngram_and_without_unk(tmp_path):
    """`b c` is not listed, `a b c` is; the other model has neither, and <unk> besides."""
    probs = {("a",): 0.4, ("b",): 0.3, ("c",): 0.1, ("</s>",): 0.2, ("a", "b"): 0.5, ("a", "b", "c"): 0.8}
    grams = {gram: (math.log10(p), 0.0) for gram, p in probs.items()} | {("<s>",): (-99.0, 0.0)}
    grams["a",] = (grams["a",][0], math.log10(0.5 / 0.7))
    grams["a", "b"] = (grams["a", "b"][0], math.log10(0.2 / 0.9))
    one = read(tmp_path / "1.arpa", arpa_of(dict(sorted(grams.items(), key=lambda item: len(item[0])))))
    assert one.own_tokenizer.unk_token == "<unk>"  # with the probability 0
    check([one, fitted(1, 3)], [0.6, 0.4])
    check([fitted(1, 3), one], [0.6, 0.4])


def test_probabilities_of_zero_stay(tmp_path):
    """-99 is p = 0: a word of the one model alone, an n-gram, and a context after which nothing else can follow."""
    probs = {("a",): 0.5, ("b",): 0.25, ("</s>",): 0.25, ("a", "b"): 1.0, ("b", "a"): 0.75}
    grams = {gram: (math.log10(p), 0.0) for gram, p in probs.items()}
    grams |= {("<s>",): (-99.0, 0.0), ("z",): (-99.0, 0.0), ("a", "a"): (-99.0, 0.0), ("a", "</s>"): (-99.0, 0.0)}
    grams["b",] = (math.log10(0.25), math.log10(0.25 / 0.5))
    one = read(tmp_path / "1.arpa", arpa_of(dict(sorted(grams.items(), key=lambda item: len(item[0])))))
    mixed = check([one, fitted(1, 2)], [0.5, 0.5])
    assert slow_model(mixed, mixed.own_tokenizer).probs["z",] == -math.inf
    alone = NGramForCausalLM.interpolate([one, one], weights=[0.5, 0.5], static=True, progress=False)
    assert slow_model(alone, alone.own_tokenizer).log10(("a",), "b") == 0


def test_what_little_is_left_is_exact(tmp_path):
    """After `a` 2e-6 is left to `</s>`, of which 1 - a sum of float32 has nothing right."""
    probs = {("a",): 0.5, ("b",): 0.3, ("</s>",): 0.2, ("a", "a"): 0.4, ("a", "b"): 0.6 - 2e-6}
    grams = {gram: (math.log10(p), 0.0) for gram, p in probs.items()} | {("<s>",): (-99.0, 0.0)}
    grams["a",] = (math.log10(0.5), math.log10(2e-6 / 0.2))
    one = read(tmp_path / "1.arpa", arpa_of(dict(sorted(grams.items(), key=lambda item: len(item[0])))))
    mixed = NGramForCausalLM.interpolate([one, one], weights=[0.3, 0.7], static=True, progress=False)
    assert slow_model(mixed, mixed.own_tokenizer).backoffs["a",] == pytest.approx(grams["a",][1], abs=1e-6)


def witten_bell(texts: list[str]) -> dict[tuple[str, ...], tuple[float, float]]:
    """Interpolated Witten-Bell, order 3: p(w|h) = (c(hw) + T(h) p(w|h')) / (c(h) + T(h)); p and back-off, log10."""
    lines = [["<s>", *text.split(), "</s>"] for text in texts]
    seen = Counter(tuple(line[i - n : i + 1]) for line in lines for n in range(3) for i in range(max(n, 1), len(line)))
    words = [*sorted({line[i] for line in lines for i in range(1, len(line))}), "<unk>"]
    followers = {
        h: {w: c for (*g, w), c in seen.items() if tuple(g) == h} for h in {tuple(g[:-1]) for g in [*seen, ("</s>",)]}
    }

    def p(h: tuple[str, ...], w: str) -> float:
        if h not in followers:
            return p(h[1:], w)
        c, types = sum(followers[h].values()), len(followers[h])
        return (followers[h].get(w, 0) + types * (p(h[1:], w) if h else 1 / len(words))) / (c + types)

    def backoff(h: tuple[str, ...]) -> float:
        return len(followers[h]) / (sum(followers[h].values()) + len(followers[h])) if h in followers else 1.0

    grams = sorted({*seen, *((word,) for word in words)}, key=len)
    found = {gram: (math.log10(p(gram[:-1], gram[-1])), math.log10(backoff(gram))) for gram in grams}
    return {("<s>",): (-99.0, math.log10(backoff(("<s>",))))} | found


def test_srilms_figures(tmp_path):
    """SRILM 1.7.3: ngram-count -wbdiscount -interpolate, then ngram -lm A -mix-lm B -lambda 0.7 -write-lm."""
    models = [read(tmp_path / str(n), arpa_of(witten_bell(TEXTS[n]))) for n in range(2)]
    mixed = check(models, [0.7, 0.3])
    slow = slow_model(mixed, mixed.own_tokenizer)
    for line, (p, backoff) in {
        "<unk>": (-1.5366801, 0),
        "a": (-0.6004814, -0.532166),
        "a b": (-0.2760794, -0.3928202),
        "e a": (-0.4821686, -0.0424472),
        "<s> b e": (-0.6891117, 0),
        "b e </s>": (-0.5527116, 0),
    }.items():
        gram = tuple(line.split())
        assert slow.probs[gram] == pytest.approx(p, abs=2e-7)
        assert slow.backoffs.get(gram, 0.0) == pytest.approx(backoff, abs=2e-7)
    for text, expected in {"a b c d": -3.41228, "c a b": -2.133375, "b <unk> a": -4.296528}.items():
        line = ["<s>", *text.split(), "</s>"]
        found = sum(slow.log10(tuple(line[max(i - 2, 0) : i]), line[i]) for i in range(1, len(line)))
        assert found == pytest.approx(expected, abs=1e-6)


def test_the_static_mixture_is_not_the_dynamic_one_where_it_backs_off():
    models = [fitted(0, 3), fitted(1, 3)]
    static, dynamic = (
        NGramForCausalLM.interpolate(models, weights=[0.5, 0.5], static=kind, progress=False) for kind in (True, False)
    )
    tokenizer = static.own_tokenizer
    slow = slow_model(static, tokenizer)
    same, different = 0, 0
    for *context, word in itertools.product(slow.words, repeat=3):
        ids = tokenizer.convert_tokens_to_ids([*context, word])
        ps = [
            float(model.score(tokenizer.pad({"input_ids": [ids]}, return_tensors="pt").input_ids)[0, 2])
            for model in (static, dynamic)
        ]
        if (*context, word) in slow.probs:
            assert ps[0] == pytest.approx(ps[1], abs=1e-5)
            same += 1
        else:
            different += abs(ps[0] - ps[1]) > 1e-3
    assert same
    assert different


def test_what_one_table_cannot_hold(tmp_path):
    tokenizer = WordTokenizer.train(TEXTS[0], progress=False)
    words = NGramForCausalLM.fit(TEXTS[0], tokenizer, 2, "absolute_discounting", progress=False)
    classes = NGramForCausalLM.fit(TEXTS[0], tokenizer, 2, "absolute_discounting", classes=2, progress=False)
    (tmp_path / "hashes").write_bytes(probing_file(grams_of()))
    hashes = NGramForCausalLM.from_kenlm(tmp_path / "hashes")[0]
    mixture = NGramForCausalLM.interpolate([words, classes], weights=[0.5, 0.5])
    for other, message in (
        (classes, "model 2 has n-grams of classes.*, or mix at each word"),
        (mixture, "model 2 has n-grams of classes"),
        (hashes, "model 2 has hashes of its n-grams.* take the ARPA file, or KenLM's trie of it, or mix at each word"),
        (
            words.quantise(8),
            "model 2 is quantised to 8 bits, and its contexts do not sum to one; take the model that was quantised, or",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            NGramForCausalLM.interpolate([words, other], weights=[0.5, 0.5], static=True)


def test_distributions_of_more_than_one_are_refused(tmp_path):
    grams = {("a",): (-0.3, 0.0), ("b",): (-0.3, 0.0), ("<s>",): (-99.0, 0.0), ("</s>",): (-5.0, 0.0)}
    wrong = grams | {("a", "a"): (-0.1, 0.0), ("a", "b"): (-0.2, 0.0)}
    (tmp_path / "trie").write_bytes(trie_file({("<unk>",): (-5.0, 0.0), **wrong}))
    model = NGramForCausalLM.from_kenlm(tmp_path / "trie")[0]
    with pytest.raises(ValueError, match="after a context add up to 1.425: the distributions of a model"):
        NGramForCausalLM.interpolate([model, model], weights=[0.5, 0.5], static=True, progress=False)


def test_memory_is_at_most_three_times_models_and_result():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(500)]
    models = []
    for _ in range(2):
        texts = [" ".join(rng.choice(words, 40)) for _ in range(1500)]
        tokenizer = WordTokenizer.from_words(words)
        models.append(NGramForCausalLM.fit(texts, tokenizer, 3, "absolute_discounting", progress=False))
    with memory_taken() as memory:
        mixed = NGramForCausalLM.interpolate(models, weights=[0.5, 0.5], static=True, progress=False)
    size = sum(buffer.nbytes for model in (*models, mixed) for buffer in model.buffers())
    assert memory.python < 3 * size
