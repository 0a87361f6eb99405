# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture exercise`: functions of the lectures to write yourself, and their check."""

from pathlib import Path

from hf_lecture_models.lab.exercises.checking import NOTHING_YET, Verdict, check, show
from hf_lecture_models.lab.exercises.exercise import Exercise
from hf_lecture_models.lab.exercises.registry import EXERCISES, blank_file, find_exercises
from hf_lecture_models.lab.exercises.student import find_function, load_file


def run(name: str | None, file: Path | None) -> None:
    """List the exercises, print the blank functions, or check those of a file.

    Args:
        name: an exercise, or "all".

    Raises:
        SystemExit: an answer is wrong or missing.
        OSError, ValueError: there is no exercise of this name, or the file cannot be read or run.
    """
    if name is None:
        _list()
        return
    exercises = find_exercises(name)
    if file is None:
        print(blank_file([exercise.name for exercise in exercises]), end="")
        return
    defined = load_file(file)
    if name != "all":
        find_function(defined, file, name)  # which is an error without it
    right = sum(_report(exercise, defined, file) for exercise in exercises)
    if name == "all":
        print(f"{right} of {len(exercises)} are right")
    if right < len(exercises):
        raise SystemExit(1)


def _list() -> None:
    width = max(map(len, EXERCISES))
    slides = max(len(exercise.slide) for exercise in EXERCISES.values())
    for exercise in EXERCISES.values():
        print(f"{exercise.name:{width}}  {exercise.slide:{slides}}  {exercise.title}")


def _report(exercise: Exercise, defined: dict[str, object], file: Path) -> bool:
    if exercise.name not in defined:
        print(f"{exercise.name}: it is not in {file.name}")
        return False
    verdict = check(exercise, find_function(defined, file, exercise.name))
    if verdict.is_right:
        what = "values and gradients" if exercise.has_gradients else "values"
        print(f"{exercise.name}: right, {what} on {verdict.cases} inputs")
    elif verdict.problem == NOTHING_YET:
        print(f"{exercise.name}: {NOTHING_YET}")
    else:
        _print_problem(exercise, verdict)
    return verdict.is_right


def _print_problem(exercise: Exercise, verdict: Verdict) -> None:
    assert verdict.case is not None
    number, case = verdict.case
    print(f"{exercise.name}: wrong at input {number} of {verdict.cases}: {verdict.problem}")
    if verdict.hint:
        print(f"hint: {verdict.hint}")
    print(
        f"input {number}, in Python `hf_lecture_models.lab.exercises.registry.EXERCISES[{exercise.name!r}].inputs()",
        end="",
    )
    print(f"[{number - 1}]`:\n{show(case)}")
