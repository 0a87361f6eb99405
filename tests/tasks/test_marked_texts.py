# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Training data with `<s>` and `</s>` around every text are those without; where some have them, they are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_lecture_models.data.recipe import TextsRecipe
from hf_lecture_models.data.streaming import read_training_texts, stream_texts
from hf_lecture_models.tasks.language_models.causal import CausalLMRecipe
from hf_lecture_models.tasks.language_models.streamed_blocks import StreamedBlocks
from hf_lecture_models.tasks.language_models.texts import TextsTask
from hf_lecture_models.tasks.registry import TASKS, read_file
from hf_lecture_models.tasks.translation.rows import PairsRecipe, read_pairs
from hf_lecture_models.tokenization.word import WordTokenizer

FORMS = [".txt", ".tsv", ".jsonl", ".parquet"]
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


@pytest.mark.parametrize("suffix", FORMS)
def test_streamed_and_read_texts(suffix: str, tmp_path: Path) -> None:
    marked, plain, mixed = (
        write(tmp_path / f"{kind}{suffix}", texts)
        for kind, texts in (("marked", MARKED), ("plain", PLAIN), ("mixed", MIXED))
    )
    tokenizer = WordTokenizer.train(PLAIN, progress=False)
    for streamed in (False, True):
        # Each file has the marks everywhere or nowhere; where one does not tell the files from each other, all have.
        several = [marked, plain] if not streamed or suffix in (".txt", ".tsv") else [marked, marked]
        assert list(read_training_texts(TextsRecipe(train_files=several), streamed)) == [*PLAIN, *PLAIN]
        with pytest.raises(ValueError, match=r"row 3 does not begin with <s>"):
            list(read_training_texts(TextsRecipe(train_files=[mixed]), streamed))

    def inputs(file: str) -> list[Any]:
        recipe = CausalLMRecipe(train_files=[file], streaming=True, batch_size=2, sequence_length=8, max_steps=3)
        blocks = StreamedBlocks(stream_texts(recipe), tokenizer, recipe)
        return [batch.inputs["input_ids"].tolist() for _ in range(3) for batch in blocks.next_step()]

    assert inputs(marked) == inputs(plain)
    with pytest.raises(ValueError, match=r"row 3 does not begin with <s>"):
        inputs(mixed)


def test_pairs_of_sentences(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{kind}.txt", texts) for kind, texts in (("marked", MARKED), ("plain", PLAIN))]
    rows = read_pairs(PairsRecipe(train_files=files), "train")
    assert rows is not None
    assert rows.columns == {"source": PLAIN, "target": PLAIN}
    with pytest.raises(ValueError, match=r"row 3 does not begin with <s>"):
        read_pairs(PairsRecipe(train_files=[files[1], write(tmp_path / "mixed.txt", MIXED)]), "train")
