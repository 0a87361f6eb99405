# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The page about smoothing: its distributions are those of the package, and it works in a browser by keyboard alone."""

import random

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer, evaluate_language_model
from hf_lecture_models.models.ngram.estimation_ngram import config_for, estimate, read_corpus
from hf_lecture_models.models.ngram.smoothing import interpolated
from tests.live.running import opened, page_file, run_node, tab_to

# Name, class in counts.js, and the values of its parameter; None: what the counts estimate.
SMOOTHINGS = [
    ("maximum_likelihood", "MaximumLikelihood", [None]),
    ("add_alpha", "AddAlpha", [1.0, 0.01, 3.5]),
    ("jelinek_mercer", "JelinekMercer", [0.3, 0.9]),
    ("witten_bell", "WittenBell", [None]),
    ("absolute_discounting", "AbsoluteDiscounting", [None, 0.25, 1.0]),
    ("kneser_ney", "KneserNey", [None, 0.75]),
]
ORDERS = (1, 2, 3, 4)
_CODE = """
const main = (cases) => cases.map(({texts, order, kind, value, words, contexts, heldOut}) => {
  const model = new {MaximumLikelihood, AddAlpha, JelinekMercer, WittenBell, AbsoluteDiscounting, KneserNey}[kind](
    new Counts(texts, order), value ?? undefined);
  return {probs: contexts.map((context) => words.map((word) => model.prob(word, context))),
          perplexity: model.perplexity(heldOut)};
});
"""


def _corpus(seed: int) -> list[list[str]]:
    draw = random.Random(seed)
    words = [f"w{n}" for n in range(draw.randint(3, 8))]
    weights = [1 / (n + 1) for n in range(len(words))]
    return [draw.choices(words, weights, k=draw.randint(3, 8)) for _ in range(draw.randint(2, 9))]


def _contexts(texts: list[list[str]], seed: int) -> list[list[str]]:
    """Beginnings of the texts, and contexts that most texts lack."""
    draw = random.Random(seed)
    seen = [["<s>", *text[: draw.randint(0, len(text))]] for text in texts[:4]]
    unseen = [draw.choices([*texts[0], "w1", "<unk>"], k=3) for _ in range(4)]
    return [*seen, *unseen, ["<s>", "<unk>"]]


def _log10(values: np.ndarray) -> np.ndarray:
    """What the package computes, without rounding to float32."""
    with np.errstate(divide="ignore"):
        return np.log10(values)


def _reference(tokenizer, texts, order, smoothing, value, monkeypatch):
    """Return the function P(word, context), by the package's smoothing with tables in float64."""
    config = config_for(tokenizer, order=order, smoothing=smoothing, alpha=value if smoothing == "add_alpha" else 1)
    corpus = read_corpus(tokenizer, [" ".join(text) for text in texts], progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(interpolated, "log10", _log10)
        patch.setattr(interpolated, "fit_weights", lambda *_: [value] * order)
        if value is not None:
            patch.setattr(interpolated, "fit_discounts", lambda *_: [value])
        tables = estimate(*corpus, config, corpus)
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    names = [[(word,) for word in words]]
    for keys in tables.keys:
        names.append([(*names[-1][key // len(words)], words[key % len(words)]) for key in keys.tolist()])
    pairs = zip(names, tables.log10_probs, strict=True)
    probs = {name: value for row, values in pairs for name, value in zip(row, values.tolist(), strict=True)}
    pairs = zip(names, tables.log10_backoffs, strict=False)
    backoffs = {name: value for row, values in pairs for name, value in zip(row, values.tolist(), strict=True)}

    def log10_prob(name):
        return probs[name] if name in probs else backoffs.get(name[:-1], 0.0) + log10_prob(name[1:])

    return lambda word, context: 10 ** log10_prob((*(context[1 - order :] if order > 1 else ()), word))


def _cases():
    """Yield the texts, order, smoothing, class and value of each case; all orders come with all values."""
    for seed in range(24):
        texts = _corpus(seed)
        for order in (ORDERS[seed % 4], ORDERS[(seed + 1) % 4]):
            for smoothing, kind, values in SMOOTHINGS:
                yield seed, texts, order, smoothing, kind, values[seed % len(values)]


@pytest.mark.filterwarnings("ignore:[1-4]-grams that occur")
def test_distributions_are_those_of_python(tmp_path, monkeypatch):
    cases, references = [], []
    for seed, texts, order, smoothing, kind, value in _cases():
        tokenizer = WordTokenizer.train([" ".join(text) for text in texts], progress=False)
        words = [word for word in tokenizer.get_vocab() if word not in ("<s>", "<pad>")]
        contexts = _contexts(texts, seed)
        cases.append(
            {"texts": texts, "order": order, "kind": kind, "value": value, "words": words, "contexts": contexts}
            | {"heldOut": [["w0", "w1", "never"]]}
        )
        prob = _reference(tokenizer, texts, order, smoothing, value, monkeypatch)
        references.append([[prob(word, context) for word in words] for context in contexts])
    for case, expected, found in zip(cases, references, run_node(tmp_path, ["counts.js"], _CODE, cases), strict=True):
        name = f"{case['kind']} {case['value']}, order {case['order']}, {case['texts']}"
        np.testing.assert_allclose(found["probs"], expected, rtol=0, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(np.sum(found["probs"], axis=1), 1, atol=1e-10, err_msg=name)


@pytest.mark.filterwarnings("ignore:[1-4]-grams that occur")
def test_perplexity_is_that_of_python(tmp_path):
    """Of a held-out text with a word that the counts lack, by fitted models, whose tables are float32."""
    texts, held_out = _corpus(3), [["w0", "w1", "w0", "never"], ["w2"]]
    plain = [" ".join(text) for text in texts]
    tokenizer = WordTokenizer.train(plain, progress=False)
    cases, expected = [], []
    for smoothing, kind, values in SMOOTHINGS:
        if smoothing not in ("maximum_likelihood", "jelinek_mercer"):
            model = NGramForCausalLM.fit(plain, tokenizer, 3, smoothing, progress=False)
            found = evaluate_language_model(model, tokenizer, [" ".join(text) for text in held_out])
            expected.append(found["perplexity"])
            cases.append(
                {"texts": texts, "order": 3, "kind": kind, "value": values[0], "words": [], "contexts": []}
                | {"heldOut": held_out}
            )
    found = run_node(tmp_path, ["counts.js"], _CODE, cases)
    np.testing.assert_allclose([one["perplexity"] for one in found], expected, rtol=1e-5)


@pytest.mark.slow
def test_the_page_works_by_keyboard_alone(browser, tmp_path):
    with opened(browser, page_file(tmp_path, "smoothing")) as view:
        after, worth = view.locator(".live-card").nth(0), view.locator(".live-card").nth(1)
        assert "Sum of all 76 probabilities: 1.000000" in after.inner_text()
        assert "chose among so many equally probable words" in worth.inner_text()
        tab_to(view, "Smoothing")
        view.keyboard.press("Home")  # relative frequencies
        assert "The perplexity is infinite" in worth.inner_text()
        view.keyboard.press("ArrowDown")
        tab_to(view, "Order")
        view.keyboard.press("ArrowLeft")
        tab_to(view, "α, added to each count")
        view.keyboard.press("Home")
        assert "α = 0.0010" in worth.inner_text()
        tab_to(view, "best for the held-out text")
        before = worth.locator("p").first.inner_text()
        view.keyboard.press("Enter")
        assert worth.locator("p").first.inner_text() != before
        tab_to(view, "After the words")
        view.keyboard.press("Control+a")
        view.keyboard.type("never")
        assert "Nothing follows" in after.inner_text()
        tab_to(view, "Text to count: your own, if you like")
        view.keyboard.press("Control+a")
        view.keyboard.press("Delete")  # no text at all
        assert "Sum of all 2 probabilities: 1.000000" in after.inner_text()
        view.keyboard.type("a a b.")
        assert "Sum of all 5 probabilities: 1.000000" in after.inner_text()


@pytest.mark.slow
def test_what_the_page_says(browser, tmp_path):
    """The figures of docs/live/smoothing.md."""
    with opened(browser, page_file(tmp_path, "smoothing")) as view:
        view.locator("select").select_option("add")
        seen = view.locator(".smoothing-group").first.inner_text().split("\n")
        assert seen[0] == "seen after “said the”: 2 words"
        assert "→ 7.5 %" in seen[-1]
