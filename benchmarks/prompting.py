# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Prompts: COPA, Balanced COPA, PIQA and ARC by every model of the WikiText-2 table, with 0, 1 and 4 examples.

    OMP_NUM_THREADS=1 python -m benchmarks.prompting [NAME=FOLDER ...] [--output prompting]

NAME is a network's name in `benchmarks.wikitext2_table`, FOLDER where it was trained; the n-grams are fitted here. Rows
of networks that are not named stay as they were. A run that was cut off goes on after the last task that was finished.
Prompts and answers are written as WikiText writes texts. A unigram model of WikiText-2's words, with one added to every
count, is measured too, and a 4-gram also reads COPA in the wording of SuperGLUE's baseline.
"""

import dataclasses
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from transformers import AutoModelForCausalLM

from benchmarks.common import (
    add_output,
    markdown_table,
    new_parser,
    read_options,
    read_results,
    wikitext,
    write_results,
)
from benchmarks.wikitext2_table import NETWORKS, NGRAMS
from hf_lecture_models import NGramForCausalLM, WordTokenizer
from hf_lecture_models.io.files import write_file
from hf_lecture_models.lab.studies.blimp import model_fingerprint
from hf_lecture_models.lab.studies.prompt_templates import TASKS, load_template
from hf_lecture_models.lab.studies.prompting_task import PromptingRecipe, evaluate_prompting
from hf_lecture_models.loading import load_model

UNIGRAM = "unigram"
FOUR = "4-gram, modified Kneser-Ney"
TITLES = [UNIGRAM, FOUR, *NGRAMS, *NETWORKS]
SHOTS = [0, 1, 4]
# Its answers are long sentences: to write them would take most of the time.
NOT_WRITTEN = ("piqa",)
SHOWN = dict(zip(TASKS, ("COPA", "Balanced COPA", "PIQA", "ARC easy", "ARC challenge"), strict=True))
QUESTIONS = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}


def measure(model: Any, tokenizer: Any, recipe: PromptingRecipe, path: Path) -> list[dict[str, Any]]:
    """Return the rows of one task, from `path` if it holds those of this model and recipe; else write them there."""
    key = {"fingerprint": model_fingerprint(model, tokenizer), "recipe": recipe.to_dict()}
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if found.get("key") != key:
        begin = time.process_time()
        rows = evaluate_prompting(model, tokenizer, recipe)["rows"]
        found = {"key": key, "rows": rows, "cpu_s": round(time.process_time() - begin, 1)}
        write_file(path, json.dumps(found))
    return [rounded(row) for row in found["rows"]]


def rounded(value: Any) -> Any:
    """Return measures with at most four decimals."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def measure_model(title: str, model: Any, tokenizer: Any, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each task."""
    tasks = {}
    for task in TASKS:
        options = {"text_form": "wikitext", "shots": SHOTS, "generate": task not in NOT_WRITTEN}
        tasks[task] = measure(model, tokenizer, PromptingRecipe(task=task, **options), folder / f"{task}.json")
        best = best_of(tasks[task])
        print(f"{title}, {task}: at best {percent(best['accuracy'])} %, chance {percent(best['chance'])}", flush=True)
    return tasks


def measure_ngrams(output: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return the rows of the n-grams, and those of the 4-gram in other words."""
    train = wikitext("train")
    tokenizer = WordTokenizer.train(train, progress=False)
    rows, others = {}, {}
    for title, order in {UNIGRAM: 1, FOUR: 4, **NGRAMS}.items():
        smoothing = "add_alpha" if order == 1 else "modified_kneser_ney"
        model = NGramForCausalLM.fit(train, tokenizer, order=order, smoothing=smoothing, progress=False)
        rows[title] = measure_model(title, model, tokenizer, output / f"ngram{order}")
        if title == FOUR:
            others = measure_other_words(model, tokenizer)
    return rows, others


def measure_other_words(model: Any, tokenizer: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of COPA and Balanced COPA without examples: premise, a question, and the answer as it is."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for task in ("copa", "balanced_copa"):
            words = {"prompt": "{premise} {question}", "answers": ["{choice1}", "{choice2}"]}
            template = dataclasses.replace(load_template(task), **words, words={"question": QUESTIONS})
            path = Path(place, f"{task}.yaml")
            path.write_text(yaml.safe_dump(template.to_dict()), encoding="utf-8")
            recipe = PromptingRecipe(template=str(path), shots=[0], generate=False)
            found[task] = [rounded(row) for row in evaluate_prompting(model, tokenizer, recipe)["rows"]]
    return found


def best_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the highest accuracy of all examples and scores, with its error, score, examples and chance."""
    found = [
        {"score": name, "shots": row["shots"], "chance": row["chance"], **one}
        for row in rows
        for name, one in row["scores"].items()
    ]
    return max(found, key=lambda one: one["accuracy"])


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def with_error(one: dict[str, Any]) -> str:
    """Return an accuracy and its standard error in percent."""
    return f"{percent(one['accuracy'])} ± {percent(one['standard_error'])}"


def table(rows: dict[str, Any], shots: int, score: str) -> str:
    """Return the table of one score and number of examples: a row for each model, a column for each task."""
    first = [own(rows[UNIGRAM][task], shots) for task in TASKS]
    lines = [
        [name, *(percent(one[key]) for one in first)]
        for name, key in (("chance", "chance"), ("most frequent answer", "majority"))
    ]
    for title, tasks in rows.items():
        lines.append([title, *(with_error(own(tasks[task], shots)["scores"][score]) for task in TASKS)])
    return markdown_table(["model", *SHOWN.values()], lines)


def best_table(rows: dict[str, Any]) -> str:
    """Return the table of each model's highest figures."""
    lines = []
    for title, tasks in rows.items():
        found = [best_of(tasks[task]) for task in TASKS]
        lines.append(
            [title, *(f"{with_error(one)} ({one['score'].replace('_', ' ')}, {one['shots']})" for one in found)]
        )
    return markdown_table(["model", *SHOWN.values()], lines)


def all_rows(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of all models, tasks and numbers of examples."""
    return [row for tasks in rows.values() for found in tasks.values() for row in found]


def own(rows: list[dict[str, Any]], shots: int) -> dict[str, Any]:
    """Return the row of one number of examples."""
    return next(row for row in rows if row["shots"] == shots)


def above(rows: dict[str, Any]) -> dict[str, int]:
    """Count the figures of all models but the unigram, and those that are two or three standard errors from chance."""
    counts = {"figures": 0, "above 2": 0, "below 2": 0, "above 3": 0, "below 3": 0}
    for row in all_rows({title: tasks for title, tasks in rows.items() if title != UNIGRAM}):
        for one in row["scores"].values():
            counts["figures"] += 1
            distance = one["accuracy"] - row["chance"]
            for times in (2, 3):
                counts[f"above {times}"] += distance > times * one["standard_error"]
                counts[f"below {times}"] += -distance > times * one["standard_error"]
    return counts


def main() -> None:
    parser = new_parser(__doc__)
    add_output(parser, "prompting", "what is not finished")
    arguments = read_options(parser, NETWORKS)
    before = read_results("prompting", {"rows": {}}, arguments.kept)
    results = {"text_form": "wikitext", "seed": 0, **measure_all(arguments, before["rows"])}
    write_results("prompting", results, arguments.kept)


def measure_all(arguments: Any, rows: dict[str, Any]) -> dict[str, Any]:
    """Return the rows, those of before too, and the figures in other words."""
    found, others = measure_ngrams(arguments.output)
    rows = rows | found
    for title, folder in arguments.networks:
        model, tokenizer = load_model(folder, AutoModelForCausalLM)
        rows[title] = measure_model(title, model, tokenizer, arguments.output / NETWORKS[title])
    rows = {title: rows[title] for title in TITLES if title in rows}
    print(table(rows, 0, "sum"))
    return {"rows": rows, "other words": others}


if __name__ == "__main__":
    main()
