# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small classifier of transformers itself with its tokenizer, and a few sentences to classify."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertForSequenceClassification, TokenizersBackend

from tests.tasks.small_bert import bert_config, piece_tokenizer

GOOD = ["a fine film", "a warm and funny film", "fine and funny", "a film that is warm", "funny", "this is a fine one"]
BAD = ["a dull film", "a cold and dull film", "dull and long", "a film that is cold", "long", "this is a dull one"]
ROWS = [{"text": text, "label": label} for texts in zip(GOOD, BAD, strict=True) for label, text in enumerate(texts)]
WORDS = sorted({word for row in ROWS for word in row["text"].split()})


def small_tokenizer(**options: Any) -> TokenizersBackend:
    """BERT's template for texts and pairs, over whole words."""
    return piece_tokenizer(WORDS, **options)


def small_bert(**fields: Any) -> BertForSequenceClassification:
    """One layer of 8, without dropout."""
    torch.manual_seed(0)
    return BertForSequenceClassification(bert_config(len(small_tokenizer()), **fields))


def save_small_bert(folder: Path, **fields: Any) -> Path:
    """A folder with model and tokenizer."""
    small_bert(**fields).save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return folder


def write_tsv(path: Path, rows: list[dict[str, Any]] = ROWS, text: str = "sentence") -> Path:
    """A file as GLUE has it."""
    lines = [f"{text}\tlabel", *(f"{row['text']}\t{row['label']}" for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def stand_in_hub(
    monkeypatch: pytest.MonkeyPatch, texts: Sequence[str], classes: Sequence[str]
) -> list[tuple[str, str | None, str, str]]:
    """Let `datasets` give two rows of each split as nyu-mll/glue has them, hidden labels in those for testing.

    Args:
        texts: the columns of texts.
        classes: of the labels; none: they are numbers.

    Returns:
        What is asked for: name, configuration, split and revision, call by call.
    """
    import datasets

    asked = []
    label = datasets.ClassLabel(names=list(classes)) if classes else datasets.Value("float32")
    features = datasets.Features(
        {name: datasets.Value("string") for name in texts} | {"label": label, "idx": datasets.Value("int32")}
    )

    def load_dataset(name: str, config: str | None = None, **options: Any) -> Any:
        asked.append((name, config, options["split"], options["revision"]))
        columns = {text: ["a fine film", "a dull film"] for text in texts}
        labels = [-1, -1] if options["split"].startswith("test") else [0, 1]
        return datasets.Dataset.from_dict({**columns, "label": labels, "idx": [11, 7]}, features=features)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return asked
