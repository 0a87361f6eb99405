# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Loss by distance: distances by hand, bits of words in any tokens, averages, texts that cannot be compared."""

import math

import numpy as np
import pytest

from hf_lecture_models.evaluation.scoring import score_stream, score_texts
from hf_lecture_models.lab.studies.repetition import average_by_distance, last_distances, word_bits
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.char import CharTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = [" the cat saw the cat", "", " ", "the \u00a0 dog", " zo\u00eb saw"]
TOKENIZERS = {
    "words": lambda: WordTokenizer.train(TEXTS[:1], progress=False),
    "spelled": lambda: WordTokenizer.train(TEXTS[:1], unknown_words="spelled", progress=False),
    "pieces": lambda: BpeTokenizer.train(TEXTS, merges=4, progress=False),
    "byte pairs": lambda: BpeTokenizer.train(TEXTS, merges=4, form="bytes", progress=False),
    "characters": lambda: CharTokenizer.train(TEXTS, progress=False),
    "bytes": ByteTokenizer,
}


def test_distances_run_across_texts():
    assert last_distances(["a b a", "", "b b c a"]).tolist() == [0, 0, 2, 2, 1, 0, 4]
    assert last_distances([]).tolist() == []


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_bits_of_words_are_those_of_their_tokens(name):
    """Over any tokens: as many words as the text has, and together the bits of all tokens but those of blank texts."""
    tokenizer = TOKENIZERS[name]()
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", progress=False)
    scores = score_stream(model, tokenizer, TEXTS)
    bits = word_bits(model, tokenizer, scores)
    assert len(bits) == len(last_distances(TEXTS))
    tokens = [one.log_probs[:-1].sum() for one in scores if one.encoded.text.strip()]
    assert bits.sum() == pytest.approx(-sum(tokens) / math.log(2))
    alone = -score_texts(model, tokenizer, [TEXTS[4]])[0].log_probs[:-1] / math.log(2)
    last = len(tokenizer(" saw", add_special_tokens=False)["input_ids"])
    assert bits[-1] == pytest.approx(alone[-last:].sum()), "no token of the word before"


def test_averages_by_hand():
    bits, distances = np.array([8.0, 1.0, 3.0, 5.0, 7.0, 2.0]), np.array([0, 1, 3, 2, 4, 7])
    rows = average_by_distance(bits, distances)
    assert [(row["from"], row["words"], row["bits"]) for row in rows] == [
        (1, 1, 1.0),
        (2, 2, 4.0),
        (4, 2, 4.5),
        (None, 1, 8.0),
    ]
    assert rows[1]["standard_error"] == pytest.approx(1.0)
    assert rows[0]["standard_error"] is None
    some = average_by_distance(bits, distances, np.array([True, True, False, False, False, False]))
    assert [(row["from"], row["words"]) for row in some] == [(1, 1), (None, 1)]
    assert average_by_distance(np.zeros(0), np.zeros(0, np.int64)) == [
        {"from": None, "words": 0, "bits": None, "standard_error": None}
    ]


def test_powers_of_two_begin_ranges():
    places = 2 ** np.arange(40)
    for distances in (places, places * 2 - 1):
        assert [row["words"] for row in average_by_distance(np.ones(40), distances)] == [1] * 40 + [0]


def test_what_does_not_belong_together_is_refused():
    with pytest.raises(ValueError, match="2 words have bits and 3 have distances"):
        average_by_distance(np.ones(2), np.ones(3, np.int64))
    closed = WordTokenizer.train(["the cat"], unk_token=None, progress=False)
    model = NGramForCausalLM.fit(["the cat"], closed, order=1, smoothing="add_alpha", progress=False)
    with pytest.raises(ValueError, match="cannot encode dog: leave the text out"):
        word_bits(model, closed, score_texts(model, closed, ["the dog"]))
