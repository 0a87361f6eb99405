# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the methods measure, on texts whose answers are known; and each claim's small experiment."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

pytest.importorskip("accelerate")
pytest.importorskip("scipy")

from hf_lecture_models import SelfAttentionConfig, SelfAttentionForCausalLM
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.lab.claims.claim import load_claims
from hf_lecture_models.lab.claims.methods import METHODS
from hf_lecture_models.lab.claims.methods.costs import COUNTS
from hf_lecture_models.lab.claims.methods.neighbours import count_vectors
from hf_lecture_models.lab.claims.methods.training import sample_rows
from hf_lecture_models.lab.claims.report import describe_cases
from hf_lecture_models.lab.claims.trial import run_trial

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


def test_the_other_words_change_what_a_token_may_see(texts, tmp_path):
    def found(model_type, place):
        shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
        settings = texts | {"place": place, "model": {"model_type": model_type, **shape}}
        return measured("changed_by_other_words", settings, tmp_path)

    assert [found("lecture_gpt1", place) for place in ("first", "last")] == [[0, 0], [100, 100]]
    assert [found("lecture_bert", place) for place in ("first", "last")] == [[100, 100], [100, 100]]


def test_zeros_take_attention_unless_they_are_masked(texts, tmp_path):
    def found(model_type, side, masked):
        shape = {"hidden_size": 8, "num_hidden_layers": 1}
        if model_type == "lecture_bert":
            shape |= {"num_attention_heads": 2, "intermediate_size": 8}
        settings = texts | {"side": side, "masked": masked, "model": {"model_type": model_type, **shape}}
        return measured("changed_by_zeros", settings, tmp_path)

    assert [found("lecture_bert", "after", masked) for masked in (False, True)] == [[100, 100], [0, 0]]
    assert [found("lecture_recurrent", "before", masked) for masked in (False, True)] == [[100, 100], [0, 0]]
    assert found("lecture_recurrent", "after", masked=False) == [0, 0]


def test_operations_are_those_of_the_formulas(tmp_path):
    # An Elman network: W_ih and W_hh, 4 x 4 each, for each word; the output layer is 4 x 10.
    model = {"model_type": "lecture_recurrent", "cell_type": "elman", "num_hidden_layers": 1}
    settings = {"model": model | {"hidden_size": 4, "vocab_size": 10}, "lengths": [2, 3]}
    share = measured("output_layer_share", settings, tmp_path)
    assert share == pytest.approx([100 * 40 / (32 + 40)] * 2)


def test_growth_is_the_power_of_the_length(tmp_path):
    def found(model_type, count, lengths, **shape):
        model = {"model_type": model_type, "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1, **shape}
        settings = {"model": model, "count": count, "lengths": lengths}
        return measured("growth_with_length", settings, tmp_path)

    def transformer(count, lengths):
        return found("lecture_self_attention", count, lengths, num_attention_heads=1)

    # A block of width d does 24 d² + 4 d n operations for each of n words (slide Y:593).
    operations = [24 * 64 * n + 4 * 8 * n**2 for n in (8, 16)]
    assert transformer("operations", [8]) == pytest.approx([math.log2(operations[1] / operations[0])])
    words = [24 * 64 + 4 * 8 * n for n in (9, 17)]
    assert transformer("operations of the next word", [8]) == pytest.approx([math.log2(words[1] / words[0])])
    assert transformer("remembered numbers", [8]) == [1]
    shape = {"vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 1}
    model = SelfAttentionForCausalLM(SelfAttentionConfig(**shape)).double()
    assert COUNTS["remembered numbers"](model, 5) == 5 * 3 * (8 + 8)  # keys and values
    assert transformer("dependent steps", [8]) == [0]
    lstm = {count: found("lecture_recurrent", count, [64])[0] for count in COUNTS}
    assert lstm["dependent steps"] == pytest.approx(1, abs=0.05)
    del lstm["dependent steps"]
    assert list(lstm.values()) == [1, 0, 0]


def test_an_untrained_model_is_measured_by_its_gradients(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "untrained": True, "distance": 2}
    plain = settings | {"model.cell_type": "elman", "model.num_hidden_layers": 1}
    values = measured("remaining_gradient", plain, tmp_path)
    assert len(values) == 2
    assert max(values) < 0


def test_a_run_that_diverges_has_the_stated_value(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "measure": "perplexity", "epochs": 3}
    settings |= {"optimizer": "sgd", "learning_rate": 1e30, "clip_norm": None, "schedule": "constant"}
    with pytest.raises(FloatingPointError):
        measured("train_and_measure", settings, tmp_path)
    assert measured("train_and_measure", settings | {"floor": -250.5}, tmp_path) == [-250.5]
    # What is worse than the floor without an error is raised to it.
    still = settings | {"learning_rate": 0.0, "floor": -1.0}
    assert measured("train_and_measure", still, tmp_path) == [-1.0]
    assert not list(tmp_path.glob("model"))


def test_a_reader_that_learned_nothing_is_not_compared(tmp_path):
    settings = {"task": "token_classification", "recipe": "recurrent_tagger_tiny", "share": 1.0}
    # Of the 31 words of the validation data 9 are nouns; 28 tags are right.
    measured("right_when_misspelt", settings | {"margin": 50}, tmp_path)
    with pytest.raises(ValueError, match=r"most frequent class about 29.0: too little was learned"):
        measured("right_when_misspelt", settings | {"margin": 70}, tmp_path)
    assert measured("right_when_misspelt", settings | {"margin": 70}, tmp_path, "validation")
    untrained = settings | {"untrained": True, "margin": 5}
    with pytest.raises(ValueError, match="too little was learned"):
        measured("right_when_misspelt", untrained, tmp_path)


def test_the_seed_draws_the_samples_and_not_the_validation_data():
    rows = Rows({"label": list(range(100))}, [("train.csv", 100)])
    (first, held_out), (second, same) = (sample_rows(rows, 10, held_out=20, seed=seed) for seed in (0, 1))
    first, second, held_out, same = (set(one.columns["label"]) for one in (first, second, held_out, same))
    assert first != second
    assert held_out == same
    assert (len(first | held_out), len(second | held_out)) == (30, 30)
    with pytest.raises(ValueError, match="95 rows and 20 others cannot be drawn of 100"):
        sample_rows(rows, 95, held_out=20, seed=0)


def test_answers_are_compared_with_chance_and_with_no_prompt(texts, tmp_path):
    # "the cat saw" is followed by "the", "a dog saw" too; after "Answer:" all that counts is how frequent an answer is.
    fit = {"order": 2, "smoothing": "add_alpha", "alpha": 0.1}
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "fit": fit}
    questions = [
        {"prompt": "the cat saw", "answers": ["cat", "the"], "label": 1},
        {"prompt": "the", "answers": ["ran", "cat", "the"], "label": 0},
    ]
    asked = settings | {"questions": questions}
    assert measured("points_by_prompts", asked | {"beside": "chance"}, tmp_path) == pytest.approx([50, -100 / 3])
    # After "Answer:", which the model does not know, both answers to the first question are equally probable.
    assert measured("points_by_prompts", asked | {"beside": "no prompt"}, tmp_path)[0] == 50
    same = settings | {"questions": [{"prompt": "Answer:", "answers": ["cat", "the"], "label": 1}]}
    assert measured("points_by_prompts", same | {"beside": "no prompt"}, tmp_path) == [0]


def test_an_ngram_model_is_measured_as_networks_are(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "measure": "perplexity", "layout": "texts"}
    settings["fit"] = {"order": 2, "smoothing": "add_alpha", "alpha": 1.0}
    log_prob = measured("ngram_log_prob", settings, tmp_path, "validation")  # of the one text, for each token
    assert measured("train_and_measure", settings, tmp_path, "validation") == pytest.approx(log_prob)


@pytest.mark.slow
def test_translations_are_measured_by_the_length_of_the_source(tmp_path):
    settings = {"task": "translation", "recipe": "recurrent_seq2seq_tiny", "num_beams": 1}
    found = measured("sentence_chrf", settings, tmp_path)
    assert found == pytest.approx([100] * 4)  # learned by heart
    untrained = settings | {"untrained": True}
    of_all = measured("sentence_chrf", untrained, tmp_path)
    # The four sources have 3, 4, 5 and 7 words.
    assert measured("sentence_chrf", untrained | {"least_words": 5}, tmp_path) == of_all[2:]
    assert measured("sentence_chrf", untrained | {"most_words": 4}, tmp_path) == of_all[:2]


def positive_informations(stream, size, contexts):
    frequent = sorted(range(size), key=lambda word: (-np.count_nonzero(stream == word), word))[:contexts]
    counts = Counter(
        (stream[place], (distance, stream[place + distance]))
        for place in range(2, len(stream) - 2)
        for distance in (-2, -1, 1, 2)
        if stream[place + distance] in frequent
    )
    words, around, total = Counter(), Counter(), sum(counts.values())
    for (word, context), count in counts.items():
        words[word] += count
        around[context] += count
    columns = list(around)
    found = torch.zeros(size, len(columns))
    for (word, context), count in counts.items():
        information = math.log(count * total / words[word] / around[context])
        found[word, columns.index(context)] = max(0, information)
    return found


@pytest.mark.parametrize("contexts", [4, 10])
def test_count_vectors_hold_the_positive_informations_of_a_words_contexts(contexts):
    stream = np.random.default_rng(0).zipf(1.5, 300).clip(max=10) - 1
    vectors = count_vectors(stream, 10, contexts, dimensions=10)
    expected = positive_informations(stream, 10, contexts)
    # With all of its dimensions, U √S (U √S)' = U S U', the root of M M'.
    products = vectors @ vectors.mT
    torch.testing.assert_close(products @ products, expected @ expected.mT, rtol=1e-3, atol=1e-3)


def test_neighbours_are_those_of_words_that_are_as_rare_as_asked(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "untrained": True, "words": 100}
    # the 4, cat 3, saw and dog 2, ran and a 1: in the three texts for training
    rare, frequent = (
        measured("context_cosine_of_neighbours", settings | {"counts": counts}, tmp_path) for counts in ([1, 1], [3, 9])
    )
    assert (len(rare), len(frequent)) == (2, 2)
    assert all(-100 <= value <= 100 for value in rare + frequent)


QUICK = ("discounting", "no_positions", "shorter_sequences", "unseen_trigrams", "word_order")


@pytest.mark.cases(1, 6)
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
