# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Training data with `<s>` and `</s>` around every text are those without; where some have them, they are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.tasks.language_models.texts import TextsTask
from hf_lecture_models.tasks.registry import TASKS, read_file

PLAIN = ["the cat sat", "a dog ran", "the dog sat on a mat"] * 4
MARKED = [f"<s> {text} </s>" for text in PLAIN]
MIXED = [*MARKED[:2], PLAIN[2], *MARKED[3:]]
TEXT_TASKS = [name for name, task in TASKS.items() if isinstance(task, TextsTask)]


def write(path: Path, texts: list[str]) -> str:
    lines = {".txt": texts, ".tsv": ["text", *texts], ".jsonl": [json.dumps({"text": text}) for text in texts]}
    if path.suffix == ".parquet":
        datasets = pytest.importorskip("datasets")
        datasets.Dataset.from_dict({"text": texts}).to_parquet(path)
    else:
        path.write_text("".join(f"{line}\n" for line in lines[path.suffix]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", TEXT_TASKS)
def test_every_task_on_texts_reads_marks_as_bounds(name: str, tmp_path: Path) -> None:
    task: Any = TASKS[name]
    files = {kind: write(tmp_path / f"{kind}.txt", texts) for kind, texts in (("marked", MARKED), ("mixed", MIXED))}
    recipe = task.recipe_class(train_files=[files["marked"]], validation_files=[files["marked"]])
    assert list(task.read(recipe, "train")) == list(task.read(recipe, "validation")) == PLAIN
    assert read_file(task, files["marked"], recipe) == PLAIN
    inline = task.recipe_class(train_texts=MIXED)
    for part in (
        lambda: task.read(task.recipe_class(train_files=[files["mixed"]]), "train"),
        lambda: read_file(task, files["mixed"], recipe),
        lambda: task.read(inline, "train"),
    ):
        with pytest.raises(ValueError, match=r"(mixed\.txt, (row|line)|train_texts, text) 3 does not begin with <s>"):
            part()
