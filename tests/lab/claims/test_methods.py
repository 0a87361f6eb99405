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
from hf_lecture_models.lab.claims.methods.costs import COUNTS
from hf_lecture_models.lab.claims.methods.neighbours import count_vectors
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
    assert measured("train_and_measure", settings | {"floor": -250.5}, tmp_path) == [-250.5]
    # What is worse than the floor without an error is raised to it.
    still = settings | {"learning_rate": 0.0, "floor": -1.0}
    assert measured("train_and_measure", still, tmp_path) == [-1.0]
    assert not list(tmp_path.glob("model"))


@pytest.mark.slow
def test_a_reader_of_words_loses_what_is_misspelt(tmp_path):
    settings = {"task": "text_classification", "recipe": "bag_of_words_tiny", "measure": "accuracy"}
    as_they_are = measured("train_and_measure", settings, tmp_path)
    del settings["measure"]
    assert measured("right_when_misspelt", settings | {"share": 0.0}, tmp_path) == as_they_are
    misspelt = measured("right_when_misspelt", settings | {"share": 1.0}, tmp_path)
    assert sum(misspelt) < sum(as_they_are)
    lost = measured("right_when_misspelt", settings | {"share": 1.0, "lost": True}, tmp_path)
    assert lost == [after - before for after, before in zip(misspelt, as_they_are, strict=True)]
    # The settings are chosen on texts without mistakes.
    validation = measured("right_when_misspelt", settings | {"share": 1.0, "lost": True}, tmp_path, "validation")
    assert validation == as_they_are


@pytest.mark.slow
def test_a_tagger_has_the_share_of_the_tags_that_are_right(tmp_path):
    settings = {"task": "token_classification", "recipe": "recurrent_tagger_tiny"}
    spelt = measured("right_when_misspelt", settings | {"share": 0.0}, tmp_path)
    words = [5, 6, 5, 6, 5, 4]
    right = [share * number / 100 for share, number in zip(spelt, words, strict=True)]
    assert sum(right) == pytest.approx(28)  # of 31, as the recipe promises
    misspelt = measured("right_when_misspelt", settings | {"share": 1.0}, tmp_path)
    assert sum(misspelt) < sum(spelt)
    lost = measured("right_when_misspelt", settings | {"share": 1.0, "lost": True}, tmp_path)
    assert lost == [after - before for after, before in zip(misspelt, spelt, strict=True)]


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
    assert not list(tmp_path.iterdir())


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


def test_the_test_part_of_texts_is_measured_where_that_is_asked(texts, tmp_path):
    fit = {"order": 2, "smoothing": "add_alpha", "alpha": 1.0}
    settings = texts | {"task": "causal_lm", "recipe": "recurrent_tiny", "measure": "perplexity", "fit": fit}
    validation, usual = (measured("train_and_measure", settings, tmp_path, part) for part in ("validation", "test"))
    asked = settings | {"own_test": True}
    assert usual == validation == measured("train_and_measure", asked, tmp_path, "validation")
    of_test = measured("train_and_measure", asked, tmp_path)
    swapped = settings["texts"] | {"validation": "test.txt"}
    assert of_test == measured("train_and_measure", settings | {"texts": swapped}, tmp_path) != validation


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
