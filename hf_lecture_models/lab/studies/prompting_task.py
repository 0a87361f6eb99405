# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Prompting: how often the answer that a causal language model finds best is right, with 0, 1 and 4 examples.

`hf-lecture prompt` and `training/evaluate_prompting.py` both call `evaluate_prompting`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hf_lecture_models.data.files import find_file
from hf_lecture_models.io.files import check_writable, staged_folder
from hf_lecture_models.io.recipe import Recipe, setting
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.lab.studies.blimp import TEXT_FORMS, model_fingerprint
from hf_lecture_models.lab.studies.prompt_items import read_prompt_data, with_shots
from hf_lecture_models.lab.studies.prompt_templates import TASKS, PromptTemplate, load_template
from hf_lecture_models.lab.studies.prompting import PromptItem, score_items
from hf_lecture_models.lab.studies.written_answers import measure_written, write_answers
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.tokenization.corpus import read_training_lines

RESULTS, ITEMS = "prompting.json", "prompting_items.jsonl"
"""The files of results: all figures, and a line for each item."""
_SHOTS = [0, 1, 4]


@dataclasses.dataclass(kw_only=True)
class PromptingRecipe(Recipe):
    """The choices of an evaluation by prompts."""

    model: str = setting("", "a model's folder, its name on the Hub, or an ARPA file")
    task: str | None = setting(None, "a task whose template is part of the package", choices=TASKS)
    template: str = setting("", "the YAML file of a template of your own, in place of task")
    data: list[str] = setting([], "files of rows to score (.jsonl, .csv, .parquet, ...), in place of the template's")
    shots_data: list[str] = setting([], "files of rows that examples are drawn from, in place of the template's")
    shots: list[int] | None = setting(
        None, "numbers of examples before a prompt; none: 0, 1 and 4, or only 0 without rows to draw them from"
    )
    seed: int = setting(0, "from which examples are drawn", least=0)
    text_form: str = setting(
        "plain", "wikitext: with blanks around punctuation, as in WikiText", choices=tuple(TEXT_FORMS)
    )
    generate: bool = setting(True, "also let the model write an answer")
    unigram: str = setting("", "a text file (.gz too); a unigram model of its tokens is measured beside the model")
    batch_size: int = setting(32, "texts per batch", least=1)
    output_dir: str = setting("", f"folder of {RESULTS} and {ITEMS}; '': nothing is written")

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.task) == bool(self.template):
            raise ValueError(
                f"recipe: {'task and template are both given' if self.task else 'task is missing'}; give one of "
                f"{', '.join(TASKS)}, or template, a file of your own"
            )
        if self.shots is not None and (not self.shots or min(self.shots) < 0 or len({*self.shots}) < len(self.shots)):
            raise ValueError(f"recipe: shots must be different numbers of at least 0, such as 0,1,4, not {self.shots}")


def evaluate_prompting(
    model: Any,
    tokenizer: Any,
    recipe: PromptingRecipe,
    report: Callable[[Mapping[str, Any]], None] = lambda row: None,
    progress: bool = False,
) -> dict[str, Any]:
    """Measure a model by a recipe, and write the results into the recipe's folder, whole or not at all.

    >>> recipe = PromptingRecipe(task="copa", shots=[0, 1])
    >>> [row["shots"] for row in evaluate_prompting(model, tokenizer, recipe)["rows"]]  # doctest: +SKIP
    [0, 1]

    Args:
        model: any causal language model of transformers, with its `tokenizer`.
        report: called with each row of the results as soon as it is there.

    Returns:
        "settings", and "rows", one for each number of examples: that number as "shots", the result of `score_items`,
        the one of `measure_written` as "generated", and "unigram", the same figures of a unigram model.

    Raises:
        ValueError: as `read_prompt_data`, `with_shots` and `score_items`.
        OSError: a file cannot be read or written.
    """
    check_writable(recipe.output_dir)
    template = load_template(recipe.task or "", recipe.template or None)
    items = read_items(recipe, template)  # too few rows are found before anything is measured
    unigram = fit_unigram(recipe.unigram, tokenizer) if recipe.unigram else None
    rows, lines = [], []
    for shots, own in items.items():
        row, found = measure_shots(model, tokenizer, own, template, recipe, unigram, progress)
        rows.append({"shots": shots, **row})
        lines += [{"shots": shots, "item": item.name, **line} for item, line in zip(own, found, strict=True)]
        report(rows[-1])
    settings = {**recipe.to_dict(), "written_by": template.to_dict()}
    results = {"settings": settings | {"fingerprint": model_fingerprint(model, tokenizer)}, "rows": rows}
    if recipe.output_dir:
        _write(recipe.output_dir, results, lines)
    return results


def read_items(recipe: PromptingRecipe, template: PromptTemplate) -> dict[int, list[PromptItem]]:
    """Return the items for each number of examples.

    Raises:
        ValueError, OSError: as `read_prompt_data` and `with_shots`.
    """
    data = read_prompt_data(template, recipe.data, recipe.shots_data)
    wanted = recipe.shots if recipe.shots is not None else _SHOTS if data.pool else [0]
    form = TEXT_FORMS[recipe.text_form]
    return {shots: with_shots(data, template, shots, recipe.seed, form) for shots in wanted}


def measure_shots(
    model: Any,
    tokenizer: Any,
    items: Sequence[PromptItem],
    template: PromptTemplate,
    recipe: PromptingRecipe,
    unigram: Any = None,
    progress: bool = False,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the figures of one number of examples, and what was found of each item."""
    alone = TEXT_FORMS[recipe.text_form](template.unconditional)
    options: dict[str, Any] = {"separator": template.separator, "batch_size": recipe.batch_size}
    row, lines = score_items(model, tokenizer, items, unconditional=alone, progress=progress, **options)
    if recipe.generate:
        written = write_answers(model, tokenizer, items, **options)
        row["generated"] = measure_written(items, written)
        lines = [{**line, "written": text} for line, text in zip(lines, written, strict=True)]
    if unigram is not None:
        row["unigram"] = score_items(unigram, tokenizer, items, unconditional=alone, **options)[0]["scores"]
    return row, lines


def fit_unigram(name: str, tokenizer: Any) -> NGramForCausalLM:
    """Return a unigram model of the tokens in a text file, one text per line, with one added to every count.

    >>> import tempfile
    >>> from hf_lecture_models import WordTokenizer
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     print("a cow", file=file, flush=True)
    ...     model = fit_unigram(file.name, WordTokenizer.from_words(["a", "cow"]))
    >>> model.config.order
    1

    Raises:
        ValueError: the tokenizer marks no beginning and end of text.
        OSError: the file cannot be read.
    """
    options: dict[str, Any] = {"order": 1, "smoothing": "add_alpha", "alpha": 1.0, "progress": False}
    return NGramForCausalLM.fit(list(read_training_lines(find_file(name))), tokenizer, **options)


def _write(folder: str, results: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> None:
    with staged_folder(folder) as stage:
        (stage / RESULTS).write_text(strict_json(dict(results), indent=1) + "\n", encoding="utf-8", newline="\n")
        (stage / ITEMS).write_text(
            "".join(f"{strict_json(dict(line))}\n" for line in lines), encoding="utf-8", newline="\n"
        )


def heading(row: Mapping[str, Any]) -> str:
    """Return one line on a row of results: its examples and items, and what needs no model.

    >>> heading({"shots": 1, "items": 100, "chance": 0.5, "majority": 0.55})
    '1 shot, 100 items; chance 50.0 %, always the most frequent answer 55.0 %'
    """
    shots = f"{row['shots']} shot{'' if row['shots'] == 1 else 's'}"
    chance, majority = (f"{100 * row[name]:.1f} %" for name in ("chance", "majority"))
    return f"{shots}, {row['items']:,} items; chance {chance}, always the most frequent answer {majority}"


def table(row: Mapping[str, Any]) -> list[list[str]]:
    """Return the cells of a table of one row of results, below the names of its columns.

    >>> one = {"accuracy": 0.75, "standard_error": 0.25, "ties": 0}
    >>> table({"scores": {"sum": one}, "unigram": {"sum": one | {"accuracy": 0.5}}})[1]
    ['sum', '75.0 %', '25.0', '0', '50.0 %', '25.0']
    """
    unigram = row.get("unigram")
    cells = [["score", "accuracy", "s.e.", "ties", *(["unigram", "s.e."] if unigram else [])]]
    for name, one in row["scores"].items():
        beside = _cells(unigram[name], "accuracy") if unigram else []
        cells.append([name.replace("_", " "), *_cells(one, "accuracy"), f"{one['ties']:,}", *beside])
    if "generated" in row:
        cells.append(["generated", *_cells(row["generated"], "exact_match"), "", *(["", ""] if unigram else [])])
    return cells


def _cells(one: Mapping[str, Any], name: str) -> list[str]:
    error = one["standard_error"]
    return [f"{100 * one[name]:.1f} %", "-" if error is None else f"{100 * error:.1f}"]
