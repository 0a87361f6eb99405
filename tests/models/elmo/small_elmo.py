# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small ELMo, its inputs, and its formulas written out once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models import ElmoConfig, ElmoModel
from hf_lecture_models.layers.hashed_words import feature_hashes
from tests.model_tests import Tensors
from tests.models.recurrent_steps import read, read_both_ways

CHARACTERS = 9


def small(**changes: Any) -> ElmoConfig:
    fields: dict[str, Any] = {"vocab_size": 40, "max_characters_per_token": CHARACTERS, "char_embedding_size": 3}
    fields |= {"char_filters": [[1, 2], [2, 3], [4, 3]], "num_highway_layers": 2, "hidden_size": 7}
    fields |= {"projection_size": 4, "num_words": 11, "word_vector_size": 5, "task_hidden_size": 6}
    return ElmoConfig(**{**fields, "dropout": 0.0, "task_dropout": 0.0, **changes})


def words(lengths: Sequence[int], seed: int = 0) -> Tensors:
    """Random words, padded on the right by zeros, and their mask."""
    ids = torch.zeros(len(lengths), max(lengths), CHARACTERS, dtype=torch.long)
    mask = torch.zeros(ids.shape[:2], dtype=torch.long)
    for row, length in enumerate(lengths):
        generator = torch.Generator().manual_seed(1000 * seed + row)
        ids[row, :length] = torch.randint(1, 40, (64, CHARACTERS), generator=generator)[:length]
        mask[row, :length] = 1
    return {"input_ids": ids, "attention_mask": mask}


def convolved(cnn: Any, ids: Tensor, activation: str = "relu") -> Tensor:
    """Each filter at each place of each word, one product at a time; then the largest, and ReLU or tanh."""
    vectors, found = cnn.embed.weight[ids], []
    for convolution in cnn.convolutions:
        number, size, width = convolution.weight.shape
        matrix = convolution.weight.transpose(1, 2).reshape(number, width * size)
        places = [
            vectors[..., t : t + width, :].flatten(-2) @ matrix.T + convolution.bias
            for t in range(ids.shape[-1] - width + 1)
        ]
        found.append(torch.stack(places).max(0).values)
    return torch.cat(found, -1).tanh() if activation == "tanh" else torch.cat(found, -1).clamp(min=0)


def layers_of(model: ElmoModel, ids: Tensor) -> list[Tensor]:
    """[h→_k; h←_k] of each layer, of texts without padding."""
    config = model.config
    x = convolved(model.characters, ids, config.char_activation)
    for highway in model.highways:
        t = 1 / (1 + torch.exp(-(x @ highway.gate.weight.T + highway.gate.bias)))
        x = t * (x @ highway.transform.weight.T + highway.transform.bias).clamp(min=0) + (1 - t) * x
    ahead = back = x @ model.projection.weight.T + model.projection.bias
    found, clips = [torch.cat((ahead, back), -1)], (config.cell_clip, config.projection_clip)
    for k, layer in enumerate(model.layers):
        before = (ahead, back) if k and config.use_skip_connections else (0, 0)
        ahead = before[0] + read("lstm", layer.forwards.rnn, ahead, *clips)[0]
        back = before[1] + read("lstm", layer.backwards.rnn, back.flip(1), *clips)[0].flip(1)
        found.append(torch.cat((ahead, back), -1))
    return found


def task_states(model: Any, ids: Tensor) -> Tensor:
    """What the heads' output layers read."""
    reader, layers = model.reader, layers_of(model.model, ids)
    shares = reader.mix.w.exp() / reader.mix.w.exp().sum()
    elmo = reader.mix.gamma * sum(share * layer for share, layer in zip(shares, layers, strict=True))
    found = [convolved(reader.characters, ids)]
    if reader.features is not None:
        # tests/layers/test_hashed_words.py compares the hashes with their formula.
        hashes = feature_hashes(ids, model.config.hash_rows)
        found += [table.weight[hashes[..., k]] for k, table in enumerate(reader.features.tables)]
    x = torch.cat((*found, elmo), -1)
    return read_both_ways("lstm", reader.lstm.forwards.rnn, reader.lstm.backwards.rnn, x)
