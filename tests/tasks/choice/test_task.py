# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Multiple choice: losses, scores and accuracies as a loop over single choices has them, whatever their number."""

import json
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModelForMultipleChoice, AutoTokenizer, DataCollatorForMultipleChoice

from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM, WordTokenizer
from hf_lecture_models.tasks.choice.task import (
    ChoiceBatches,
    MultipleChoice,
    MultipleChoiceRecipe,
    encode_choices,
    pad_choices,
)
from hf_lecture_models.tasks.core.shuffled import RowCollator
from hf_lecture_models.tasks.core.task import Encoded
from hf_lecture_models.trainer.batches import RowShard
from tests.tasks.small_chooser import ROWS, save_small_chooser, small_chooser
from tests.tasks.small_classifier import WORDS, small_tokenizer
from tests.tasks.task_tests import HeadTaskTests, train

TASK = MultipleChoice()
KINDS = ["stock", "ours"]


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_chooser(tmp_path_factory.mktemp("chooser") / request.param, request.param)


def recipe(**fields: Any) -> MultipleChoiceRecipe:
    defaults: dict[str, Any] = {"train_rows": ROWS, "epochs": 2, "batch_size": 4, "optimizer": "sgd", "clip_norm": None}
    return MultipleChoiceRecipe(**(defaults | {"learning_rate": 0.1} | fields))


def scores_by_hand(model: Any, row: dict[str, Any]) -> torch.Tensor:
    """The score of each choice, read alone and unpadded."""
    tokenizer, scores = small_tokenizer(), []
    for choice in row["choices"]:
        inputs = tokenizer(row["context"], choice, return_tensors="pt")
        scores.append(model(**{name: tensor[None] for name, tensor in inputs.items()}).logits[0, 0])
    return torch.stack(scores)


class TestMultipleChoice(HeadTaskTests):
    task = TASK
    savers = {kind: partial(save_small_chooser, kind=kind) for kind in KINDS}
    rows = ROWS
    items = 10

    def loss_of(self, model: Any, unit: Any) -> tuple[torch.Tensor, int]:
        return -F.log_softmax(scores_by_hand(model, unit), 0)[unit["label"]], 1

    def ids_of(self, encoded: Any) -> list[Any]:
        return [list(chain.from_iterable(choice["input_ids"] for choice in row)) for row in encoded]


def test_scores_and_accuracy_are_those_of_single_choices(folder: Path) -> None:
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained(folder).train(), small_tokenizer()
    data = TASK.read(recipe(), "train")
    with torch.no_grad():
        expected = [scores_by_hand(model.eval(), row) for row in ROWS]
    model.train()
    found = TASK.predict(model, tokenizer, TASK.encode(model, tokenizer, data, recipe()))
    for own, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(own, theirs, rtol=1e-4, atol=1e-5)
    right = sum(int(scores.argmax()) == row["label"] for scores, row in zip(expected, ROWS, strict=True))
    assert 0 < right < len(ROWS), "else the next line would prove little"
    measured = TASK.evaluate(model, tokenizer, data, recipe())
    assert measured == {"accuracy": right / 10, "chance": pytest.approx((7 / 2 + 3 / 3) / 10), "examples": 10}
    assert model.training


def test_a_batch_is_that_of_transformers_own_collator(folder: Path) -> None:
    model, tokenizer = small_chooser(folder.name), small_tokenizer()
    rows = [row for row in ROWS if len(row["choices"]) == 2]
    features = [dict(tokenizer([row["context"]] * 2, row["choices"])) | {"label": row["label"]} for row in rows]
    theirs = DataCollatorForMultipleChoice(tokenizer)(features)
    chosen = recipe(train_rows=rows, batch_size=len(rows))
    (ours,) = TASK.batches(model, tokenizer, TASK.read(chosen, "train"), chosen).next_step()
    order = np.random.default_rng((0, 0)).permutation(len(rows))
    assert ours.inputs.keys() == theirs.keys()
    for name, tensor in ours.inputs.items():
        assert torch.equal(tensor, theirs[name][order]), name
    torch.testing.assert_close(model(**ours.inputs).loss, model(**theirs).loss)


def test_processes_step_alike() -> None:
    """Rows of one number of choices are read together, in as many micro-batches by every process."""
    model, tokenizer, data = small_chooser("stock"), small_tokenizer(), TASK.read(recipe(), "train")
    examples, labels = encode_choices(model, tokenizer, data), {"labels": torch.tensor(data.columns["label"])}
    collate = RowCollator(examples, labels, partial(pad_choices, tokenizer))
    lengths = []
    for process in range(2):
        batches = ChoiceBatches(collate, 8, seed=0)
        batches.set_shard(RowShard(8, 2, process, 2))
        steps = [batches.next_step() for _ in range(batches.steps_per_epoch)]
        lengths.append([len(step) for step in steps])
        for batch in (batch for step in steps for batch in step):
            assert len({tensor.shape[1] for name, tensor in batch.inputs.items() if name != "labels"}) == 1
            assert batch.inputs["labels"].ne(-100).sum() == batch.num_items
            assert batch.inputs["attention_mask"].sum(2).min() > 0, "attention over nothing would be NaN"
    assert lengths[0] == lengths[1]
    assert max(lengths[0]) == 4, "two micro-batches, each of rows of two choices and of three"


# What a model reads


def gpt1(tmp_path: Path, **fields: Any) -> tuple[Any, Any]:
    """A language model that becomes a chooser: its tokenizer knows no Extract yet."""
    tokenizer = WordTokenizer.train(WORDS, progress=False)
    special = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 16}
    Gpt1ForCausalLM(Gpt1Config(vocab_size=len(tokenizer), **sizes, **special)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    chosen = recipe(from_pretrained=str(tmp_path), **fields)
    data = TASK.read(chosen, "train")
    tokenizer = TASK.processor(chosen, data)
    return TASK.model(chosen, tokenizer, data), tokenizer


def test_a_language_model_gets_the_template_and_a_cut_context_leaves_it_whole(tmp_path: Path) -> None:
    model, tokenizer = gpt1(tmp_path)
    rows = [{"context": "a film that is warm and fine", "choices": ["a dull one", "cold"], "label": 0}]
    data = TASK.read(recipe(train_rows=rows), "train")
    ((first, second),) = encode_choices(model, tokenizer, data, max_length=8)
    assert tokenizer.decode(first["input_ids"]) == "<start> a film <delim> a dull one <extract>"
    assert tokenizer.decode(second["input_ids"]) == "<start> a film that is <delim> cold <extract>"
    assert first.keys() == {"input_ids", "attention_mask"}, "GPT-1 reads no types of tokens"
    assert model.config.extract_token_id == first["input_ids"][-1]
    assert len(TASK.predict(model, tokenizer, Encoded(data, [[first, second]]))[0]) == 2
    with pytest.raises(ValueError, match="template 'gpt1'"):
        encode_choices(model, WordTokenizer.train(WORDS, progress=False), data)


def test_what_is_too_long_is_an_error_or_cut() -> None:
    model, tokenizer = small_chooser("stock"), small_tokenizer()
    long = {"context": "film " * 20, "choices": ["a warm one", "funny"], "label": 0}
    data = TASK.read(recipe(train_rows=[*ROWS, long]), "train")
    where = r"the recipe's train_rows, row 11, choice 0"
    with pytest.raises(ValueError, match=rf"{where} has 26 tokens, more .* longest input; `max_length` 16 cuts"):
        encode_choices(model, tokenizer, data)
    with pytest.raises(ValueError, match="`max_length` 17 is more than the model's longest input, 16 tokens"):
        encode_choices(model, tokenizer, data, max_length=17)
    cut = encode_choices(model, tokenizer, data, max_length=12)[-1]
    assert tokenizer.decode(cut[0]["input_ids"]) == f"[CLS]{' film' * 6} [SEP] a warm one [SEP]"
    data = TASK.read(recipe(train_rows=[long]), "train")
    with pytest.raises(ValueError, match=r"row 1, choice 0 is too long for max_length 6: .* \(3\) .* 7 at least"):
        encode_choices(model, tokenizer, data, max_length=6)
    assert encode_choices(model, tokenizer, data, max_length=7)


def test_a_context_may_be_empty() -> None:
    model, tokenizer = small_chooser("stock"), small_tokenizer()
    data = TASK.read(recipe(train_rows=[ROWS[0] | {"context": ""}]), "train")
    for max_length in (None, 8):
        ((first, _),) = encode_choices(model, tokenizer, data, max_length)
        assert tokenizer.decode(first["input_ids"]) == "[CLS] [SEP] dull and long [SEP]"


def test_a_new_model_and_a_checkpoint_with_changed_fields(tmp_path: Path) -> None:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    for model_type, name in (("lecture_bert", "LectureBertForMultipleChoice"), ("bert", "BertForMultipleChoice")):
        result, _ = train(TASK, recipe(model={"model_type": model_type, **sizes}, epochs=1), tmp_path / name)
        assert result.step == 3
        assert json.loads((tmp_path / name / "config.json").read_text())["architectures"] == [name]
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / name)
        assert len(tokenizer("a", "film")["input_ids"]) == (5 if model_type == "lecture_bert" else 4)
    model, _ = gpt1(tmp_path / "gpt1", model={"auxiliary_lm_weight": 0.5})
    assert model.config.auxiliary_lm_weight == 0.5


# Rows of benchmarks

COPA = {"premise": "a film", "choice1": "warm", "choice2": "cold", "question": "cause", "label": 1}
SWAG = {"sent1": "a film", "sent2": "it is", **{f"ending{n}": word for n, word in enumerate("abcd")}, "label": 2}
ARC = {"question": "which film", "choices": ["warm", "cold", "dull"], "label": 2}
HUB_ARC = {"question": "which film", "choices": {"text": ["warm", "cold", "dull"], "label": ["1", "2", "3"]}}


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("task", "row", "expected"),
    [
        (None, ROWS[0], ("a fine film", ["dull and long", "funny"], 1)),
        ("copa", COPA, ("a film What was the cause of this?", ["warm", "cold"], 1)),
        ("copa", COPA | {"question": "effect"}, ("a film What happened as a result?", ["warm", "cold"], 1)),
        ("copa", COPA | {"label": "choice1"}, ("a film What was the cause of this?", ["warm", "cold"], 0)),
        ("balanced_copa", COPA | {"mirrored": True}, ("a film What was the cause of this?", ["warm", "cold"], 1)),
        ("swag", SWAG, ("a film", ["it is a", "it is b", "it is c", "it is d"], 2)),
        ("swag", SWAG | {"sent2": "", "label": "3"}, ("a film", ["a", "b", "c", "d"], 3)),
        ("arc_easy", ARC, ("which film", ["warm", "cold", "dull"], 2)),
        ("arc_easy", ARC | {"label": "B"}, ("which film", ["warm", "cold", "dull"], 1)),
        ("arc_challenge", HUB_ARC | {"answerKey": "1"}, ("which film", ["warm", "cold", "dull"], 0)),
    ],
)
def test_rows_of_benchmarks(tmp_path: Path, task: str | None, row: dict[str, Any], expected: tuple[Any, ...]) -> None:
    path = write(tmp_path / "rows.jsonl", row)
    data = TASK.read(MultipleChoiceRecipe(task=task, train_files=[path]), "train")
    assert tuple(data[0][name] for name in ("context", "choices", "label")) == expected


def test_swags_own_table_and_other_names_of_columns(tmp_path: Path) -> None:
    (tmp_path / "val.csv").write_text(
        ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
        '0,lsmdc,1,"A man, he","A man, tall.",He,gold,sits.,"stands, tall.",runs.,None,3\n'
    )
    chosen = MultipleChoiceRecipe(task="swag", train_files=[str(tmp_path / "val.csv")])
    assert TASK.read(chosen, "train")[0]["choices"] == ["He sits.", "He stands, tall.", "He runs.", "He None"]
    path = write(tmp_path / "rows.jsonl", {"story": "a film", "endings": ["warm", "cold"], "gold": 1})
    columns = {"context": "story", "choices": "endings", "label": "gold"}
    data = TASK.read(MultipleChoiceRecipe(train_files=[path], columns=columns), "train")
    assert data[0]["label"] == 1


@pytest.mark.parametrize(
    ("task", "row", "message"),
    [
        (None, {"label": 2}, r"label 2 is none of its 2 choices, which are 0 to 1$"),
        (None, {"label": "b"}, r"label 'b' is none of its 2 choices"),
        (None, {"label": 0.5}, r"label 0.5 is none of its 2 choices"),
        (None, {"label": True}, r"label True is none of its 2 choices"),
        (
            None,
            {"label": -1},
            r"it has no label, as the rows of a test set; rows without labels are for the verb predict",
        ),
        (None, {"label": None}, r"it has no label"),
        (None, {"choices": ["a film"]}, r"it has 1 choice, but two at least are needed"),
        (None, {"choices": []}, r"it has 0 choices, but two"),
        (None, {"choices": ["a film", " "]}, r"choice 1 is empty; write it, or leave the row out"),
        (None, {"choices": ["a film", 3]}, r"choice 1 is 3, no text"),
        (None, {"choices": "a film"}, r"choices is 'a film', no list; .jsonl, .json and .parquet files can hold"),
        (None, {"context": None}, r"context is None, no text"),
        ("copa", {"question": "why"}, r"question is 'why', neither cause nor effect"),
        ("copa", {"choice2": ""}, r"choice2 is empty"),
        ("copa", {"premise": 5}, r"premise is 5, no text"),
        ("copa", {"label": 2}, r"label 2 is none of its 2 choices, which are 0 to 1, or choice1, choice2$"),
        ("swag", {"ending3": None}, r"ending3 is None, no text"),
        ("arc_easy", {"label": "E"}, r"label 'E' is none of its 3 choices, which are 0 to 2, or A, B, C$"),
        ("arc_easy", {"choices": {"text": ["a", "b"], "label": ["A"]}}, r"it has 2 choices, and names for 1 of them"),
    ],
)
def test_rows_that_cannot_be(tmp_path: Path, task: str | None, row: dict[str, Any], message: str) -> None:
    good = {None: ROWS[0], "copa": COPA, "swag": SWAG, "arc_easy": ARC}[task]
    path = write(tmp_path / "good.jsonl", good), write(tmp_path / "bad.jsonl", good | row)
    chosen = MultipleChoiceRecipe(task=task, train_files=list(path))
    with pytest.raises(ValueError, match=rf"^{path[1]}, row 1: {message}"):
        TASK.read(chosen, "train")


def test_columns_that_are_missing(tmp_path: Path) -> None:
    for task, row, message in (
        ("copa", COPA | {"choice2": None}, "row 1: choice2 is None, no text"),
        (
            "copa",
            {"premise": "a", "choice1": "b", "question": "cause", "label": 0},
            "no column 'choice2', only premise",
        ),
        (None, {"context": "a", "choices": ["b", "c"]}, r"no column 'label', only context, choices; `columns.label`"),
        (
            "arc_easy",
            {"question": "a", "choices": ["b", "c"]},
            "no column 'answerKey' or 'label', only question, choices",
        ),
        ("swag", SWAG | {"label": ""}, "row 1: it has no label"),
    ):
        path = write(tmp_path / "rows.jsonl", row)
        with pytest.raises(ValueError, match=message):
            TASK.read(MultipleChoiceRecipe(task=task, train_files=[path]), "train")


# Predictions


@pytest.mark.parametrize(
    ("task", "rows", "name", "lines"),
    [
        (None, ROWS[:2], "predictions.jsonl", ['{"idx": 0, "label": X}', '{"idx": 1, "label": X}']),
        ("copa", [COPA | {"idx": 500, "label": -1}], "COPA.jsonl", ['{"idx": 500, "label": X}']),
        ("swag", [SWAG, SWAG], "predictions.csv", [",pred", "0,X", "1,X"]),
        ("arc_easy", [ARC | {"id": "Mercury_1"}], "predictions.csv", ["Mercury_1,X"]),
        ("arc_easy", [HUB_ARC | {"id": "Mercury_1", "answerKey": ""}], "predictions.csv", ["Mercury_1,X"]),
    ],
)
def test_predictions_are_written_as_benchmarks_take_them(
    tmp_path: Path, task: str | None, rows: list[dict[str, Any]], name: str, lines: list[str]
) -> None:
    """Labels of such rows are not looked at."""
    bare = [{key: value for key, value in row.items() if key != "label"} for row in rows]
    model, tokenizer = small_chooser("stock"), small_tokenizer()
    for number, given in enumerate((rows, bare, [row | {"label": 77} for row in bare])):
        chosen = recipe(task=task, predict_files=[write(tmp_path / "rows.jsonl", *given)])
        data = TASK.read(chosen, "predict")
        TASK.encode(model, tokenizer, data, chosen)
        (tmp_path / str(number)).mkdir()
        path = TASK.write_predictions(model, tokenizer, data, chosen, tmp_path / str(number))
        assert path == tmp_path / str(number) / name
        best = [
            int(scores.argmax())
            for scores in TASK.predict(model, tokenizer, TASK.encode(model, tokenizer, data, recipe()))
        ]
        names = [data[index]["names"][number] if "arc" in str(task) else number for index, number in enumerate(best)]
        expected = [line.replace("X", str(names[index - (task == "swag")])) for index, line in enumerate(lines)]
        assert path.read_text().splitlines() == expected
    assert TASK.read(recipe(), "predict") is None


def test_data_sets_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read where a named task has no other data; labels have names, and those of test rows are hidden."""
    asked = []
    features = datasets.Features(
        {name: datasets.Value("string") for name in COPA if name != "label"}
        | {"label": datasets.ClassLabel(names=["choice1", "choice2"])}
    )

    def load(name: str, config: str, split: str, revision: str, **_: Any) -> Any:
        asked.append((name, config, split, len(revision)))
        columns = {key: [value] * 2 for key, value in COPA.items()}
        return datasets.Dataset.from_dict(columns | {"label": [-1, -1] if split == "test" else [1, 0]}, features)

    monkeypatch.setattr(datasets, "load_dataset", load)
    chosen = MultipleChoiceRecipe(task="copa", predict_split="test")
    assert TASK.read(chosen, "train").columns["label"] == [1, 0]
    assert "label" not in TASK.read(chosen, "predict").columns
    assert asked == [("aps/super_glue", "copa", split, 40) for split in ("train", "test")]
    with pytest.raises(ValueError, match="split test of aps/super_glue, row 1: it has no label"):
        TASK.read(MultipleChoiceRecipe(task="copa", test_split="test"), "test")
    for task, place in (
        ("swag", ("allenai/swag", "regular")),
        ("arc_easy", ("allenai/ai2_arc", "ARC-Easy")),
        ("arc_challenge", ("allenai/ai2_arc", "ARC-Challenge")),
        ("balanced_copa", ("", None)),
        (None, ("", None)),
    ):
        found = MultipleChoiceRecipe(task=task)
        assert (found.dataset_name, found.dataset_config) == place
        assert MultipleChoiceRecipe(**found.to_dict()) == found, "as a resumed run reads it"
        assert not MultipleChoiceRecipe(task=task, train_files=["a.jsonl"]).dataset_name


def test_a_new_model_names_from_pretrained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line at the start says what a new model cannot learn; a published one that is named gets no such line."""
    shape = {"model_type": "lecture_bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    for given in ({"model": {**shape, "intermediate_size": 8}}, {"from_pretrained": str(folder)}):
        own = recipe(**given)
        data = TASK.read(own, "train")
        TASK.model(own, TASK.processor(own, data), data)
        assert ("guessing" in capsys.readouterr().err) == ("model" in given)
