# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Good-Turing, Katz and stupid back-off: hand arithmetic, independent implementations, and what has no perplexity."""

from __future__ import annotations

import math
import shutil
import subprocess
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from hf_lecture_models import evaluate_language_model
from hf_lecture_models.models.ngram.configuration_ngram import NGramConfig
from hf_lecture_models.models.ngram.fitting_ngram import fit_ids
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.models.ngram.reference_ngram import ReferenceNGram
from tests.models.ngram.test_kenlm_ngram import zipf_texts

# a three times, b c d twice, e ... m and </s> once: n_1 = 10, n_2 = 3, n_3 = 1, N = 19.
DOZEN = "a a a b b c c d d e f g h i j k l m"


@pytest.fixture
def few_counts():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*too few, or artificial text")
        yield


def fit(texts, smoothing, order, **options):
    tokenizer = WordTokenizer.train(texts, progress=False)
    return NGramForCausalLM.fit(texts, tokenizer, order, smoothing, progress=False, **options), tokenizer


def natural_texts(words, new=0.25):
    """Texts whose counts fall off as those of a language: now and then a new word, else a copy of one to three."""
    rng, stream = np.random.default_rng(2), [0, 0]
    while len(stream) < words:
        copied = rng.random() >= new and rng.integers(len(stream))
        stream += stream[copied : copied + rng.integers(1, 4)] if copied else [max(stream) + 1]
    return [stream[start : start + 6] for start in range(0, len(stream), 6)]


def after(model, tokenizer, context, word):
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(context.split())])
    return model(ids, logits_to_keep=1).logits[0, -1, tokenizer.convert_tokens_to_ids(word)].double().exp().item()


def test_katz_by_hand():
    # q = 3 n_3 / n_1 = 3/10; d_1 = (2 n_2 / n_1 - q) / (1 - q), d_2 = (3 n_3 / (2 n_2) - q) / (1 - q).
    model, tokenizer = fit([DOZEN], "katz", 1, katz_k=2)
    d_1, d_2 = Fraction(3, 7), Fraction(2, 7)
    assert model.config.discount_ratios == [[pytest.approx(float(d_1)), pytest.approx(float(d_2))]]
    probs = {
        "a": Fraction(3, 19),
        "b": d_2 * Fraction(2, 19),
        "e": d_1 * Fraction(1, 19),
        "</s>": d_1 * Fraction(1, 19),
    }
    for word, p in probs.items():
        assert after(model, tokenizer, "a", word) == pytest.approx(float(p))
    assert after(model, tokenizer, "a", "<unk>") == pytest.approx(10 / 19)  # n_1 / N, as Good and Turing have it


def test_katz_backs_off_by_hand():
    # Bigrams: aa twice, 17 others once: no discount can be had, so that C(a) = 3 becomes 4, and a quarter is left.
    with pytest.warns(UserWarning, match="2-grams that occur 1, 2, 3, 4, 5 times number 17, 1, 0, 0, 0: too few"):
        model, tokenizer = fit([DOZEN], "katz", 2, katz_k=2)
    assert model.config.discount_ratios[1] == [1, 1]
    p_a, p_b, p_e = Fraction(3, 19), Fraction(4, 7 * 19), Fraction(3, 7 * 19)
    assert after(model, tokenizer, "a", "a") == pytest.approx(2 / 4)
    assert after(model, tokenizer, "a", "b") == pytest.approx(1 / 4)
    assert after(model, tokenizer, "a", "e") == pytest.approx(float(Fraction(1, 4) / (1 - p_a - p_b) * p_e))
    assert after(model, tokenizer, "<unk>", "e") == pytest.approx(float(p_e))


@pytest.mark.usefixtures("few_counts")
def test_where_all_words_were_seen_nothing_is_left():
    texts = ["a a", "a b", "<unk> a", "a <unk>", "a"]  # a is followed by a, b, <unk> and </s>: all that can follow
    model, tokenizer = fit(texts, "katz", 2)
    assert [after(model, tokenizer, "a", w) for w in ("a", "b", "<unk>", "</s>")] == pytest.approx(
        [1 / 6, 1 / 6, 1 / 6, 3 / 6]
    )


@pytest.mark.usefixtures("few_counts")
@pytest.mark.parametrize(("words", "raised"), [(10, 1), (300_000, 1), (928_000, 3)])
def test_where_nothing_is_left_the_context_is_raised_until_something_is(words, raised):
    """As SRILM, for which 3 in a million are nothing: with n_1 = 0, P(<unk>) is 3 / (N + 3) at N = 928,000."""
    config = NGramConfig(vocab_size=6, order=1, smoothing="katz", bos_token_id=0, eos_token_id=1, unk_token_id=2)
    ids = np.resize([3, 4, 5], words - 2)
    model = fit_ids(ids, np.array([len(ids) - 3, 3]), config)
    probs = model(torch.tensor([[0]])).logits[0, -1].double().exp().tolist()
    assert probs[2] == pytest.approx(raised / (words + raised), rel=1e-5)
    assert probs[1] == pytest.approx(2 / (words + raised), rel=1e-5)
    assert sum(probs) == pytest.approx(1, abs=1e-6)


def test_good_turing_by_hand():
    # Ten words once, two twice: the line through log n_1, log n_2 has slope log(2/10) / log 2.
    model, tokenizer = fit(["a a b b c d e f g h i j k"], "good_turing", 1)
    slope = math.log(2 / 10) / math.log(2)
    once, twice = 2 * 2**slope, 3 * 1.5**slope
    scale = (14 - 10) / (10 * once + 2 * twice)
    assert after(model, tokenizer, "a", "c") == pytest.approx(once * scale / 14)
    assert after(model, tokenizer, "a", "b") == pytest.approx(twice * scale / 14)
    assert after(model, tokenizer, "a", "<unk>") == pytest.approx(10 / 14)


@pytest.mark.slow
@pytest.mark.parametrize("words", [1000, 3000])
def test_good_turing_equals_nltk(words):
    nltk = pytest.importorskip("nltk.probability", reason="nltk is not installed")
    texts = zipf_texts(0, 300, words)
    model, tokenizer = fit(texts, "good_turing", 1)
    tokens = [token for text in texts for token in [*text.split(), "</s>"]]
    theirs = nltk.SimpleGoodTuringProbDist(nltk.FreqDist(tokens), bins=len(set(tokens)) + 1)
    probs = model(torch.tensor([[tokenizer.bos_token_id]])).logits[0, -1].double().exp()
    for word in {*tokens, "<unk>"}:
        assert probs[tokenizer.convert_tokens_to_ids(word)].item() == pytest.approx(theirs.prob(word), rel=1e-5)


@pytest.mark.parametrize(("smoothing", "options"), [("katz", {"k": 4}), ("good_turing", {})])
@pytest.mark.parametrize("prune", [(0,), (0, 0, 1)])
def test_ample_counts_equal_the_reference(smoothing, options, prune):
    """Nothing falls back here; every stored context, and an unseen one."""
    rows = natural_texts(2500)
    spelled = [" ".join(map(str, row)) for row in rows]
    tokenizer = WordTokenizer.train(spelled, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NGramForCausalLM.fit(
            spelled, tokenizer, 3, smoothing, prune=list(prune), katz_k=options.get("k", 5), progress=False
        )
    assert max(map(max, model.config.discount_ratios)) < 1
    ids = [tokenizer.convert_tokens_to_ids(text.split()) for text in spelled]
    events = set(range(len(tokenizer))) - set(model.config.non_events)
    reference = ReferenceNGram(
        ids, 3, smoothing, events, tokenizer.bos_token_id, tokenizer.eos_token_id, prune=prune, **options
    )
    contexts = sorted(context for context in reference.followers if context)
    for context in [*contexts[:: len(contexts) // 30], (ids[0][0], tokenizer.unk_token_id)]:
        probs = model(torch.tensor([context]), logits_to_keep=1).logits[0, -1].double().exp()
        expected = torch.tensor([reference.prob(w, context) for w in range(len(tokenizer))], dtype=torch.double)
        torch.testing.assert_close(probs, expected, atol=1e-7, rtol=1e-5)
        assert probs.sum().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.usefixtures("few_counts")
@pytest.mark.parametrize("arguments", [[], ["-gt3min", "2"], ["-gt2min", "2", "-gt3min", "3"]])
def test_equals_srilm(tmp_path, arguments):
    """SRILM's ngram-count, where it is on the PATH: the same n-grams, probabilities and weights."""
    program = shutil.which("ngram-count")
    if program is None:
        pytest.skip("ngram-count is not on the PATH")
    texts = [" ".join(map(str, row)) for row in natural_texts(6000)]
    (tmp_path / "corpus.txt").write_text("".join(f"{text}\n" for text in texts))
    limits = [word for n in (1, 2, 3) for word in (f"-gt{n}max", "4", *(() if n < 3 else (f"-gt{n}min", "1")))]
    command = [program, "-order", "3", "-unk", *limits, *arguments, "-text", "corpus.txt", "-lm", "lm.arpa"]
    subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, check=True)
    theirs, tokenizer = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")
    least = {int(a[3]): int(b) - 1 for a, b in zip(arguments[::2], arguments[1::2], strict=True)}
    prune = [least.get(n, 0) for n in (1, 2, 3)]
    ours = NGramForCausalLM.fit(texts, tokenizer, 3, "katz", katz_k=4, prune=prune, progress=False)
    for name, expected in theirs.named_buffers():
        torch.testing.assert_close(ours.get_buffer(name), expected, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_wikitext_2(shared_data):
    """SRILM's `ngram-count -order 3 -gt3min 1 -unk` on the lines that are not blank: test perplexity 259.43."""

    def texts(split):
        return [text for text in read_texts(shared_data / "wikitext-2" / f"{split}.txt") if text.strip()]

    tokenizer = WordTokenizer.train(texts("train"), progress=False)
    with pytest.warns(UserWarning, match="1-grams that occur 1, 2, 3, 4, 5 times number 0, 0, 6032"):  # rare: <unk>
        model = NGramForCausalLM.fit(texts("train"), tokenizer, 3, "katz", katz_k=7, progress=False)
    assert model.config.table_sizes[1:] == [619591, 1398959]
    assert f"{evaluate_language_model(model, tokenizer, texts('test'))['perplexity']:.2f}" == "259.43"


STUPID = ["the cat sat on the mat", "the cat ran", "a dog sat on the cat"]


def stupid(order=3, **options):
    return fit(STUPID, "stupid_backoff", order, **options)


def written_out(texts, order, alpha, row):
    """ln S of each word of a row that begins with <s>, from the text itself."""
    padded = [" ".join(["<s>", *text.split(), "</s>"]) + " " for text in texts]

    def count(words):
        return sum((" " + text).count(" " + " ".join(words) + " ") for text in padded)

    def score(word, context):
        if not context:
            return count([word]) / sum(len(text.split()) - 1 for text in padded)
        return count([*context, word]) / count(context) if count([*context, word]) else alpha * score(word, context[1:])

    found = [score(row[t], row[max(t - order + 1, 0) : t]) for t in range(1, len(row))]
    return [math.log(value) if value else -math.inf for value in found]


ROWS = ["<s> the cat sat on a mat </s>", "<s> dog dog dog dog </s>", "<s> mat the a bird on the mat </s>"]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("row", ROWS)
def test_stupid_backoff_equals_the_loop(order, row):
    """Also where the context itself is unseen: each step to a shorter one costs the factor."""
    model, tokenizer = stupid(order)
    scores = model.score(torch.tensor([tokenizer.convert_tokens_to_ids(row.split())]))[0]
    assert scores[1:].tolist() == pytest.approx(written_out(STUPID, order, 0.4, row.split()), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_stupid_backoff_equals_nltk(row):
    lm = pytest.importorskip("nltk.lm", reason="nltk is not installed")
    from nltk.util import everygrams

    # nltk counts <s> among the unigrams, where here it is no event.
    theirs = lm.StupidBackoff(alpha=0.4, order=3)
    sentences = [["<s>", *text.split(), "</s>"] for text in STUPID]
    theirs.fit([everygrams(words, max_len=3) for words in sentences], [w for words in sentences for w in words])
    model, tokenizer = stupid()
    words = row.split()
    scores = model.score(torch.tensor([tokenizer.convert_tokens_to_ids(words)]))[0].double().exp()
    with_starts, without = (sum(len(s) - drop for s in sentences) for drop in (0, 1))
    for t in range(1, len(words)):
        context = tuple(words[max(t - 2, 0) : t])
        expected = theirs.unmasked_score(words[t], context)
        by_words_alone = not theirs.counts[[context[-1]]][words[t]]
        expected *= with_starts / without if by_words_alone else 1
        assert scores[t].item() == pytest.approx(expected, rel=1e-5)


def test_stupid_backoff_in_padded_batches():
    model, tokenizer = stupid()
    rows = [tokenizer.convert_tokens_to_ids(row.split()) for row in ROWS]
    alone = [model.score(torch.tensor([row]))[0] for row in rows]
    width = max(map(len, rows)) + 1
    for left in (True, False):
        ids = torch.full((len(rows), width), tokenizer.pad_token_id)
        for index, row in enumerate(rows):
            place = slice(width - len(row), width) if left else slice(len(row))
            ids[index, place] = torch.tensor(row)
        together = model.score(ids)
        for scores, row, mask in zip(together, alone, ids != tokenizer.pad_token_id, strict=True):
            torch.testing.assert_close(scores[mask], row)


def test_a_saved_stupid_backoff_ranks_and_refuses_the_rest(tmp_path):
    model, tokenizer = stupid(backoff_factor=0.3)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert (model.config.smoothing, model.config.backoff_factor) == ("stupid_backoff", 0.3)
    ranking = pipeline("sentence-ranking", model=model, tokenizer=tokenizer)(["the mat sat", "the cat sat"])
    assert [entry["sequence"] for entry in ranking] == ["the cat sat", "the mat sat"]
    expected = sum(written_out(STUPID, 3, 0.3, ["<s>", "the", "cat", "sat", "</s>"]))
    assert ranking[0]["log_prob"] == pytest.approx(expected, abs=1e-5)
    inputs = tokenizer("the cat", return_tensors="pt")
    for refused in (
        lambda: model(**inputs),
        lambda: model(**inputs, labels=inputs.input_ids),
        lambda: model.generate(**inputs, max_new_tokens=2),
        lambda: evaluate_language_model(model, tokenizer, STUPID),
        lambda: model.save_arpa(tmp_path / "lm.arpa", tokenizer),
    ):
        with pytest.raises(ValueError, match=r"do not sum to one|holds probabilities"):
            refused()
    assert not (tmp_path / "lm.arpa").exists()
