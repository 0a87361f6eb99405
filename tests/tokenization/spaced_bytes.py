# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Byte pairs of bytes that add spaces which a text does not have, and so give offsets without a first letter."""

from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import TokenizersBackend

_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=True)
# The pre-tokenizer, and whether the post-processor knows that it adds a space before the text.
KINDS: dict[str, tuple[Any, bool]] = {
    "RobBERT": (_BYTES, False),
    "RoBERTa with a prefix": (_BYTES, True),
    "each word by itself": (pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), _BYTES]), True),
    "without a prefix": (pre_tokenizers.ByteLevel(add_prefix_space=False), True),
}


def spaced_bytes(kind: str, texts: Sequence[str], merges: int = 40) -> Any:
    """Return a tokenizer with RoBERTa's template."""
    pre_tokenizer, knows = KINDS[kind]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizer
    specials = ["<s>", "<pad>", "</s>", "<mask>"]
    size = len(specials) + 256 + merges
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=knows)
    names = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"}
    return TokenizersBackend(tokenizer_object=backend, **names)
