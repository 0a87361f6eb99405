# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Answerers: data, losses and measures as independent loops have them, predictions in SQuAD's form."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModelForQuestionAnswering, AutoTokenizer, GPT2Config, GPT2ForQuestionAnswering

from hf_lecture_models import LectureBertForQuestionAnswering, WordTokenizer
from hf_lecture_models.data.benchmarks import BENCHMARKS, benchmarks_of
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.hub.facts import best_validation
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.core.task import Encoded
from hf_lecture_models.tasks.question_answering.measures import best_scores, normalize, squad
from hf_lecture_models.tasks.question_answering.spans import batch_windows
from hf_lecture_models.tasks.question_answering.task import (
    QuestionAnswering,
    QuestionAnsweringRecipe,
    cut_questions,
)
from hf_lecture_models.tasks.registry import read_file
from tests.tasks.small_answerer import (
    ANSWERABLE,
    ROWS,
    save_small_bert,
    small_bert,
    small_tokenizer,
    squad_json,
    write_squad,
)
from tests.tasks.task_tests import HeadTaskTests, descend, train

TASK = QuestionAnswering()
LENGTH, STRIDE = 24, 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_bert(tmp_path_factory.mktemp("bert"))


def recipe(**fields: Any) -> QuestionAnsweringRecipe:
    defaults: dict[str, Any] = {"train_rows": ROWS, "epochs": 2, "batch_size": 4, "optimizer": "sgd", "clip_norm": None}
    defaults |= {"learning_rate": 0.1, "max_length": LENGTH, "doc_stride": STRIDE, "max_answer_length": 6}
    return QuestionAnsweringRecipe(**(defaults | fields))


def read(rows: list[dict[str, Any]], **fields: Any) -> Rows:
    data = TASK.read(recipe(train_rows=rows, **fields), "train")
    assert data is not None
    return data


# Beside a loop of our own, with windows as transformers' own example makes them


def windows_by_hand(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Ids, types, the tokens of the first answer, and where each token of the text stands (None: it is another)."""
    encoded = small_tokenizer()(
        row["question"],
        row["context"],
        truncation="only_second",
        max_length=LENGTH,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    found = []
    for index, ids in enumerate(encoded["input_ids"]):
        own = [sequence == 1 for sequence in encoded.sequence_ids(index)]
        offsets = [
            place if is_text else None for place, is_text in zip(encoded["offset_mapping"][index], own, strict=True)
        ]
        start = end = 0
        if row["answers"]["text"]:
            begin = row["answers"]["answer_start"][0]
            behind = begin + len(row["answers"]["text"][0])
            starts = [token for token, place in enumerate(offsets) if place and place[0] == begin]
            ends = [token for token, place in enumerate(offsets) if place and place[1] == behind]
            if starts and ends:
                (start,), (end,) = starts, ends
        types = encoded["token_type_ids"][index]
        found.append({"ids": ids, "types": types, "start": start, "end": end, "offsets": offsets})
    return found


WINDOWS = [window for row in ROWS for window in windows_by_hand(row)]


def logits_by_hand(model: Any, window: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    outputs = model(torch.tensor([window["ids"]]), token_type_ids=torch.tensor([window["types"]]))
    return outputs.start_logits[0], outputs.end_logits[0]


def loss_of(model: Any, window: dict[str, Any]) -> tuple[torch.Tensor, int]:
    """The mean of -ln P(first token of the answer) and -ln P(its last token)."""
    places = torch.tensor([window["start"], window["end"]])
    return F.cross_entropy(torch.stack(logits_by_hand(model, window)), places), 1


def save_ours(folder: Path) -> Path:
    """The same weights, with our head."""
    stock = save_small_bert(folder / "stock")
    LectureBertForQuestionAnswering.from_pretrained(stock).save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return folder


class TestQuestionAnswering(HeadTaskTests):
    task = TASK
    savers = {"ours": save_ours}
    rows = ROWS
    items = len(WINDOWS)
    labels = ("start_positions", "end_positions")

    def recipe(self, **fields: Any) -> Any:
        return recipe(**fields)

    def units(self) -> list[dict[str, Any]]:
        return WINDOWS

    def loss_of(self, model: Any, unit: Any) -> tuple[torch.Tensor, int]:
        return loss_of(model, unit)

    def ids_of(self, encoded: Any) -> list[list[int]]:
        return [window["ids"] for window in WINDOWS]


@pytest.mark.parametrize("freeze_backbone", [False, True])
def test_a_head_that_takes_padding_for_places_learns_windows_one_by_one(
    tmp_path: Path, folder: Path, freeze_backbone: bool
) -> None:
    """The head of transformers' own BERT."""
    fields = {"batch_size": 6, "accumulation_steps": 6, "log_every": 1, "freeze_backbone": freeze_backbone}
    chosen = recipe(from_pretrained=str(folder), **fields)
    assert sum(window["end"] > 0 for window in WINDOWS) > 5, "else little is learned"
    assert len(WINDOWS) > len(ROWS) + 5
    assert len(WINDOWS) % 6, "the last step has empty places"
    expected = AutoModelForQuestionAnswering.from_pretrained(folder)
    expected.base_model.requires_grad_(not freeze_backbone)
    losses = descend(expected, WINDOWS, loss_of, chosen)
    result, model = train(TASK, chosen, tmp_path)
    assert [row["loss"] for row in result.history] == pytest.approx(losses, rel=1e-4)
    torch.testing.assert_close(model.qa_outputs.weight, expected.qa_outputs.weight, rtol=1e-3, atol=1e-5)


def answers_by_hand(model: Any, row: dict[str, Any]) -> tuple[list[tuple[float, str]], float]:
    """All answers to a question with their scores, best first, each text place once, and the score of none."""
    best: dict[tuple[int, int], float] = {}
    none = float("inf")
    for window in windows_by_hand(row):
        start, end = logits_by_hand(model, window)
        none = min(none, float(start[0] + end[0]))
        for first, begin in enumerate(window["offsets"]):
            for last, behind in enumerate(window["offsets"]):
                if begin and behind and first <= last < first + 6:
                    place, score = (begin[0], behind[1]), float(start[first] + end[last])
                    best[place] = max(score, best.get(place, score))
    ordered = sorted(best.items(), key=lambda item: -item[1])
    return [(score, row["context"][begin:behind]) for (begin, behind), score in ordered], none


@torch.no_grad()
@pytest.mark.parametrize("threshold", [0.0, 1.5])
def test_measures_are_those_of_single_windows(folder: Path, threshold: float) -> None:
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    data, chosen = read(ROWS), recipe(null_score_diff_threshold=threshold)
    predictions = TASK.predict(model, tokenizer, TASK.encode(model, tokenizer, data, chosen), chosen)
    expected: list[tuple[float, float]] = []
    for row, found in zip(ROWS, predictions, strict=True):
        answers, none = answers_by_hand(model, row)
        texts = [row["context"][answer.start : answer.end] for answer in found.answers]
        assert [(answer.score, text) for answer, text in zip(found.answers, texts, strict=True)] == [
            (pytest.approx(score, rel=1e-4, abs=1e-6), text) for score, text in answers[: chosen.n_best_size]
        ]
        assert found.odds == pytest.approx(none - answers[0][0], rel=1e-3, abs=1e-4)
        text = "" if none - answers[0][0] > threshold else answers[0][1]
        expected.append(best_scores(text, row["answers"]["text"]))
    measured = TASK.evaluate(model, tokenizer, data, chosen)
    f1, exact = (sum(column) / len(ROWS) for column in zip(*expected, strict=True))
    assert (measured["f1"], measured["exact_match"]) == pytest.approx((f1, exact))
    assert 0 < f1 < 1, "else the line above would prove little"
    assert (measured["questions"], measured["windows"]) == (10, sum(len(windows_by_hand(row)) for row in ROWS))
    assert {"HasAns_f1", "HasAns_exact", "NoAns_f1", "best_f1", "best_f1_thresh", "best_exact"} <= measured.keys()
    best = recipe(null_score_diff_threshold=measured["best_f1_thresh"])
    assert TASK.evaluate(model, tokenizer, data, best)["f1"] == pytest.approx(measured["best_f1"])
    assert not model.training


def test_without_questions_that_have_no_answer_one_is_always_given(folder: Path) -> None:
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        model.qa_outputs.weight.zero_()  # all scores are equal, so that [CLS] is as good
    data = read(ANSWERABLE)
    assert set(TASK.evaluate(model, tokenizer, data, recipe())) == {"f1", "exact_match", "questions", "windows"}
    forced = TASK.evaluate(model, tokenizer, data, recipe(version_2_with_negative=True, null_score_diff_threshold=-1.0))
    assert forced["f1"] == 0.0, "now none is better"
    assert TASK.evaluate(model, tokenizer, data, recipe(null_score_diff_threshold=-1.0))["f1"] > 0


def test_measures_do_not_depend_on_the_side_of_padding(folder: Path) -> None:
    """With the text in front of the question on both sides, which is what padding on the left asks for."""
    model, data, chosen = small_bert(), read(ROWS), recipe()
    tokenizer = small_tokenizer(padding_side="left")
    encoded = TASK.encode(model, tokenizer, data, chosen)
    assert {window.first for own in encoded.inputs for window in own} == {1}
    found = TASK.predict(model, tokenizer, encoded, chosen)
    alone = [
        TASK.predict(model, tokenizer, Encoded(Rows({"context": [text]}, [("a.json", 1)]), [own]), chosen)[0]
        for own, text in zip(encoded.inputs, data.columns["context"], strict=True)
    ]
    for one, other in zip(found, alone, strict=True):
        assert [(a.start, a.end) for a in one.answers[:3]] == [(a.start, a.end) for a in other.answers[:3]]
        assert one.odds == pytest.approx(other.odds, abs=1e-4)


def test_a_model_without_cls_learns_the_beginning_of_the_text(tmp_path: Path) -> None:
    """Where a window holds no answer; GPT-2 with our words, which pads on the left."""
    tokenizer = WordTokenizer.train([row["context"] for row in ROWS], progress=False)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=2, n_positions=64, pad_token_id=tokenizer.pad_token_id
    )
    GPT2ForQuestionAnswering(config).save_pretrained(tmp_path / "start"), tokenizer.save_pretrained(tmp_path / "start")
    chosen = recipe(from_pretrained=str(tmp_path / "start"), validation_rows=ROWS)
    data = TASK.read(chosen, "train")
    model = TASK.model(chosen, tokenizer, data)
    loaded = TASK.processor(chosen, data)
    windows = [window for own in cut_questions(model, loaded, data, chosen) for window in own]
    assert {int(window.inputs["input_ids"][window.no_answer]) for window in windows} == {tokenizer.bos_token_id}
    result, _ = train(TASK, chosen, tmp_path / "run")
    assert result.step == 2 * -(-len(windows) // 4)
    assert {"validation_f1", "validation_NoAns_f1"} <= result.history[-1].keys()


def test_a_classifier_becomes_an_answerer(tmp_path: Path) -> None:
    """Whatever number of classes it told apart."""
    from transformers import BertForSequenceClassification

    config = small_bert(num_labels=5).config
    BertForSequenceClassification(config).save_pretrained(tmp_path / "start")
    small_tokenizer().save_pretrained(tmp_path / "start")
    chosen = recipe(from_pretrained=str(tmp_path / "start"))
    data = TASK.read(chosen, "train")
    model = TASK.model(chosen, TASK.processor(chosen, data), data)
    assert model.qa_outputs.out_features == model.config.num_labels == 2


# Batches


@pytest.mark.parametrize("side", ["left", "right"])
def test_batches_are_padded_on_the_right(side: str) -> None:
    """Also of a tokenizer that pads on the left: most models count places from there."""
    tokenizer = small_tokenizer(padding_side=side)
    rows = [{name: np.array(ids) for name, ids in tokenizer(text).items()} for text in ("Ada", "Ada Lovelace met")]
    names = {"input_ids", "token_type_ids", "attention_mask"}
    batch = batch_windows(rows, names, tokenizer)
    assert set(batch) == names
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 0, 0, 0], [1] * 6]
    assert batch["input_ids"][0, 3:].tolist() == [0, 0, 0]


# Data


def test_the_forms_of_the_data_are_one(tmp_path: Path) -> None:
    """SQuAD's files, plain and packed, lines of JSON, parquet, rows of the recipe in both forms of answers."""
    expected = read(ROWS)
    assert expected.columns == {name: [row[name] for row in ROWS] for name in ("id", "context", "question", "answers")}
    by_context = sorted(ROWS, key=lambda row: row["context"] != ROWS[0]["context"])
    write_squad(tmp_path / "squad.json")
    (tmp_path / "squad.json.gz").write_bytes(gzip.compress((tmp_path / "squad.json").read_bytes()))
    spaced = json.dumps(squad_json(), indent=2)
    (tmp_path / "spaced.json").write_text("\ufeff" + spaced, encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in by_context))
    (tmp_path / "rows.json").write_text(json.dumps(by_context))
    datasets.Dataset.from_list(by_context).to_parquet(tmp_path / "rows.parquet")
    for name in ("squad.json", "squad.json.gz", "spaced.json", "rows.jsonl", "rows.json", "rows.parquet"):
        data = TASK.read(recipe(train_rows=[], train_files=[str(tmp_path / name)]), "train")
        assert data is not None
        assert list(data) == list(read(by_context)), name
    listed = [
        {**row, "answers": [{"text": t, "answer_start": s} for t, s in zip(*row["answers"].values(), strict=True)]}
        for row in ROWS
    ]
    without_places = {"answers": {"text": [], "answer_start": []}}
    found = [{**row, **without_places} if not row["answers"]["text"] else row for row in read(listed)]
    assert found == list(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "questions", "unanswerable"),
    [
        ("squad/dev-v1.1.json.gz", 10570, 0),
        ("squad/dev-v2.0.json.gz", 11873, 5945),
        ("squad/train-subset.json.gz", 3838, 0),
        ("xquad/xquad.en.json", 1190, 0),
    ],
)
def test_published_files(shared_data: Path, name: str, questions: int, unanswerable: int) -> None:
    """Every answer stands at its offset, and the right answers are right."""
    data = TASK.read(recipe(train_rows=[], train_files=[str(shared_data / name)]), "train")
    assert data is not None
    answers = [row["answers"]["text"] for row in data]
    assert (len(data), answers.count([])) == (questions, unanswerable)
    # A few answers are ".", of which nothing is left.
    texts = [next((text for text in own if normalize(text)), "") for own in answers]
    predictions = [{"text": text, "no_answer_score": 0.0} for text in texts]
    measured = squad(predictions, answers)
    assert (measured["f1"], measured["exact_match"]) == (1.0, 1.0)


def test_other_json_is_read_as_before(tmp_path: Path) -> None:
    """Rows with a column `data` among them."""
    rows = [{"data": [1], "context": "a cat", "question": "who"}] * 2
    (tmp_path / "lines.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    chosen = recipe(predict_files=[str(tmp_path / "lines.json")])
    data = TASK.read(chosen, "predict")
    assert data is not None
    assert data.columns == {"id": ["1", "2"], "context": ["a cat"] * 2, "question": ["who"] * 2}


def test_columns_by_other_names(tmp_path: Path) -> None:
    rows = [{"q": row["question"], "passage": row["context"], "answers": row["answers"]} for row in ANSWERABLE]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    columns = {"question": "q", "context": "passage"}
    data = TASK.read(recipe(train_rows=[], train_files=[str(tmp_path / "rows.jsonl")], columns=columns), "train")
    assert data is not None
    assert data.columns["id"] == [str(number + 1) for number in range(len(rows))]


def changed(index: int, **columns: Any) -> list[dict[str, Any]]:
    return [{**row, **(columns if number == index else {})} for number, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("rows", "fields", "message"),
    [
        (
            changed(1, answers={"text": ["London"], "answer_start": [3]}),
            {},
            "row 2 (question q1): its answer 'London' is not at character 3 of the context, where ' Lovel' stands; the "
            "first one is at 36: correct answer_start",
        ),
        (changed(1, answers={"text": ["Paris"], "answer_start": [0]}), {}, "it is nowhere in it: correct answer_start"),
        (changed(1, answers={"text": ["Ada"], "answer_start": [-62]}), {}, "'Ada' is not at character -62"),
        (changed(1, answers={"text": ["Ada"], "answer_start": ["0"]}), {}, "'Ada' is not at character '0'"),
        (changed(1, answers={"text": ["Ada"]}), {}, "row 2 (question q1): its answers have no answer_start"),
        (changed(1, answers={"text": ["Ada"], "answer_start": [0, 1]}), {}, "1 answers, but answer_start is [0, 1]"),
        (changed(1, answers={"text": [""], "answer_start": [0]}), {}, "an answer is '', no text; a question without"),
        (changed(1, answers="Ada"), {}, "row 2 (question q1): answers are 'Ada', not {text: [...]"),
        (changed(1, answers=["Ada"]), {}, "an answer is 'Ada', not {text: ..., answer_start: ...}"),
        (changed(1, answers=None), {}, "answers are None, not {text: [...]"),
        (changed(1, question=None), {}, "row 2 (question q1) has no question; add it, or leave the row out"),
        (changed(1, question=7), {}, "row 2 (question q1) has 7 in place of a question"),
        (changed(1, context=""), {}, "row 2 (question q1) has no context"),
        (changed(1, context=" \n"), {}, "row 2 (question q1) has ' \\n' in place of a context"),
        (changed(1, id="q0"), {}, "row 2 has the id 'q0' of the recipe's train_rows, row 1; ids must differ"),
        (ROWS, {"version_2_with_negative": False}, "row 3 (question q2) has no answer, but version_2_with_negative is"),
        ([{"question": "who", "answers": []}], {}, "the recipe's train_rows has no column 'context', only question"),
    ],
)
def test_bad_rows_are_named(rows: list[dict[str, Any]], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(rows, **fields)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"data": [{"title": "T", "paragraphs": [{"qas": []}]}]}', "paragraph 1 of the article 'T' has no context"),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', "paragraph 1 of the article 'without a title' has no qas"),
        ('{"data": [{"title": "T", "paragraphs": [', "bad.json cannot be read as json: "),
        (
            '{"data": [{"paragraphs": [3]}]}',
            "paragraph 1 of the article 'without a title' is 3, not {context: ..., qas: [",
        ),
        (
            '{"data": [{"title": "T", "paragraphs": [{"context": "a", "qas": ["q"]}]}]}',
            "a question is 'q', not {id: ...",
        ),
        ('{"data": [{"title": "T", "paragraphs": [{"context": "a", "qas": 3}]}]}', "qas is 3, not a list of questions"),
        (
            '{"data": [{"paragraphs": [{"context": "a", "qas": [{"id": 1, "question": "b", "answers": '
            '[{"text": "a", "answer_start": [0]}]}]}]}]}',
            "its answer 'a' is not at character [0] of the context",
        ),
        ('{"data": [' + "[" * 100_000, "bad.json cannot be read as json: its brackets are nested too deeply"),
        ('{"data": []}', "bad.json: there is no row in it"),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": [{"id": 7}]}]}]}', "has no column 'answers'"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(ValueError, match=re.escape(message)):
        TASK.read(recipe(train_rows=[], train_files=[str(tmp_path / "bad.json")]), "train")


def test_a_question_without_text_in_a_file_is_named(tmp_path: Path) -> None:
    content = squad_json()
    del content["data"][0]["paragraphs"][0]["qas"][1]["question"]
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"bad.json, row 2 \(question q1\) has no question"):
        TASK.read(recipe(train_rows=[], train_files=[str(tmp_path / "bad.json")]), "train")
    (tmp_path / "bad.json.gz").write_bytes(gzip.compress(json.dumps(content).encode())[:200])
    with pytest.raises(OSError, match=r"bad.json.gz: damaged gzip file"):
        TASK.read(recipe(train_rows=[], train_files=[str(tmp_path / "bad.json.gz")]), "train")


def test_answers_need_no_place_to_be_measured_by() -> None:
    rows = [{**row, "answers": {"text": row["answers"]["text"]}} for row in ROWS]
    data = TASK.read(recipe(validation_rows=rows), "validation")
    assert data is not None
    assert data.columns["answers"][0] == {"text": ["Ada Lovelace", "Ada"]}


@pytest.mark.parametrize("name", benchmarks_of("question_answering"))
def test_a_named_task_is_the_hubs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ROWS if name == "squad_v2" else ANSWERABLE
    asked: list[Any] = []

    def load_dataset(path: str, config: Any, *, split: str, revision: str, streaming: bool) -> Any:
        asked.append((path, config, split, revision))
        return datasets.Dataset.from_list([{**row, "title": "Some"} for row in rows])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    chosen = recipe(task=name, train_rows=[])
    parts = [TASK.read(chosen, part) for part in ("train", "validation", "test", "predict")]
    assert [part if part is None else list(part) for part in parts] == [list(read(rows))] * 2 + [None] * 2
    revision = BENCHMARKS[name].hub.revision
    assert asked == [(f"rajpurkar/{name}", None, split, revision) for split in ("train", "validation")]
    assert len(revision) == 40
    assert chosen.version_2_with_negative is (True if name == "squad_v2" else None)


def test_files_win_over_the_named_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_dataset", None)
    path = str(write_squad(tmp_path / "train.json"))
    chosen = recipe(task="squad_v2", train_rows=[], train_files=[path], validation_files=[path])
    assert [len(TASK.read(chosen, part) or ()) for part in ("train", "validation")] == [10, 10]
    mixed = recipe(task="squad_v2", train_rows=[], validation_files=[path])
    assert len(TASK.read(mixed, "validation") or ()) == 10
    assert mixed.dataset_name == "rajpurkar/squad_v2"
    assert len(read_file(TASK, path, recipe(task="squad", train_rows=[], version_2_with_negative=None))) == 10


# Inputs that do not fit


def test_questions_whose_answer_fits_into_no_window_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context = ROWS[3]["context"]
    long = {"text": [context[:60]], "answer_start": [0]}
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), small_tokenizer()
    data = read(changed(3, answers=long))
    TASK.batches(model, tokenizer, data, recipe(max_length=16))
    assert "1 of 10 questions are learned as if without an answer: it fits into no window" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no answer fits into a window; raise max_length"):
        TASK.batches(model, tokenizer, read([{**ROWS[3], "answers": long}]), recipe(max_length=16))


def test_tokenizers_that_do_not_fit_are_refused(folder: Path) -> None:
    model, data = LectureBertForQuestionAnswering.from_pretrained(folder), read(ROWS)
    words = WordTokenizer.train(["a cat"], progress=False)
    with pytest.raises(ValueError, match="a pair must be encoded as .* call tokenizer.set_template"):
        cut_questions(model, words, data, recipe())
    stock = small_bert()
    with pytest.raises(ValueError, match="the tokenizer has no pad_token"):
        cut_questions(stock, small_tokenizer(pad_token=None), data, recipe())
    with pytest.raises(ValueError, match="max_length 4 leaves no room"):
        cut_questions(stock, small_tokenizer(), data, recipe(max_length=4))


# Predictions


def test_saved_settings_as_fields_of_a_recipe() -> None:
    """A stride of 0 is a setting; what is False or None is left to the recipe."""
    saved = {"doc_stride": 0, "no_answer": False, "no_answer_threshold": None, "max_answer_length": 4}
    assert TASK.settings_class.fields_of(saved) == {"doc_stride": 0, "max_answer_length": 4}


@pytest.mark.parametrize("kind", ["squad_v2", "squad"])
def test_predictions_are_written_as_squad_takes_them(tmp_path: Path, folder: Path, kind: str) -> None:
    rows = ROWS if kind == "squad_v2" else ANSWERABLE
    path = write_squad(tmp_path / "test.json", with_answers=False)
    chosen = recipe(
        from_pretrained=str(folder),
        train_rows=rows,
        validation_rows=rows,
        predict_files=[str(path)],
        n_best_size=4,
        output_dir=str(tmp_path / "run"),
    )
    outcome = train_and_test(TASK, chosen)
    assert outcome.predictions == tmp_path / "run" / "predictions"
    files = {path.stem: json.loads(path.read_text()) for path in outcome.predictions.iterdir()}
    assert set(files) == {"predictions", "nbest_predictions", *(["null_odds"] if kind == "squad_v2" else [])}
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(tmp_path / "run"), small_tokenizer()
    contexts = {row["id"]: row["context"] for row in ROWS}
    for content in files.values():
        assert set(content) == set(contexts)
    data = read(ROWS)
    found = TASK.predict(model, tokenizer, TASK.encode(model, tokenizer, data, chosen), chosen)
    threshold = json.loads((tmp_path / "run" / "task.json").read_text())["settings"]["no_answer_threshold"]
    measured = best_validation(json.loads((tmp_path / "run" / "training.json").read_text()))
    assert threshold == (pytest.approx(measured["best_f1_thresh"], abs=1e-4) if kind == "squad_v2" else None)
    for row, one in zip(ROWS, found, strict=True):
        best, is_none = one.answers[0], kind == "squad_v2" and one.odds > threshold
        assert files["predictions"][row["id"]] == ("" if is_none else row["context"][best.start : best.end])
        listed = files["nbest_predictions"][row["id"]]
        assert sum(entry["probability"] for entry in listed) == pytest.approx(1)
        assert [entry["probability"] for entry in listed] == sorted((e["probability"] for e in listed), reverse=True)
        assert len(listed) == 4 + (kind == "squad_v2")
        assert ("" in [entry["text"] for entry in listed]) == (kind == "squad_v2")
        assert {"text", "probability", "start_logit", "end_logit"} == set(listed[0])
        if kind == "squad_v2":
            assert files["null_odds"][row["id"]] == pytest.approx(one.odds, abs=1e-4)


def test_a_new_model_names_from_pretrained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line at the start says what a new model cannot learn; a published one that is named gets no such line."""
    shape = {"model_type": "lecture_bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    for given in ({"model": {**shape, "intermediate_size": 8}}, {"from_pretrained": str(folder)}):
        own = recipe(**given)
        data = TASK.read(own, "train")
        TASK.model(own, TASK.processor(own, data), data)
        assert ("does not learn to find answers" in capsys.readouterr().err) == ("model" in given)
