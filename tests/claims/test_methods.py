# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the methods measure, on texts whose answers are known; and each claim's small experiment."""

import math

import pytest

pytest.importorskip("accelerate")
pytest.importorskip("scipy")

from hf_lecture_models.claims.claim import load_claims
from hf_lecture_models.claims.methods import METHODS
from hf_lecture_models.claims.report import describe_cases
from hf_lecture_models.claims.trial import run_trial

TRAIN = ["the cat saw the dog", "a dog saw the cat", "the cat ran"]
VALIDATION = ["the dog ran"]
TEST = ["the cat saw the cat", "a dog ran"]


@pytest.fixture
def texts(tmp_path, monkeypatch):
    for name, lines in {"train": TRAIN, "valid": VALIDATION, "test": TEST}.items():
        (tmp_path / f"{name}.txt").write_text("\n\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    return {"texts": {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}}


def measured(name, settings, tmp_path, part="test"):
    return METHODS[name](settings, 0, tmp_path, part)


def test_a_text_has_a_token_for_each_word_or_character(texts, tmp_path):
    assert measured("tokens_per_word", texts | {"tokenizer": {"type": "word"}}, tmp_path) == [1, 1]
    by_characters = measured("tokens_per_word", texts | {"tokenizer": {"type": "char"}}, tmp_path)
    assert by_characters == [len(text) / len(text.split()) for text in TEST]


def test_unseen_trigrams_are_counted_with_the_ends_of_a_text(texts, tmp_path):
    # <s> the cat, the cat saw, cat saw the, *saw the cat*, the cat </s>: all were seen, "saw the cat" in the second
    # text; <s> a dog was seen, a dog ran and dog ran </s> were not.
    values = measured("unseen_ngrams", texts | {"order": 3}, tmp_path)
    assert sum(values) / 2 == pytest.approx(100 * 2 / 8)
    assert values[0] == 0


def test_texts_are_possible_when_all_of_their_trigrams_were_seen(texts, tmp_path):
    assert measured("possible_texts", texts | {"order": 3}, tmp_path) == [100, 0]
    fit = {"order": 3, "smoothing": "add_alpha"}
    assert measured("possible_texts", texts | {"order": 3, "fit": fit}, tmp_path) == [100, 100]


def test_the_best_alpha_on_the_validation_texts_is_used(texts, tmp_path):
    settings = texts | {"fit": {"order": 2, "smoothing": "add_alpha"}}
    one, many = (measured("ngram_log_prob", settings | {"alphas": alphas}, tmp_path) for alphas in ([0.1], [5.0, 0.1]))
    assert one == many
    assert -math.inf < min(one) < max(one) < 0


def test_word_order_changes_an_lstm_and_no_bag_of_words(texts, tmp_path):
    lstm = {"model_type": "lecture_recurrent", "hidden_size": 8, "num_hidden_layers": 1}
    assert measured("changed_by_shuffling", texts | {"model": lstm}, tmp_path) == [100, 100]
    bag = {"model_type": "lecture_bag_of_words"}
    assert measured("changed_by_shuffling", texts | {"model": bag}, tmp_path) == [0, 0]


def test_words_take_their_states_along_where_positions_are_left_out(texts, tmp_path):
    assert measured("changed_by_moving", texts | {"positions": True}, tmp_path) == [100, 100]
    assert measured("changed_by_moving", texts | {"positions": False}, tmp_path) == [0, 0]


def test_a_trained_classifier_has_a_value_for_each_text_and_leaves_no_model(tmp_path):
    settings = {"task": "text_classification", "recipe": "bag_of_words_tiny", "measure": "accuracy"}
    values = measured("train_and_measure", settings, tmp_path)
    assert len(values) == 16
    assert sum(values) / 16 == 81.25  # as the recipe promises
    assert not list(tmp_path.iterdir())


def test_an_untrained_model_is_measured_by_its_gradients(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "untrained": True, "distance": 2}
    plain = settings | {"model.cell_type": "elman", "model.num_hidden_layers": 1}
    values = measured("remaining_gradient", plain, tmp_path)
    assert len(values) == 2
    assert max(values) < 0


QUICK = ("discounting", "no_positions", "shorter_sequences", "unseen_trigrams", "word_order")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow, pytest.mark.nightly])
        for name in load_claims()
    ],
)
def test_each_claim_has_a_small_experiment(name, tmp_path):
    claim = load_claims()[name]
    found = run_trial(claim.embedded, METHODS, tmp_path)
    lines = describe_cases(claim, found["cases"], claim.embedded)
    assert len(lines) == len(claim.embedded.cases)
    assert all("difference" in line for line in lines)
