# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""How similar the contexts of words are to those of their neighbours in a trained model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from hf_lecture_models.analysis.neighbours import nearest_neighbours, special_ids
from hf_lecture_models.lab.claims.methods.texts import part_texts
from hf_lecture_models.lab.claims.methods.training import all_but, train_once
from hf_lecture_models.tasks.language_models.blocks import token_stream

_NEIGHBOURS = 5


def context_cosine_of_neighbours(settings: Mapping[str, Any], seed: int, folder: Path, part: str) -> list[float]:
    """Return for each word 100 times the mean cosine of its contexts and those of its five neighbours.

    Neighbours are near by the cosine of a language model's input embeddings. The contexts are those of all training
    texts, also where the model read only `most` of them. The words, each a cluster of its own, are the same whatever
    the model and the seed. The model is trained once for all words.

    Args:
        settings: those of `train_model` for a language model whose `texts` are given; `counts`, the smallest and the
            largest number of times that a word occurs in what the model reads; `words`, how many are drawn.
    """
    least, most = settings["counts"]
    trained = train_once(all_but(settings, "counts", "words"), seed, folder)
    tokenizer = trained.processor
    size = len(tokenizer)
    counts = np.bincount(token_stream(tokenizer, part_texts(settings, "train"))[0], minlength=size)
    wanted = (counts >= least) & (counts <= most)
    wanted[sorted(special_ids(tokenizer))] = False
    ids = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(wanted))[: settings["words"]])
    everything = part_texts({"texts": settings["texts"]}, "train")
    torch.manual_seed(0)
    contexts = F.normalize(count_vectors(token_stream(tokenizer, everything)[0], size).double())
    found = nearest_neighbours(trained.model, tokenizer, tokenizer.convert_ids_to_tokens(ids.tolist()), _NEIGHBOURS)
    near = torch.tensor([[neighbour.id for neighbour in one.neighbours] for one in found])
    return (100 * (contexts[ids][:, None] * contexts[near]).sum(-1).mean(1)).tolist()


def count_vectors(stream: np.ndarray, vocab_size: int, contexts: int = 1000, dimensions: int = 100) -> Tensor:
    """Return vectors of the contexts of words: (vocab, dimensions).

    They are positive pointwise mutual informations with the most frequent tokens at distances -2, -1, 1 and 2, reduced
    to few dimensions by a singular value decomposition that torch's random numbers start.

    Args:
        stream: the ids of a text, (tokens,).
        contexts: how many of the most frequent tokens.
    """
    rank = np.full(vocab_size, -1)
    frequent = np.argsort(-np.bincount(stream, minlength=vocab_size), kind="stable")[:contexts]
    rank[frequent] = np.arange(len(frequent))
    keys = []
    for column, distance in enumerate((-2, -1, 1, 2)):
        words, around = (stream[2:-2], stream[2 + distance : len(stream) - 2 + distance])
        known = rank[around] >= 0
        keys.append(words[known].astype(np.int64) * 4 * contexts + column * contexts + rank[around[known]])
    pairs, counts = np.unique(np.concatenate(keys), return_counts=True)
    words, columns = pairs // (4 * contexts), pairs % (4 * contexts)
    total, of_word, of_column = counts.sum(), np.bincount(words, counts, vocab_size), np.bincount(columns, counts)
    information = np.log(counts * total / (of_word[words] * of_column[columns])).clip(min=0)
    places, shape = torch.from_numpy(np.stack([words, columns])), (vocab_size, 4 * contexts)
    matrix = torch.sparse_coo_tensor(places, torch.from_numpy(information), shape, check_invariants=True)
    left, lengths, _ = torch.svd_lowrank(matrix.float(), q=dimensions, niter=4)
    return left * lengths.sqrt()
