# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small tagger of transformers itself, whose tokenizer splits words in pieces, and a few sentences with names."""

from pathlib import Path
from typing import Any

import torch
from transformers import BertForTokenClassification, TokenizersBackend

from hf_lecture_models import RecurrentConfig, RecurrentForTokenClassification
from tests.tasks.small_bert import bert_config, piece_tokenizer

_LINES = [
    "Ada/B-PER Lovelace/I-PER met/O Charles/B-PER in/O New/B-LOC York/I-LOC",
    "New/B-LOC York/I-LOC saw/O Ada/B-PER",
    "Babbage/B-PER lives/O",
    "he/O lives/O in/O London/B-LOC Berlin/B-LOC or/O New/B-LOC York/I-LOC",
    "Charles/B-PER Babbage/I-PER met/O Ada/B-PER Lovelace/I-PER",
    "they/O met/O",
    "London/B-LOC saw/O Charles/B-PER or/O Ada/B-PER",
    "she/O saw/O New/B-LOC York/I-LOC",
    "Berlin/B-LOC",
    "Ada/B-PER lives/O in/O Berlin/B-LOC",
]
ROWS: list[dict[str, Any]] = [
    {"tokens": [word for word, _ in pairs], "tags": [tag for _, tag in pairs]}
    for pairs in ([pair.split("/") for pair in line.split()] for line in _LINES)
]
TAGS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
NAMES = {"id2label": dict(enumerate(TAGS)), "label2id": {tag: index for index, tag in enumerate(TAGS)}}
WORDS = sorted({word.lower() for row in ROWS for word in row["tokens"]})
# "lovelace" and "babbage" are two pieces each, "london" is three.
PIECES = ["love", "##lace", "bab", "##bage", "lon", "##d", "##on"]


def small_tokenizer(**options: Any) -> TokenizersBackend:
    """BERT's, with pieces of words."""
    return piece_tokenizer(
        [*(word for word in WORDS if word not in ("lovelace", "babbage", "london")), *PIECES], **options
    )


def small_bert(**fields: Any) -> BertForTokenClassification:
    """One layer of 8, without dropout."""
    torch.manual_seed(0)
    return BertForTokenClassification(bert_config(len(small_tokenizer()), **{**NAMES, **fields}))


def small_lstm() -> RecurrentForTokenClassification:
    """Ours, which reads both ways, and padding nowhere."""
    torch.manual_seed(0)
    config = RecurrentConfig(
        vocab_size=len(small_tokenizer()),
        hidden_size=8,
        num_hidden_layers=1,
        bidirectional=True,
        pad_token_id=0,
        **NAMES,
    )
    model = RecurrentForTokenClassification(config)
    torch.nn.init.normal_(model.classifier.weight)
    return model


def save_small_bert(folder: Path, **fields: Any) -> Path:
    """A folder with model and tokenizer, which pads on the right."""
    small_bert(**fields).save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return folder


def save_small_lstm(folder: Path) -> Path:
    """A folder with model and tokenizer, which pads on the left."""
    small_lstm().save_pretrained(folder)
    small_tokenizer(padding_side="left").save_pretrained(folder)
    return folder


def write_conll(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    """A file as of the CoNLL shared tasks, with two columns."""
    sentences = ["".join(f"{word}\t{tag}\n" for word, tag in zip(*row.values(), strict=True)) for row in rows]
    path.write_text("\n".join(sentences), encoding="utf-8")
    return path
