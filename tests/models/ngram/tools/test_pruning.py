# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pruning: beside sums over the whole vocabulary, and beside n-grams that SRILM keeps of the same model."""

import math
import re
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.models.ngram.count_files.counting_texts import count_texts
from hf_lecture_models.models.ngram.count_files.writing_counts import write_counts
from hf_lecture_models.models.ngram.tools.contexts import Contexts
from hf_lecture_models.models.ngram.tools.pruning import Pruning, keep_what_others_need
from hf_lecture_models.models.ngram.tools.pruning_criteria import Siblings, context_probs, judged
from tests.models.ngram.tools.slow_model import all_contexts, slow_model
from tests.models.ngram.tools.slow_pruning import changes, context_prob, divergence, kept_of, new_weight

TEXTS = ["a b c", "a b c a", "b a c", "c a b c", "a b d", "d a b", "a c", "e f a b", "f a b c"]
OTHERS = ["a b e", "e a", "b e a b", "a b c f g"]
pytestmark = pytest.mark.filterwarnings("ignore:.*too few, or artificial text", "ignore:the model was smoothed")


def fit(texts, order, smoothing="absolute_discounting", **options):
    tokenizer = WordTokenizer.train(texts, progress=False)
    return NGramForCausalLM.fit(texts, tokenizer, order, smoothing, progress=False, **options), tokenizer


def grams_of(model, tokenizer):
    return {gram for gram in slow_model(model, tokenizer).probs if len(gram) > 1}


def values_of(model, criterion=Siblings.changes):
    """The criterion of all n-grams, order by order as in the tables."""
    contexts = Contexts(model.tables())
    totals = contexts.totals()
    history = context_probs(contexts, model.config.bos_token_id, model.config.eos_token_id)
    found = []
    for n in range(2, contexts.order + 1):
        here = history[contexts.first[n - 1] : contexts.first[n]]
        found.append(judged(contexts, n, totals, lambda siblings, here=here: criterion(siblings, here))[0])
    return found


def check_sums(model, tokenizer, words=("a", "b", "d")):
    slow = slow_model(model, tokenizer)
    for context in all_contexts(list(words), model.config.order - 1):
        assert slow.sum_after(context) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("smoothing", ["absolute_discounting", "add_alpha", "katz", "modified_kneser_ney"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_criterion_is_the_divergence_over_the_vocabulary(order, smoothing):
    model, tokenizer = fit(TEXTS, order, smoothing)
    slow = slow_model(model, tokenizer)
    expected = changes(slow)
    np.testing.assert_allclose(np.concatenate(values_of(model)), list(expected.values()), rtol=0, atol=1e-12)
    assert 0 < max(expected.values()) < 1


def test_criterion_of_a_pruned_model():
    model, tokenizer = fit(TEXTS, 4)
    smaller = model.prune(0.01)
    expected = changes(slow_model(smaller, tokenizer))
    np.testing.assert_allclose(np.concatenate(values_of(smaller)), list(expected.values()), rtol=0, atol=1e-12)


def test_weighted_difference():
    model, tokenizer = fit(TEXTS, 3)
    slow, expected = slow_model(model, tokenizer), []
    for gram in slow.probs:
        if len(gram) > 1:
            weight = new_weight(slow, gram[:-1], {gram[-1]}) * 10 ** slow.log10(gram[1:-1], gram[-1])
            p = 10 ** slow.probs[gram]
            expected.append(context_prob(slow, gram[:-1]) * p * math.log(p / weight))
    np.testing.assert_allclose(np.concatenate(values_of(model, Siblings.weighted_differences)), expected, atol=1e-12)
    smaller = model.prune(1e-3, criterion="weighted_difference")
    kept = kept_of(dict(zip(grams_in_order(slow), expected, strict=True)), 1e-3, 3)
    assert grams_of(smaller, tokenizer) == kept
    check_sums(smaller, tokenizer)


def grams_in_order(slow):
    return [gram for gram in slow.probs if len(gram) > 1]


@pytest.mark.parametrize("threshold", [0, 1e-3, 5e-3, 0.02, math.inf])
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_kept_ngrams(order, threshold):
    model, tokenizer = fit(TEXTS, order, prune=[0, 0, 0, 1][:order])
    smaller = model.prune(threshold)
    kept = kept_of(changes(slow_model(model, tokenizer)), threshold, order)
    assert grams_of(smaller, tokenizer) == kept
    check_sums(smaller, tokenizer)
    assert smaller.own_tokenizer is tokenizer
    again = smaller.prune(threshold)
    assert grams_of(again, tokenizer) <= kept
    slow, before = slow_model(smaller, tokenizer), slow_model(model, tokenizer)
    assert all(slow.probs[gram] == before.probs[gram] for gram in kept)


def test_ends_of_contexts_stay():
    """Those of 4-grams: without the end of the context, its back-off weight has no place to lead to."""
    model, tokenizer = fit(TEXTS, 4)
    contexts = Contexts(model.tables())
    values = [np.zeros(len(keys)) for keys in model.tables().keys]
    slow = slow_model(model, tokenizer)
    fours = [gram for gram in slow.probs if len(gram) == 4]
    values[2][fours.index(("d", "a", "b", "</s>"))] = 1
    keep_what_others_need(contexts, values)
    kept = {gram for gram, value in zip(grams_in_order(slow), np.concatenate(values), strict=True) if value > 0}
    assert kept == {("d", "a", "b", "</s>"), ("d", "a", "b"), ("d", "a"), ("a", "b")}


WITTEN_BELL = """\
-0.6375323 </s>|-99 <s> -0.4393327|-0.3390297 <s> a -0.4771213|-0.1740639 <s> a b|-0.6098713 <s> a c
-0.785175 <s> b -0.30103|-0.2204318 <s> b a|-0.785175 <s> c -0.30103|-0.1821204 <s> c a|-0.9164539 <s> d -0.30103
-0.1611818 <s> d a|-1.6106602 <unk>|-0.5853543 a -0.5642714|-0.8132038 a </s>|-0.2929766 a b -0.4259687
-0.7054041 a b </s>|-0.2859662 a b c|-0.756962 a b d|-0.6259283 a c -0.4771213|-0.069289 a c </s>
-0.6968463 b -0.39794|-0.7163441 b </s>|-0.6905368 b a -0.30103|-0.2087899 b a c|-0.4197684 b c -0.39794
-0.2054846 b c </s>|-0.4868085 b c a|-0.8750613 b d -0.30103|-0.165835 b d </s>|-0.6968463 c -0.60206
-0.2536788 c </s>|-0.501757 c a -0.30103|-0.4856227 c a </s>|-0.2969846 c a b|-1.0791812 d -0.30103
-0.4374739 d </s>|-0.4203285 d a -0.30103|-0.1222377 d a b"""
"""The interpolated Witten-Bell model of ["a b c", "a b c a", "b a c", "c a b c", "a b d", "d a b", "a c"]."""
KEPT_BY_SRILM = {
    0.01: {
        *(("<s>", "a"), ("<s>", "a", "b"), ("<s>", "b"), ("<s>", "b", "a"), ("<s>", "d"), ("a", "b"), ("a", "b", "c")),
        *(
            ("a", "c"),
            ("a", "c", "</s>"),
            ("b", "a"),
            ("b", "a", "c"),
            ("b", "c"),
            ("b", "d"),
            ("c", "</s>"),
            ("c", "a"),
        ),
    },
    0.03: {("<s>", "a"), ("a", "b"), ("c", "</s>")},
}
WEIGHTS_OF_SRILM = {("<s>",): -0.2494532, ("<s>", "a"): -0.1719691, ("a",): -0.3718777, ("a", "b"): -0.108752}


@pytest.fixture
def witten_bell(tmp_path):
    grams = [re.fullmatch(r"(\S+) (.*?)( -[0-9.]+)?", cell).groups() for cell in re.split(r"[|\n]", WITTEN_BELL)]
    return write_arpa(tmp_path / "wb.arpa", {words: (p, float(weight or 0)) for p, words, weight in grams})


@pytest.mark.parametrize("threshold", KEPT_BY_SRILM)
def test_srilm_keeps_the_same(witten_bell, threshold):
    """`ngram -prune` of SRILM 1.7.3."""
    model, tokenizer = witten_bell
    smaller = model.prune(threshold)
    assert grams_of(smaller, tokenizer) == KEPT_BY_SRILM[threshold]
    check_sums(smaller, tokenizer)
    if threshold == 0.01:
        weights = slow_model(smaller, tokenizer).backoffs
        for context, weight in WEIGHTS_OF_SRILM.items():
            assert weights[context] == pytest.approx(weight, abs=1e-6)


def write_arpa(path, grams):
    """Write an ARPA file of the grams {words: (p, back-off weight)}."""
    order = max(len(words.split()) for words in grams)
    by_order = [[words for words in grams if len(words.split()) == n] for n in range(1, order + 1)]
    lines = ["\\data\\", *(f"ngram {n}={len(of)}" for n, of in enumerate(by_order, 1))]
    for n, of in enumerate(by_order, 1):
        lines += ["", f"\\{n}-grams:"]
        for words in of:
            p, weight = grams[words]
            lines.append(f"{p}\t{words}" + (f"\t{weight}" if n < order else ""))
    path.write_text("\n".join([*lines, "", "\\end\\", ""]), encoding="utf-8")
    return NGramForCausalLM.from_arpa(path)


def test_contexts_that_list_every_word(tmp_path):
    """The removal of one word changes nothing there, and that of all would change much."""
    lower = {"x": 0.4, "y": 0.3, "z": 0.2, "</s>": 0.1}
    after = {"x": {"x": 0.12, "y": 0.2, "z": 0.6, "</s>": 0.08}, "y": {"z": 0.8}, "<s>": {"z": 0.3}}
    grams = {"<s>": (-99, math.log10(0.7 / 0.8)), "</s>": (-1, 0)}
    grams |= {word: (math.log10(lower[word]), math.log10(0.25) if word == "y" else 0) for word in "xyz"}
    grams |= {f"{h} {word}": (math.log10(p), 0) for h, words in after.items() for word, p in words.items()}
    model, tokenizer = write_arpa(tmp_path / "full.arpa", grams)
    slow = slow_model(model, tokenizer)
    order = grams_in_order(slow)
    found = dict(zip(order, values_of(model)[0], strict=True))
    expected = changes(slow)
    np.testing.assert_allclose([found[gram] for gram in order], [expected[gram] for gram in order], rtol=0, atol=1e-12)
    assert all(abs(divergence(slow, ("x", word), set())) < 1e-6 for word in lower)  # alone, each is free
    assert [word for word in lower if found[("x", word)] == 0] == ["</s>"]
    smaller = model.prune(1e-9)
    assert {gram[1] for gram in grams_of(smaller, tokenizer) if gram[0] == "x"} == {"x", "y", "z"}
    check_sums(smaller, tokenizer, "xyz")
    assert grams_of(model.prune(0), tokenizer) == set(order)


def test_history_of_another_model(tmp_path):
    model, tokenizer = fit(TEXTS, 4, "modified_kneser_ney")
    for texts, order in ((TEXTS, 4), (TEXTS, 1), (OTHERS, 2)):
        history, its_tokenizer = fit(texts, order, "add_alpha", alpha=0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            smaller = model.prune(2e-3, history=history)
        values = changes(slow_model(model, tokenizer), slow_model(history, its_tokenizer))
        assert grams_of(smaller, tokenizer) == kept_of(values, 2e-3, 4)
    history.save_pretrained(tmp_path)
    its_tokenizer.save_pretrained(tmp_path)
    loaded = NGramForCausalLM.from_pretrained(tmp_path)
    assert model.prune(2e-3, history=loaded).config.table_sizes == smaller.config.table_sizes
    assert model.prune(2e-3, history=model).config.table_sizes == model.prune(2e-3).config.table_sizes


def test_kneser_ney_is_no_model_of_contexts():
    model, _ = fit(TEXTS, 3, "modified_kneser_ney")
    with pytest.warns(UserWarning, match="was smoothed by modified_kneser_ney, whose lower orders"):
        model.prune(1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.prune(at_most=[0, 1], counts=TEXTS)
        fit(TEXTS, 3)[0].prune(1e-3)


@pytest.mark.parametrize("order", [2, 4])
def test_a_number_of_ngrams_or_bytes(order):
    model, _ = fit(TEXTS, order)
    total, ones = sum(model.config.ngram_counts), model.config.ngram_counts[0]
    before = None
    for ngrams in [*range(ones, total, 1 if order == 2 else 7), total, total + 2]:
        smaller, threshold = Pruning(ngrams=ngrams).of(model)
        size = sum(smaller.config.ngram_counts)
        assert size <= ngrams
        assert model.prune(threshold).config.table_sizes == smaller.config.table_sizes
        if before is not None and size > before[0]:  # the next smaller threshold leaves too many
            assert size > before[1]
        before = size, ngrams
        used = sum(buffer.nbytes for buffer in smaller.buffers())
        by_bytes = model.prune(bytes=used)
        assert by_bytes.config.table_sizes == smaller.config.table_sizes
        assert sum(buffer.nbytes for buffer in by_bytes.buffers()) == used
        if size > ones:
            assert sum(model.prune(bytes=used - 1).config.ngram_counts) < size
    assert size == total
    assert model.prune(bytes="1kB", progress=False).config.table_sizes[0] == model.config.table_sizes[0]


def test_counts_of_a_text(tmp_path):
    model, tokenizer = fit(TEXTS, 4)
    seen = [*TEXTS[:6], "a b c", "b a c unseen"]
    path = tmp_path / "seen.txt"
    path.write_text("\n".join(seen), encoding="utf-8")
    streams = [["<s>", *text.split(), "</s>"] for text in seen]
    counts = Counter(tuple(s[i : i + n]) for s in streams for n in range(2, 5) for i in range(len(s) - n + 1))
    limits = {2: 0, 3: 1, 4: 1}
    values = {gram: float(counts[gram] > limits[len(gram)]) for gram in grams_in_order(slow_model(model, tokenizer))}
    counted = count_texts(seen, 4, progress=False)
    write_counts(counted, tmp_path / "seen.counts.gz")
    for given in (seen, path, str(path), counted, tmp_path / "seen.counts.gz"):
        smaller, threshold = Pruning(counts=given, at_most=[0, 0, 1]).of(model)
        assert grams_of(smaller, tokenizer) == kept_of(values, 1, 4)
        assert threshold is None
    check_sums(smaller, tokenizer)
    slow = slow_model(model, tokenizer)
    weighted = {}
    for gram in values:
        p = 10 ** slow.probs[gram]
        new = new_weight(slow, gram[:-1], {gram[-1]}) * 10 ** slow.log10(gram[1:-1], gram[-1])
        weighted[gram] = counts[gram] * math.log(p / new)
    for given in (seen, counted):
        smaller = model.prune(0.5, counts=given, criterion="weighted_difference")
        assert grams_of(smaller, tokenizer) == kept_of(weighted, 0.5, 4)
    with pytest.raises(ValueError, match="`counts` have n-grams of 2 words, and the model of 4"):
        model.prune(0.5, counts=counted.up_to(2), criterion="weighted_difference")


def test_ngrams_of_classes(tmp_path):
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, 3, "absolute_discounting", classes=6, progress=False)
    smaller = model.prune(0.01)
    sizes = smaller.config.table_sizes
    assert sum(sizes) < sum(model.config.table_sizes)
    assert (smaller.word_classes().class_of == model.word_classes().class_of).all()
    ids = tokenizer(["a b c", "d"], padding=True, return_tensors="pt")
    sums = smaller(**ids).logits.double().exp().sum(-1)
    np.testing.assert_allclose(sums.numpy(), 1, atol=1e-6)
    assert model.prune(0.01, history=model).config.table_sizes == sizes
    assert model.prune(at_most=[0, 3], counts=TEXTS).config.table_sizes[1] < model.config.table_sizes[1]
    with pytest.raises(ValueError, match="`history` has other classes"):
        model.prune(0.01, history=fit(TEXTS, 3)[0])


def test_words_of_probability_zero(witten_bell, tmp_path):
    """A word that only one n-gram makes possible keeps it; a context without weight goes on without."""
    model, tokenizer = witten_bell
    tables = model.tables()
    probs, weights = [of.copy() for of in tables.log10_probs], [of.copy() for of in tables.log10_backoffs]
    d, a = tokenizer.convert_tokens_to_ids(["d", "a"])
    probs[0][d] = -np.inf
    weights[0][a] = -np.inf
    damaged = NGramForCausalLM.from_tables(replace(tables, log10_probs=probs, log10_backoffs=weights), model.config)
    smaller = damaged.prune(math.inf)
    assert grams_of(smaller, tokenizer) >= {("b", "d"), ("<s>", "d")}
    slow = slow_model(smaller, tokenizer)
    for context in slow.contexts():
        if context:
            assert slow.sum_after(context) == pytest.approx(1, abs=0.1)
    smaller.tables().check()


def test_order_one():
    model, _ = fit(TEXTS, 1)
    assert model.prune(0.5).tables().log10_probs[0].tolist() == model.tables().log10_probs[0].tolist()
    assert model.prune(ngrams=100).config.table_sizes == model.config.table_sizes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "none of `threshold`, `ngrams`, `bytes` and `at_most` given"),
        ({"threshold": 0.1, "ngrams": 30}, "`threshold` and `ngrams` of"),
        ({"threshold": -1e-9}, "`threshold` is -1e-09; give a number of at least 0"),
        ({"threshold": math.nan}, "`threshold` is nan"),
        ({"threshold": math.nan, "criterion": "weighted_difference"}, "`threshold` is nan"),
        ({"threshold": 1, "criterion": "entropies"}, "`criterion` is 'entropies'"),
        ({"ngrams": 0}, "`ngrams` is 0"),
        ({"ngrams": 3}, "`ngrams` is 3, and 9 are the fewest"),
        ({"bytes": "10"}, "`bytes` is 10, and 80 are the fewest"),
        ({"bytes": "ten"}, "`bytes` is 'ten'; give a size"),
        ({"bytes": 0}, "`bytes` is 0; give a size"),
        ({"at_most": [0, 1]}, "`at_most` needs `counts`"),
        ({"at_most": [1, 1], "counts": TEXTS}, r"`at_most` is \[1, 1\]"),
        ({"at_most": [0, 2, 1], "counts": TEXTS}, "do not decrease"),
        ({"at_most": [0, 1, 1, 1], "counts": TEXTS}, "at most 3 numbers"),
        ({"at_most": [0], "counts": TEXTS, "criterion": "weighted_difference"}, "`criterion` is not read"),
        ({"threshold": 0.1, "counts": TEXTS}, "`counts` are not read by the entropy"),
        ({"at_most": [0], "counts": []}, "the corpus is empty"),
    ],
)
def test_what_is_refused(arguments, message):
    model, _ = fit(TEXTS, 3)
    with pytest.raises(ValueError, match=message):
        model.prune(**arguments)


def test_models_that_are_refused():
    model, tokenizer = fit(TEXTS, 2)
    mixed = NGramForCausalLM.interpolate([model, fit(TEXTS, 1)[0]], tokenizer, TEXTS, progress=False)
    hashed = NGramForCausalLM(type(model.config).from_dict({**model.config.to_dict(), "hashed": True}))
    for other, reason in [
        (mixed, "interpolates several models"),
        (hashed, "hashes of its n-grams"),
        (fit(TEXTS, 2, "stupid_backoff")[0], "scores of stupid back-off"),
        (model.quantise(8), "quantised to 8 bits"),
    ]:
        with pytest.raises(ValueError, match=f"the model .*{reason}"):
            other.prune(0.1)
        with pytest.raises(ValueError, match=f"`history` .*{reason}"):
            model.prune(0.1, history=other)
    alone = NGramForCausalLM.from_tables(model.tables(), model.config)
    with pytest.raises(ValueError, match="`counts` needs the words of the model; give its `tokenizer`"):
        alone.prune(counts=TEXTS, at_most=[0])
    assert alone.prune(counts=TEXTS, at_most=[0], tokenizer=tokenizer).config.table_sizes == model.config.table_sizes


def test_weights_that_were_wrong_are_replaced():
    """Tables that do not sum to one, such as those with quantised numbers that a file holds."""
    model, tokenizer = fit(TEXTS, 3)
    tables = model.tables()
    rounded = [np.round(of, 1) for of in tables.log10_backoffs]
    damaged = NGramForCausalLM.from_tables(replace(tables, log10_backoffs=rounded), model.config)
    damaged.own_tokenizer = tokenizer
    assert abs(slow_model(damaged, tokenizer).sum_after(("a",)) - 1) > 1e-3
    check_sums(damaged.prune(0), tokenizer)
    check_sums(damaged.prune(5e-3), tokenizer)
