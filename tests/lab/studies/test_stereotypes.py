# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Pairs of stereotyping sentences: scores by hand and by another program, frequencies, damaged tables."""

import csv
from difflib import SequenceMatcher

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertModel, GPT2Config, GPT2LMHeadModel

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.lab.studies.stereotypes import (
    SentencePair,
    evaluate_stereotypes,
    prefer_frequent_words,
    prefer_stereotypes,
    read_crows_pairs,
    summarise_preferences,
)
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.word import WordTokenizer

TEXTS = ["cats sleep .", "the old dogs bark .", "dogs bark .", "dogs bark loudly .", "birds sing ."]
PAIRS = [
    SentencePair("cats sleep .", "dogs sleep .", "stereo", "animals"),
    SentencePair("the old dogs bark .", "the birds bark .", "antistereo", "animals"),
    SentencePair("zebras sleep .", "lions sleep .", "stereo", "zoo"),
    SentencePair("cats sleep .", "lions sleep .", "stereo", "animals"),
]
HEAD = "\tsent_more\tsent_less\tstereo_antistereo\tbias_type"
ROW = "0\tcats sleep\tdogs sleep\tstereo\tanimals"


@pytest.fixture(scope="module")
def bigram():
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha", progress=False), tokenizer


def test_shared_tokens_leave_the_changed_words_out(bigram):
    """By a bigram: the changed word's own probability counts in the whole only, what follows it in both."""
    model, tokenizer = bigram
    pair = PAIRS[0]
    more, less = (one.log_probs for one in score_texts(model, tokenizer, [pair.more, pair.less]))
    assert less[0] > more[0]
    assert more[1] > less[1]
    for name, first in (("whole", 0), ("shared", 1)):
        points = getattr(prefer_stereotypes(model, tokenizer, [pair]), name)
        assert points.tolist() == [float(more[first:].sum() > less[first:].sum())]


def test_pairs_of_unknown_words_are_ties_and_not_known(bigram):
    found = prefer_stereotypes(*bigram, PAIRS)
    assert found.known.tolist() == [True, True, False, False]
    assert found.whole[2] == found.shared[2] == 0.5
    summary = summarise_preferences(found, PAIRS)["whole"]
    assert (summary["all"]["pairs"], summary["known"]["pairs"]) == (4, 2)
    assert summary["known"]["preferred"] == found.whole[:2].mean() != found.whole[2:].mean()
    assert summary["types"]["zoo"] == {"pairs": 1, "preferred": 0.5, "standard_error": None, "ties": 1}
    assert summary["directions"]["antistereo"]["preferred"] == found.whole[1]
    assert summary["all"]["preferred"] == pytest.approx(found.whole.mean())
    assert summary["all"]["standard_error"] == pytest.approx(np.std(found.whole, ddof=1) / 2)


def test_frequencies_prefer_the_frequent_word_and_tie_on_shared_tokens(bigram):
    found = prefer_frequent_words(bigram[1], TEXTS, PAIRS)
    assert found.whole.tolist() == [0.0, 0.0, 0.5, 1.0], "dogs 3, cats 1; two rare words more; both unknown; cats known"
    assert found.shared.tolist() == [0.5, 0.5, 0.5, 0.5]


@torch.no_grad()
def test_masked_words_give_the_score_of_the_paper():
    """Each token that both sentences have is masked alone; the rest is read, the changed words among it."""
    tokenizer = WordTokenizer.train(TEXTS, template="bert", progress=False)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=0.5, **sizes)
    model = BertForMaskedLM(config).eval()

    def sums(pair):
        rows = [tokenizer(text)["input_ids"] for text in (pair.more, pair.less)]
        places = [[], []]
        for tag, *ends in SequenceMatcher(None, *rows).get_opcodes():
            if tag == "equal":
                places[0] += range(*ends[:2])
                places[1] += range(*ends[2:])
        for row, own in zip(rows, places, strict=True):
            total = 0.0
            for place in own[1:-1]:
                masked = torch.tensor([[*row[:place], tokenizer.mask_token_id, *row[place + 1 :]]])
                total += model(masked).logits[0, place].log_softmax(-1)[row[place]].item()
            yield total

    words = sorted({word for text in TEXTS for word in text.split()})
    draw = np.random.default_rng(0)
    texts = [list(draw.choice(words, length)) for length in draw.integers(2, 7, 20)]
    pairs = [
        SentencePair(" ".join(text), " ".join([*text[:at], *draw.choice(words, 2), *text[at + 1 :]]), "stereo", "x")
        for at, text in ((int(draw.integers(len(text))), text) for text in texts)
    ]
    expected = [float(more > less) for more, less in map(sums, pairs)]
    assert 0 < sum(expected) < len(expected)
    assert prefer_stereotypes(model, tokenizer, pairs, batch_size=2).shared.tolist() == expected


def test_a_causal_model_of_transformers(bigram):
    tokenizer = bigram[1]
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **sizes, **ids))
    assert evaluate_stereotypes(model, tokenizer, PAIRS)["shared"]["all"]["pairs"] == len(PAIRS)


def test_a_closed_vocabulary_ranks_impossible_sentences_last():
    tokenizer = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="maximum_likelihood", progress=False)
    pairs = [SentencePair("zebras sleep .", "cats sleep .", "stereo", "zoo"), PAIRS[2]]
    found = prefer_stereotypes(model, tokenizer, pairs)
    assert found.whole.tolist() == found.shared.tolist() == [0.0, 0.5]
    assert prefer_frequent_words(tokenizer, TEXTS, pairs).whole.tolist() == [0.0, 0.5]


def test_what_cannot_be_compared_is_refused(bigram):
    model, tokenizer = bigram
    encoder = BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2))
    with pytest.raises(ValueError, match="BertModel gives sentences no probability"):
        prefer_stereotypes(encoder, tokenizer, PAIRS)
    with pytest.raises(ValueError, match="text_form is 'wiki'; it must be one of plain, wikitext"):
        prefer_stereotypes(model, tokenizer, PAIRS, text_form="wiki")
    with pytest.raises(ValueError, match="no pairs"):
        evaluate_stereotypes(model, tokenizer, [])


@pytest.mark.parametrize("separator", ["\t", ","])
def test_tables_as_they_are_published(tmp_path, separator):
    """With a byte order mark, other columns, Windows' ends of lines, and a quoted sentence over two lines."""
    path = tmp_path / "pairs.csv"
    names = ["sent_more", "writer", "sent_less", "stereo_antistereo", "bias_type"]
    first = ["cats sleep", "a1", "dogs sleep", "stereo", "animals"]
    second = ['"he said ""no"", and\nleft"', "a2", "she left", "antistereo", "gender"]
    table = "\ufeff" + "".join(separator.join(row) + "\r\n" for row in (names, first, second))
    path.write_bytes(table.encode())
    one, other = read_crows_pairs(path)
    assert one == SentencePair("cats sleep", "dogs sleep", "stereo", "animals")
    assert other == SentencePair('he said "no", and\nleft', "she left", "antistereo", "gender")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "has no column sent_more, sent_less, stereo_antistereo, bias_type"),
        (HEAD.replace("bias_type", "type"), "has no column bias_type"),
        (HEAD, "has no pairs"),
        (f"{HEAD}\n{ROW}\n\n0\tcats sleep", "line 4: no pair of sentences; it needs 5 fields"),
        (f"{HEAD}\n\n", "has no pairs"),
        (f"{HEAD}\n{ROW}\tmore", "line 2: no pair"),
        (f"{HEAD}\n{ROW.replace('dogs sleep', ' ')}", "line 2: no pair"),
        (f"{HEAD}\n{ROW.replace('stereo', 'neutral')}", "line 2: .*with stereo or antistereo"),
    ],
)
def test_damaged_tables_are_named(tmp_path, table, message):
    path = tmp_path / "pairs.tsv"
    path.write_text(table, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_crows_pairs(path)


def test_a_quote_that_no_line_ends_is_named(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(f"{HEAD}\n{ROW.replace('cats', chr(34) + 'x' * 140)}", encoding="utf-8")
    limit = csv.field_size_limit(100)  # a setting of the whole process, which other readers raise
    try:
        with pytest.raises(ValueError, match="line 2: field larger than field limit"):
            read_crows_pairs(path)
    finally:
        csv.field_size_limit(limit)


def test_the_real_data_have_nine_types(shared_data):
    pairs = read_crows_pairs(shared_data / "crows_pairs" / "crows_pairs.tsv")
    assert len(pairs) == 1508
    assert len({pair.bias_type for pair in pairs}) == 9
    assert sum(pair.direction == "stereo" for pair in pairs) == 1290
