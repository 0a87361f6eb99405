# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture new`: look at files of data, print what is in them, and write a recipe that trains on them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hf_lecture_models.cli.new_recipe import (
    Findings,
    are_classes,
    describe_cost,
    measure_cost,
    megabytes,
    recipe_text,
    settle,
)
from hf_lecture_models.cli.new_report import (
    Looked,
    as_lines,
    describe_answers,
    describe_classes,
    describe_numbers,
    describe_texts,
    look,
    must_be_fixed,
    shared_rows,
    unknown_classes,
    worth_a_look,
    wrapped,
)
from hf_lecture_models.data.column_names import USUAL_NAMES, Peek, binary_columns, guess_columns, is_row, peek
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.packing import file_suffix
from hf_lecture_models.io.recipe import load_recipe
from hf_lecture_models.io.runs import no_log
from hf_lecture_models.io.system import free_bytes, shell_quoted
from hf_lecture_models.tasks.choice.rows import FORMS
from hf_lecture_models.tasks.core.task import Task
from hf_lecture_models.tasks.registry import TASKS
from hf_lecture_models.tasks.translation.rows import header_of_pairs

COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text_classification": (("text", "label"), ("text_pair",)),
    "text_to_text": (("text", "label"), ("text_pair",)),
    "token_classification": (("tokens", "tags"), ()),
    "question_answering": (("context", "question", "answers"), ()),
    "multiple_choice": (("context", "choices", "label"), ()),
    "translation": (("source", "target"), ()),
    **dict.fromkeys(("causal_lm", "masked_lm", "bidirectional_lm", "span_corruption", "word_vectors"), (("text",), ())),
}
"""The columns that the rows of a task must have, and those that they may have."""
_FIT = "fit_ngram"
_UNLABELLED = "take them out, or put them into a file of their own, which predict_files or `hf-lecture predict` labels"
_PARTS = {"validation": r"dev|devel|valid|validation|val|eval", "test": r"test"}
"""The words in a file's name that say which part of the data it holds."""


def run(
    name: str,
    files: Sequence[str],
    validation: Sequence[str],
    test: Sequence[str],
    output: Path | None,
    force: bool,
    fields: Mapping[str, str],
) -> None:
    """Print what is in the files, and write a recipe of the task.

    Raises:
        ValueError: the task is unknown, a column is not found, or training refuses the data.
        OSError: a file cannot be read, or the recipe is there already.
    """
    task, command = find_task(name)
    output = Path(f"{name.removesuffix('.py')}.yaml") if output is None else output
    if output.suffix not in (".yaml", ".yml"):
        raise ValueError(f"the recipe {output} must end in .yaml; `output` names another file")
    if output.exists() and not force:
        raise FileExistsError(f"there is a recipe {output} already; --force writes over it, --output names another one")
    found = look_at(task, command, split_files(files, validation, test), fields)
    print("\n".join(report_lines(task, found)))
    write_file(output, recipe_text(task, command, found, output))
    print(f"written: {output}")
    if found.problems:
        raise ValueError(f"{output} is written, but training refuses these data; fix what is listed above first")
    print(f"next:    hf-lecture train {shell_quoted(str(output))}")


def find_task(name: str) -> tuple[Task[Any], str]:
    """Return a task by its name or that of a script, and the name that `hf-lecture train` takes.

    >>> [(task.name, command) for task, command in map(find_task, ["translation", "finetune_squad.py"])]
    [('translation', 'translation'), ('question_answering', 'finetune_squad')]

    Raises:
        ValueError: there is no such task.
    """
    stem = name.removesuffix(".py")
    found = {Path(task.script).stem: task for task in TASKS.values()}
    found |= {"finetune_text_classification": TASKS["text_classification"], _FIT: TASKS["causal_lm"], **TASKS}
    if stem in found:
        return found[stem], stem
    near = get_close_matches(stem, found, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(TASKS)}"
    raise ValueError(f"there is no task {name!r}; {hint}")


def split_files(files: Sequence[str], validation: Sequence[str], test: Sequence[str]) -> dict[str, list[str]]:
    """Return the files of each part: those that are named for it, and those that have its name in their own.

    >>> split_files(["a/train.tsv", "a/dev.tsv", "a/latest.tsv"], [], ["eval.tsv"])
    {'train': ['a/train.tsv', 'a/latest.tsv'], 'validation': ['a/dev.tsv'], 'test': ['eval.tsv']}
    """
    named: dict[str, list[str]] = {"train": [], "validation": list(validation), "test": list(test)}
    for file in files:
        words = re.split(r"[\W_\d]+", Path(file).name.lower())
        part = next((part for part, pattern in _PARTS.items() if any(re.fullmatch(pattern, w) for w in words)), "train")
        named[part].append(file)
    if not named["train"]:  # a single file may have any name
        return {"train": list(files), "validation": list(validation), "test": list(test)}
    return named


def look_at(task: Task[Any], command: str, files: Mapping[str, Sequence[str]], fields: Mapping[str, str]) -> Findings:
    """Read the files of each part as training reads them; what it refuses is kept among the problems.

    Raises:
        ValueError: a column is not found, or a field has an impossible value.
        OSError: a file cannot be read.
    """
    given: dict[str, Any] = {f"{part}_files": list(own) for part, own in files.items() if own}
    recipe: Any = load_recipe(None, given | dict(fields), recipe_class=task.recipe_class)
    found = find_columns(task, recipe, files)
    for part in files:
        try:
            with no_log():
                data = task.read(found.recipe, part)
        except ValueError as error:
            found.problems.append(str(error))
            continue
        if data is not None:
            found.parts[part] = look(task.name, data)
    if found.train is not None:
        settle(found, found.train)
        for part, looked in found.parts.items():
            found.problems += [f"{part} data: {problem}" for problem in _problems(found, found.train, looked)]
        if command != _FIT:
            _add_cost(task, found, found.train)
    return found


def _problems(found: Findings, train: Looked, looked: Looked) -> list[str]:
    """Return why training refuses a part of the data that its reader accepts."""
    recipe = found.recipe
    classes = are_classes(recipe, train)
    problems = must_be_fixed(looked, classes and looked is train, _UNLABELLED)
    # Parts of entities may be written with other letters, which are converted.
    is_fixed = classes and looked is not train and getattr(recipe, "scheme", "") != "entities"
    return problems + (unknown_classes(train, looked, getattr(recipe, "label_names", {})) if is_fixed else [])


def _add_cost(task: Task[Any], found: Findings, looked: Looked) -> None:
    """Measure what the training costs; what it refuses is kept among the problems."""
    try:
        found.recipe, found.cost = measure_cost(task, found.recipe, looked)
    except ValueError as error:
        if not found.problems:  # which explain it better
            found.problems.append(str(error))


def report_lines(task: Task[Any], found: Findings) -> list[str]:
    """Return the report on the files."""
    named = [f"{column} from {name}" for column, name in found.columns.items() if column != name]
    named += [f"classes from the columns {', '.join(found.label_columns)}"] if found.label_columns else []
    told = [("columns", ", ".join(named))] if named else []
    told += [("not read", ", ".join(found.unread))] if found.unread else []
    for part, looked in found.parts.items():
        told.append((part, f"{looked}: {', '.join(found.files[part])}"))
    notes, train = [], found.train
    if train is not None:
        classes = are_classes(found.recipe, train)
        noun = "word" if task.name == "token_classification" else "row"
        if train.counted:
            told += describe_classes(train, noun) if classes else describe_numbers(train)
        told += [*describe_answers(train), *describe_texts(train)]
        notes = worth_a_look(train, classes)
        for part in ("validation", "test"):
            if part in found.parts:
                notes += shared_rows(train, found.parts[part], part)
    free = free_bytes()
    if found.cost is not None and free is not None and found.cost.estimate.bytes > free:
        notes.append(f"the training takes more memory than the {megabytes(free)} that are free; lower batch_size")
    lines = [f"{task.name}: {', '.join(found.files['train'])}", *as_lines(told), wrapped(describe_cost(found))]
    for heading, own in (("Worth a look:", notes), ("To mend before training:", found.problems)):
        lines += [heading, *(wrapped(f"  - {text}", 4) for text in own)] if own else []
    return lines


def form_of(names: Sequence[str]) -> str:
    """Return the benchmark whose columns of choices a file has, or "".

    >>> form_of(["premise", "choice1", "choice2", "question", "label"]), form_of(["context", "choices"])
    ('copa', '')
    """
    return next((form for form in ("copa", "swag") if set(FORMS[form].columns) <= set(names)), "")


def unread_columns(names: Sequence[str], read: set[str]) -> list[str]:
    """Return the columns of a file that are not read; in CoNLL files, `tokens` and `tags` are further names of columns.

    >>> unread_columns(["id", "text"], {"text"}), unread_columns(["tokens", "tags", "1", "2", "3"], {"tokens", "tags"})
    (['id'], ['2'])
    """
    numbers = [str(number) for number in range(1, len(names) - 1)]
    if numbers and list(names) == ["tokens", "tags", *numbers]:
        other = {"tokens": numbers[0], "tags": numbers[-1]}
    else:
        other = {"tokens": "form"} if list(names[:3]) == ["tokens", "id", "form"] else {}
    seen = read | {other[name] for name in read & other.keys()}
    return [name for name in names if name not in seen and name not in other]


def find_columns(task: Task[Any], recipe: Any, files: Mapping[str, Sequence[str]]) -> Findings:
    """Return which columns of the first file are the task's, and a recipe that names them.

    Nothing is found for a task whose columns are not known, and for line-aligned texts.

    Raises:
        ValueError: a column that the task needs is not found.
        OSError: the file cannot be read.
    """
    required, optional = COLUMNS.get(task.name, ((), ()))
    first, found = files["train"][0], Findings(recipe, files)
    for column in recipe.columns if required else ():
        if column not in (*required, *optional):
            raise ValueError(f"there is no column {column} of {task.name}, only {', '.join((*required, *optional))}")
    if not required or (task.name == "translation" and file_suffix(first) == ".txt"):
        return found
    if task.name == "translation" and (names := header_of_pairs(first, recipe)):
        file = Peek(names, {})
        columns = dict(zip(required, names, strict=True))
    else:
        file = peek(first, recipe)
        columns = guess_columns(file, [*required, *optional], recipe.columns)
    if task.name == "multiple_choice" and (form := form_of(file.names)):
        found.recipe = replace(recipe, task=form)
        columns = {column: column for column in (*FORMS[form].columns, "label", "id") if column in file.names}
    else:
        _use_label_columns(found, file, columns)
        _check_columns(first, file, columns, [name for name in required if name != "label" or not found.label_columns])
    renamed = {column: name for column, name in columns.items() if column != name}
    if renamed:
        found.recipe = replace(found.recipe, columns={**recipe.columns, **renamed})
    read = {*columns.values(), *found.label_columns}
    found.columns, found.unread = columns, unread_columns(file.names, read)
    return found


def _use_label_columns(found: Findings, file: Peek, columns: dict[str, str]) -> None:
    """Take several columns of 0 and 1 for the classes of a text, unless another column is known as its label."""
    recipe = found.recipe
    if "label_columns" not in recipe.__dataclass_fields__ or "label" in recipe.columns:
        return
    guessed = columns.get("label", "")
    if not recipe.label_columns and guessed.strip().casefold() not in USUAL_NAMES["label"]:
        several = binary_columns(file, [name for name in file.names if name not in columns.values() or name == guessed])
        if len(several) > 1:
            found.recipe = replace(recipe, label_columns=several)
    if found.label_columns:
        columns.pop("label", None)


def _check_columns(name: str, file: Peek, columns: Mapping[str, str], required: Sequence[str]) -> None:
    """Raise a ValueError if a column is not found, or the line with the names of the columns is a row."""
    for column in required:
        if column not in columns:
            raise ValueError(
                f"{name}: none of its columns ({', '.join(file.names)}) looks like the column {column}; name it, "
                f"--columns.{column} NAME, or write a line with the names of the columns above the rows"
            )
    if is_row(file, columns):
        raise ValueError(
            f"{name}: its first line reads like a row, not like the names of its columns ({', '.join(file.names)}); "
            "write a line with their names above it"
        )
