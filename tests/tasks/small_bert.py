# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""BERT of transformers itself, of one small layer, and its tokenizer over a few pieces of words."""

from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, TokenizersBackend

_SPECIALS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def piece_tokenizer(pieces: Sequence[str], **options: Any) -> TokenizersBackend:
    """BERT's template for texts and pairs; the ids of the pieces follow those of four special tokens."""
    vocabulary = {token: index for index, token in enumerate([*_SPECIALS.values(), *pieces])}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return TokenizersBackend(tokenizer_object=backend, **{**_SPECIALS, "model_input_names": inputs, **options})


def bert_config(vocab_size: int, **fields: Any) -> BertConfig:
    """One layer of 8; without dropout, so that two ways to the same numbers can be compared."""
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    shape |= {"max_position_embeddings": 16, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertConfig(vocab_size=vocab_size, initializer_range=0.5, **{**shape, **fields})
