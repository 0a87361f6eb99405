# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""pipeline("extractive-question-answering"): answers as transformers 4 gave them, inputs, options, batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForQuestionAnswering,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForQuestionAnswering,
    GPT2Config,
    GPT2ForQuestionAnswering,
    pipeline,
)
from transformers.pipelines.pt_utils import KeyPairDataset

from hf_lecture_models import LectureBertForQuestionAnswering, WordTokenizer
from hf_lecture_models.tasks.question_answering.pipeline import OPTIONS, ExtractiveQuestionAnsweringPipeline
from tests.tasks.many_inputs import Numbered, check_forms, check_laziness
from tests.tasks.small_answerer import ROWS, save_small_bert, small_bert, small_tokenizer
from tests.tokenization.spaced_bytes import KINDS, spaced_bytes

NAME: Any = "extractive-question-answering"
INPUTS = [{"question": row["question"], "context": row["context"]} for row in ROWS]
LONG = {"question": "Who sleeps?", "context": " ".join(row["context"] for row in ROWS)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def answer(folder: Path) -> Any:
    return pipeline(NAME, model=str(folder))


def near(answers: Any) -> Any:
    """Equal but for the last digits of scores."""
    if isinstance(answers, list):
        return [near(one) for one in answers]
    return {**answers, "score": pytest.approx(answers["score"], rel=1e-4)}


# Scores


def of_transformers_4(example: dict[str, str], folder: Path, top_k: int, impossible: bool, **sizes: int) -> Any:
    """The formula of its published code (4.49, pipelines/question_answering.py), for [CLS] in front, written anew."""
    tokenizer, model = small_tokenizer(), AutoModelForQuestionAnswering.from_pretrained(folder)
    options = {"max_length": sizes["max_seq_len"], "stride": sizes["doc_stride"], "return_overflowing_tokens": True}
    encoded = tokenizer(*example.values(), truncation="only_second", return_offsets_mapping=True, **options)
    found, null = [], 1e6
    for index, ids in enumerate(encoded["input_ids"]):
        types = torch.tensor([encoded["token_type_ids"][index]])
        with torch.no_grad():
            outputs = model(torch.tensor([ids]), token_type_ids=types)
        own = np.array([sequence == 1 for sequence in encoded.sequence_ids(index)])
        kept = own | (np.array(ids) == tokenizer.cls_token_id)
        start, end = (
            np.where(kept, logits[0].double().numpy(), -10000.0)
            for logits in (outputs.start_logits, outputs.end_logits)
        )
        start, end = (np.exp(each - each.max()) / np.exp(each - each.max()).sum() for each in (start, end))
        null = min(null, start[0] * end[0])
        start[0] = end[0] = 0.0
        scores = np.tril(np.triu(np.outer(start, end)), sizes["max_answer_len"] - 1)
        for place in np.argsort(-scores, axis=None)[:top_k]:
            first, last = np.unravel_index(place, scores.shape)
            if own[first] and own[last]:
                begin = encoded.word_to_chars(index, encoded.token_to_word(index, first), sequence_index=1).start
                behind = encoded.word_to_chars(index, encoded.token_to_word(index, last), sequence_index=1).end
                part = example["context"][begin:behind]
                found.append({"score": scores[first, last], "start": begin, "end": behind, "answer": part})
    if impossible:
        found.append({"score": null, "start": 0, "end": 0, "answer": ""})
    return sorted(found, key=lambda one: -one["score"])[:top_k]


@pytest.mark.parametrize("impossible", [False, True])
@pytest.mark.parametrize("sizes", [(64, 20, 15), (24, 6, 3), (17, 2, 1)], ids=str)
def test_answers_are_those_of_transformers_4(
    answer: Any, folder: Path, sizes: tuple[int, int, int], impossible: bool
) -> None:
    named = dict(zip(("max_seq_len", "doc_stride", "max_answer_len"), sizes, strict=True))
    nulls = 0
    for example in INPUTS:
        (expected,) = of_transformers_4(example, folder, 1, impossible, **named)
        found = answer(example, handle_impossible_answer=impossible, **named)
        assert found == near(expected)
        nulls += expected["answer"] == ""
    assert 0 < nulls < len(INPUTS) or not impossible


def test_several_answers_are_those_of_transformers_4_each_once(answer: Any, folder: Path) -> None:
    named = {"max_seq_len": 24, "doc_stride": 6, "max_answer_len": 4}
    for example in INPUTS[3:6]:
        expected: dict[tuple[int, int], Any] = {}
        for one in of_transformers_4(example, folder, 1000, True, **named):
            expected.setdefault((one["start"], one["end"]), one)
        found = answer(example, top_k=8, handle_impossible_answer=True, **named)
        assert found == near(list(expected.values())[:8])
        assert len(found) == 8


def test_an_answer_stands_in_its_text(answer: Any) -> None:
    for aligned in (True, False):
        for one, example in zip(answer(INPUTS, align_to_words=aligned), INPUTS, strict=True):
            assert set(one) == {"score", "start", "end", "answer"}
            assert example["context"][one["start"] : one["end"]] == one["answer"] != ""
            assert 0 < one["score"] <= 1
    whole = {one["answer"] for one in answer(LONG, top_k=100000)}
    parts = {one["answer"] for one in answer(LONG, top_k=100000, align_to_words=False)}
    assert "Lon" in parts - whole
    assert "London" in whole


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_whole_words_where_the_tokenizer_adds_spaces(kind: str) -> None:
    """Of RobBERT's kind "Ada" was "da"."""
    context = "Ada Lovelace sleeps in Gent"
    tokenizer = spaced_bytes(kind, [context, "who sleeps"])
    config = DistilBertConfig(vocab_size=len(tokenizer), dim=12, hidden_dim=12, n_layers=1, n_heads=2)
    answers = pipeline(NAME, model=DistilBertForQuestionAnswering(config), tokenizer=tokenizer)
    found = answers(question="who sleeps", context=context, top_k=100)
    words = context.split()
    parts = {" ".join(words[first:last]) for first in range(5) for last in range(first + 1, 6)}
    assert {one["answer"] for one in found} == parts


def test_probabilities_of_one_window_sum_to_one(answer: Any) -> None:
    """Of all spans, those from right to left included, and of none."""
    example = {"question": "who", "context": "cat"}
    (one, none) = answer(example, top_k=5, handle_impossible_answer=True)
    found = {entry["answer"]: entry["score"] for entry in (one, none)}
    assert set(found) == {"cat", ""}
    assert 0 < sum(found.values()) < 1, "the rest is from [CLS] to the word, or back"


# Batches and inputs


@pytest.mark.cases(3, 5)
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", ["bert", "distilbert", "gpt2", "ours"])
def test_batches_give_what_single_windows_give(kind: str, side: str) -> None:
    """Of models that read types of tokens and that do not, with and without [CLS], padded on either side."""
    torch.manual_seed(0)
    tokenizer: Any = small_tokenizer(padding_side=side)
    sizes = {"vocab_size": len(tokenizer), "initializer_range": 0.5}
    model: Any = small_bert()
    if kind == "distilbert":
        model = DistilBertForQuestionAnswering(DistilBertConfig(dim=8, hidden_dim=8, n_layers=1, n_heads=2, **sizes))
    elif kind == "gpt2":
        tokenizer = WordTokenizer.train([LONG["context"], "who sleeps where"], padding_side=side)
        sizes["vocab_size"] = len(tokenizer)
        model = GPT2ForQuestionAnswering(GPT2Config(n_embd=8, n_layer=1, n_head=2, n_positions=64, **sizes))
    elif kind == "ours":
        config = LectureBertForQuestionAnswering.config_class(
            hidden_size=8, num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64, **sizes
        )
        model = LectureBertForQuestionAnswering(config)
    answer = pipeline(NAME, model=model.eval(), tokenizer=tokenizer, max_seq_len=24, doc_stride=4)
    examples = [*INPUTS, LONG]
    expected = [answer(example, handle_impossible_answer=True, top_k=3) for example in examples]
    for batch_size in (2, 64):
        assert answer(examples, batch_size=batch_size, handle_impossible_answer=True, top_k=3) == near(expected)
    if kind == "ours":
        assert answer(INPUTS, batch_size=4, top_k=1) == near([answer(example) for example in INPUTS])


def test_data_sets_and_streams(answer: Any) -> None:
    datasets = pytest.importorskip("datasets")
    few = INPUTS[:3]
    expected = answer(few)
    check_forms(lambda given, **size: near(list(answer(given, **size))), few, expected)
    check_laziness(answer, few[0])
    assert list(answer(datasets.Dataset.from_list(few))) == near(expected)
    pairs = KeyPairDataset(Numbered(few), "question", "context")  # type: ignore[arg-type]
    assert list(answer(pairs)) == near(expected)


class Questions(Dataset):
    """A data set of torch."""

    def __len__(self) -> int:
        return len(INPUTS)

    def __getitem__(self, index: int) -> dict[str, str]:
        return INPUTS[index]


def test_forms_of_the_input(answer: Any) -> None:
    first, second = INPUTS[0], INPUTS[1]
    expected = answer([first, second])
    assert [answer(first), answer(**second)] == expected
    assert answer((first, second)) == expected
    assert answer(question=[first["question"], second["question"]], context=first["context"]) == expected
    assert answer(question=[first["question"]], context=[first["context"]]) == expected[:1]
    assert answer([first]) == expected[:1]
    assert answer([]) == []
    assert list(answer(example for example in (first, second))) == expected
    assert list(answer(Questions(), batch_size=3)) == near(answer(INPUTS))
    assert answer({**first, "id": "q0"}) == expected[0]
    assert answer(first, top_k=1) == expected[0]
    assert [type(answer(example, top_k=2)) for example in (first, {"question": "who", "context": "cat"})] == [
        list,
        list,
    ]


def test_options_at_construction_are_those_of_a_call(folder: Path, answer: Any) -> None:
    options = {"top_k": 2, "max_seq_len": 24, "doc_stride": 4, "max_answer_len": 2, "max_question_len": 3}
    options |= {"handle_impossible_answer": True, "align_to_words": False}
    fixed = pipeline(NAME, model=str(folder), batch_size=4, **options)
    assert fixed(LONG) == near(answer(LONG, **options))
    assert fixed(LONG, top_k=1) == near(answer(LONG, **options | {"top_k": 1}))
    assert fixed(LONG) != answer(LONG, top_k=2)


def test_an_answer_at_the_end_of_a_long_text(answer: Any) -> None:
    """Words behind the first window are found, at their place in the whole text."""
    found = answer(LONG, top_k=100000, max_answer_len=1)
    places = {(one["start"], one["end"]) for one in found}
    last = LONG["context"].rindex("York")
    assert (last, last + 4) in places
    assert len(LONG["context"]) > 5 * 64


def test_a_long_question_is_cut(answer: Any) -> None:
    long, cut = ({**INPUTS[0], "question": "who met " * count} for count in (40, 5))
    assert answer(long, max_question_len=10) == near(answer(cut))
    assert answer(long, max_seq_len=23)["answer"] in long["context"]


def test_a_text_that_the_tokenizer_drops_has_no_answer(answer: Any) -> None:
    assert small_tokenizer()("\u200b", add_special_tokens=False)["input_ids"] == []
    found = answer({"question": "who", "context": "\u200b"})
    assert {**found, "score": 0} == {"score": 0, "start": 0, "end": 0, "answer": ""}


def test_in_half_precision(answer: Any) -> None:
    half = pipeline(NAME, model=small_bert().to(torch.bfloat16), tokenizer=small_tokenizer())
    for found, expected in zip(half(INPUTS), answer(INPUTS), strict=True):
        assert found["score"] == pytest.approx(expected["score"], rel=0.2)


@pytest.mark.slow
def test_a_compiled_model(answer: Any) -> None:
    compiled: Any = torch.compile(small_bert(), backend="eager")
    assert pipeline(NAME, model=compiled, tokenizer=small_tokenizer())(INPUTS[0]) == near(answer(INPUTS[0]))


def test_an_adapter_of_peft() -> None:
    """Without types of tokens, which peft 0.19 does not hand on to a model of answers."""
    peft = pytest.importorskip("peft")
    tokenizer = small_tokenizer(model_input_names=["input_ids", "attention_mask"])
    expected = pipeline(NAME, model=small_bert(), tokenizer=tokenizer)(INPUTS)
    adapted = peft.get_peft_model(small_bert(), peft.LoraConfig(task_type="QUESTION_ANS", target_modules=["query"]))
    assert pipeline(NAME, model=adapted.eval(), tokenizer=tokenizer)(INPUTS, batch_size=2) == near(expected)


def test_the_pipeline_saves_without_code(answer: Any, tmp_path: Path) -> None:
    answer.save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.py"))
    again = pipeline(NAME, model=str(tmp_path))
    assert type(again) is ExtractiveQuestionAnsweringPipeline
    assert again(INPUTS[0]) == near(answer(INPUTS[0]))


# Models


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("who",), {}, TypeError, "takes dicts of question and context, not str"),
        ((), {}, TypeError, "takes question=... and context=..., or a dict of both"),
        (("who", "text"), {}, TypeError, "takes question=... and context=..., or a dict of both"),
        ((INPUTS[0],), {"question": "who"}, TypeError, "takes question=... and context=..., or a dict of both"),
        ((), {"question": "who"}, TypeError, "context is a NoneType, no text"),
        (({"question": "who"},), {}, TypeError, "takes dicts of question and context, not question"),
        (({},), {}, TypeError, "not an empty dict"),
        (([INPUTS[0], {"question": 3, "context": "a"}],), {}, TypeError, "question is a int, no text"),
        (({"question": " ", "context": "a"},), {}, ValueError, "question is empty"),
        (({"question": "who", "context": "\n"},), {}, ValueError, "context is empty"),
        ((), {"question": ["a", "b"], "context": ["c"]}, ValueError, "2 questions and 1 contexts"),
        ((INPUTS[0],), {"topk": 2}, TypeError, "has no option topk; its options are top_k"),
        ((INPUTS[0],), {"top_k": 0}, ValueError, "top_k is 0; it must be an integer of at least 1"),
        ((INPUTS[0],), {"max_answer_len": 1.5}, ValueError, "max_answer_len is 1.5; it must be an integer"),
        ((INPUTS[0],), {"doc_stride": -1}, ValueError, "doc_stride is -1; it must be an integer of at least 0"),
        ((INPUTS[0],), {"align_to_words": 1}, ValueError, "align_to_words is 1; it must be True or False"),
        ((INPUTS[0],), {"max_seq_len": 65}, ValueError, "max_seq_len 65 is more than the model reads, 64"),
        ((INPUTS[0],), {"max_seq_len": 4}, ValueError, "max_length 4 leaves no room"),
    ],
)
def test_wrong_input_and_options(answer: Any, arguments: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        answer(*arguments, **options)


def test_a_model_without_answers_is_refused() -> None:
    other = pipeline(NAME, model=BertForSequenceClassification(small_bert().config).eval(), tokenizer=small_tokenizer())
    with pytest.raises(ValueError, match="BertForSequenceClassification does not say where answers are"):
        other(INPUTS[0])


def test_the_documented_options_are_all() -> None:
    for name, default in OPTIONS.items():
        assert f"`{name}` ({default}" in (ExtractiveQuestionAnsweringPipeline.__doc__ or "")
