# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""From counting to pre-trained Transformers, fine-tuned on nine tasks: the table and picture of docs/nine_tasks.md.

    OMP_NUM_THREADS=1 python -m benchmarks.fine_tuning --gpt1 FOLDER --bert FOLDER --elmo FOLDER --minilm FOLDER \
        [--only NAME ...]

FOLDER: where gpt1_wikitext2.yaml, bert_wikitext2.yaml and elmo_wikitext2.yaml were trained, and a copy of
sentence-transformers' model all-MiniLM-L6-v2. A cell of the table is a model on a task. All cells of a column have one
budget, the most CPU seconds of a training. A run that takes less than five minutes is repeated with three seeds.
Nothing is selected on the measured data: the weights after the last step count. A run that was cut off goes on from its
newest checkpoint; cells that --only leaves out stay as they were. The runs of seed 0 are those of the recipes
bert_minilm_*.yaml; `python -m benchmarks.model_cards NAME FOLDER/MiniLM_TASK_0` makes their cards.
"""

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer

from benchmarks.common import (
    ROOT,
    add_output,
    check_trained_on_committed_code,
    commit,
    is_committed,
    markdown_table,
    mean_and_error,
    new_parser,
    read_options,
    read_results,
    refuse_stopped,
    training_record,
    write_results,
)
from hf_lecture_models import LectureBertModel
from hf_lecture_models.analysis.figures import COLOURS, MARKERS, SMALL, WIDTH, slide
from hf_lecture_models.hub.energy import WATTS_PER_CORE
from hf_lecture_models.hub.facts import facts_of_training, write_facts
from hf_lecture_models.loading import be_quiet
from hf_lecture_models.tasks.classification.task import REGRESSION, TextClassification, class_names, read_labels
from hf_lecture_models.tasks.core.task import Measure, Task
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.tasks.question_answering.task import QuestionAnswering
from hf_lecture_models.tasks.tagging.measures import entities
from hf_lecture_models.tasks.tagging.task import TokenClassification

SEEDS, MANY_SEEDS_BELOW_S = (0, 1, 2), 300
TEXT, PAIR, TAGS, QUESTIONS = "text", "pair", "tags", "questions"
Cells = dict[str, dict[str, dict[str, Any]]]
"""Cells of the table, by model and task."""


@dataclass(frozen=True)
class Column:
    """A task.

    Attributes:
        kind: the key of its recipes in a row.
        fields: of its recipe: the data, and other fields that all models of the column share.
        budget_s: the most CPU seconds of optimizer steps.
        part: the page's name of the measured data.
    """

    task: Task[Any]
    kind: str
    fields: dict[str, Any]
    budget_s: float
    part: str


def _glue(task: str, train: str, test: str, **more: Any) -> dict[str, Any]:
    return {"task": task, "train_files": [train], "test_files": test.split(), **more}


SST5 = "sst5/train.jsonl", "sst5/test.jsonl"
COLUMNS = {
    "SST, three-way": Column(TextClassification(), TEXT, _glue("sst3", *SST5), 600, "test"),
    "SST-2": Column(TextClassification(), TEXT, _glue("sst2", "glue/sst2/train.tsv", "glue/sst2/dev.tsv"), 1200, "dev"),
    "CoLA": Column(
        TextClassification(),
        TEXT,
        _glue("cola", "glue/cola/in_domain_train.tsv", "glue/cola/in_domain_dev.tsv glue/cola/out_of_domain_dev.tsv"),
        600,
        "dev",
    ),
    "RTE": Column(
        TextClassification(), PAIR, _glue("rte", "glue/rte/train.tsv", "glue/rte/dev.tsv", max_length=128), 900, "dev"
    ),
    "MRPC": Column(
        TextClassification(),
        PAIR,
        _glue("mrpc", "glue/mrpc/train.jsonl", "glue/mrpc/test.jsonl", max_length=128),
        900,
        "test",
    ),
    "STS-B": Column(
        TextClassification(),
        PAIR,
        _glue("stsb", "glue/stsb/train.jsonl", "glue/stsb/test.jsonl", max_length=128),
        900,
        "test",
    ),
    "EWT": Column(
        TokenClassification(),
        TAGS,
        {
            "columns": {"tags": "upos"},
            "train_files": ["ud_english_ewt/en_ewt-ud-train.conllu.gz"],
            "test_files": ["ud_english_ewt/en_ewt-ud-test.conllu.gz"],
            "max_length": 128,
        },
        1200,
        "test",
    ),
    "WNUT-17": Column(
        TokenClassification(),
        TAGS,
        {
            "scheme": "entities",
            "columns": {"tags": "ner_tags"},
            "train_files": ["wnut17/train.jsonl"],
            "test_files": ["wnut17/test.jsonl"],
            "max_length": 128,
        },
        600,
        "test",
    ),
    "SQuAD": Column(
        QuestionAnswering(),
        QUESTIONS,
        {"train_files": ["squad/train-subset.json.gz"], "test_files": ["xquad/xquad.en.json"]},
        2400,
        "XQuAD's questions of dev",
    ),
}


@dataclass(frozen=True)
class Row:
    """A model.

    Attributes:
        recipes: the fields of its recipe by the kind of column; the table has a dash for a missing kind.
        changes: other values of fields, by column.
        start: the command line's option with the model to start from.
    """

    recipes: dict[str, dict[str, Any]]
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    start: str = ""


ADAMW = {"optimizer": "adamw", "schedule": "linear", "batch_size": 32}


def _recurrent(**model: Any) -> Row:
    """A recurrent network from scratch: a text's vector is the maximum of its states."""
    model = {"model_type": "lecture_recurrent", "hidden_size": 128, "num_hidden_layers": 1} | model
    text = ADAMW | {"epochs": 4, "learning_rate": 0.001, "tokenizer": {"type": "word"}}
    text |= {"model": {**model, "pooling": "max", "dropout": 0.5}}
    pair = text | {"tokenizer": {"type": "word", "template": "pair"}}
    pair |= {"model": {**text["model"], "pair_combination": "infersent"}}
    tags = ADAMW | {"epochs": 3, "learning_rate": 0.003, "model": {**model, "dropout": 0.3}}
    tags |= {"tokenizer": {"type": "word", "min_count": 2, "unknown_words": "classes"}}
    names = {"epochs": 20, "model": {**model, "dropout": 0.5}}
    names |= {"tokenizer": {"type": "word", "min_count": 5, "unknown_words": "classes"}}
    return Row({TEXT: text, PAIR: pair, TAGS: tags}, {"WNUT-17": names})


def _scratch(epochs: int, learning_rate: float, **model: Any) -> Row:
    """A model that reads a pair as one text."""
    recipe = ADAMW | {"epochs": epochs, "learning_rate": learning_rate, "tokenizer": {"type": "word"}, "model": model}
    return Row({TEXT: recipe, PAIR: recipe})


def _transformer(start: str, learning_rate: float, kinds: Sequence[str], **questions: Any) -> Row:
    """A Transformer that starts from pre-trained weights and trains them all."""
    recipe = ADAMW | {"epochs": 3, "learning_rate": learning_rate, "mixed_precision": "bf16", "weight_decay": 0.01}
    recipe |= {"warmup_steps": 50, "clip_norm": 1.0}
    changes = {"SQuAD": {"epochs": 2, **questions}} if QUESTIONS in kinds else {}
    return Row(dict.fromkeys(kinds, recipe), changes, start)


def _features(start: str, learning_rate: float, epochs: int) -> Row:
    """A Transformer whose own weights stay as they are; the head alone is trained."""
    recipe = ADAMW | {"epochs": epochs, "learning_rate": learning_rate, "mixed_precision": "bf16"}
    recipe |= {"freeze_backbone": True}
    return Row({TEXT: recipe, PAIR: recipe}, start=start)


def _elmo(start: str) -> Row:
    """An ELMo whose language models stay as they are: a task learns the mix of their layers and an LSTM that reads it.

    Epochs and learning rate are those of `elmo_ewt.yaml`; texts and questions learn at half of that rate.
    """
    recipe = ADAMW | {"epochs": 3, "learning_rate": 0.003, "clip_norm": 1.0, "freeze_backbone": True}
    text = recipe | {"learning_rate": 0.0015}
    kinds = {TEXT: text, PAIR: text, TAGS: recipe, QUESTIONS: text}
    return Row(kinds, {"WNUT-17": {"epochs": 10}}, start)


MAJORITY = "majority class"
ROWS = {
    "bag of words": _scratch(6, 0.003, model_type="lecture_bag_of_words"),
    "padded perceptron": _scratch(
        6,
        0.001,
        model_type="lecture_padded_mlp",
        max_position_embeddings=128,
        embedding_size=64,
        hidden_sizes=[64],
        dropout=0.5,
    ),
    "Elman": _recurrent(cell_type="elman"),
    "LSTM": _recurrent(cell_type="lstm"),
    "BiLSTM": _recurrent(cell_type="lstm", bidirectional=True),
    "GPT-1, of WikiText-2": _transformer("gpt1", 3e-4, (TEXT, PAIR)),
    "ELMo, of WikiText-2": _elmo("elmo"),
    "BERT, of WikiText-2": _transformer("bert", 3e-4, (TEXT, PAIR, TAGS, QUESTIONS), max_length=128, doc_stride=32),
    "MiniLM, its features": _features("minilm", 0.003, epochs=20),
    "MiniLM": _transformer("minilm", 1e-4, (TEXT, PAIR, TAGS, QUESTIONS)),
}


def recipe_of(row: Row, title: str, seed: int, start: str) -> Any:
    """Return the recipe of a cell."""
    column = COLUMNS[title]
    fields = row.recipes[column.kind] | column.fields | row.changes.get(title, {})
    if start:
        fields |= {"from_pretrained": start}
    return column.task.recipe_class(**fields, validation_share=0.0, seed=seed, output_dir="unused")


def run(row: Row, title: str, seed: int, start: str, folder: Path) -> dict[str, Any]:
    """Train one model and measure it, or read what an earlier run of committed code found.

    A training that was cut off goes on from its newest checkpoint.

    Raises:
        RuntimeError: the training took longer than the column's budget.
    """
    record = folder / "run.json"
    if record.is_file():
        return json.loads(record.read_text(encoding="utf-8"))
    cut_off = any((folder / "checkpoints").glob("step-*"))
    if not cut_off:
        shutil.rmtree(folder, ignore_errors=True)
    column, recipe = COLUMNS[title], recipe_of(row, title, seed, start)
    data, test_data = column.task.read(recipe, "train"), column.task.read(recipe, "test")
    tokenizer = column.task.processor(recipe, data)
    model = column.task.model(recipe, tokenizer, data)
    refuse_stopped(
        column.task.train(model, tokenizer, data, None, recipe, output_dir=folder, quiet=True, resume=cut_off)
    )
    seconds = training_record(folder)["step_cpu_seconds"]
    if seconds > column.budget_s:
        raise RuntimeError(f"{folder} took {seconds:.0f} CPU seconds, more than the budget of {title}")
    measured = column.task.evaluate(model, tokenizer, test_data, recipe)
    write_facts(folder, facts_of_training(folder, model, tokenizer, "test") | {"results": measured})
    found = {
        "commit": commit(),
        "measured": measured,
        "parameters": model.num_parameters(),
        "step_cpu_seconds": round(seconds, 1),
    }
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    if is_committed(commit()):
        record.write_text(json.dumps(found), encoding="utf-8")
    return found


def cell(runs: Sequence[Mapping[str, Any]], key: str) -> dict[str, Any]:
    """Return a cell of the table: the seeds' measures, their mean and standard error, and the seconds of a training."""
    values = [one["measured"][key] for one in runs]
    seconds = float(np.mean([one["step_cpu_seconds"] for one in runs]))
    return {
        "commits": sorted({one["commit"] for one in runs}),
        "parameters": runs[0]["parameters"],
        "measured": [one["measured"] for one in runs],
        **(mean_and_error(values) if len(runs) > 1 else {"mean": values[0], "standard_error": None}),
        "step_cpu_seconds": round(seconds, 1),
        "wh": round(seconds * WATTS_PER_CORE / 3600, 3),
    }


def _measure(title: str) -> Measure:
    """Return the table's measure of a task."""
    column = COLUMNS[title]
    # A run sees by its data whether tags are those of entities.
    plain = {"scheme": "plain"} if column.kind == TAGS else {}
    return column.task.measures(column.task.recipe_class(**plain | column.fields, output_dir="unused"))[0]


def majority(title: str) -> dict[str, Any] | None:
    """Return the cell of a baseline that only counts, None for questions.

    It predicts the most frequent class, the mean of numbers, the word's most frequent tag, and the most frequent tag of
    all for an unknown word.
    """
    column, key = COLUMNS[title], _measure(title).key
    recipe = column.task.recipe_class(**column.fields, output_dir="unused")
    data, test_data = column.task.read(recipe, "train"), column.task.read(recipe, "test")
    if column.kind == QUESTIONS:
        return None
    if column.kind == TAGS:
        value = _majority_of_tags(data, test_data, key)
    elif recipe.problem_type == REGRESSION:
        mean = float(np.mean([float(label) for label in data.columns["label"]]))
        value = compute(key, [mean] * len(test_data), [float(label) for label in test_data.columns["label"]])
    else:
        ids = {name: index for index, name in enumerate(class_names(data, recipe.label_names))}
        labels, right = (
            [ids[recipe.label_names.get(one, one)] for one in read_labels(part)] for part in (data, test_data)
        )
        value = compute(key, [Counter(labels).most_common(1)[0][0]] * len(right), right)
    return {"mean": value, "standard_error": None, "step_cpu_seconds": 0.0, "wh": 0.0}


def _majority_of_tags(data: Any, test_data: Any, key: str) -> float:
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for row in data:
        for word, tag in zip(row["tokens"], row["tags"], strict=True):
            words[word][tag] += 1
    (most_frequent, _), *_ = sum(words.values(), Counter()).most_common(1)
    predicted = [
        [words[word].most_common(1)[0][0] if word in words else most_frequent for word in row["tokens"]]
        for row in test_data
    ]
    right = test_data.columns["tags"]
    if key == "f1":
        return entities(predicted, right)[key]
    ids = {tag: index for index, tag in enumerate(sorted({tag for row in [*predicted, *right] for tag in row}))}
    return compute(key, *([ids[tag] for row in rows for tag in row] for rows in (predicted, right)))


def scores(cells: Cells) -> str:
    """Return the table of measures."""
    rows = [["", *(_measure(title).label for title in COLUMNS)]]
    for model in (MAJORITY, *ROWS):
        rows.append([model, *(_score(cells.get(model, {}).get(title)) for title in COLUMNS)])
    return markdown_table(["model", *COLUMNS], rows)


def _score(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return "–"
    error = "" if cell["standard_error"] is None else f" ± {100 * cell['standard_error']:.1f}"
    return f"{100 * cell['mean']:.1f}{error}"


def times(cells: Cells) -> str:
    """Return the table of CPU seconds and watt-hours of one training."""
    rows = [["budget", *(f"{column.budget_s:,.0f} s" for column in COLUMNS.values())]]
    for model in ROWS:
        found = [cells.get(model, {}).get(title) for title in COLUMNS]
        text = ["–" if cell is None else f"{cell['step_cpu_seconds']:,.0f} s, {cell['wh']:.2f} Wh" for cell in found]
        rows.append([model, *text])
    return markdown_table(["model", *COLUMNS], rows)


def save_picture(cells: Cells, path: Path) -> None:
    """Draw each task's measure against the CPU seconds of training, a dot for each model, a line for the majority."""
    caption = "errors: standard errors of the seeds; a text has no most frequent answer, so SQuAD has no dashed line"
    with slide(path, "Nine tasks, and what training costs", caption, WIDTH, 13.0, 2, 5, legend=True) as axes:
        *panels, empty = axes.flat
        empty.axis("off")
        for panel, title in zip(panels, COLUMNS, strict=True):
            _draw_task(panel, cells, title)
        for panel in panels[-2:]:
            panel.set_xlabel("CPU seconds of training")


def _draw_task(panel: Any, cells: Cells, title: str) -> None:
    if (baseline := cells.get(MAJORITY, {}).get(title)) is not None:
        panel.axhline(100 * baseline["mean"], color="0.3", linestyle="--", linewidth=1, label=MAJORITY)
    for number, model in enumerate(ROWS):
        if (cell := cells.get(model, {}).get(title)) is not None:
            seconds, error = cell["step_cpu_seconds"], cell["standard_error"] or 0.0
            marker, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
            style = {"fmt": marker, "color": colour, "markersize": 8, "label": model}
            panel.errorbar([seconds], [100 * cell["mean"]], [100 * error], **style)
    panel.set_title(f"{title}\n{_measure(title).label} (%)", fontsize=SMALL)
    panel.set_xscale("log")
    panel.tick_params(axis="x", which="minor", labelbottom=False)
    panel.grid()


def asked_cells(only: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Models and tasks, those named or else all, as far as DESIGN's table has them."""
    models = [name for name in only if name not in COLUMNS] or [MAJORITY, *ROWS]
    titles = [name for name in only if name in COLUMNS] or list(COLUMNS)
    for title, model in product(titles, models):
        if model == MAJORITY or COLUMNS[title].kind in ROWS[model].recipes:
            yield model, title


def measure(model: str, title: str, start: str, output: Path, train: bool) -> dict[str, Any] | None:
    """Return a model's cell on a task, from three seeds, or one if it takes long; without `train` from earlier runs."""
    slug = f"{model}_{title}".replace(" ", "_").replace(",", "")
    runs: list[dict[str, Any]] = []
    for seed in SEEDS:
        if runs and runs[0]["step_cpu_seconds"] > MANY_SEEDS_BELOW_S:
            break
        folder = output / f"{slug}_{seed}"
        if train or (folder / "run.json").is_file():
            runs.append(run(ROWS[model], title, seed, start, folder))
    return cell(runs, _measure(title).key) if runs else None


def minilm(folder: str, output: Path) -> str:
    """The published model as one of our own, and its tokenizer; the folder that holds them."""
    converted = output / "minilm"
    LectureBertModel.from_pretrained(folder).save_pretrained(converted)
    AutoTokenizer.from_pretrained(folder).save_pretrained(converted)
    return str(converted)


def main() -> None:
    parser = new_parser(__doc__)
    for name in ("gpt1", "bert", "elmo", "minilm"):
        parser.add_argument(f"--{name}", metavar="FOLDER")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="models and tasks; by default all")
    parser.add_argument("--collect", action="store_true", help="train nothing: gather what earlier runs found")
    add_output(parser, "fine_tuning", "the models")
    options = read_options(parser)
    if unknown := [name for name in options.only if name not in (MAJORITY, *ROWS, *COLUMNS)]:
        parser.error(f"there is no model and no task {unknown[0]!r}; {', '.join((MAJORITY, *ROWS, *COLUMNS))}")
    be_quiet()
    starts = {name: getattr(options, name) for name in ("gpt1", "bert", "elmo", "minilm")}
    for name in ("gpt1", "bert", "elmo"):
        if starts[name]:
            check_trained_on_committed_code(Path(starts[name]))
    if starts["minilm"]:
        starts["minilm"] = minilm(starts["minilm"], options.output)
    cells: Cells = read_results("fine_tuning", {"cells": {}}, options.kept)["cells"]
    for model, title in asked_cells(options.only):
        start = "" if model == MAJORITY else ROWS[model].start
        if start and not starts[start] and not options.collect:
            parser.error(f"{model} needs --{start} FOLDER")
        if model == MAJORITY:
            found = majority(title)
        else:
            found = measure(model, title, starts.get(start, ""), options.output, train=not options.collect)
        if found is not None:
            cells.setdefault(model, {})[title] = found
            print(f"{title}, {model}: {_score(found)}, {found['step_cpu_seconds']:.0f} s", flush=True)
            record(cells, options.kept)
    print(scores(cells))
    if is_committed(commit()):
        save_picture(cells, (options.kept or ROOT / "docs") / "fine_tuning.png")


def record(cells: Cells, folder: Path | None) -> None:
    """Write the finished cells, so that a run that is cut off loses nothing."""
    budgets = {title: column.budget_s for title, column in COLUMNS.items()}
    write_results("fine_tuning", {"seeds": SEEDS, "budgets_s": budgets, "cells": cells}, folder)


if __name__ == "__main__":
    main()
