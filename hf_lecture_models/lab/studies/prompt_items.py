# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Items of prompting: rows of files written by a template, with examples (shots) that are drawn from other rows.

Each item has examples of its own, drawn by the seed and the item's place. They never come from rows that are scored:
where both come from the same rows, only the others are scored as soon as there are examples.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.recipe import DataRecipe
from hf_lecture_models.lab.studies.prompt_templates import PromptTemplate
from hf_lecture_models.lab.studies.prompting import PromptItem


@dataclass(frozen=True)
class PromptData:
    """All rows of a task as items without examples.

    Attributes:
        scored: those that are scored without examples.
        pool: those that examples are drawn from; each has a `group`.
    """

    scored: list[PromptItem]
    pool: list[PromptItem]


def read_prompt_data(template: PromptTemplate, scored: Sequence[str] = (), shots: Sequence[str] = ()) -> PromptData:
    """Read the rows of a template.

    >>> import tempfile
    >>> template = PromptTemplate(prompt="{animal} is", answers=["{small}", "{large}"], first_for_shots=1)
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     print("animal,small,large,label", "A mouse,small,large,0", "A cow,small,large,1", sep="\\n", file=file)
    ...     file.flush()
    ...     data = read_prompt_data(template, [file.name])
    >>> data.scored[0].prompt, data.scored[0].label, data.pool[0].prompt
    ('A cow is', 1, 'A mouse is')

    Args:
        scored: files in place of the template's; then the template's files of examples are not used either.
        shots: files of the rows that examples are drawn from, in place of the template's.

    Raises:
        ValueError: no file is named; a column is missing; or a row does not fit the template, its label is none of its
            answers, or it has more or fewer answers than the first one. The message names file and row.
        OSError: a file is missing or cannot be read.
    """
    if not scored and not template.scored:
        raise ValueError("the template names no files (scored), and none are given (data): name the rows to score")
    items = _read(template, list(scored) or template.scored)
    if first := template.first_for_shots:
        if len(items) <= first:
            raise ValueError(
                f"the first {first} rows are kept for examples (first_for_shots), and there are only {len(items)}: "
                "none is left to score"
            )
        pool, items = items[:first], items[first:]
    else:
        pool = []
    files = list(shots) or ([] if scored else template.shots)
    return PromptData(items, _read(template, files) if files else pool)


def _read(template: PromptTemplate, files: list[str]) -> list[PromptItem]:
    try:
        rows = read_rows(DataRecipe(test_files=files), "test", template.columns, labels=(template.label,))
    except ValueError as error:
        missing, hint, _ = str(error).partition("; `columns.")  # which only recipes of training have
        raise ValueError(f"{missing}; write another name into the template") if hint else error from None
    assert rows is not None  # because files are named
    items: list[PromptItem] = []
    for index, row in enumerate(rows):
        try:
            prompt, answers, label = template.render(row)
            if items and len(answers) != len(items[0].answers) and not template.answers_vary:
                raise ValueError(
                    f"it has {len(answers)} answers, and the first row {len(items[0].answers)}; if that is meant, "
                    "write answers_vary: true into the template"
                )
            group = template.group_of(row) if template.group else (prompt, *sorted(answers))
        except ValueError as error:
            raise ValueError(f"{rows.where(index)}: {error}") from None
        items.append(PromptItem(prompt, answers, label, group, rows.where(index)))
    return items


def with_shots(
    data: PromptData,
    template: PromptTemplate,
    shots: int,
    seed: int = 0,
    text_form: Callable[[str], str] = str,
) -> list[PromptItem]:
    """Return the items to score, each after so many examples with their right answers.

    >>> rains, shines = (PromptItem(f"It {verb}, so I get", ("wet.", "hot."), label, verb)
    ...                  for verb, label in (("rains", 0), ("shines", 1)))
    >>> template = PromptTemplate(prompt="-", answers=["a", "b"], between_shots="; ")
    >>> with_shots(PromptData([rains], [shines]), template, 1)[0].prompt
    'It shines, so I get hot.; It rains, so I get'

    Args:
        text_form: changes the text of prompts and answers, as the model has read texts in training.

    Raises:
        ValueError: there are fewer rows for examples than wanted, or none is left to score.
    """
    items = list(enumerate(data.scored))
    if shots:
        if len(data.pool) < shots:
            raise ValueError(
                f"there are {len(data.pool) or 'no'} rows that {shots} shots could be drawn from; name files of more "
                "by shots_data, or score without (shots 0)"
            )
        taken = {item.group for item in data.pool}
        items = [(place, item) for place, item in items if item.group not in taken]
        if not items:
            raise ValueError("all rows to score are among those that shots are drawn from; name other rows by data")
    written = []
    for place, item in items:
        drawn = random.Random(f"{seed} {shots} {place}").sample(data.pool, shots)
        examples = [
            f"{one.prompt}{template.separator}{one.answers[one.label]}{template.between_shots}" for one in drawn
        ]
        prompt = text_form("".join(examples) + item.prompt)
        answers = tuple(map(text_form, item.answers))
        written.append(PromptItem(prompt, answers, item.label, item.group, item.name))
    return written
