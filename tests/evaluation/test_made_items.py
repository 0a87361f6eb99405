# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Scores of texts behave as a list of them, and keep arrays alone."""

import pickle

import numpy as np
import pytest

from hf_lecture_models.evaluation import language_model, made_items, scoring
from hf_lecture_models.evaluation.encoding import EncodedTexts, encode_texts
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.evaluation.score_sums import ScoreSums
from hf_lecture_models.evaluation.scoring import TextScores, score_stream, score_stream_chunks, score_texts
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer

TRAIN = ["the cat sat on the mat", "a dog sat", "the cat ran", "12 cats ran"]
TEXTS = ["the cat sat", "", "a zebra in Paris ran 7 times", " \t", "the\u3000dog <unk> </s> ran", "mat " * 40, "zebra"]
TOKENIZERS = {
    "unknown word": WordTokenizer.train(TRAIN, progress=False),
    "classes": WordTokenizer.train(TRAIN, unknown_words="classes", progress=False),
    "closed": WordTokenizer.train(TRAIN, unk_token=None, progress=False),
    "pieces": BpeTokenizer.train(TRAIN, vocab_size=40, progress=False),
}


def fitted(name):
    tokenizer = TOKENIZERS[name]
    return NGramForCausalLM.fit(TRAIN, tokenizer, order=3, smoothing="add_alpha", progress=False), tokenizer


@pytest.fixture
def scores():
    return score_texts(*fitted("closed"), TEXTS)


def test_indices_slices_and_iteration_are_those_of_a_list(scores, monkeypatch):
    monkeypatch.setattr(made_items, "_AT_ONCE", 3)
    items = list(scores)
    assert isinstance(scores, TextScores)
    assert [one.encoded.text for one in scores] == TEXTS
    assert len(scores) == len(TEXTS)
    for index in range(-len(TEXTS), len(TEXTS)):
        assert scores[index : index + 1 or None] == [items[index]] == [scores[index]]
        assert scores[np.int64(index)].encoded.text == TEXTS[index]
    for part in (slice(2), slice(None, None, 2), slice(5, 1, -2), slice(-3, None), slice(9, 12), slice(None, None, -1)):
        assert scores[part] == items[part]
        assert [one.encoded.text for one in scores[part][::-1]] == TEXTS[part][::-1]
    assert [one.log_prob for one in reversed(scores)] == [one.log_prob for one in items[::-1]]
    for index in (len(TEXTS), -len(TEXTS) - 1):
        with pytest.raises(IndexError):
            scores[index]
    with pytest.raises(TypeError, match="unhashable"):
        hash(scores)


def test_scores_are_compared_by_their_numbers(scores):
    again = score_texts(*fitted("closed"), TEXTS)
    assert scores == again == list(scores)
    assert list(scores) == again
    assert scores != again[:-1]
    assert scores != score_texts(*fitted("closed"), TEXTS, "prefix")
    assert scores != "texts"
    again.token_log_probs[1] -= 1
    assert scores != again


def test_scores_can_be_pickled_and_shown(scores):
    assert pickle.loads(pickle.dumps(scores)) == scores
    assert pickle.loads(pickle.dumps(scores[2:4])) == scores[2:4]
    assert repr(scores).startswith("TextScores([TextScore(encoded=EncodedText(text='the cat sat'")
    assert repr(scores).endswith("...], length=7)")
    assert repr(scores[:0]) == "TextScores([], length=0)"


@pytest.mark.parametrize("part", [slice(None), slice(2), slice(4, 1, -2), slice(0, 0)])
def test_a_slice_has_the_log_probs_of_its_texts(scores, part):
    assert scores[part].log_probs.tolist() == [one.log_prob for one in scores[part]]


def test_a_changed_item_changes_no_other(scores):
    scores[0].log_prob = 7.0
    assert scores[0].log_prob < 0


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("score", [score_texts, score_stream])
def test_sums_of_arrays_are_those_of_the_items_to_the_last_bit(name, score):
    model, tokenizer = fitted(name)
    for texts in (TEXTS, TEXTS[1:2], ["zebra"], []):
        found = score(model, tokenizer, texts)
        arrays, items = ScoreSums.of(found), ScoreSums.of(list(found))
        for field, values in vars(arrays).items():
            assert values.tolist() == vars(items)[field].tolist(), field
            assert values.dtype == vars(items)[field].dtype
        for field, values in vars(ScoreSums.of(found[1:][::2])).items():
            assert values.tolist() == vars(arrays)[field][1:][::2].tolist(), field


def test_encoded_texts_are_those_of_each_text():
    for tokenizer in TOKENIZERS.values():
        together = encode_texts(tokenizer, TEXTS)
        assert together == [encode_texts(tokenizer, [text])[0] for text in TEXTS]
        assert EncodedTexts.of(list(together)) == together
        assert EncodedTexts.of(together) is together
        assert EncodedTexts.of(together[2:]) == together[2:]


def test_measures_make_no_item(monkeypatch):
    def refuse(*args):
        raise AssertionError("an item was made")

    model, tokenizer = fitted("unknown word")
    expected = evaluate_language_model(model, tokenizer, TEXTS, progress=False)
    monkeypatch.setattr(scoring, "TextScore", refuse)
    assert evaluate_language_model(model, tokenizer, TEXTS, progress=False) == expected


class Counted(str):
    """A text that counts how many of its kind are held."""

    held = most = 0

    def __new__(cls, text):
        Counted.held += 1
        Counted.most = max(Counted.most, Counted.held)
        return super().__new__(cls, text)

    def __del__(self):
        Counted.held -= 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_corpus_is_measured_in_bounded_memory(stream, monkeypatch):
    model, tokenizer = fitted("unknown word")
    expected = evaluate_language_model(model, tokenizer, TEXTS * 50, stream, progress=False)
    monkeypatch.setattr(language_model, "CHUNK", 8)
    most = []
    for times in (10, 50):
        Counted.held = Counted.most = 0
        texts = (Counted(text) for _ in range(times) for text in TEXTS)
        measures = evaluate_language_model(model, tokenizer, texts, stream, progress=False)
        assert Counted.held == 0
        most.append(Counted.most)
    assert measures == expected
    assert most[0] == most[1] <= 3 * 8


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("smoothing", ["add_alpha", "stupid_backoff", "kneser_ney"])
def test_a_stream_in_chunks_has_the_numbers_of_the_whole(name, smoothing):
    tokenizer = TOKENIZERS[name]
    texts = [TEXTS[index % 7] for index in range(40)]
    for order in (1, 4):
        model = NGramForCausalLM.fit(TRAIN * 2, tokenizer, order=order, smoothing=smoothing, progress=False)
        expected = score_stream(model, tokenizer, texts)
        for size in (1, 3, 40):
            chunks = (texts[first : first + size] for first in range(0, 40, size))
            found = [one for part in score_stream_chunks(model, tokenizer, chunks) for one in part]
            assert expected == found
