# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the methods measure, on texts whose answers are known; and each claim's small experiment."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

pytest.importorskip("accelerate")
pytest.importorskip("scipy")

import json
from dataclasses import replace

from hf_lecture_models import SelfAttentionConfig, SelfAttentionForCausalLM
from hf_lecture_models.analysis.neighbours import nearest_neighbours
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.lab.claims.claim import load_claims
from hf_lecture_models.lab.claims.methods import METHODS, image_transfer, neighbours, prompts, states, translations
from hf_lecture_models.lab.claims.methods import training as training_of_claims
from hf_lecture_models.lab.claims.methods.costs import COUNTS
from hf_lecture_models.lab.claims.methods.neighbours import count_vectors
from hf_lecture_models.lab.claims.methods.texts import articles_of, read_part
from hf_lecture_models.lab.claims.methods.training import sample_rows, train_model
from hf_lecture_models.lab.claims.report import describe_cases
from hf_lecture_models.lab.claims.trial import run_trial
from hf_lecture_models.lab.claims.values import Values
from hf_lecture_models.lab.studies.prompting import PromptItem

TRAIN = ["the cat saw the dog", "a dog saw the cat", "the cat ran"]
VALIDATION = ["the dog ran"]
TEST = ["the cat saw the cat", "a dog ran"]


@pytest.fixture
def texts(tmp_path, monkeypatch):
    for name, lines in {"train": TRAIN, "valid": VALIDATION, "test": TEST}.items():
        (tmp_path / f"{name}.txt").write_text("\n\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    return {"texts": {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}}


def found_by(name, settings, tmp_path, part="test"):
    return METHODS[name](settings, 0, tmp_path / "measured", part)  # models are kept in tmp_path


def measured(name, settings, tmp_path, part="test"):
    found = found_by(name, settings, tmp_path, part)
    return list(found.values if isinstance(found, Values) else found)


def test_a_text_has_a_token_for_each_word_or_character(texts, tmp_path):
    assert measured("tokens_per_word", texts | {"tokenizer": {"type": "word"}}, tmp_path) == [1, 1]
    by_characters = measured("tokens_per_word", texts | {"tokenizer": {"type": "char"}}, tmp_path)
    assert by_characters == [len(text) / len(text.split()) for text in TEST]


def test_unseen_trigrams_are_counted_with_the_ends_of_a_text(texts, tmp_path):
    # <s> the cat, the cat saw, cat saw the, *saw the cat*, the cat </s>: all were seen, "saw the cat" in the second
    # text; <s> a dog was seen, a dog ran and dog ran </s> were not.
    found = found_by("unseen_ngrams", texts | {"order": 3}, tmp_path)
    assert found.values == pytest.approx([0, 200 / 3])
    assert found.weights == [5, 3]
    assert found.mean == pytest.approx(100 * 2 / 8)


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


def test_nothing_is_added_to_the_zeros(texts, tmp_path, monkeypatch):
    made, models = states._tokenizer_and_model, []

    def remember(*args):
        models.append(made(*args)[1])
        return made(*args)[0], models[0]

    monkeypatch.setattr(states, "_tokenizer_and_model", remember)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    settings = texts | {"side": "after", "masked": False, "model": {"model_type": "lecture_bert", **shape}}
    measured("changed_by_zeros", settings, tmp_path)
    assert not models[0].embed_positions.weight.any()


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


@pytest.mark.slow
def test_a_trained_classifier_has_a_value_for_each_text_and_leaves_no_model(tmp_path):
    settings = {"task": "text_classification", "recipe": "bag_of_words_tiny", "measure": "accuracy"}
    values = measured("train_and_measure", settings, tmp_path, "validation")
    assert len(values) == 16
    assert sum(values) / 16 == 81.25  # as the recipe promises
    assert not [*tmp_path.glob("*/*"), *tmp_path.glob("trained-*")]


def test_an_untrained_model_is_measured_by_its_gradients(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "untrained": True, "distance": 2}
    plain = settings | {"model.cell_type": "elman", "model.num_hidden_layers": 1}
    values = measured("remaining_gradient", plain, tmp_path)
    assert len(values) == 2
    assert max(values) < 0


def test_the_gradient_may_be_compared_with_that_after_some_words(texts, tmp_path):
    plain = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "untrained": True, "distance": 2}
    values = [measured("remaining_gradient", plain | {"beside": beside}, tmp_path) for beside in (0, 1, 2)]
    assert values[0] == measured("remaining_gradient", plain, tmp_path)
    assert values[0] != values[1]
    assert values[2] == [0, 0]  # beside itself


def test_a_run_that_diverges_has_the_stated_value(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "measure": "perplexity", "epochs": 3}
    settings |= {"optimizer": "sgd", "learning_rate": 1e30, "clip_norm": None, "schedule": "constant"}
    with pytest.raises(FloatingPointError):
        measured("train_and_measure", settings, tmp_path)
    found = found_by("train_and_measure", settings | {"floor": -250.5}, tmp_path)
    assert found.values == [-250.5] * 2
    # What is worse than the floor without an error is raised to it; one text alone may be worse.
    still = settings | {"learning_rate": 0.0}
    assert measured("train_and_measure", still | {"floor": -1.0}, tmp_path) == [-1.0] * 2
    learned = found_by("train_and_measure", still, tmp_path)
    assert learned.weights == found.weights == [6, 4]  # each text has an end
    assert found_by("train_and_measure", still | {"floor": learned.mean - 1e-9}, tmp_path) == learned
    assert not list(tmp_path.glob("*/model"))


@pytest.mark.slow
def test_a_reader_of_words_loses_what_is_misspelt(tmp_path):
    settings = {"task": "text_classification", "recipe": "bag_of_words_tiny"}
    rows = train_model(settings | {"untrained": True}, 0, tmp_path).validation
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    settings["test_files"] = [str(tmp_path / "test.jsonl")]
    as_they_are, validation = (
        measured("train_and_measure", settings | {"measure": "accuracy"}, tmp_path, part)
        for part in ("test", "validation")
    )
    assert measured("right_when_misspelt", settings | {"share": 0.0}, tmp_path) == as_they_are
    misspelt = measured("right_when_misspelt", settings | {"share": 1.0}, tmp_path)
    assert sum(misspelt) < sum(as_they_are)
    lost = measured("right_when_misspelt", settings | {"share": 1.0, "lost": True}, tmp_path)
    assert lost == [after - before for after, before in zip(misspelt, as_they_are, strict=True)]
    # The settings are chosen on texts without mistakes.
    spelt = measured("right_when_misspelt", settings | {"share": 1.0, "lost": True}, tmp_path, "validation")
    assert spelt == validation
    assert len(list(tmp_path.glob("trained-*"))) == 1  # for all of them


def test_a_tagger_has_the_share_of_the_tags_that_are_right(tmp_path):
    settings = {"task": "token_classification", "recipe": "recurrent_tagger_tiny"}
    found = found_by("train_and_measure", settings | {"measure": "accuracy"}, tmp_path, "validation")
    assert found.weights == [5, 6, 5, 6, 5, 4]  # words
    assert found.mean == pytest.approx(100 * 28 / 31)  # as the recipe promises
    assert found.clusters == list(range(6))
    assert found_by("right_when_misspelt", settings | {"share": 1.0}, tmp_path, "validation") == found
    settings |= {"test_lines": 8}
    spelt, misspelt = (found_by("right_when_misspelt", settings | {"share": share}, tmp_path) for share in (0.0, 1.0))
    assert misspelt.mean < spelt.mean
    assert misspelt.weights == spelt.weights
    lost = found_by("right_when_misspelt", settings | {"share": 1.0, "lost": True}, tmp_path)
    assert lost.mean == pytest.approx(misspelt.mean - spelt.mean)


def test_sentences_of_one_document_are_a_cluster(tmp_path):
    sentence = "1\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tlight\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n"
    path = tmp_path / "test.conllu"
    path.write_text(f"# newdoc id = a\n{sentence}{sentence}# newdoc id = b\n{sentence}", encoding="utf-8")
    settings = {"task": "token_classification", "recipe": "recurrent_tagger_tiny", "untrained": True}
    settings |= {"measure": "accuracy", "test_files": [str(path)], "columns": {"tags": "upos"}}
    for name in ("train", "validation"):
        settings[f"{name}_files"], settings[f"{name}_rows"] = [str(path)], []
    found = found_by("train_and_measure", settings, tmp_path)
    assert found.weights == [2, 2, 2]
    first, second, other = found.clusters
    assert first == second != other


def test_a_reader_that_learned_nothing_is_not_compared(tmp_path):
    settings = {"task": "token_classification", "recipe": "recurrent_tagger_tiny", "share": 1.0}
    settings["test_files"] = [str(tmp_path / "test.jsonl")]
    row = {"tokens": ["the", "light", "sleeps"], "tags": ["DET", "NOUN", "VERB"]}
    (tmp_path / "test.jsonl").write_text(json.dumps(row), encoding="utf-8")
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


@pytest.mark.slow
def test_the_same_network_may_start_from_new_weights(tmp_path):
    recipe = {"task": "text_classification", "recipe": "bag_of_words_tiny"}
    before = train_model(recipe, 0, tmp_path)
    for part in (before.model, before.processor):
        part.save_pretrained(tmp_path / "before")
    own = recipe | {"from_pretrained": str(tmp_path / "before"), "sample": 8, "held_out": 4, "learning_rate": 0.0}
    kept, new = (train_model(own | {"new_weights": one}, 0, tmp_path) for one in (False, True))
    weights, kept_weights, new_weights = (one.model.state_dict() for one in (before, kept, new))
    assert all(torch.equal(weights[name], kept_weights[name]) for name in weights)
    assert not any(torch.equal(weights[name], new_weights[name]) for name in weights if weights[name].any())
    assert len(kept.validation) == 4


@pytest.mark.slow
def test_a_vision_transformer_learns_the_even_classes_after_the_odd_ones(tmp_path, monkeypatch):
    train, calls = image_transfer._train, []

    def remember(settings, seed, folder, data):
        halves = {int(label) % 2 for label in data.columns["label"]}
        calls.append((settings["task"], "from_pretrained" in settings, halves, len(data)))
        return train(settings, seed, folder, data)

    monkeypatch.setattr(image_transfer, "_train", remember)
    settings = {"recipe": "vit_tiny", "masked_recipe": "vit_tiny", "test_split": "test", "epochs": 1, "held_out": 30}
    settings |= {"pretraining_epochs": 1, "pretraining_images": 100, "images": 64}
    found = {}
    for start in ("nothing", "classes", "pixels", "mean_color"):
        found[start] = measured("right_after_pretraining", settings | {"start": start}, tmp_path)
    assert {len(values) for values in found.values()} == {165}  # of 300 digits
    assert len({tuple(values) for values in found.values()}) == 4
    after, masked = ("image_classification", True, {0}, 64), ("masked_images", False, {1}, 100)
    assert calls[0] == ("image_classification", False, {0}, 64)
    assert calls[1:3] == [("image_classification", False, {1}, 100), after]
    assert calls[3:] == [masked, after, masked, after]
    validation = measured("right_after_pretraining", settings | {"start": "nothing"}, tmp_path, "validation")
    assert len(validation) == 30
    # A model that is not the recipe's keeps its shape in both phases.
    other = {"model_type": "lecture_vit", "image_size": 8, "patch_size": 2, "num_channels": 1, "hidden_size": 16}
    other |= {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    assert len(measured("right_after_pretraining", settings | {"start": "pixels", "model": other}, tmp_path)) == 165
    assert not list((tmp_path / "measured").iterdir())


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


def test_questions_that_belong_together_have_one_value(texts, tmp_path, monkeypatch):
    pair = [PromptItem("the cat saw", ("cat", "the"), label, group="mirror") for label in (0, 1)]
    monkeypatch.setattr(prompts, "_items", lambda _: ([*pair, replace(pair[1], group=None)], " "))
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "fit": {"order": 2, "smoothing": "kneser_ney"}}
    asked = settings | {"questions": ["any"], "beside": "chance"}
    assert measured("points_by_prompts", asked, tmp_path) == [0, 50]


def test_an_ngram_model_is_measured_as_networks_are(texts, tmp_path):
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "measure": "perplexity", "layout": "texts"}
    settings["fit"] = {"order": 2, "smoothing": "add_alpha", "alpha": 1.0}
    log_prob = measured("ngram_log_prob", settings, tmp_path, "validation")  # of the one text, for each token
    assert measured("train_and_measure", settings, tmp_path, "validation") == pytest.approx(log_prob)
    found, by_itself = (found_by(name, settings, tmp_path) for name in ("train_and_measure", "ngram_log_prob"))
    assert found.values == pytest.approx(by_itself.values)
    assert (found.weights, found.clusters) == (by_itself.weights, by_itself.clusters) == ([6, 4], [0, 2])


def test_the_test_part_is_never_the_validation_part(texts, tmp_path):
    fit = {"order": 2, "smoothing": "add_alpha", "alpha": 1.0}
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "measure": "perplexity", "fit": fit}
    validation, test = (measured("train_and_measure", settings, tmp_path, part) for part in ("validation", "test"))
    swapped = settings["texts"] | {"validation": "test.txt"}
    assert test == measured("train_and_measure", settings | {"texts": swapped}, tmp_path, "validation") != validation
    del swapped["test"]
    with pytest.raises(ValueError, match=r"causal_lm has no test data; give .* a file as `texts`"):
        measured("train_and_measure", settings | {"texts": swapped}, tmp_path)
    tagger = {"task": "token_classification", "recipe": "recurrent_tagger_tiny", "untrained": True}
    with pytest.raises(ValueError, match="give `test_files` or `test_split`, or some training rows by `test_lines`"):
        measured("train_and_measure", tagger | {"measure": "accuracy"}, tmp_path)
    kept = train_model(tagger | {"test_lines": 5}, 0, tmp_path)
    assert len(kept.part("test")) == 5


@pytest.fixture
def articles(tmp_path, monkeypatch):
    """Return settings of texts in which each article has a title, a section and its own number of paragraphs."""

    def article(title, number):
        paragraphs = "".join(f" the cat {title} saw dog {i} \n" for i in range(number))
        return f" \n = {title} = \n \n{paragraphs} = {title} of a list = \n \n = = Section of {title} = = \n \n"

    for name, numbers in {"train": [9, 1], "valid": [5, 2], "test": [20, 1, 9]}.items():
        text = "".join(article(f"{name}{i}", number) for i, number in enumerate(numbers))
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    return {"texts": {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}}


def test_some_texts_may_be_from_all_articles(articles):
    whole = read_part(articles, "test")
    assert Counter(whole.articles) == {1: 23, 2: 4, 3: 12}  # a title, a line of a list and a section more than numbers
    first, spread = (read_part(articles | {"most": 13, "spread": one}, "test") for one in (False, True))
    assert first == whole.at(range(13))
    assert Counter(spread.articles) == {1: 7, 2: 1, 3: 4}
    places = [whole.texts.index(text) for text in spread.texts]
    assert places == sorted(places)
    assert read_part(articles | {"most": 13, "spread": True}, "test") == spread
    assert read_part(articles | {"most": 5, "spread": True}, "train") == read_part(articles | {"most": 5}, "train")


def test_titles_are_found_before_blank_lines_are_left_out():
    lines = ["", " = A = ", "", " x ", " = no title = ", "", " = = B = = ", "", " = C = ", "", " = 4 of them are", ""]
    assert articles_of(lines) == [0] + [1] * 7 + [2] * 4
    assert articles_of(lines[1:]) == [1] * 7 + [2] * 4
    assert articles_of(["a", "", "b"]) == [0, 1, 2]


def test_the_topics_of_pythons_reference_are_articles():
    texts, topics = read_part({"texts": "python"}, "test")
    assert len(texts) == len(topics)
    assert 10 < len(set(topics)) < len(texts) / 2


def test_wikitext_2_has_60_articles_in_each_measured_part(shared_data, monkeypatch):
    monkeypatch.setenv("HF_LECTURE_DATA", str(shared_data))
    settings = {"texts": {"validation": "wikitext-2/valid.txt", "test": "wikitext-2/test.txt"}, "most": 300}
    for part in ("validation", "test"):
        whole = read_part({"texts": settings["texts"]}, part)
        spread = read_part(settings | {"spread": True}, part)
        assert len(set(whole.articles)) == len(set(spread.articles)) == 60
        assert 250 < len(spread.texts) <= 300
        assert len(set(read_part(settings, part).articles)) < 10


@pytest.mark.parametrize("layout", ["stream", "blocks", "texts"])
@pytest.mark.parametrize("recipe", ["recurrent_tiny", "self_attention_tiny"])
def test_the_articles_have_the_perplexity_of_the_task(articles, tmp_path, recipe, layout):
    if recipe == "self_attention_tiny" and layout == "stream":
        pytest.skip("it carries no state")
    settings = articles | {"task": "causal_lm", "recipe": recipe, "layout": layout, "untrained": True, "most": 30}
    settings["spread"] = True
    trained = train_model(settings, 0, tmp_path)
    assert trained.test == read_part(settings, "test").texts
    found = found_by("train_and_measure", settings | {"measure": "perplexity"}, tmp_path)
    measures = trained.task.evaluate(trained.model, trained.processor, trained.test, trained.recipe)
    assert found.mean == pytest.approx(-100 * math.log(measures["perplexity"]), rel=1e-12, abs=1e-9)
    assert sum(found.weights) == measures["tokens"]
    assert found.clusters == [1, 2, 3]
    assert len(set(found.values)) == 3


def test_a_text_has_a_value_for_its_answers(tmp_path):
    settings = {"task": "synthetic_recall", "recipe": "self_attention_recall", "untrained": True, "length": 16}
    settings |= {"measure": "accuracy", "words": 16, "train_size": 100, "validation_size": 5, "test_size": 6}
    trained = train_model(settings, 0, tmp_path)
    found = found_by("train_and_measure", settings, tmp_path)
    measures = trained.task.evaluate(trained.model, trained.processor, trained.test, trained.recipe)
    assert (len(found.values), sum(found.weights)) == (6, measures["answers"])
    assert found.mean == pytest.approx(100 * measures["accuracy"])


def test_a_model_is_trained_once_for_all_that_is_asked_of_it(texts, tmp_path, monkeypatch):
    calls = []
    train = training_of_claims.train_model

    def count(settings, seed, folder):
        calls.append(settings.get("untrained", False))
        return train(settings, seed, folder)

    monkeypatch.setattr(training_of_claims, "train_model", count)
    plain = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "epochs": 1}
    near, far = (measured("remaining_gradient", plain | {"distance": distance}, tmp_path) for distance in (1, 2))
    assert calls == [False, True, True]
    assert near != far
    again = train_model(plain, 0, tmp_path)
    kept = training_of_claims.train_once(plain, 0, tmp_path / "other")
    weights, kept_weights = (one.model.state_dict() for one in (again, kept))
    assert all(torch.equal(weights[name], kept_weights[name]) for name in weights)
    assert not kept.model.training


def test_texts_that_have_the_same_other_words_are_left_out(tmp_path, monkeypatch):
    lines = ["= = Reception = =", "= = Reception = =", "= = Career = =", "a b c d e", "a x c y e", "one"]
    (tmp_path / "test.txt").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    settings = {"texts": {"test": "test.txt"}, "place": "any", "model": {"model_type": "lecture_bert", **shape}}
    for seed in range(5):
        found = METHODS["changed_by_other_words"](settings, seed, tmp_path, "test")
        # The second heading differs by one word from the next one, which may be the word that stays.
        assert (found.values, found.clusters) == ([100, 100], [2, 3])


@pytest.mark.slow
def test_translations_are_measured_by_the_length_of_the_source(tmp_path):
    settings = {"task": "translation", "recipe": "recurrent_seq2seq_tiny", "num_beams": 1}
    found = measured("sentence_chrf", settings, tmp_path, "validation")
    assert found == pytest.approx([100] * 4)  # learned by heart
    untrained = settings | {"untrained": True}
    of_all = found_by("sentence_chrf", untrained, tmp_path, "validation")
    # The four sources have 3, 4, 5 and 7 words.
    long = found_by("sentence_chrf", untrained | {"least_words": 5}, tmp_path, "validation")
    assert (long.values, long.clusters) == (of_all.values[2:], [2, 3])
    assert measured("sentence_chrf", untrained | {"most_words": 4}, tmp_path, "validation") == of_all.values[:2]


def test_a_classifier_is_measured_by_the_length_of_the_text(tmp_path):
    settings = {
        "task": "text_classification",
        "recipe": "bag_of_words_reviews_tiny",
        "test_lines": 60,
        "untrained": True,
    }
    of_all = found_by("train_and_measure", settings | {"measure": "accuracy"}, tmp_path)
    words = [len(text.split()) for text in train_model(settings, 0, tmp_path).test.columns["text"]]
    assert min(words) < 5 < max(words)
    for bounds in ({}, {"most_words": 5}, {"least_words": 6}, {"least_words": 4, "most_words": 6}):
        found = found_by("right_by_length", settings | bounds, tmp_path)
        kept = [
            n for n, word in enumerate(words) if bounds.get("least_words", 0) <= word <= bounds.get("most_words", 99)
        ]
        assert (found.values, found.clusters) == ([of_all.values[n] for n in kept], kept)
    with pytest.raises(ValueError, match="no test text has 99 to 1,000,000 words; change least_words"):
        found_by("right_by_length", settings | {"least_words": 99}, tmp_path)


def test_each_sentence_of_the_part_is_compared_with_its_own_translation(monkeypatch, tmp_path):
    rows = [
        {"source": "Je suis prêt", "target": "I am ready"},
        {"source": "Il dort beaucoup", "target": "He sleeps a lot"},
    ]
    path, seen = tmp_path / "test.jsonl", []
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")

    def measure(found, right):
        seen.append(right)
        return {"bleu": 1.0, "chrf": 7.0 + len(seen)}

    monkeypatch.setattr(translations, "bleu_and_chrf", measure)
    settings = {"task": "translation", "recipe": "recurrent_seq2seq_tiny", "num_beams": 1, "untrained": True}
    settings |= {"test_files": [str(path)], "most_words": 3}  # of the source
    assert measured("sentence_chrf", settings, tmp_path) == [8, 9]
    assert seen == [["I am ready"], ["He sleeps a lot"]]
    assert len(measured("sentence_chrf", settings | {"most_words": 7}, tmp_path, "validation")) == 4


@pytest.mark.slow
def test_translations_of_other_sources_are_those_of_the_same_translator(monkeypatch, tmp_path):
    compared = []

    def measure(found, right):
        compared.append((*found, *right))
        return {"bleu": 1.0, "chrf": 0.0}

    monkeypatch.setattr(translations, "bleu_and_chrf", measure)
    settings = {"task": "translation", "recipe": "recurrent_seq2seq_tiny", "num_beams": 1}
    for others in ({}, {"other_sources": True}):
        measured("sentence_chrf", settings | others, tmp_path, "validation")
    own, other = compared[:4], compared[4:]  # learned by heart
    assert all(found == right for found, right in own)
    assert other == [(own[number - 1][0], own[number][1]) for number in range(4)]
    assert len(list(tmp_path.glob("**/trained-*"))) == 1


def test_words_with_the_same_contexts_have_the_same_count_vector():
    # a x b . a y b . c z d .
    stream = np.array([0, 1, 2, 9, 0, 3, 2, 9, 4, 5, 6, 9] * 20)
    vectors = torch.nn.functional.normalize(count_vectors(stream, vocab_size=10, contexts=10, dimensions=8))
    assert vectors[1] @ vectors[3] == pytest.approx(1, abs=1e-4)
    assert vectors[1] @ vectors[5] < 0.7


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


def test_contexts_are_those_of_all_texts_and_words_the_same_for_all_seeds(monkeypatch, tmp_path):
    lines = ["a b c d e f g h", "a b c d e f", "i j a b c d e f"]
    for name in ("train", "valid"):
        (tmp_path / f"{name}.txt").write_text("\n\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("HF_LECTURE_DATA", str(tmp_path))
    streams, found = [], []

    def vectors_of(stream, size):
        streams.append(stream)
        return torch.randn(size, 3, generator=torch.Generator().manual_seed(1))

    def neighbours_of(model, tokenizer, words, number):
        found.append((tokenizer, words, nearest_neighbours(model, tokenizer, words, number)))
        return found[-1][-1]

    monkeypatch.setattr(neighbours, "count_vectors", vectors_of)
    monkeypatch.setattr(neighbours, "nearest_neighbours", neighbours_of)
    settings = {"task": "causal_lm", "recipe": "recurrent_tiny", "untrained": True, "most": 2, "words": 3}
    settings |= {"texts": {"train": "train.txt", "validation": "valid.txt"}, "counts": [2, 2]}
    values = [METHODS["context_cosine_of_neighbours"](settings, seed, tmp_path, "test") for seed in (0, 1)]
    (tokenizer, words, nearest), again = found
    assert words == again[1]
    assert len(words) == 3
    assert set(words) < set("abcdef")
    assert len(streams[0]) == 8 + 6 + 8 + 3 * 2  # each text has a beginning and an end
    vectors = vectors_of(streams[0], len(tokenizer))
    for word, one, value in zip(words, nearest, values[0], strict=True):
        near = vectors[[neighbour.id for neighbour in one.neighbours]]
        assert len(near) == 5
        cosines = torch.cosine_similarity(vectors[tokenizer.convert_tokens_to_ids(word)], near)
        assert value == pytest.approx(100 * cosines.mean().item(), abs=1e-3)


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
