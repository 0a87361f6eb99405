# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Templates of prompts: YAML files that say how a row becomes a prompt with several answers.

    prompt: "{premise:open} {question}"
    answers: ["{choice1:small}", "{choice2:small}"]
    words:
      question: {cause: because, effect: therefore}

A name in braces is a column of the rows. `{name:open}` leaves out the full stop at its end, and `{name:small}` begins
with a small letter, except for the word "I". `words` replaces the values of a column. A single answer such as
"{choices}" stands for one answer from each text of a column of lists, or of mappings {"text": [...], "label": [...]} as
ARC's on the Hub.
"""

import dataclasses
import re
import string
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.io.recipe import Recipe, load_recipe, setting, unknown_name
from hf_lecture_models.tasks.choice.rows import check_choices, read_label

TASKS = ("copa", "balanced_copa", "piqa", "arc_easy", "arc_challenge")
"""The tasks whose templates are part of the package."""
_LETTERS = string.ascii_uppercase
_FORMS: dict[str, Callable[[str], str]] = {
    "": str,
    "open": lambda text: text.rstrip().removesuffix("."),
    "small": lambda text: text if re.match(r"I\b", text) else text[:1].lower() + text[1:],
}


@dataclasses.dataclass(kw_only=True)
class PromptTemplate(Recipe):
    """How rows become prompts, and which rows are scored or serve as examples (shots)."""

    prompt: str = setting("", "the prompt, with names of columns in braces")
    answers: list[str] = setting([], "an answer each; or one, for each text of a column of lists")
    label: str = setting("label", "the column of the right answer: its number from 0, or its letter or name")
    words: dict[str, Any] = setting({}, "for a column what is written in place of each value")
    separator: str = setting(" ", "between a prompt and its answer")
    between_shots: str = setting("\n\n", "after each example")
    unconditional: str = setting("Answer:", "the prompt of the second term of the score `divided`")
    answers_vary: bool = setting(False, "true if rows may have different numbers of answers")
    scored: list[str] = setting([], "files of the rows that are scored")
    shots: list[str] = setting([], "files of the rows that examples are drawn from")
    first_for_shots: int = setting(0, "the first rows to score are kept for examples and never scored", least=0)
    group: str = setting("", "a column that is equal in rows that belong together; with examples, a row is not scored "
                         "if a row that they are drawn from has the same value. Without it, rows of equal text belong "
                         "together")  # fmt: skip
    group_modulo: int = setting(0, "the group is its column's number modulo this one; 0: the value itself", least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.prompt or not self.answers:
            raise ValueError(f"template: {'answers' if self.prompt else 'prompt'} is missing; write it")
        for column, words in self.words.items():
            if not isinstance(words, dict) or not words:
                raise ValueError(f"template: words of {column} is {words!r}; give `value: word` pairs")
        if self.shots and self.first_for_shots:
            raise ValueError("template: shots and first_for_shots are both given; leave one out")
        if self.group_modulo and not self.group:
            raise ValueError("template: group_modulo has no column; name it by group")
        self._placeholders()

    def _placeholders(self) -> dict[str, set[str]]:
        """Return the columns of the prompt and of the answers.

        Raises:
            ValueError: braces do not match, or a form is unknown.
        """
        found: dict[str, set[str]] = {"prompt": set(), "answers": set()}
        for name, texts in (("prompt", [self.prompt]), ("answers", self.answers)):
            for text in texts:
                found[name] |= set(_columns(name, text))
        if len(self.answers) == 1 and len(found["answers"]) != 1:
            raise ValueError(
                f"template: answers has one text, {self.answers[0]!r}; give several, or one with one column of lists"
            )
        return found

    @property
    def columns(self) -> list[str]:
        """The columns of a row that the template reads, without its label."""
        found = self._placeholders()
        own = {*found["prompt"], *found["answers"], *([self.group] if self.group else [])} - {self.label}
        return sorted(own)

    def render(self, row: Mapping[str, Any]) -> tuple[str, tuple[str, ...], int]:
        """Return a row's prompt, its answers, and the number of the right one.

        >>> template = PromptTemplate(prompt="{a:open} so", answers=["{b:small}", "{c:small}"])
        >>> template.render({"a": "It rained.", "b": "I got wet.", "c": "We read.", "label": 0})
        ('It rained so', ('I got wet.', 'we read.'), 0)

        Raises:
            ValueError: a value is missing, no text, or none of `words`; an answer is blank; or there is no such label.
        """
        names: list[str] | None = None
        if len(self.answers) == 1:
            (column,) = _columns("answers", self.answers[0])
            choices, names = _choices(column, row[column])
            answers = [_filled(self.answers[0], {column: choice}) for choice in choices]
        else:
            answers = [_filled(text, {name: self._value(row, name) for name in _columns("answers", text)})
                       for text in self.answers]  # fmt: skip
            check_choices(answers)
        prompt = _filled(self.prompt, {name: self._value(row, name) for name in _columns("prompt", self.prompt)})
        letters = list(_LETTERS[: len(answers)])
        return prompt, tuple(answers), read_label(row[self.label], names or letters, "leave it out")

    def _value(self, row: Mapping[str, Any], column: str) -> str:
        value = row[column]
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value != value:
            raise ValueError(f"{column} is {value!r}, no text")
        if column not in self.words:
            return str(value)
        words = {str(key): str(word) for key, word in self.words[column].items()}
        if str(value) not in words:
            raise ValueError(f"{column} is {value!r}, none of the template's words for it: {', '.join(words)}")
        return words[str(value)]

    def group_of(self, row: Mapping[str, Any]) -> Any:
        """Return the value that is equal in rows that belong together.

        Raises:
            ValueError: the column has no value, or no number where `group_modulo` needs one.
        """
        value: Any = row[self.group] if self.group else None
        if self.group and (value is None or value != value or value == ""):
            raise ValueError(f"{self.group} is {value!r}; give a value that is equal in rows that belong together")
        if not self.group_modulo:
            return value
        try:
            return int(value) % self.group_modulo
        except (TypeError, ValueError):
            raise ValueError(f"{self.group} is {value!r}, no whole number, of which group_modulo needs one") from None


def load_template(task: str = "", path: str | Path | None = None) -> PromptTemplate:
    """Return the template of a task, or the one in a YAML file.

    >>> load_template("copa").answers
    ['{choice1:small}', '{choice2:small}']

    Raises:
        ValueError: the task is unknown, or the file is not a template; the message names the file and its field.
        OSError: the file cannot be read.
    """
    if path is None:
        if task not in TASKS:
            raise ValueError(f"{unknown_name(task, TASKS, 'task')}; `template` names a file of your own")
        path = Path(__file__).with_name("templates") / f"{task}.yaml"
    try:
        return load_recipe(path, recipe_class=PromptTemplate)
    except ValueError as error:
        text = str(error).removeprefix("recipe: ").removeprefix("template: ")
        raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def _columns(name: str, text: str) -> list[str]:
    """Return the columns in the braces of a text, in their order.

    Raises:
        ValueError: braces do not match, are empty, or have a form that does not exist.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"template: {name} is {text!r} ({error}); write a brace that is text twice") from None
    found = []
    for _, column, form, conversion in parts:
        if column is None:
            continue
        if not column or conversion:
            raise ValueError(f"template: {name} is {text!r}; the braces must hold the name of a column")
        if form not in _FORMS:
            raise ValueError(
                f"template: {name} has {{{column}:{form}}}; {unknown_name(str(form), [*_FORMS][1:], 'form')}"
            )
        found.append(column)
    return found


def _filled(text: str, values: Mapping[str, str]) -> str:
    return "".join(
        literal + (_FORMS[form or ""](values[column]) if column is not None else "")
        for literal, column, form, _ in string.Formatter().parse(text)
    )


def _choices(column: str, value: Any) -> tuple[list[str], list[str] | None]:
    """Return the texts of a column of lists, and their names if it has them."""
    names = None
    if isinstance(value, Mapping):
        value, names = value.get("text"), value.get("label")
    check_choices(value)
    if names is not None and len(names) != len(value):
        raise ValueError(f"{column} has {len(value)} texts, and names for {len(names)} of them")
    return value, None if names is None else [str(name) for name in names]
