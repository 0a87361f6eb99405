# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Answers after prompts: the tokens at the border, the scores, ties, probability zero, prompts that are too long."""

import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from hf_lecture_models import BpeTokenizer, NGramForCausalLM, WordTokenizer
from hf_lecture_models.evaluation.scoring import ContextLimit, score_rows, score_texts
from hf_lecture_models.lab.studies.prompting import (
    SCORES,
    AnswerScore,
    PromptItem,
    all_scores,
    mean_with_error,
    measure_items,
    points,
    score_answers,
    score_items,
)
from tests.interop.small_models import small_model

TEXTS = ["the cat sat on the mat .", "a dog saw the old log .", "one bird sang in a tree ."]
WORDS = WordTokenizer.train(TEXTS, progress=False)
QUESTIONS = [
    ("the cat", "sat on the mat ."),
    ("the cat", "sang"),
    ("a", "dog saw"),
    ("", "one bird"),
    ("the old", "log"),
]


def stock_tokenizer():
    """As GPT-2's: byte pairs, and nothing put in front of a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>")


def stock_model(tokenizer, positions=64):
    torch.manual_seed(0)
    sizes = {"n_positions": positions, "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": len(tokenizer)}
    return GPT2LMHeadModel(GPT2Config(**sizes, initializer_range=0.5)).eval()


def ngram(order=3, smoothing="absolute_discounting", tokenizer=WORDS):
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=order, smoothing=smoothing, progress=False)


def network(name, tokenizer, **fields):
    torch.manual_seed(0)
    return small_model(name, tokenizer, **fields).eval()


@pytest.mark.parametrize(
    ("name", "tokenizer"),
    [
        ("ngram", WORDS),
        ("feed_forward", WORDS),
        ("recurrent", BpeTokenizer.train(TEXTS, merges=30, progress=False)),
        ("self_attention", WORDS),
        ("gpt1", BpeTokenizer.train(TEXTS, form="bytes", progress=False)),
    ],
)
def test_an_answer_has_the_probability_that_it_adds_to_its_prompt(name, tokenizer):
    model = ngram(tokenizer=tokenizer) if name == "ngram" else network(name, tokenizer)
    found = score_answers(model, tokenizer, QUESTIONS, batch_size=2)
    for (prompt, answer), score in zip(QUESTIONS, found, strict=True):
        whole, before = score_texts(model, tokenizer, [f"{prompt} {answer}", prompt], probability="prefix")
        assert score.log_prob == pytest.approx(whole.log_prob - before.log_prob, abs=1e-5)
        assert score.tokens == len(whole.ids) - len(before.ids) > 0
    assert score_answers(model, tokenizer, QUESTIONS[:1], batch_size=9)[0].log_prob == pytest.approx(found[0].log_prob)


def test_a_stock_tokenizer_puts_nothing_in_front_except_of_the_empty_prompt():
    tokenizer = stock_tokenizer()
    model = stock_model(tokenizer)
    [score, empty] = score_answers(model, tokenizer, [("the cat", "sat"), ("", "sat")])
    for found, before in ((score, tokenizer("the cat").input_ids), (empty, [tokenizer.eos_token_id])):
        after = tokenizer(" sat").input_ids
        assert found.tokens == len(after)
        with torch.no_grad():
            log_probs = model(torch.tensor([before + after])).logits[0].log_softmax(-1)
        expected = sum(log_probs[len(before) - 1 + place, token].item() for place, token in enumerate(after))
        assert found.log_prob == pytest.approx(expected, abs=1e-5)


def test_a_token_across_the_border_belongs_to_the_side_that_its_number_says():
    """The prompt "the ca" has more tokens by itself than it fills of "the cat sat on the mat"."""
    tokenizer = stock_tokenizer()
    whole, before = (tokenizer.tokenize(text) for text in ("the cat sat on the mat", "the ca"))
    assert whole[: len(before)] != before
    [score] = score_answers(stock_model(tokenizer), tokenizer, [("the ca", "t sat on the mat")], separator="")
    assert score.tokens == len(whole) - len(before)


def test_blanks_at_the_end_of_a_prompt_are_the_answers():
    tokenizer = stock_tokenizer()
    model = stock_model(tokenizer)
    plain, blank = (
        score_answers(model, tokenizer, [(p, a)], s)[0] for p, a, s in (("a", "dog", " "), ("a ", "dog", ""))
    )
    assert plain == blank


def test_scores_by_hand():
    scores = all_scores(AnswerScore(-6.0, 4), AnswerScore(-8.0, 4), characters=3)
    assert scores == {"sum": -6.0, "per_token": -1.5, "per_character": -2.0, "divided": 2.0}
    assert tuple(scores) == SCORES
    impossible, never = AnswerScore(-math.inf, 0), AnswerScore(-math.inf, 2)
    assert set(all_scores(impossible, never, 3).values()) == {-math.inf}
    assert all_scores(AnswerScore(-6.0, 4), never, 3)["divided"] == math.inf


def test_ties_count_a_share():
    assert points([-2.0, -1.0, -1.0], 2) == 0.5
    assert points([-math.inf] * 4, 3) == 0.25
    assert points([-2.0, -1.0, -1.0], 0) == 0.0


def test_the_standard_error_is_that_of_independent_groups():
    values = [1.0, 0.0, 1.0, 1.0, 0.0]
    mean, error = mean_with_error(values, range(5))
    assert (mean, error) == pytest.approx((0.6, np.std(values, ddof=1) / math.sqrt(5)))
    # Two copies of each value say no more than one.
    assert mean_with_error(values * 2, [*range(5)] * 2) == pytest.approx((mean, error))
    assert mean_with_error([1.0], [0]) == (1.0, None)


def test_chance_and_majority():
    items = [PromptItem("x", ("a", "b"), 1), PromptItem("x", ("a", "b", "c", "d"), 1), PromptItem("x", ("a", "b"), 0)]
    found = measure_items(items, [[{"sum": 0.0}] * len(item.answers) for item in items])
    assert found["chance"] == pytest.approx((0.5 + 0.25 + 0.5) / 3)
    assert found["majority"] == pytest.approx(2 / 3)
    assert found["scores"]["sum"]["accuracy"] == found["chance"]
    assert found["scores"]["sum"]["ties"] == 3


def test_probability_zero_is_a_score():
    """Maximum likelihood, and a closed vocabulary, which cannot encode "zebra"."""
    closed = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    model = ngram(2, "maximum_likelihood", closed)
    items = [
        PromptItem("the cat", ("sat", "sang"), 0),
        PromptItem("the cat", ("zebra", "sang"), 1),
        PromptItem("the zebra", ("sat", "sang"), 1),
    ]
    found, rows = score_items(model, closed, items)
    assert rows[0]["sum"] == pytest.approx([0.0, -math.inf])
    assert rows[1]["sum"] == [-math.inf, -math.inf]
    assert rows[1]["tokens"] == [0, 1]
    # 1, and twice a tie of two.
    assert [found["scores"][name]["accuracy"] for name in SCORES] == pytest.approx([2 / 3] * 4)
    assert found["scores"]["divided"]["ties"] == 2
    assert found["items_with_unknown_words"] == 1


def test_a_unigram_model_ties_where_the_words_are_the_same():
    model = ngram(1, "add_alpha")
    items = [PromptItem("the cat", ("sat on the mat .", "the mat . on sat"), 0), PromptItem("a", ("tree", "the"), 1)]
    found, rows = score_items(model, WORDS, items)
    assert found["scores"]["sum"]["ties"] == 1
    assert found["scores"]["sum"]["accuracy"] == 0.75
    assert [row["divided"] for row in rows] == [[0.0, 0.0]] * 2
    assert found["scores"]["divided"]["accuracy"] == found["chance"]


def test_a_prompt_that_is_too_long_loses_its_beginning():
    tokenizer = stock_tokenizer()
    model = stock_model(tokenizer, positions=8)
    long = "the cat sat on the mat . one bird"
    tokens = tokenizer(f"{long} sang").input_ids
    assert len(tokens) > 8
    items = [PromptItem(long, ("sang", "saw"), 0), PromptItem("the", ("dog", "cat"), 0)]
    found, _ = score_items(model, tokenizer, items, unconditional="a")
    assert found["cut_prompts"] == 1
    [score] = score_answers(model, tokenizer, [(long, "sang")])
    with torch.no_grad():
        log_probs = model(torch.tensor([tokens[-8:]])).logits[0].log_softmax(-1)
    places = range(7 - score.tokens, 7)
    assert score.cut
    assert score.log_prob == pytest.approx(sum(log_probs[p, tokens[-8:][p + 1]].item() for p in places), abs=1e-5)


def test_an_answer_that_is_longer_than_the_model_reads_is_scored_in_windows():
    tokenizer = stock_tokenizer()
    model = stock_model(tokenizer, positions=8)
    tokens = tokenizer("a the cat sat on the mat . one bird").input_ids
    [score] = score_answers(model, tokenizer, [("a", "the cat sat on the mat . one bird")])
    expected = 0.0
    for place in range(len(tokens) - score.tokens, len(tokens)):
        start = 0 if place < 8 else 4 * (place // 4 - 1)  # windows of 8 that share 4
        with torch.no_grad():
            expected += model(torch.tensor([tokens[start:place]])).logits[0, -1].log_softmax(-1)[tokens[place]].item()
    assert score.cut
    assert score.tokens > 8
    assert score.log_prob == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["recurrent", "ngram"])
def test_a_model_without_a_limit_reads_every_prompt(name):
    model = ngram(4) if name == "ngram" else network(name, WORDS, num_hidden_layers=1)
    long = "the cat sat on the mat . " * 400
    [score] = score_answers(model, WORDS, [(long, "one bird")])
    whole, before = score_texts(model, WORDS, [f"{long} one bird", long], probability="prefix")
    assert not score.cut
    assert score.log_prob == pytest.approx(whole.log_prob - before.log_prob, abs=1e-2)


def test_what_is_not_wanted_is_not_taken_from_a_row_that_has_not_scored_it():
    """The row before in order shares a beginning, but wants less of it."""
    model = network("gpt1", WORDS)
    rows = [np.array([WORDS.bos_token_id, 5, 6, 7, 8]), np.array([WORDS.bos_token_id, 5, 6, 9])]
    limit = ContextLimit.of(model)
    with torch.no_grad():
        whole = score_rows(model, rows, limit, 4, False)
        for wanted in ([4, 1], [1, 4], [3, 3], [2, 3]):
            found = score_rows(model, rows, limit, 4, False, wanted)
            for one, other, first in zip(found, whole, wanted, strict=True):
                np.testing.assert_allclose(one[first - 1 :], other[first - 1 :], atol=1e-6)


def test_a_prompt_that_is_anothers_answer_counts_only_its_own_answer():
    """The second row takes its beginning from the first, whose answer it is."""
    questions = [("the cat", "sat on"), ("the cat sat on", "the mat")]
    model = ngram()
    together, single = score_answers(model, WORDS, questions), [score_answers(model, WORDS, [q])[0] for q in questions]
    assert together == single


def test_what_is_refused():
    model = ngram()
    with pytest.raises(ValueError, match="the answer ' ' adds no token to its prompt"):
        score_answers(model, WORDS, [("the", " ")])
    with pytest.raises(ValueError, match="there are no items"):
        score_items(model, WORDS, [])
    with pytest.raises(ValueError, match="load the tokenizer that was saved with the model"):
        score_answers(model, stock_tokenizer(), QUESTIONS)
