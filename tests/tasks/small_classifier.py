# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small classifier of transformers itself with its tokenizer, and a few sentences to classify."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, TokenizersBackend

GOOD = ["a fine film", "a warm and funny film", "fine and funny", "a film that is warm", "funny", "this is a fine one"]
BAD = ["a dull film", "a cold and dull film", "dull and long", "a film that is cold", "long", "this is a dull one"]
ROWS = [{"text": text, "label": label} for texts in zip(GOOD, BAD, strict=True) for label, text in enumerate(texts)]
WORDS = sorted({word for row in ROWS for word in row["text"].split()})


def small_tokenizer(**options: Any) -> TokenizersBackend:
    """BERT's template for texts and pairs, over whole words."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocab = {token: index for index, token in enumerate([*specials, *WORDS])}
    backend = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names: dict[str, Any] = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), specials, strict=True))
    names |= {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]} | options
    return TokenizersBackend(tokenizer_object=backend, **names)


def small_bert(**fields: Any) -> BertForSequenceClassification:
    """One layer of 8; without dropout, so that two ways to the same numbers can be compared."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(small_tokenizer()),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.5,
        **fields,
    )
    return BertForSequenceClassification(config)


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
