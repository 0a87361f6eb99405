# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What every training script does around the training: test results, predictions, how it ended."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.tasks.main import run_task, train_from_command
from hf_lecture_models.tasks.masked_lm import MaskedLM
from hf_lecture_models.tasks.text_classification import TextClassification, encode_examples, predict
from hf_lecture_models.trainer.data import read_rows
from tests.tasks.small_classifier import ROWS, save_small_bert, write_tsv

RECIPE = """
from_pretrained: FOLDER
train_files: T.tsv
label_names: {0: bad, 1: good}
columns: {text: sentence}
epochs: 40
batch_size: 4
learning_rate: 0.02
output_dir: OUT
"""


class Labels(TextClassification):
    """Classifies, and writes the class of each row."""

    def read(self, recipe: Any, part: str) -> Any:
        return read_rows(recipe, part, ("text",), labels=("label",))

    def check_predict_data(self, model: Any, processor: Any, data: Any, recipe: Any) -> None:
        encode_examples(model, processor, data, recipe)

    def write_predictions(self, model: Any, processor: Any, data: Any, recipe: Any, folder: Path) -> Path:
        logits = predict(model, processor, encode_examples(model, processor, data, recipe))
        path = folder / "labels.json"
        path.write_text(json.dumps([model.config.id2label[index] for index in logits.argmax(1).tolist()]))
        return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a recipe that learns its rows by heart, and the same rows with hidden labels."""
    monkeypatch.chdir(tmp_path)
    save_small_bert(Path("FOLDER"))
    write_tsv(Path("T.tsv"))
    write_tsv(Path("hidden.tsv"), [{**row, "label": -1} for row in ROWS])
    Path("recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_predictions_for_hidden_labels_are_those_of_the_kept_weights(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_task(Labels(), ["recipe.yaml", "--predict_files", "hidden.tsv"], "")
    path = place / "OUT" / "predictions" / "labels.json"
    assert re.fullmatch(rf"120 steps, .*: {place}/OUT, predictions in {path}\n", capsys.readouterr().out)
    right = ["good" if row["label"] else "bad" for row in ROWS]
    assert json.loads(path.read_text()) == right
    # A finished run writes those for other rows, too: what is predicted does not change the weights.
    write_tsv(Path("hidden.tsv"), [{**row, "label": -1} for row in ROWS[5::-1]])
    outcome = train_from_command(Labels(), ["recipe.yaml", "--resume", "--predict_files", "hidden.tsv"])
    assert (outcome.predictions, outcome.test_results) == (path, None)
    assert json.loads(path.read_text()) == right[5::-1]
    assert train_from_command(Labels(), ["recipe.yaml", "--resume"]).predictions is None


def test_rows_that_cannot_be_predicted_are_refused_before_training(place: Path) -> None:
    write_tsv(Path("long.tsv"), [{"text": "fine " * 30, "label": -1}])
    for options, error, message in (
        (["--predict_files", "long.tsv"], ValueError, "long.tsv, row 1 has 32 tokens"),
        (["--predict_files", "nowhere.tsv"], FileNotFoundError, "there is no file nowhere.tsv"),
    ):
        with pytest.raises(error, match=message):
            train_from_command(Labels(), ["recipe.yaml", *options])
    Path("T.txt").write_text("a fine film\n" * 3)
    options = ["--from_pretrained", "FOLDER", "--train_files", "T.txt", "--predict_files", "T.txt"]
    with pytest.raises(ValueError, match=r"train_masked_lm.py writes no predictions; leave out predict_files"):
        train_from_command(MaskedLM(), [*options, "--output_dir", "OUT", "--next_sentence", "false"])
    assert not Path("OUT").exists()
