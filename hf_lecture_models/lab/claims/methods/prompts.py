# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How often the answer that a language model finds most probable is right."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_lecture_models.lab.claims.methods.training import all_but, train_once
from hf_lecture_models.lab.studies.prompt_templates import load_template
from hf_lecture_models.lab.studies.prompting import UNCONDITIONAL, PromptItem, independent_groups, points, score_items
from hf_lecture_models.lab.studies.prompting_task import PromptingRecipe, read_items


def points_by_prompts(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return 100 for each question whose right answer is the most probable one, minus an expected value.

    Questions that belong together, such as the mirrored pairs of Balanced COPA, have one value, their mean. Of k
    answers that are equally probable the right one counts 100/k. Other questions, such as those of ARC and PIQA, are
    clusters of their own. The model is trained once for all questions.

    Args:
        settings: those of `train_model` for a language model; `questions`, names of tasks of `hf-lecture prompt`, or
            a list of prompt, answers and label; `beside`, what is subtracted: "chance", 100 divided by the number of
            answers, or "no prompt", what the same model reaches when it reads "Answer:" in place of each prompt.
    """
    trained = train_once(all_but(settings, "questions", "beside"), seed, folder)
    values: list[float] = []
    for question in settings["questions"]:
        items, separator = _items(question)
        reached = _points(trained, items, separator)
        if settings["beside"] == "chance":
            expected = [1 / len(item.answers) for item in items]
        else:
            expected = _points(trained, [replace(item, prompt=UNCONDITIONAL) for item in items], separator)
        groups: dict[Any, list[float]] = {}
        for group, first, second in zip(independent_groups(items), reached, expected, strict=True):
            groups.setdefault(group, []).append(100 * (first - second))
        values += [sum(group) / len(group) for group in groups.values()]
    return values


def _items(question: str | Mapping[str, Any]) -> tuple[list[PromptItem], str]:
    """Return the items of a task, written as WikiText writes texts, or the one that is given."""
    if not isinstance(question, str):
        return [PromptItem(question["prompt"], tuple(question["answers"]), question["label"])], " "
    template = load_template(question, None)
    recipe = PromptingRecipe(task=question, shots=[0], text_form="wikitext")
    return read_items(recipe, template)[0], template.separator


def _points(trained: Any, items: Sequence[PromptItem], separator: str) -> list[float]:
    _, rows = score_items(trained.model, trained.processor, items, separator=separator)
    return [points(row["sum"], row["label"]) for row in rows]
