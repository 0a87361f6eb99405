# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture publish`: a model with its card to the Hub."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hf_lecture_models.analysis.figures import save_learning_curve
from hf_lecture_models.cli.see_learning import read_record
from hf_lecture_models.hub.card import DRAWINGS, LEARNING_CURVE
from hf_lecture_models.hub.facts import facts_of, missing_facts
from hf_lecture_models.hub.publish import files_in, prepare, publish
from hf_lecture_models.loading import load_model
from hf_lecture_models.tasks.registry import measure_file, task_of


def run(
    name: str,
    repo: str,
    evaluate: Path | None,
    licence: str | None,
    private: bool,
    revision: str | None,
    dry_run: bool,
) -> None:
    """Upload a model with its card, print the names of the files, and on stderr the facts that the card lacks."""
    model, tokenizer, facts, pictures = read(name, licence)
    if evaluate is not None:
        facts |= measure_file(evaluate, model, tokenizer, facts)
    for missing in missing_facts(facts, is_measurable(model)):
        print(f"the card lacks {missing}", file=sys.stderr)
    if dry_run:
        _show(model, tokenizer, repo, facts, pictures)
        return
    done = publish(model, tokenizer, repo, facts, **pictures, private=private, revision=revision)
    for what, names in (("uploaded", done.uploaded), ("deleted", done.deleted), ("left alone", done.left_alone)):
        if names:
            print(f"{what}: {', '.join(names)}")
    print(f"{done.url} is at commit {done.commit}{'' if done.uploaded or done.deleted else ': nothing had changed'}")


def read(name: str, licence: str | None) -> tuple[Any, Any, dict[str, Any], dict[str, Path]]:
    """Return a model, its tokenizer, the facts of its card, and the pictures beside it; draw the learning curve."""
    model, tokenizer = load_model(name)
    facts = facts_of(name, model, tokenizer)
    facts["licence"] = licence or facts.get("licence")
    files = {"learning_curve": Path(name) / LEARNING_CURVE, "drawings": Path(name) / DRAWINGS}
    if (Path(name) / "training.json").is_file():  # also where a picture is there: the run may have gone on since
        try:
            save_learning_curve(read_record(Path(name))["history"], files["learning_curve"])
        except (ImportError, OSError, ValueError) as error:
            print(f"the learning curve is not drawn: {error}", file=sys.stderr)
    return model, tokenizer, facts, {part: path for part, path in files.items() if path.is_file()}


def is_measurable(model: Any) -> bool:
    """Return True if a task measures such models."""
    try:
        task_of(model)
    except ValueError:
        return False
    return True


def _show(model: Any, tokenizer: Any, repo: str, facts: dict[str, Any], pictures: dict[str, Path]) -> None:
    with TemporaryDirectory() as folder:
        stage = prepare(model, tokenizer, repo, Path(folder) / "stage", facts, **pictures)
        print((stage / "README.md").read_text(encoding="utf-8"))
        for shown, path in files_in(stage).items():
            print(f"{path.stat().st_size:>14,}  {shown}")
