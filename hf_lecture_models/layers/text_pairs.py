# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""One or two texts in a row after a first token, "[CLS] A [SEP] B [SEP]": their type vectors, and the vector of both.

Devlin et al., "BERT: pre-training of deep bidirectional Transformers", 2018, section 3; slides R:958-993.
"""

from typing import Any

import torch
from torch import Tensor, nn

from hf_lecture_models.layers.inputs import is_prepared, out_of_range


def type_vectors(embed_types: nn.Embedding, token_type_ids: Tensor | None, words: Tensor) -> Tensor:
    """(batch or 1, seq or 1, size): the vectors of the texts to which the tokens `words` (batch, seq, size) belong.

    Args:
        embed_types: a vector for each text of a pair.
        token_type_ids: (batch or 1, seq), 0 for the first text, 1 for the second; None where all are of the first.

    Raises:
        ValueError: ids that are not integers, have another shape, or, on the CPU, have no vector.
    """
    if token_type_ids is None:
        return embed_types(torch.zeros(1, 1, dtype=torch.long, device=words.device))
    batch, seq, _ = words.shape
    if token_type_ids.shape not in ((batch, seq), (1, seq)) or token_type_ids.is_floating_point():
        raise ValueError(
            f"token_type_ids have shape {tuple(token_type_ids.shape)} and type {token_type_ids.dtype}; they must be "
            f"integers of shape {(batch, seq)}"
        )
    try:
        return embed_types(token_type_ids.long())
    except IndexError:
        kinds = embed_types.num_embeddings
        raise ValueError(
            f"token_type_ids hold {out_of_range(token_type_ids, kinds)}; the model has vectors for the texts 0 to "
            f"{kinds - 1} (type_vocab_size={kinds})"
        ) from None


def first_token(hidden: Tensor, attention_mask: Any = None) -> Tensor:
    """(batch, size): the state of each row's first real token, from `hidden` (batch, seq, size).

    Args:
        attention_mask: (batch, seq), 1 = real token; None where all are. With a mask of four axes, which does not mark
            padding, and in a row of padding only, it is the row's first token.

    >>> first_token(torch.tensor([[[5.0], [6.0], [7.0]]]), torch.tensor([[0, 1, 1]]))
    tensor([[6.]])
    """
    if attention_mask is None or is_prepared(attention_mask):
        return hidden[:, 0]
    rows = torch.arange(hidden.shape[0], device=hidden.device)
    return hidden[rows, attention_mask.bool().int().argmax(1).to(hidden.device)]
