# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Small language models that know their few texts by heart, each with another tokenizer, saved as a user has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from hf_lecture_models import BpeTokenizer, NGramForCausalLM, WordTokenizer
from tests.interop.small_models import small_model

TEXTS = ["the cat sat on the mat .", "a dog saw the old log .", "one bird sang in a tree ."]

TOKENIZERS = {
    "gpt1": BpeTokenizer.train(TEXTS, form="bytes", progress=False),
    "self_attention": WordTokenizer.train(TEXTS, progress=False),
    "recurrent": WordTokenizer.train(TEXTS, unknown_words="spelled", progress=False),
    "feed_forward": BpeTokenizer.train(TEXTS, merges=30, progress=False),
    "ngram": WordTokenizer.train(TEXTS, progress=False),
}

# One that learns in a few steps.
FIELDS: dict[str, dict[str, Any]] = {"recurrent": {"cell_type": "gru", "num_hidden_layers": 1}}


def save_trained_model(root: Path, name: str) -> str:
    """The model of the folder `name` under models/, trained on `TEXTS`; returns its folder."""
    tokenizer = TOKENIZERS[name]
    torch.manual_seed(0)
    if name == "ngram":
        model = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="absolute_discounting", progress=False)
    else:
        model = trained(small_model(name, tokenizer, **FIELDS.get(name, {})), tokenizer)
    model.save_pretrained(root / name)
    tokenizer.save_pretrained(root / name)
    return str(root / name)


def trained(model: Any, tokenizer: Any) -> Any:
    """The model after a few steps, in which it also sees each text as question and answer of a chat."""
    chats = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": " ".join(words[:3])}, {"role": "assistant", "content": " ".join(words[3:])}],
            tokenize=False,
        )
        for words in map(str.split, TEXTS)
    ]
    plain = [f"<s>{text}</s>" for text in TEXTS]
    batch = tokenizer(plain + chats, add_special_tokens=False, padding=True, return_tensors="pt")
    labels = batch["input_ids"].where(batch["attention_mask"].bool(), -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    model.eval()  # no dropout
    for _ in range(120):
        optimizer.zero_grad()
        loss = model(**batch, labels=labels).loss
        loss.backward()
        optimizer.step()
    return model
