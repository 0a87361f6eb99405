# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""pipeline("sentence-ranking"): order, groups, options, batches, wrong input."""

import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, pipeline
from transformers.pipelines.pt_utils import KeyPairDataset

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.evaluation.sentence_ranking import SentenceRankingPipeline, score_sentences
from hf_lecture_models.lab.studies.rescoring import Rescoring
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tasks.pipelines import register_pipelines
from hf_lecture_models.tokenization.byte import ByteTokenizer
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.interop.small_models import small_model, small_tokenizer
from tests.tasks.many_inputs import Numbered, check_forms, check_laziness, forms_of

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A maximum-likelihood bigram: its probabilities can be counted with the fingers."""
    path = tmp_path_factory.mktemp("bigram")
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="maximum_likelihood", progress=False).save_pretrained(
        path
    )
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def ranker(folder):
    return pipeline("sentence-ranking", model=str(folder))


def test_best_first_with_probabilities_by_hand(ranker):
    ranking = ranker(["a dog ran", "the dog ran", "dog the"])
    # the | <s> 3/4, dog | the 2/4, ran | dog 1/3, </s> | ran 1; and a | <s> 1/4, dog | a 1/2; <s> dog never occurred.
    assert [entry["index"] for entry in ranking] == [1, 0, 2]
    assert ranking[0].keys() == {"index", "sequence", "log_prob", "log_prob_per_token"}
    assert ranking[0]["sequence"] == "the dog ran"
    assert ranking[0]["log_prob"] == pytest.approx(math.log(3 / 4 * 1 / 2 * 1 / 3), rel=1e-5)
    assert ranking[0]["log_prob_per_token"] == pytest.approx(ranking[0]["log_prob"] / 4)
    assert ranking[1]["log_prob"] == pytest.approx(math.log(1 / 4 * 1 / 2 * 1 / 3), rel=1e-5)
    assert ranking[2]["log_prob"] == -math.inf


def test_terminated_or_prefix(ranker, folder):
    # "the" may go on, but never ends here.
    assert ranker(["the"])[0]["log_prob"] == -math.inf
    prefix = ranker(["the", ""], probability="prefix")
    assert [entry["log_prob"] for entry in prefix] == pytest.approx([0.0, math.log(3 / 4)], rel=1e-5)
    assert prefix[0]["sequence"] == ""
    assert prefix[0]["log_prob_per_token"] == 0.0
    fixed = pipeline("sentence-ranking", model=str(folder), probability="prefix")
    assert fixed(["the"])[0]["log_prob"] == pytest.approx(math.log(3 / 4), rel=1e-5)


def test_groups_ties_and_the_empty_sentence(ranker):
    rankings = ranker([["the dog ran", "the cat ran", "the dog ran"], [""], []])
    assert [len(ranking) for ranking in rankings] == [3, 1, 0]
    assert [entry["index"] for entry in rankings[0]] == [0, 1, 2]
    assert rankings[0][0]["log_prob"] == rankings[0][2]["log_prob"]
    assert rankings[1][0]["log_prob"] == -math.inf
    assert ranker([]) == []
    assert ranker(("the dog ran",)) == ranker(["the dog ran"])


GROUPS = [["a dog ran", "the dog ran", "dog the"], ["the cat ran"], ["dog the", "the cat saw"]]


def test_data_sets_and_streams_of_groups(ranker):
    expected = ranker(GROUPS)
    check_forms(ranker, GROUPS, expected)
    check_laziness(ranker, GROUPS[0])
    pairs = KeyPairDataset(Numbered([{"good": "the dog ran", "bad": "dog the"}] * 3), "good", "bad")
    assert list(ranker(pairs)) == ranker([["the dog ran", "dog the"]] * 3)
    assert list(ranker(iter([]))) == []
    with pytest.raises(TypeError, match="sentence-ranking got lists and single sentences mixed"):
        list(ranker(iter([["a"], "b"])))


def test_sentences_of_a_data_set_are_one_group(ranker):
    """As those of a list are; all of them are read before the best one is known."""
    for given in forms_of(GROUPS[0]).values():
        assert ranker(given) == ranker(GROUPS[0])


def test_scores_of_streams(ranker):
    options = {"weight": 0.5, "length_bonus": 0.25}
    scores = [[-1.0, -4.0, 5.0], [2.0], [0.0, -1.0]]
    expected = ranker(GROUPS, scores=scores, **options)
    for size in (1, 2, 64):
        assert list(ranker(iter(GROUPS), scores=iter(scores), batch_size=size, **options)) == expected
    with pytest.raises(ValueError, match="must be as many as the sentences"):
        list(ranker(iter(GROUPS), scores=scores[:2], **options))


def test_outside_scores(ranker, folder):
    sentences = ["a dog ran", "the dog ran", "dog the"]
    plain = {entry["sequence"]: entry["log_prob"] for entry in ranker(sentences)}
    ranking = ranker(sentences, scores=[-1.0, -4.0, 5.0], weight=0.5, length_bonus=0.25)
    assert [entry["index"] for entry in ranking] == [0, 1, 2]
    for entry in ranking[:2]:
        assert entry["log_prob"] == plain[entry["sequence"]]
        assert entry["total"] == pytest.approx(entry["score"] + 0.5 * entry["log_prob"] + 0.75)
    assert (ranking[2]["score"], ranking[2]["total"]) == (5.0, -math.inf)
    assert [entry["index"] for entry in ranker(sentences, scores=[-1.0, -4.0, 5.0], weight=0)] == [2, 0, 1]
    assert [entry["index"] for entry in ranker(sentences, scores=[0, 0, 0], weight=0)] == [0, 1, 2]
    fixed = pipeline("sentence-ranking", model=str(folder), weight=10.0)
    rankings = fixed([sentences[:2], ["the dog ran"]], scores=[[3.0, 2.0], [1.0]])
    assert [[entry["index"] for entry in one] for one in rankings] == [[1, 0], [0]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scores": [1.0], "weight": 1.0}, ValueError, "as many as the sentences"),
        ({"scores": [[1.0, 2.0]], "weight": 1.0}, TypeError, "nested as the sentences"),
        ({"scores": [1.0, None], "weight": 1.0}, TypeError, "must be numbers"),
        ({"scores": [1.0, math.nan], "weight": 1.0}, ValueError, "score is nan"),
        ({"scores": [1.0, "x"], "weight": 1.0}, ValueError, "'x'"),
        ({"scores": [1.0, 2.0]}, ValueError, "need a weight"),
        ({"scores": [1.0, 2.0], "weight": math.inf}, ValueError, "weight is inf"),
        ({"weight": 1.0}, ValueError, "need scores"),
        ({"length_bonus": 1.0}, ValueError, "need scores"),
    ],
)
def test_outside_scores_that_do_not_fit(ranker, options, error, message):
    with pytest.raises(error, match=message):
        ranker(["the dog ran", "a dog ran"], **options)


@pytest.mark.parametrize("name", ["feed_forward", "recurrent", "gpt1", "self_attention"])
@pytest.mark.parametrize("probability", ["terminated", "prefix"])
def test_the_scoring_that_travels_is_the_packages(name, probability):
    tokenizer = small_tokenizer()
    model = small_model(name, tokenizer).eval()
    sentences = ["the cat sat", "", "zebras sat on the mat", "<s> the dog", "a"]
    found = score_sentences(model, tokenizer, sentences, probability, batch_size=2)
    for score, expected in zip(found, score_texts(model, tokenizer, sentences, probability), strict=True):
        assert score.ids == expected.ids.tolist()
        assert score.log_probs == pytest.approx(expected.log_probs.tolist(), rel=1e-5, abs=1e-5)


def test_the_total_is_that_of_the_rescoring_commands(ranker):
    rescoring = Rescoring(weight=0.5, length_bonus=0.25)
    for entry in ranker(
        ["a dog ran", "the dog ran", "dog the"], scores=[-1.0, -4.0, 5.0], weight=0.5, length_bonus=0.25
    ):
        assert entry["total"] == float(rescoring.total(entry["score"], entry["log_prob"], entry["sequence"]))


def test_detail_of_each_token(ranker):
    entry = ranker(["the dog ran"], return_tokens=True)[0]
    assert [token["token"] for token in entry["tokens"]] == ["the", "dog", "ran", "</s>"]
    assert sum(token["log_prob"] for token in entry["tokens"]) == pytest.approx(entry["log_prob"])
    assert len(ranker(["the dog ran"], return_tokens=True, probability="prefix")[0]["tokens"]) == 3


def test_a_closed_vocabulary_ranks_new_words_last():
    closed = WordTokenizer.train(TEXTS, unk_token=None, progress=False)
    model = NGramForCausalLM.fit(TEXTS, closed, order=2, smoothing="add_alpha", progress=False)
    ranking = SentenceRankingPipeline(model=model, tokenizer=closed)(["the zebra ran", "dog dog"], return_tokens=True)
    assert [entry["index"] for entry in ranking] == [1, 0]
    assert ranking[1]["log_prob"] == ranking[1]["log_prob_per_token"] == -math.inf
    assert ranking[1]["tokens"] == []


def test_batches_and_any_causal_language_model_of_transformers():
    torch.manual_seed(0)
    tokenizer = ByteTokenizer()
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=32, n_embd=16, n_layer=1, n_head=2, bos_token_id=256)
    model = GPT2LMHeadModel(config)
    sentences = ["x" * length for length in (3, 60, 0, 7, 1, 31)]
    ranker = pipeline("sentence-ranking", model=model, tokenizer=tokenizer)
    one_by_one = {s: score_texts(model, tokenizer, [s])[0].log_prob for s in sentences}
    for batch_size in (1, 2, 64):
        ranking = ranker(sentences, batch_size=batch_size)
        assert [entry["sequence"] for entry in ranking] == sorted(sentences, key=one_by_one.get, reverse=True)
        assert [e["log_prob"] for e in ranking] == pytest.approx([one_by_one[e["sequence"]] for e in ranking], rel=1e-5)


def test_what_the_vocabulary_cannot_tell_apart_ties_exactly():
    torch.manual_seed(0)
    tokenizer = WordTokenizer.from_words(["a"])
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_positions=32, n_embd=48, n_layer=1, n_head=2))
    sentences = [f"a {word} {word} a" for word in ("x", "y", "z")]
    padding = [["a " * length] for length in range(20)]
    rankings = pipeline("sentence-ranking", model=model, tokenizer=tokenizer)([*padding, sentences], batch_size=3)
    assert [entry["index"] for entry in rankings[-1]] == [0, 1, 2]
    assert len({entry["log_prob"] for entry in rankings[-1]}) == 1


def test_a_folder_saved_by_the_pipeline_loads_again_without_trust(ranker, tmp_path):
    ranker.save_pretrained(tmp_path / "saved")
    again = pipeline("sentence-ranking", model=str(tmp_path / "saved"))
    assert again(["the dog ran", "dog the"]) == ranker(["the dog ran", "dog the"])
    assert not list((tmp_path / "saved").glob("*.py"))


@pytest.mark.parametrize(
    "inputs",
    [
        "the dog",
        ["the dog", ["the cat"]],
        [["the cat"], "the dog"],
        [["the cat"], None],
        [1],
        [[["the cat"]]],
        {"text": "the cat"},
        None,
    ],
)
def test_wrong_nesting(ranker, inputs):
    with pytest.raises(TypeError, match="sentence-ranking"):
        ranker(inputs)


def test_wrong_options(ranker):
    with pytest.raises(ValueError, match="'terminated', 'prefix'"):
        ranker(["the dog"], probability="joint")
    for batch_size in (0, -1, 2.5):
        with pytest.raises(ValueError, match="batch_size is .*; it must be an integer of at least 1"):
            ranker(["the dog"], batch_size=batch_size)
    with pytest.raises(TypeError, match="no option top_k; its options are probability, return_tokens, batch"):
        ranker(["the dog"], top_k=3)


def test_wrong_options_at_construction(folder):
    with pytest.raises(TypeError, match="no option top_k; its options are"):
        pipeline("sentence-ranking", model=str(folder), top_k=3)
    with pytest.raises(ValueError, match="batch_size is 0"):
        pipeline("sentence-ranking", model=str(folder), batch_size=0)(["the dog"])


def test_registering_twice_changes_nothing(recwarn):
    register_pipelines()
    register_pipelines()
    assert not recwarn.list
