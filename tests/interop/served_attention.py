# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small server like vLLM: requests packed in one row, prompts read in parts, keys and values kept outside the model.

It does what vLLM does with a model of transformers (`model_executor/models/transformers/`): it builds the base
model with the attention function "vllm", once on the meta device too, loads the weights by their names, and calls the
model with `input_ids` and `position_ids` (1, tokens), `attention_instances`, `use_cache=False`, `return_dict=False`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AttentionInterface, AutoConfig, AutoModel


class LayerAttention(nn.Module):
    """The attention of one layer, with the keys and values of every request."""

    def __init__(self, num_heads: int, is_causal: bool):
        super().__init__()
        self.num_heads, self.is_causal, self.scale = num_heads, is_causal, 0.0
        self.rows: list[tuple[str, int]] = []
        self.kept: dict[str, tuple[Tensor, Tensor]] = {}

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """(tokens, heads * head_dim) of the requests in `rows`, one behind the other, to the same shape."""
        outputs, begin = [], 0
        for request, length in self.rows:
            q, k, v = (each[begin : begin + length] for each in (query, key, value))
            begin += length
            if self.is_causal and request in self.kept:
                k, v = (torch.cat(pair) for pair in zip(self.kept[request], (k, v), strict=True))
            self.kept[request] = (k, v)
            outputs.append(self._attend(q, k, v))
        return torch.cat(outputs)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (each.unflatten(1, (self.num_heads, -1)).transpose(0, 1) for each in (q, k, v))
        scores = self.scale * q @ k.transpose(1, 2)  # (heads, tokens, keys)
        if self.is_causal:
            later = torch.ones(scores.shape[1:]).tril(k.shape[1] - q.shape[1]) == 0
            scores = scores.masked_fill(later, -torch.inf)
        return (scores.softmax(-1) @ v).transpose(0, 1).flatten(1)


def server_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    attention_instances: Any = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """(1, heads, tokens, head_dim) to (tokens, heads * head_dim), by the attention of the module's layer."""
    assert attention_mask is None
    attention = attention_instances[module.layer_idx]
    attention.scale = scaling
    rows = [each.transpose(1, 2).reshape(query.shape[2], -1) for each in (query, key, value)]
    return attention.forward(*rows), None


@contextmanager
def registered(*names: str) -> Iterator[None]:
    """Have the server's function under each name."""
    for name in names:
        AttentionInterface.register(name, server_attention)
    try:
        yield
    finally:
        for name in names:
            del AttentionInterface._global_mapping[name]


class Server:
    """A model of a folder, without its head, and the output layer of a language model.

    Args:
        folder: as `save_pretrained` or `hub.export` writes it.
        options: further arguments of the Auto classes.
    """

    def __init__(self, folder: Path, name: str = "vllm", **options: Any):
        self.config = AutoConfig.from_pretrained(folder, **options)
        self.config._attn_implementation = name
        with torch.device("meta"):
            decoder = AutoModel.from_config(self.config, **options).get_decoder()
        self.model = AutoModel.from_config(self.config, **options)
        assert isinstance(self.model, type(decoder))
        assert type(self.model).is_backend_compatible()
        causal = all(getattr(module, "is_causal", True) for module in self.model.modules())
        layers, heads = self.config.num_hidden_layers, self.config.num_attention_heads
        self.instances = {index: LayerAttention(heads, causal) for index in range(layers)}
        self.read: dict[str, int] = {}
        self._load(load_file(folder / "model.safetensors"))

    def _load(self, weights: dict[str, Tensor]) -> None:
        head = {name: weight for name, weight in weights.items() if name.startswith("lm_head.")}
        base = {
            name.removeprefix(f"{self.model.base_model_prefix}."): weight
            for name, weight in weights.items()
            if name not in head
        }
        self.model.load_state_dict(base, strict=True, assign=True)
        self.model.eval()
        words = self.model.get_input_embeddings()
        self.lm_head = nn.Linear(words.weight.shape[1], words.weight.shape[0], bias="lm_head.bias" in head)
        if self.config.tie_word_embeddings:
            self.lm_head.weight = words.weight
        named = {name.removeprefix("lm_head."): weight for name, weight in head.items()}
        missing, unknown = self.lm_head.load_state_dict(named, strict=False)
        assert not unknown
        assert not missing or not head or self.config.tie_word_embeddings

    @torch.no_grad()
    def step(self, requests: dict[str, list[int]], **changes: Any) -> dict[str, Tensor]:
        """Read the next tokens of each request in one row; return the last hidden state of each, (tokens, hidden)."""
        for attention in self.instances.values():
            attention.rows = [(request, len(tokens)) for request, tokens in requests.items()]
        seen = {request: self.read.get(request, 0) for request in requests}
        places = [seen[name] + place for name, tokens in requests.items() for place in range(len(tokens))]
        call = {
            "input_ids": torch.tensor([[token for tokens in requests.values() for token in tokens]], dtype=torch.int32),
            "position_ids": torch.tensor([places]),
            "attention_instances": self.instances,
            "use_cache": False,
            "return_dict": False,
        }
        hidden = self.model(**call | changes)[0][0]
        # A layer that asks for the attention of another one leaves its own without the request.
        assert all(requests.keys() <= attention.kept.keys() for attention in self.instances.values())
        for request, tokens in requests.items():
            self.read[request] = seen[request] + len(tokens)
        return dict(zip(requests, hidden.split([len(tokens) for tokens in requests.values()]), strict=True))
