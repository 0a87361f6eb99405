# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baselines of tasks that predict or write texts, and their measures as sums beside the measures themselves."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.evaluation.language_model import evaluate_language_model
from hf_lecture_models.tasks.captioning.baseline import Captions
from hf_lecture_models.tasks.captioning.task import CaptioningSettings, ImageCaptioning
from hf_lecture_models.tasks.classification.text_to_text import TextToText, TextToTextSettings
from hf_lecture_models.tasks.core.baselines import LearnedBaseline
from hf_lecture_models.tasks.core.task import Encoded
from hf_lecture_models.tasks.language_models.bidirectional import BidirectionalLM, BidirectionalLMRecipe
from hf_lecture_models.tasks.language_models.causal import CausalLM, CausalLMRecipe, CausalLMSettings
from hf_lecture_models.tasks.language_models.masked import MaskedLM, MaskedLMSettings
from hf_lecture_models.tasks.question_answering.measures import squad
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering, QuestionSettings
from hf_lecture_models.tasks.translation.baseline import bleu_and_chrf_sums
from hf_lecture_models.tasks.translation.bleu import bleu_and_chrf
from hf_lecture_models.tasks.translation.task import Translation, TranslationSettings
from tests.tasks import small_pretraining

TEXTS = ["the cat sat", "the cat ran", "the dog"]


def unigram_model(unk_token: str | None = "<unk>") -> tuple[Any, WordTokenizer]:
    tokenizer = WordTokenizer.train(TEXTS, unk_token=unk_token, progress=False)
    return NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="add_alpha"), tokenizer


@pytest.mark.parametrize("layout", ["texts", "stream"])
def test_the_unigram_of_causal_language_models(layout: str) -> None:
    """11 tokens are counted, 3 of them `</s>`, 2 `cat`, no `<unk>`; the vocabulary has 9: (count + 1) / 20.

    Of `cat emu </s>` the probability is 3/20 · 1/20 · 4/20, without the unknown word 3/20 · 4/20.
    """
    model, tokenizer = unigram_model()
    assert model.config.vocab_size == 9
    task, settings = CausalLM(), CausalLMSettings(layout=layout)
    beside = LearnedBaseline(task.baseline, json.loads(json.dumps(task.baseline.learn(tokenizer, TEXTS, settings))))
    measured = task.evaluate(model, tokenizer, ["cat emu"], settings, beside)
    found = beside.comparison()
    assert found is not None
    assert found.name == "unigram"
    nats = math.log(20 / 3) + math.log(20) + math.log(20 / 4)
    assert found.measures["perplexity"] == pytest.approx(math.exp(nats / 3))
    assert found.measures["perplexity_without_unk"] == pytest.approx(math.sqrt(20 / 3 * 20 / 4))
    assert found.measures["bits_per_byte"] == pytest.approx((nats / math.log(2) + 8 * 4) / 8)
    assert found.differences == {}  # of a single text
    assert measured == evaluate_language_model(model, tokenizer, ["cat emu"], stream=layout == "stream")


@pytest.mark.parametrize("unk_token", ["<unk>", None])
def test_sums_of_causal_language_models_give_their_measures(unk_token: str | None) -> None:
    """Also with unknown words and, in a closed vocabulary, with texts of probability 0."""
    model, tokenizer = unigram_model(unk_token)
    texts = ["the dog sat", "", "an emu ran", "the cat"]
    task, settings = CausalLM(), CausalLMSettings()
    encoded = Encoded(texts, texts)
    answers = task.answers(model, tokenizer, encoded, settings)
    measured = task.measure_answers(model, tokenizer, encoded, answers, settings)
    assert measured == evaluate_language_model(model, tokenizer, texts)
    for key, own in task.baseline.sums(model, tokenizer, encoded, answers, settings).items():
        assert own.measure() == pytest.approx(measured[key], rel=1e-12)


def test_a_model_beside_the_unigram() -> None:
    """The bigram model of the training texts predicts them better; lower is better."""
    model, tokenizer = unigram_model()
    task, settings = CausalLM(), CausalLMSettings()
    beside = LearnedBaseline(task.baseline, task.baseline.learn(tokenizer, TEXTS, settings))
    measured = task.evaluate(model, tokenizer, TEXTS * 9, settings, beside)
    found = beside.comparison()
    assert found is not None
    own, other = found.differences["perplexity"], found.measures["perplexity"]
    assert other + own["difference"] == pytest.approx(measured["perplexity"])
    assert own["low"] < own["difference"] < own["high"] < 0
    assert found.warnings(task.measures(settings)) == []


@pytest.mark.parametrize("pairs", [False, True])
def test_the_unigram_of_masked_language_models(pairs: bool) -> None:
    """Its numbers are counted from the labels of the batches; a model's sums are its measures."""
    tokenizer = small_pretraining.word_tokenizer()
    model = small_pretraining.small_bert(tokenizer, pairs=pairs)
    task: Any = MaskedLM()
    settings = MaskedLMSettings(sequence_length=16, next_sentence=pairs, documents="texts")
    encoded = task.encode(model, tokenizer, small_pretraining.TEXTS, settings)
    facts = task.baseline.learn(tokenizer, ["the the the a"], settings)
    answers = task.baseline.answers(facts, model, tokenizer, encoded, settings)
    measured = task.measure_answers(model, tokenizer, encoded, answers, settings)
    own = task.answers(model, tokenizer, encoded, settings)
    labels = masked_tokens(model, encoded, settings)
    counts = np.ones(len(tokenizer))
    counts[[tokenizer.convert_tokens_to_ids("the"), tokenizer.convert_tokens_to_ids("a")]] += 3, 1
    nats = -np.log(counts / counts.sum())[labels]
    assert measured["masked_perplexity"] == pytest.approx(math.exp(nats.mean()))
    assert measured["masked_accuracy"] == pytest.approx((labels == tokenizer.convert_tokens_to_ids("the")).mean())
    for some in (own, answers):
        whole = task.measure_answers(model, tokenizer, encoded, some, settings)
        for key, sums in task.baseline.sums(model, tokenizer, encoded, some, settings).items():
            assert sums.measure() == pytest.approx(whole[key], rel=1e-12)


def masked_tokens(model: Any, encoded: Encoded, settings: MaskedLMSettings) -> np.ndarray:
    """The masked tokens, from the logits of a model that is asked for its labels."""
    seen = []
    original = encoded.inputs.draw

    def draw(*arguments: Any) -> Any:
        rows = original(*arguments)
        labels = rows.to_batch(slice(0, len(rows.inputs))).inputs["labels"]
        seen.append(labels[labels != -100].numpy())
        return rows

    encoded.inputs.draw = draw
    MaskedLM().answers(model, None, encoded, settings)
    encoded.inputs.draw = original
    return np.concatenate(seen)


def test_the_unigram_of_both_directions() -> None:
    """`<S> a b </S>`: a, b and </S> are predicted forwards, <S>, a and b backwards; all four are counted once.

    With one added, each of the words that the tokenizer predicts has 2 / (4 + words), others 1 / (4 + words).
    """
    task = BidirectionalLM()
    shape = {"model_type": "lecture_elmo", "char_embedding_size": 4, "char_filters": [[1, 4]], "hidden_size": 4}
    shape |= {"projection_size": 2, "num_highway_layers": 1, "word_vector_size": 2, "task_hidden_size": 2}
    tokenizer_fields = {"type": "elmo", "max_characters_per_token": 8, "vocab_size": 20}
    recipe = BidirectionalLMRecipe(sequence_length=8, tokenizer=tokenizer_fields, model=shape)
    tokenizer = task.processor(recipe, ["a b"])
    model = task.model(recipe, tokenizer, ["a b"])
    beside = LearnedBaseline(task.baseline, task.baseline.learn(tokenizer, ["a b"], recipe))
    task.evaluate(model, tokenizer, ["a b", "b"], recipe, beside)
    found = beside.comparison()
    assert found is not None
    expected = (4 + len(tokenizer.words)) / 2
    assert found.measures == pytest.approx(dict.fromkeys(found.measures, expected))
    assert len(found.measures) == 3


def test_a_copy_of_the_source() -> None:
    task: Any = Translation()
    settings = TranslationSettings()
    data = Rows({"source": ["a b c d", "x"], "target": ["a b c d", "y"]}, [("a.tsv", 2)])
    encoded = Encoded(data, [[], []], data.columns["target"])
    facts = task.baseline.learn(None, data, settings)
    answers = task.baseline.answers(facts, None, None, encoded, settings)
    assert (facts, answers) == ({"name": "copy of the source"}, ["a b c d", "x"])
    measured = task.measure_answers(None, None, encoded, answers, settings)
    assert measured["bleu"] == pytest.approx(100 * (4 / 5 * 1 * 1 * 1) ** 0.25)


def test_bleu_and_chrf_are_functions_of_sums() -> None:
    """Beside sacrebleu: of random words, of short ones without right sequences, of no word, and of right ones."""
    random = np.random.default_rng(0)
    theirs = [" ".join(random.choice(list("abcde"), size=random.integers(1, 9))) for _ in range(40)]
    other = [" ".join(random.choice(list("abcde"), size=random.integers(1, 9))) for _ in range(40)]
    for ours in (other, theirs, ["a"] * 40, ["z"] * 40, [""] * 40, ["a b z"] * 40):
        found = {key: own.measure() for key, own in bleu_and_chrf_sums(ours, theirs).items()}
        assert found == pytest.approx(bleu_and_chrf(ours, theirs), rel=1e-12, abs=1e-12)


def test_no_answer() -> None:
    """Right for the question without an answer alone."""
    task: Any = QuestionAnswering()
    settings = QuestionSettings(version_2_with_negative=True)
    answers = [{"text": ["a cat"], "answer_start": [0]}, {"text": [], "answer_start": []}]
    encoded = Encoded(Rows({"id": ["1", "2"]}, [("a.json", 2)]), [[], []], answers)
    found = task.baseline.answers({"name": "no answer"}, None, None, encoded, settings)
    measured = task.measure_answers(None, None, encoded, found, settings)
    assert (measured["f1"], measured["HasAns_f1"], measured["NoAns_f1"]) == (0.5, 0.0, 1.0)
    assert task.baseline.only_answer(None, encoded, found) == "no answer"


def test_measures_of_questions_are_functions_of_sums() -> None:
    task, settings = QuestionAnswering(), QuestionSettings(version_2_with_negative=True)
    right = [["a cat", "two cats"], [], ["a dog"], []]
    encoded = Encoded(None, None, [{"text": own} for own in right])
    given = [("the cats", -1.0), ("cat", 2.0), ("dog", 3.0), ("emu", -2.0)]
    answers = [{"text": text, "no_answer_score": score} for text, score in given]
    sums = task.baseline.sums(None, None, encoded, answers, settings)
    assert {"f1", "exact_match", "HasAns_f1", "NoAns_f1"} <= sums.keys()
    measured = squad(answers, right)
    for key, own in sums.items():
        assert own.measure() == pytest.approx(measured[key], abs=1e-12)


def test_the_most_frequent_written_class() -> None:
    task: Any = TextToText()
    settings = TextToTextSettings(task="sst2")
    train = Rows({"target": ["positive", "negative", "positive"]}, [("a.tsv", 3)])
    encoded = Encoded(None, None, ["negative", "positive"])
    facts = task.baseline.learn(None, train, settings)
    answers = task.baseline.answers(facts, None, None, encoded, settings)
    measured = task.measure_answers(None, None, encoded, answers, settings)
    assert (facts["class"], measured["accuracy"], measured["no_class"]) == ("positive", 0.5, 0.0)
    assert task.baseline.only_answer(None, encoded, answers) == "the class 'positive'"
    assert task.baseline.sums(None, None, encoded, ["negative", None], settings)["no_class"].measure() == 0.5


def test_the_most_frequent_caption() -> None:
    """One of two templated captions is right, of the other only the class."""
    task, settings = ImageCaptioning(), CaptioningSettings(captions="templated")
    caption, other = "a dark shoe with more ink on the left", "a bright shoe with more ink on the right"
    train = Rows({"text": [caption, other, f"{caption} "]}, [("a.csv", 3)])
    encoded = Encoded(Rows({"text": [caption, other]}, [("b.csv", 2)]), torch.zeros(2))
    facts = task.baseline.learn(None, train, settings)
    answers = task.baseline.answers(facts, None, None, encoded, settings)
    assert answers == Captions([caption, caption])
    measured = task.measure_answers(None, None, encoded, answers, settings)
    assert [measured[key] for key in ("exact_match", "class_match", "half_match")] == [0.5, 1.0, 0.5]
    for key, own in task.baseline.sums(None, None, encoded, answers, settings).items():
        assert own.measure() == pytest.approx(measured[key], abs=1e-12)


def test_a_language_model_learns_beside_the_unigram(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = CausalLMRecipe(max_steps=2, sequence_length=6, model={"model_type": "lecture_recurrent", "hidden_size": 4})
    task = CausalLM()
    tokenizer = task.processor(recipe, TEXTS)
    task.train(task.model(recipe, tokenizer, TEXTS), tokenizer, TEXTS, TEXTS, recipe, output_dir=tmp_path)
    content = json.loads((tmp_path / "baseline.json").read_text())
    assert f"; unigram {content['validation']['measures']['perplexity']:.4g})" in capsys.readouterr().err
