# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Small models for pre-training, ours and transformers' own, with a tokenizer of words and documents of a few words."""

from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModelForMaskedLM, AutoModelForPreTraining, BertConfig, TokenizersBackend

from hf_lecture_models.models.bert import LectureBertConfig
from hf_lecture_models.tasks.language_models.documents import encode_documents
from hf_lecture_models.tasks.language_models.masked_batches import MaskedTexts

SPECIALS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
WORDS = ["the", "keeper", "reads", "a", "letter", "in", "town", "ship", "passes", "light", "night", "garden", "ape"]
# 22 documents of one line, of no word to 12: 17 rows.
TEXTS = [" ".join((WORDS * 3)[n % 7 : n % 7 + n * 3 % 15]) for n in range(22)]


def word_tokenizer(words: list[str] = WORDS, without: str = "", template: bool = True) -> Any:
    """BERT's template over whole words, whose ids follow those of the special tokens in their order."""
    names = {name: token for name, token in SPECIALS.items() if name != without}
    vocab = {token: index for index, token in enumerate([*SPECIALS.values(), *words])}
    backend = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if template:
        ends = [("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])]
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
        )
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return TokenizersBackend(tokenizer_object=backend, model_input_names=inputs, **names)


def small_bert(tokenizer: Any, ours: bool = True, pairs: bool = True, dropout: float = 0.0, **fields: Any) -> Any:
    """Two layers of 16, for pre-training or for masked words alone."""
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    dropouts = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    fields = shape | dropouts | {"max_position_embeddings": 32, "initializer_range": 0.2} | fields
    config = (LectureBertConfig if ours else BertConfig)(vocab_size=len(tokenizer), **fields)
    return (AutoModelForPreTraining if pairs else AutoModelForMaskedLM).from_config(config)


def numbered_texts(lengths: list[int], sequence_length: int = 16, **options: Any) -> MaskedTexts:
    """Documents of these lengths in which no token stands twice: token i of all is `FIRST + i`."""
    words = [f"w{number}" for number in range(sum(lengths))]
    ends = np.cumsum(lengths)
    texts = [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    return masked_texts(word_tokenizer(words), texts, sequence_length, **options)


FIRST = len(SPECIALS)


def masked_texts(
    tokenizer: Any, texts: list[str], sequence_length: int = 16, probability: float = 0.15, next_sentence: bool = True
) -> MaskedTexts:
    """Each text is a document."""
    documents = encode_documents(tokenizer, texts, "texts")
    return MaskedTexts(documents, tokenizer, sequence_length, probability, next_sentence)
