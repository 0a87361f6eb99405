# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A bag of words that learns from MiniLM's labels of unlabelled texts, on three-way SST (slide N s64).

    OMP_NUM_THREADS=1 python -m benchmarks.pseudo_labels TEACHER

TEACHER is a trained classifier of three-way SST, such as `benchmarks.fine_tuning` leaves behind. The bag of words is
that of training/recipes/bag_of_words_sst3.yaml: on the labelled sentences alone, and with the phrases of SST-2's
training file as well, whose labels are not looked at. Those that are a sentence of the test set are counted. Three
seeds.
"""

import tempfile
from pathlib import Path
from typing import Any

from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmarks.common import (
    ROOT,
    check_trained_on_committed_code,
    mean_and_error,
    new_parser,
    read_options,
    refuse_stopped,
    write_results,
)
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.loading import be_quiet
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe

RECIPE = ROOT / "training" / "recipes" / "bag_of_words_sst3.yaml"
UNLABELLED = "glue/sst2/train.tsv"
SEEDS = (0, 1, 2)


def student(seed: int, teacher: str | None) -> tuple[float, int]:
    """Test accuracy of a bag of words, and the texts that it learned from."""
    changes: dict[str, Any] = {"seed": seed}
    if teacher is not None:
        changes |= {"pseudo_labels": teacher, "unlabelled_files": [UNLABELLED]}
    task, recipe = TextClassification(), load_recipe(RECIPE, changes, recipe_class=TextClassificationRecipe)
    data = task.read(recipe, "train")
    tokenizer = task.processor(recipe, data)
    model = task.model(recipe, tokenizer, data)
    with tempfile.TemporaryDirectory() as folder:
        validation = task.read(recipe, "validation")
        refuse_stopped(task.train(model, tokenizer, data, validation, recipe, output_dir=folder, quiet=True))
        best = task.auto_class.from_pretrained(folder)
    return task.evaluate(best, tokenizer, task.read(recipe, "test"), recipe)["accuracy"], len(data)


def test_rows() -> tuple[TextClassificationRecipe, Rows]:
    """Return the test rows of three-way SST, and the recipe that reads them."""
    recipe = load_recipe(RECIPE, recipe_class=TextClassificationRecipe)
    rows = TextClassification().read(recipe, "test")
    assert rows is not None
    return recipe, rows


def phrases_of_the_test_set(rows: Rows) -> int:
    """Return how many unlabelled texts are sentences of the test set, letter by letter, upper and lower case alike."""
    unlabelled = TextClassification().read(TextClassificationRecipe(task="sst2", predict_files=[UNLABELLED]), "predict")
    assert unlabelled is not None
    sentences = {text.strip().lower() for text in rows.texts("text")}
    return sum(text.strip().lower() in sentences for text in unlabelled.texts("text"))


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("teacher", metavar="TEACHER", help="folder of a trained classifier")
    options = read_options(parser)
    check_trained_on_committed_code(Path(options.teacher))
    be_quiet()
    recipe, rows = test_rows()
    teacher = AutoModelForSequenceClassification.from_pretrained(options.teacher)
    tokenizer = AutoTokenizer.from_pretrained(options.teacher)
    results: dict[str, Any] = {
        "teacher": TextClassification().evaluate(teacher, tokenizer, rows, recipe)["accuracy"],
        "unlabelled": UNLABELLED,
        "unlabelled_in_test": phrases_of_the_test_set(rows),
    }
    for title, name in (("without", None), ("with", options.teacher)):
        runs = [student(seed, name) for seed in SEEDS]
        accuracies = [accuracy for accuracy, _ in runs]
        results[title] = {"texts": runs[0][1], "test": accuracies, **mean_and_error(accuracies)}
        print(f"{title} pseudo-labels: {100 * results[title]['mean']:.1f} %, {runs[0][1]:,} texts", flush=True)
    print(f"the teacher: {100 * results['teacher']:.1f} %; phrases in the test set: {results['unlabelled_in_test']}")
    write_results("pseudo_labels", results)


if __name__ == "__main__":
    main()
