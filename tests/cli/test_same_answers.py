# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What predicts is what was measured: files of predictions, `hf-lecture predict`, `predict` and pipelines agree."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from seqeval.metrics.sequence_labeling import get_entities
from transformers import ViTConfig, ViTForImageClassification, pipeline

from hf_lecture_models import ElmoConfig, ElmoForTokenClassification, ElmoTokenizer
from hf_lecture_models.hub import export
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.choice.task import MultipleChoice, MultipleChoiceRecipe
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.core.main import train_and_test
from hf_lecture_models.tasks.images.processors import make_image_processor
from hf_lecture_models.tasks.prediction import predict
from hf_lecture_models.tasks.question_answering.answers import AnswerSettings
from hf_lecture_models.tasks.question_answering.measures import best_scores
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering, QuestionAnsweringRecipe
from hf_lecture_models.tasks.tagging.entities import find_entities
from hf_lecture_models.tasks.tagging.task import TokenClassification, TokenClassificationRecipe
from hf_lecture_models.tasks.translation.bleu import bleu_and_chrf
from hf_lecture_models.tasks.translation.task import Translation
from tests.tasks import small_answerer, small_chooser, small_classifier, small_tagger, small_translator


def lines_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def check_classes(run: Any, folder: Path, rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Expected are label and score of each row, as transformers' pipeline gives them."""
    model, processor = load_model(str(folder))
    status, out, _ = run("predict", folder, "--json", "--jsonl", stdin=lines_of(rows))
    assert status == 0
    for found in (best(out), [one[0] for one in predict(model, processor, rows)]):
        assert [one["label"] for one in found] == [one["label"] for one in expected]
        assert [one["score"] for one in found] == pytest.approx([one["score"] for one in expected], abs=1e-5)


TASK: Any = "extractive-question-answering"
QUESTIONS = small_answerer.ROWS


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with settings of its own, whose predictions are some answers, some none."""
    folder = tmp_path_factory.mktemp("answerer")
    recipe = QuestionAnsweringRecipe(
        from_pretrained=str(small_answerer.save_small_bert(folder / "start")),
        train_rows=QUESTIONS,
        validation_rows=QUESTIONS,
        predict_files=[str(small_answerer.write_squad(folder / "test.json", with_answers=False))],
        max_length=24,
        doc_stride=3,
        max_answer_length=3,
        n_best_size=4,
        null_score_diff_threshold=0.3,
        learning_rate=0.0,
        output_dir=str(folder / "run"),
    )
    train_and_test(QuestionAnswering(), recipe)
    return folder


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def best(out: str) -> list[dict[str, Any]]:
    return [json.loads(line)["predictions"][0] for line in out.splitlines()]


def test_questions_without_an_answer_stay_so(run: Any, answerer: Path, tmp_path: Path) -> None:
    """By the verb on lines and on SQuAD's file, and by the pipeline, of the run and of what is published."""
    expected = read(answerer / "run/predictions/predictions.json")
    assert 0 < list(expected.values()).count("") < len(expected), "else there were nothing to compare"
    settings = read(answerer / "run/task.json")["settings"]
    assert (settings["no_answer"], settings["max_answer_length"], settings["doc_stride"]) == (True, 3, 3)
    lines = "".join(json.dumps({name: row[name] for name in ("question", "context")}) + "\n" for row in QUESTIONS)
    status, out, err = run("predict", answerer / "run", "--json", stdin=lines)
    assert (status, err) == (0, "")
    answers = {row["id"]: found["label"] for row, found in zip(QUESTIONS, best(out), strict=True)}
    assert answers == expected
    status, table, err = run("predict", answerer / "run", answerer / "test.json", "--json")
    assert (status, err) == (0, "")
    ids = [json.loads(line)["id"] for line in table.splitlines()]
    assert {own: found["label"] for own, found in zip(ids, best(table), strict=True)} == expected
    listed = read(answerer / "run/predictions/nbest_predictions.json")
    for row, found in zip(QUESTIONS, best(out), strict=True):
        scores = [one["probability"] for one in listed[row["id"]] if one["text"] == found["label"]]
        assert any(found["score"] == pytest.approx(score, abs=1e-4) for score in scores)
    export(*load_model(str(answerer / "run")), tmp_path / "published")
    for folder in (answerer / "run", tmp_path / "published"):
        answer = pipeline(TASK, model=str(folder))
        found = [answer(question=row["question"], context=row["context"]) for row in QUESTIONS]
        assert {row["id"]: one["answer"] for row, one in zip(QUESTIONS, found, strict=True)} == expected
        assert [one["score"] for one in found] == pytest.approx([one["score"] for one in best(out)], abs=1e-5)


def test_evaluate_stores_the_best_threshold_of_a_model_that_has_none(run: Any, tmp_path: Path) -> None:
    folder = small_answerer.save_small_bert(tmp_path / "stock")
    data = small_answerer.write_squad(tmp_path / "dev.json")
    _, plain, err = run("evaluate", folder, "squad_v2", data, "--json")
    assert err.startswith("warning: the model is not better than the baseline (no answer) in f1")
    assert (len(err.splitlines()), (folder / "task.json").exists()) == (1, False), "a measure alone changes nothing"
    status, out, err = run("evaluate", folder, "squad_v2", data, "--json", "--store")
    assert (status, out) == (0, plain)
    measured = json.loads(out)
    stored = read(folder / "task.json")["settings"]
    assert stored["no_answer_threshold"] == pytest.approx(measured["best_f1_thresh"], abs=1e-4)
    assert "no_answer_threshold" in err.splitlines()[1]
    assert len(err.splitlines()) == 2
    status, out, _ = run("evaluate", folder, "squad_v2", data, "--json")
    assert status == 0
    assert json.loads(out)["f1"] == pytest.approx(measured["best_f1"])
    _, out, _ = run("predict", folder, data, "--json")
    scores = [
        best_scores(found["label"], row["answers"]["text"])[0] for found, row in zip(best(out), QUESTIONS, strict=True)
    ]
    assert sum(scores) / len(scores) == pytest.approx(measured["best_f1"]), "what is printed is what was measured"


@pytest.mark.parametrize("content", [{"no_answer": True}, {"settings": {"no_answer": False, "max_answer_length": 4}}])
def test_a_threshold_that_is_stored_later_is_used(run: Any, tmp_path: Path, content: dict[str, Any]) -> None:
    """In a file of an older version, and in that of a model whose own data left no question without an answer."""
    folder = small_answerer.save_small_bert(tmp_path / "stock")
    data = small_answerer.write_squad(tmp_path / "dev.json")
    content = {"name": "question_answering", "pipeline_tag": None, **content}
    (folder / "task.json").write_text(json.dumps(content), encoding="utf-8")
    _, out, _ = run("evaluate", folder, "squad_v2", data, "--json", "--store")
    stored = read(folder / "task.json")["settings"]
    assert (stored["no_answer"], stored["doc_stride"]) == (True, 128)
    assert stored["max_answer_length"] == content.get("settings", {}).get("max_answer_length", 30)
    _, printed, _ = run("predict", folder, data, "--json")
    scores = [
        best_scores(found["label"], row["answers"]["text"])[0]
        for found, row in zip(best(printed), QUESTIONS, strict=True)
    ]
    assert sum(scores) / len(scores) == pytest.approx(json.loads(out)["best_f1"])


def test_another_programs_task_file_is_passed_over(run: Any, tmp_path: Path) -> None:
    folder = small_answerer.save_small_bert(tmp_path / "stock")
    row = json.dumps({"question": "a", "context": "b c"})
    _, without, _ = run("predict", folder, stdin=row)
    (folder / "task.json").write_text('{"id": "sst2", "measures": "f1"}', encoding="utf-8")
    assert run("predict", folder, stdin=row) == (0, without, "")


def test_settings_that_cannot_be_are_named(run: Any, tmp_path: Path) -> None:
    folder = small_answerer.save_small_bert(tmp_path / "stock")
    names = '"name": "question_answering", "pipeline_tag": null'
    for content, message in (
        (f'{{{names}, "settings": {{"max_answer_length": "9"}}}}', "max_answer_length"),
        (f'{{{names}, "settings": 9}}', "task.json: settings is 9; it must be an object"),
        ("[", "task.json is not whole JSON"),
        ("[]", "task.json holds [], not an object of fields"),
    ):
        (folder / "task.json").write_text(content, encoding="utf-8")
        status, _, err = run("predict", folder, stdin=json.dumps({"question": "a", "context": "b"}))
        assert (status, len(err.splitlines())) == (1, 1)
        assert message in err
    with pytest.raises(ValueError, match="no_answer cannot be 1"):
        AnswerSettings.of({"no_answer": 1})


# Tags


def elmo(folder: Path) -> Path:
    """A small tagger whose tokens are rows of characters."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"id2label": dict(enumerate(small_tagger.TAGS))}
    names["label2id"] = {tag: index for index, tag in names["id2label"].items()}
    config = ElmoConfig(hidden_size=4, projection_size=2, num_hidden_layers=1, char_filters=[[1, 4]], **names)
    model = ElmoForTokenClassification(config)
    torch.nn.init.normal_(model.classifier.weight, std=9.0)
    model.save_pretrained(folder)
    ElmoTokenizer().save_pretrained(folder)
    return folder


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize("make", [small_tagger.save_small_bert, small_tagger.save_small_lstm, elmo])
def test_entities_are_those_that_are_measured(run: Any, tmp_path: Path, make: Any) -> None:
    """Of tags by the rule of the CoNLL shared tasks, in `.conll` files and in lines, ELMo's tagger included."""
    folder, path = make(tmp_path / "model"), small_tagger.write_conll(tmp_path / "dev.conll")
    model, tokenizer = load_model(str(folder))
    recipe = TokenClassificationRecipe(predict_files=[str(path)], scheme="entities")
    task = TokenClassification()
    task.write_predictions(model, tokenizer, task.read(recipe, "predict"), recipe, tmp_path)
    written = (tmp_path / "predictions.conll").read_text(encoding="utf-8")
    assert run("predict", folder, path)[:2] == (0, written)
    texts = [" ".join(row["tokens"]) for row in small_tagger.ROWS]
    assert run("predict", folder, stdin="\n".join(texts) + "\n")[1] == written
    tags = [[line.split("\t")[1] for line in block.splitlines()] for block in written.strip().split("\n\n")]
    expected = [
        [(kind, " ".join(row["tokens"][first : last + 1])) for kind, first, last in get_entities(own)]
        for row, own in zip(small_tagger.ROWS, tags, strict=True)
    ]
    assert sum(map(len, expected)) > 5
    spaced = [text.replace(" ", "  ") for text in texts]
    for options in ({"stdin": "\n".join(texts)}, {"stdin": "\n".join(spaced)}, {}):
        status, out, err = run("predict", folder, *([] if options else [path]), "--aggregate", "--json", **options)
        assert (status, err) == (0, "")
        for line, entities in zip(out.splitlines(), expected, strict=True):
            result = json.loads(line)
            found = [(one["label"], " ".join(one["text"].split())) for one in result["predictions"]]
            assert sorted(found) == sorted(entities)
            assert all(result["text"][one["start"] : one["end"]] == one["text"] for one in result["predictions"])
            assert all(0 < one["score"] <= 1 for one in result["predictions"])


def test_entities_are_seqevals() -> None:
    """Every sequence of four tags, those that no annotation has included."""
    for tags in itertools.product(("O", "B-X", "I-X", "E-X", "S-X", "I-Y", "B-Y"), repeat=4):
        found = [(one.kind, one.first, one.last) for one in find_entities(tags)]
        assert found == get_entities(list(tags)), tags


@pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
def test_transformers_pipeline_refuses_rows_of_characters_in_one_line(strategy: str, tmp_path: Path) -> None:
    """For the last three transformers advises "simple", which fails with such a tokenizer, too."""
    with pytest.raises(ValueError, match="tag by the Predictor of hf_lecture_models.tasks.prediction"):
        pipeline("token-classification", model=str(elmo(tmp_path / "m")), aggregation_strategy=strategy)("Ada lives")


@pytest.mark.parametrize("kind", ["classes", "regression"])
def test_classes_and_numbers(run: Any, tmp_path: Path, kind: str) -> None:
    """Of cut texts too; the file of predictions, the measures and the pipeline with the same max_length agree."""
    fields = {"problem_type": "regression", "num_labels": 1} if kind == "regression" else {}
    folder = small_classifier.save_small_bert(tmp_path / "model", **fields)
    settings = {"max_length": 4}
    content = {"name": "text_classification", "pipeline_tag": None, "settings": settings}
    (folder / "task.json").write_text(json.dumps(content), encoding="utf-8")
    texts = [row["text"] for row in small_classifier.ROWS]
    classify = pipeline("text-classification", model=str(folder))
    expected = classify(texts, truncation=True, max_length=4)
    check_classes(run, folder, [{"text": text} for text in texts], expected)
    (model, tokenizer), task = load_model(str(folder)), TextClassification()
    problem = "regression" if kind == "regression" else "single_label_classification"
    path = small_classifier.write_tsv(tmp_path / "rows.tsv", text="text")
    recipe = TextClassificationRecipe(
        predict_files=[str(path)], test_files=[str(path)], problem_type=problem, **settings
    )
    written = task.write_predictions(model, tokenizer, task.read(recipe, "predict"), recipe, tmp_path)
    values = [line.split("\t")[1] for line in written.read_text().splitlines()[1:]]
    if kind == "regression":
        assert list(map(float, values)) == pytest.approx([one["score"] for one in expected], abs=1e-5)
    else:
        assert values == [one["label"] for one in expected]
        labels = [f"LABEL_{row['label']}" for row in small_classifier.ROWS]
        right = sum(map(str.__eq__, values, labels)) / len(labels)
        assert task.evaluate(model, tokenizer, task.read(recipe, "test"), recipe)["accuracy"] == right


@pytest.mark.parametrize("kind", ["stock", "ours"])
def test_choices(run: Any, tmp_path: Path, kind: str) -> None:
    folder, task = small_chooser.save_small_chooser(tmp_path / "model", kind), MultipleChoice()
    rows = [{name: row[name] for name in ("context", "choices")} for row in small_chooser.ROWS]
    status, out, err = run("predict", folder, "--json", stdin=lines_of(rows))
    assert (status, err) == (0, "")
    model, tokenizer = load_model(str(folder))
    assert [one[0] for one in predict(model, tokenizer, rows)] == best(out)
    recipe = MultipleChoiceRecipe(train_rows=small_chooser.ROWS)
    data = task.read(recipe, "train")
    written = task.write_predictions(model, tokenizer, data, recipe, tmp_path)
    chosen = [json.loads(line)["label"] for line in written.read_text().splitlines()]
    assert chosen == [one["label"] for one in best(out)]
    right = sum(number == row["label"] for number, row in zip(chosen, small_chooser.ROWS, strict=True))
    assert task.evaluate(model, tokenizer, data, recipe)["accuracy"] == right / len(chosen)


def test_images(run: Any, tmp_path: Path) -> None:
    names = {"id2label": {0: "dark", 1: "light"}, "label2id": {"dark": 0, "light": 1}}
    torch.manual_seed(0)
    config = ViTConfig(image_size=4, patch_size=2, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, **names)
    ViTForImageClassification(config).save_pretrained(tmp_path / "model")
    make_image_processor(4, 3).save_pretrained(tmp_path / "model")
    paths = []
    for index in range(5):
        paths.append(tmp_path / "images" / f"{index}.png")
        paths[-1].parent.mkdir(exist_ok=True)
        Image.fromarray(np.random.default_rng(index).integers(0, 256, (5, 7, 3), dtype=np.uint8)).save(paths[-1])
    classify = pipeline("image-classification", model=str(tmp_path / "model"), top_k=1)
    expected = [found[0] for found in classify([str(path) for path in paths])]
    check_classes(run, tmp_path / "model", [{"image": str(path)} for path in paths], expected)
    status, out, _ = run("predict", tmp_path / "model", stdin="".join(f"{path}\n" for path in paths))
    assert (status, [line.split("\t")[0] for line in out.splitlines()]) == (0, [one["label"] for one in expected])
    assert run("predict", tmp_path / "model", tmp_path / "images") == (0, out, ""), "a folder of images"
    assert run("predict", tmp_path / "model", *paths) == (0, out, ""), "the images themselves"
    unnamed = [path.rename(path.with_suffix("")) for path in paths]
    named = out.replace(".png", "")
    assert run("predict", tmp_path / "model", *unnamed) == (0, named, ""), "whatever their names"
    (tmp_path / "half").write_bytes(unnamed[0].read_bytes()[:30])
    status, _, err = run("predict", tmp_path / "model", tmp_path / "half")
    assert status
    assert "half cannot be read as an image" in err
    paths = [path.rename(path.with_suffix(".png")) for path in unnamed]
    (tmp_path / "list.txt").write_text("\ufeff" + "\r\n".join(map(str, paths)), encoding="utf-8")
    assert run("predict", tmp_path / "model", tmp_path / "list.txt") == (0, out, ""), "their paths, as Windows has them"
    status, out, err = run("predict", tmp_path / "model", paths[0], "--columns.image", "photo")
    assert (status, out) == (1, "")
    assert "--columns.image says how a table is read, and there is none" in err


def test_translations(run: Any, tmp_path: Path) -> None:
    """With the beams and the length that the training saved: measure, file, verb and our pipeline."""
    task = Translation()
    recipe = small_translator.small_recipe(num_beams=3, max_length=3, length_penalty=0.5)
    model, tokenizer = small_translator.make_translator("ours")
    model.generation_config.num_beams, model.generation_config.length_penalty = 3, 0.5
    model.save_pretrained(tmp_path / "model"), tokenizer.save_pretrained(tmp_path / "model")
    content = json.dumps(task.describe(model, recipe))
    (tmp_path / "model/task.json").write_text(content, encoding="utf-8")
    model, tokenizer = load_model(str(tmp_path / "model"))
    rows = small_translator.rows()
    written = task.write_predictions(model, tokenizer, rows, recipe, tmp_path).read_text(encoding="utf-8")
    sources = rows.columns["source"]
    status, out, err = run("translate", tmp_path / "model", stdin="\n".join(sources) + "\n")
    assert (status, out, err) == (0, written, "")
    translate = pipeline("machine-translation", model=str(tmp_path / "model"))
    assert [" ".join(one["translation_text"].split()) for one in translate(sources)] == written.splitlines()
    assert any(len(tokenizer(text)["input_ids"]) > 3 for text in sources), "else nothing is cut"
    measured = task.evaluate(model, tokenizer, rows, recipe)
    assert measured["bleu"] == bleu_and_chrf(written.splitlines(), rows.columns["target"])["bleu"]


# Classes, numbers, choices, masked words, images: the verb on lines, the function, transformers' pipeline
