# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The weights of a live page, as a script: it sets `LIVE`, and can be loaded from `file://` too."""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

# JavaScript's numbers are float64.
_LARGEST_INTEGER = 2**53


@dataclass(frozen=True)
class LiveModel:
    """A model of a live page.

    Attributes:
        title: its name on the page.
        seen: what it was trained on, in a few words ("12,000 words of tales").
        model: an n-gram, an LSTM or a self-attention model with a language-model head.
        tokenizer: of the model.
    """

    title: str
    seen: str
    model: Any
    tokenizer: Any


def weights_script(models: Sequence[LiveModel], half: bool = False, **extra: Any) -> str:
    """Return the script that sets `LIVE`, {models: [{title, seen, config, tokenizer, tensors}], tokenizers: [...]}.

    Args:
        models: in the page's order. Equal tokenizers are written once; `tokenizer` is a number in `tokenizers`.
        half: store the networks' numbers in float16; n-gram tables stay.
        extra: further entries of `LIVE`, as JSON can have them.
    """
    tokenizers: list[dict[str, Any]] = []
    entries = []
    for one in models:
        tokenizer = json.loads(one.tokenizer.backend_tokenizer.to_str())
        if tokenizer not in tokenizers:
            tokenizers.append(tokenizer)
        entries.append(
            {
                "title": one.title,
                "seen": one.seen,
                "config": json.loads(one.model.config.to_json_string(use_diff=False)),
                "tokenizer": tokenizers.index(tokenizer),
                "tensors": base64.b64encode(_safetensors(one.model, half)).decode(),
            }
        )
    live = {"models": entries, "tokenizers": tokenizers, **extra}
    content = json.dumps(live, ensure_ascii=False, separators=(",", ":"))
    # Parsed, because in an object of a program the word "__proto__" would be no entry. Within a page a text must not
    # end the script.
    text = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    return f"var LIVE = JSON.parse({text});\n"  # `var`, so that a page can load another such script


def stored_bytes(model: Any, half: bool = False) -> int:
    """Return the bytes of a model's numbers as `weights_script` stores them, before they are written as text."""
    return sum(tensor.nbytes for _, tensor in _stored_tensors(model, half))


def _safetensors(model: Any, half: bool) -> bytes:
    return save(dict(_stored_tensors(model, half)))


def _stored_tensors(model: Any, half: bool) -> Iterator[tuple[str, Tensor]]:
    """Yield the model's tensors; those that are tied are stored once, by their first name."""
    stored: set[tuple[int, torch.Size]] = set()
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.shape)
        if tensor.numel() and place in stored:
            continue
        stored.add(place)
        yield name, _as_stored(name, tensor, half and model.config.model_type != "lecture_ngram")


def _as_stored(name: str, tensor: Tensor, half: bool) -> Tensor:
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.int64:
        largest = int(tensor.max()) if tensor.numel() else 0
        if largest >= _LARGEST_INTEGER:
            raise ValueError(f"{name} has integers above 2^53, which a browser cannot read")
        return tensor.int() if largest < 2**31 else tensor
    if half and tensor.is_floating_point():
        return tensor.half()
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor
