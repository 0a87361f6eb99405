# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Reading times: the regression equals an independent one, folds are held out, and only useful predictors gain."""

import math
import statistics

import numpy as np
import pytest

from benchmarks import reading_times
from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.studies.reading_time_pictures import save_reading_times
from hf_lecture_models.lab.studies.reading_times import (
    Gain,
    ReadWord,
    folds_of,
    held_out_log_densities,
    measure_gain,
    read_reading_times,
)

HEAD = "story\tposition\tword\treaders\tgeometric_mean_ms\n"
TABLE = (
    HEAD
    + "1\t1\tAnn\t9\t300\n1\t2\tdidn't\t9\t350.5\n1\t3\tsleep.\t9\t400\n2\t1\t'Why?'\t9\t310\n2\t2\tslept\t9\t299\n"
)


def invented(number=400):
    """Lengths, surprisals that matter, noise that does not, and logarithms of times."""
    random = np.random.default_rng(3)
    length, surprisal, noise = random.normal(size=(3, number))
    return length, surprisal, noise, 5.8 + 0.05 * length + 0.08 * surprisal + 0.1 * random.normal(size=number)


def test_every_word_is_held_out_once():
    folds = folds_of(23, folds=10, seed=1)
    assert sorted(np.bincount(folds).tolist()) == [2] * 7 + [3] * 3
    assert folds.tolist() != folds_of(23, folds=10, seed=2).tolist()
    for number, parts in ((23, 1), (3, 4)):
        with pytest.raises(ValueError, match=f"{number} words make no {parts} folds"):
            folds_of(number, parts)


def test_least_squares_by_the_standard_library():
    length, _, _, times = invented(60)
    folds = folds_of(60, folds=4)
    found = held_out_log_densities(length[:, None], times, folds)
    for fold in range(4):
        slope, constant = statistics.linear_regression(length[folds != fold], times[folds != fold])
        errors = times - constant - slope * length
        normal = statistics.NormalDist(0, math.sqrt(statistics.fmean(errors[folds != fold] ** 2)))
        expected = [math.log(normal.pdf(error)) for error in errors[folds == fold]]
        np.testing.assert_allclose(found[folds == fold], expected, rtol=1e-9)


def test_only_what_helps_gains():
    length, surprisal, noise, times = (column[:, None] for column in invented())
    useful = measure_gain(length, surprisal, times[:, 0])
    assert useful.mean > 3 * useful.error_over_words > 0
    useless = measure_gain(length, noise, times[:, 0])
    assert abs(useless.mean) < 3 * useless.error_over_words
    assert useless.mean < useful.mean / 5
    assert measure_gain(length, 3 * length + 1, times[:, 0]).mean == pytest.approx(0, abs=1e-12)


def test_standard_errors():
    gain = Gain(np.array([1.0, 3.0, 2.0, 6.0]), np.array([0, 1, 0, 1]))
    assert gain.mean == 3.0
    assert gain.error_over_words == pytest.approx(statistics.stdev([1, 3, 2, 6]) / 2)
    assert gain.error_over_folds == pytest.approx(statistics.stdev([1.5, 4.5]) / math.sqrt(2))


def test_what_cannot_be_fitted_is_refused():
    values = np.arange(8.0)
    for predictors, message in [
        (np.full((8, 1), np.inf), "not finite"),
        (np.zeros((7, 1)), "7 rows of predictors, 8 values"),
        (np.zeros((8, 5)), "4 words are too few to fit 6 weights"),
    ]:
        with pytest.raises(ValueError, match=message):
            held_out_log_densities(predictors, values, folds_of(8, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks the columns story, position, word, geometric_mean_ms"),
        (TABLE.replace("geometric", "arithmetic"), "lacks the columns geometric_mean_ms"),
        (TABLE.replace("350.5", "-1"), "line 3: needs a word and a positive number"),
        (TABLE.replace("350.5", "inf"), "line 3: needs a word and a positive number"),
        (TABLE.replace("350.5", "slow"), "line 3: could not convert"),
        (TABLE.replace("1\t3\t", "1\t4\t"), "line 4: position 4 of story 1 is not 3"),
        (TABLE.replace("2\t1\t", "2\t2\t"), "line 5: position 2 of story 2 is not 1"),
        (TABLE + "2\t3\n", "line 7: "),
    ],
)
def test_damaged_tables_are_refused(tmp_path, text, message):
    (tmp_path / "times.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"times.tsv.* ?{message}"):
        read_reading_times(tmp_path / "times.tsv")


def test_the_benchmark_sums_parts_and_compares_bare_words(tmp_path):
    (tmp_path / "times.tsv").write_text(TABLE, encoding="utf-8")
    words = read_reading_times(tmp_path / "times.tsv")
    train = ["Ann didn 't sleep .", '" Why ? " slept Ann', "Ann slept ."]
    stories = reading_times.Stories(words, [reading_times.in_wikitext_form(word.word) for word in words])
    assert stories.forms == [["Ann"], ["didn", "'t"], ["sleep", "."], ['"', "Why", "?", '"'], ["slept"]]
    tokenizer = reading_times.WordTokenizer.train(train, progress=False)
    assert stories.places().tolist() == [1, 2, 4]
    assert stories.places(tokenizer).tolist() == [], "no two neighbours without marks"
    found = reading_times.fit_ngrams(stories, train, tokenizer, (1,))[1]
    model = reading_times.NGramForCausalLM.fit(train, tokenizer, 1, "maximum_likelihood", progress=False)
    parts = [
        score.log_probs / -math.log(2)
        for score in score_texts(model, tokenizer, ["Ann didn 't sleep .", '" Why ? " slept'])
    ]
    expected = [parts[0][0], parts[0][1:3].sum(), parts[0][3:5].sum(), parts[1][:4].sum(), parts[1][4]]
    np.testing.assert_allclose(found, expected)
    sentences = reading_times.Stories(
        words, [reading_times.without_marks(word.word) for word in words], by_sentence=True
    )
    assert sentences.forms == [["ann"], ["didn't"], ["sleep"], ["why"], ["slept"]]
    assert sentences.begins_text.tolist() == [True, False, False, True, True]


def test_a_surprisal_that_counts_parts_gains_nothing():
    random = np.random.default_rng(5)
    forms = [
        " ".join(["ab" * int(random.integers(1, 5)) for _ in range(number)])
        for number in random.integers(1, 4, size=80)
    ]
    words = [ReadWord("1", "word", 300 + 20 * len(form) + 9 * random.normal()) for form in forms]
    stories = reading_times.Stories(words, forms)
    parts = np.array([len(form.split()) for form in forms])
    gain = reading_times.gain_of(stories, stories.places(), random.normal(size=80), 7.0 * parts)
    assert gain.mean == pytest.approx(0, abs=1e-9)


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [
        {"title": t, "family": f, "perplexity": p, "gain": 0.003, "error": 0.001}
        for t, f, p in (("bigram", "n-grams", 300.0), ("trigram", "n-grams", 200.0), ("LSTM", "LSTM", 100.0))
    ]
    save_reading_times(rows, tmp_path / "gain.svg", "Natural Stories")
    picture = (tmp_path / "gain.svg").read_text(encoding="utf-8")
    for text in ("Do better language models predict people better?", "bigram", "LSTM", "Natural Stories"):
        assert f"<!-- {text} -->" in picture
    with pytest.raises(ValueError, match="LSTM has a perplexity, gain or error that is not finite"):
        save_reading_times([rows[2] | {"perplexity": math.inf}], tmp_path / "none.svg", "")
    with pytest.raises(ValueError, match="no models to draw"):
        save_reading_times([], tmp_path / "none.svg", "")
