# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The scripts that fine-tune, as their pages show them, with models of transformers itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    pipeline,
)

from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM, WordTokenizer
from hf_lecture_models.data.benchmarks import benchmarks_of
from hf_lecture_models.hub.card import render_card
from hf_lecture_models.hub.facts import facts_of
from hf_lecture_models.tasks.classification.task import TextClassificationRecipe
from hf_lecture_models.tasks.registry import measure_file
from tests.tasks.small_answerer import ROWS as ANSWERED
from tests.tasks.small_classifier import ROWS as CLASSIFIED
from tests.tasks.small_classifier import stand_in_hub, write_tsv
from tests.tasks.small_tagger import ROWS as TAGGED
from tests.tasks.small_tagger import TAGS, write_conll
from tests.training.scripts import COPA, SCRIPTS, Script, of, printed_commands, write_lines


@of("glue")
def test_the_printed_command_trains_a_stock_classifier(script: Script) -> None:
    """Of a folder without a head; that its weights are new is told in one line."""
    AutoModel.from_pretrained("FOLDER").save_pretrained("FOLDER")
    out, err = script.finish(*printed_commands(script.task)[0])
    assert re.fullmatch(r"3 steps, [\d,]+ examples/s, best validation accuracy [\d.]+: \S+/OUT\n", out)
    classes, told, training, *_ = err.splitlines()
    assert classes == "2 classes in T.tsv: negative (6), positive (6)"
    assert told == "weights that FOLDER does not hold start anew: classifier.bias, classifier.weight"
    assert training.startswith("training ")
    model = AutoModelForSequenceClassification.from_pretrained("OUT")
    assert type(model).__name__ == "BertForSequenceClassification"
    assert model.config.id2label == {0: "negative", 1: "positive"}
    tokenizer = AutoTokenizer.from_pretrained("OUT")
    with torch.no_grad():
        right = [
            int(model(**tokenizer(row["text"], return_tensors="pt")).logits.argmax()) == row["label"]
            for row in CLASSIFIED[:6]
        ]
    record = json.loads(Path("OUT/training.json").read_text())
    assert record["best_metric"] == pytest.approx(sum(right) / 6)
    assert (record["items"], record["recipe"]["accumulation_steps"]) == (len(CLASSIFIED), 4)
    assert pipeline("text-classification", model="OUT")("a fine film")[0]["label"] in ("negative", "positive")


@of("glue")
def test_a_run_is_not_resumed_on_other_data(script: Script) -> None:
    new = ["--from_pretrained", "", "--model.hidden_sizes", "[4]"]
    for name, options, changed in (
        ("tuned", [], "the training data"),
        ("new", new, "the tokenizer and the training data"),
    ):
        command = [*script.arguments, *options, "--output_dir", name]
        script.train(*command)
        for path, rows, message in (
            ("V.tsv", [*CLASSIFIED[:5], {**CLASSIFIED[5], "label": 1 - CLASSIFIED[5]["label"]}], "the validation data"),
            ("T.tsv", [*CLASSIFIED, {"text": "a long and warmer tale", "label": 1}], changed),
        ):
            before = Path(path).read_text()
            write_tsv(Path(path), rows)
            with pytest.raises(ValueError, match=f"cannot resume: {message} changed since the run was started"):
                script.train(*command, "--resume")
            Path(path).write_text(before)
        # Three epochs of one step for a checkpoint; a new model learns until it stops improving.
        steps = json.loads(Path(name, "training.json").read_text())["step"]
        assert script.train(*command, "--resume").step == steps
        assert steps == 3 or name == "new"
    tokenizer = Path("FOLDER/tokenizer.json")
    ids_swapped = re.sub(
        '"(dull|cold)"', lambda word: {"dull": '"cold"', "cold": '"dull"'}[word[1]], tokenizer.read_text()
    )
    tokenizer.write_text(ids_swapped)
    with pytest.raises(ValueError, match="cannot resume: the tokenizer changed"):
        script.train(*script.arguments, "--output_dir", "tuned", "--resume")


@of("glue")
def test_three_way_sst_has_its_columns_and_names(script: Script) -> None:
    rows = [{"sentence": row["text"], "label": 3, "label3": index % 3 - 1} for index, row in enumerate(CLASSIFIED)]
    for path in ("T.jsonl", "test.jsonl"):
        write_lines(path, rows)
    arguments = ["--task", "sst3", "--from_pretrained", "FOLDER", "--train_files", "T.jsonl"]
    assert script.train(*arguments, "--test_files", "test.jsonl", "--output_dir", "OUT").step == 3
    names = json.loads(Path("OUT/config.json").read_text())["id2label"]
    assert names == {"0": "negative", "1": "neutral", "2": "positive"}
    facts = json.loads(Path("OUT/facts.json").read_text())
    assert facts["data"] == {"name": "test.jsonl"}
    assert facts["results"]["examples"] == len(CLASSIFIED)
    assert not facts["recipe"]["model"], "the model is that of from_pretrained"
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    assert "tokenizer:" not in render_card(facts).text
    assert measure_file("T.jsonl", model, tokenizer, facts)["data"] == {"name": "T.jsonl"}


@of("glue")
def test_a_classifier_starts_from_a_language_model(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    """Dai & Le 2015: its word vectors and recurrence go on, and which weights are new is said."""
    tokenizer = WordTokenizer.train([row["text"] for row in CLASSIFIED], progress=False)
    special = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, **special)
    language_model = RecurrentForCausalLM(config)
    language_model.save_pretrained("LM")
    tokenizer.save_pretrained("LM")
    options = ["--task", "sst2", "--train_files", "T.tsv", "--learning_rate", "0", "--output_dir", "OUT"]
    script.train("--from_pretrained", "LM", *options)
    assert "weights that LM does not hold start anew: classifier.bias, classifier.weight\n" in capsys.readouterr().err
    model = AutoModelForSequenceClassification.from_pretrained("OUT")
    assert (type(model).__name__, model.config.num_labels) == ("RecurrentForSequenceClassification", 2)
    for name, tensor in language_model.model.state_dict().items():
        assert torch.equal(model.model.state_dict()[name], tensor), name
    assert pipeline("text-classification", model="OUT")("a fine film")[0]["label"] in ("negative", "positive")


@of("glue")
def test_a_task_of_the_hub_ends_with_predictions_for_its_test_rows(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in_hub(monkeypatch, ("sentence1", "sentence2"), ("entailment", "not_entailment"))
    arguments = ["--task", "rte", "--from_pretrained", "FOLDER", "--predict_split", "test", "--output_dir", "OUT"]
    script.run(*arguments)
    assert capsys.readouterr().out.endswith("/OUT/predictions/RTE.tsv\n")
    header, *lines = Path("OUT/predictions/RTE.tsv").read_text().splitlines()
    assert header == "index\tprediction"
    assert [line.split("\t")[0] for line in lines] == ["11", "7"]
    assert {line.split("\t")[1] for line in lines} <= {"entailment", "not_entailment"}


def test_names_of_a_task_can_be_said_otherwise() -> None:
    recipe = TextClassificationRecipe(task="sst2", columns={"text": "review"}, label_names={"0": "bad"})
    assert (recipe.column_aliases("text"), recipe.column_aliases("label")) == (["review"], ("label",))
    assert recipe.label_names == {"0": "bad", "1": "positive"}
    assert TextClassificationRecipe(**recipe.to_dict()) == recipe, "as a resumed run reads it"


def test_help_names_the_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        SCRIPTS["glue"].run("--help")
    shown = capsys.readouterr().out
    assert "What it does." in shown
    assert f"({', '.join(benchmarks_of('text_classification'))})" in " ".join(shown.split())
    assert "[RECIPE.yaml] [--name value ...] [--resume]" in shown


@pytest.mark.slow
@of("multiple_choice")
def test_the_printed_command_trains_a_stock_model_and_predicts(script: Script) -> None:
    out, _ = script.finish(*printed_commands(script.task)[0])
    pattern = r"3 steps, [\d,]+ examples/s, best validation accuracy [\d.]+: \S+/OUT, predictions in \S+/COPA.jsonl\n"
    assert re.fullmatch(pattern, out)
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    assert type(model).__name__ == "BertForMultipleChoice"
    expected = []
    for number, row in enumerate(COPA):
        asks = "What was the cause of this?" if row["question"] == "cause" else "What happened as a result?"
        texts = [f"{row['premise']} {asks}"] * 2, [row["choice1"], row["choice2"]]
        inputs = tokenizer(*texts, padding=True, return_tensors="pt")
        with torch.no_grad():
            best = int(model(**{name: tensor[None] for name, tensor in inputs.items()}).logits.argmax())
        expected.append({"idx": 500 + number, "label": best})
    found = Path("OUT/predictions/COPA.jsonl").read_text()
    assert [json.loads(line) for line in found.splitlines()] == expected
    record = json.loads(Path("OUT/training.json").read_text())
    right = sum(row["label"] == one["label"] for row, one in zip(COPA[:3], expected, strict=False))
    assert (record["best_metric"], record["items"]) == (pytest.approx(right / 3), len(COPA))


@pytest.mark.slow
@of("multiple_choice")
def test_the_card_says_what_was_measured(script: Script) -> None:
    data = ["--train_files", "rows.jsonl", "--test_files", "rows.jsonl"]
    script.train("--from_pretrained", "FOLDER", *data, "--output_dir", "OUT")
    model, tokenizer = AutoModelForMultipleChoice.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    facts = facts_of("OUT", model, tokenizer)
    card = render_card(facts | {"data": facts["data"] | {"hub_id": "somebody/choices"}})
    assert card.data.pipeline_tag == "multiple-choice"
    assert [result.metric_type for result in card.data.eval_results] == ["accuracy"]
    assert "Measured on 10 examples; guessing is right for 45.0 %.\n" in card.text
    assert "hf-lecture train multiple_choice recipe.yaml" in card.text
    (example,) = re.findall(r"```python\n(.*?)```", card.text, flags=re.DOTALL)
    exec(compile(example.replace('"."', '"OUT"'), "README.md", "exec"), {})
    assert measure_file("rows.jsonl", model, tokenizer, facts)["results"] == facts["results"]


@of("squad")
def test_data_alone_train_a_small_model_and_say_its_size(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    script.run("--train_files", "T.json", "--max_steps", "1", "--output_dir", "OUT")
    told = r"^the recipe names no model: a new LectureBertForQuestionAnswering of ([\d,]+) parameters is trained;"
    assert (found := re.search(told, capsys.readouterr().err, re.MULTILINE))
    assert int(found[1].replace(",", "")) < 1e6


@pytest.mark.slow
@of("squad")
def test_the_printed_command_trains_a_stock_answerer(script: Script) -> None:
    out, _ = script.finish(*printed_commands(script.task)[0], "--predict_files", "test.json")
    pattern = r"3 steps, [\d,]+ windows/s, best validation f1 [\d.]+: \S+/OUT, predictions in \S+/OUT/predictions\n"
    assert re.fullmatch(pattern, out)
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    assert type(model).__name__ == "BertForQuestionAnswering"
    record = json.loads(Path("OUT/training.json").read_text())
    assert record["items"] == len(ANSWERED), "of 64 tokens, each text is one window"
    predictions = json.loads(Path("OUT/predictions/predictions.json").read_text())
    assert set(predictions) == {row["id"] for row in ANSWERED}
    odds = json.loads(Path("OUT/predictions/null_odds.json").read_text())
    answer: Any = pipeline("extractive-question-answering", model=model, tokenizer=tokenizer)  # type: ignore[call-overload]
    threshold = json.loads(Path("OUT/task.json").read_text())["settings"]["no_answer_threshold"]
    for row in ANSWERED:
        found = answer({"question": row["question"], "context": row["context"]})
        assert predictions[row["id"]] == found["answer"], "the pipeline and the task find the same"
        assert (odds[row["id"]] > threshold) == (found["answer"] == "")
    facts = {"recipe": {}}
    measured = measure_file("V.json", model, tokenizer, facts)["results"]
    assert measured["f1"] == pytest.approx(record["best_metric"])


@of("tagging")
def test_a_task_by_its_name_has_all_its_tags(script: Script) -> None:
    rows = [
        {**row, "tags": [tag.replace("PER", "person").replace("LOC", "location") for tag in row["tags"]]}
        for row in TAGGED
    ]
    write_conll(Path("W.conll"), rows)
    script.train("--task", "wnut17", "--from_pretrained", "FOLDER", "--train_files", "W.conll", "--output_dir", "OUT")
    names = json.loads(Path("OUT/config.json").read_text())["id2label"]
    assert (len(names), names["0"], names["9"]) == (13, "O", "B-person")
    assert json.loads(Path("OUT/task.json").read_text())["scheme"] == "entities"


@pytest.mark.slow
@of("tagging")
def test_the_printed_command_trains_a_stock_tagger(script: Script) -> None:
    out, err = script.finish(*printed_commands(script.task)[0])
    assert re.fullmatch(r"3 steps, [\d,]+ tags/s, best validation accuracy [\d.]+: \S+/OUT\n", out)
    classes, scheme, *_ = err.splitlines()
    assert classes == "5 classes in T.conllu: B-LOC (9), B-PER (9), I-LOC (4), I-PER (3), O (17)"
    assert scheme == "all tags are parts of entities; `scheme` entities measures entities in place of words"
    model = AutoModelForTokenClassification.from_pretrained("OUT")
    assert type(model).__name__ == "BertForTokenClassification"
    assert list(model.config.id2label.values()) == TAGS
    record = json.loads(Path("OUT/training.json").read_text())
    assert record["items"] == sum(len(row["tokens"]) for row in TAGGED)
    tokenizer = AutoTokenizer.from_pretrained("OUT")
    right = 0
    for row in TAGGED[:6]:
        encoded = tokenizer(row["tokens"], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            tags = model(**encoded).logits[0].argmax(-1)
        places = encoded.word_ids()
        right += sum(TAGS[tags[places.index(word)]] == tag for word, tag in enumerate(row["tags"]))
    assert record["best_metric"] == pytest.approx(right / sum(len(row["tokens"]) for row in TAGGED[:6]))
    assert isinstance(pipeline("token-classification", model="OUT")("Ada lives in Berlin"), list)


@of("tagging")
def test_the_command_without_a_model_trains_an_lstm(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        *printed_commands(script.task)[1],
        "--model.hidden_size",
        "8",
        "--test_files",
        "V.conll",
        "--epochs",
        "2",
    ]
    script.run(*arguments)
    assert re.search(r"^2 steps, .* tags/s, test f1 [\d.]+: \S+/OUT\n$", capsys.readouterr().out)
    facts = json.loads(Path("OUT/facts.json").read_text())
    assert facts["class"] == "RecurrentForTokenClassification"
    assert facts["data"] == {"name": "V.conll"}
    assert {"f1", "precision", "recall", "accuracy", "words", "sentences"} <= facts["results"].keys()
    model, tokenizer = AutoModelForTokenClassification.from_pretrained("OUT"), AutoTokenizer.from_pretrained("OUT")
    measured = measure_file("T.conll", model, tokenizer, facts)
    assert (measured["data"], measured["results"]["words"]) == (
        {"name": "T.conll"},
        sum(len(row["tokens"]) for row in TAGGED),
    )
