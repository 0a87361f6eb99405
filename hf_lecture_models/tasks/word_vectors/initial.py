# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""New models whose words start with vectors that were learnt elsewhere."""

import os
from typing import Any

import torch
from torch import nn
from transformers import CONFIG_MAPPING, AutoModel

from hf_lecture_models.io.auto_classes import model_classes
from hf_lecture_models.io.files import weights_file_errors
from hf_lecture_models.io.locations import check_location
from hf_lecture_models.tasks.core.factories import load_tokenizer, log_once


def start_from_word_vectors(model: Any, tokenizer: Any, source: str) -> int:
    """Set the word vectors of a model from a word2vec file, or from the input vectors of any other model.

    Words are matched by their spelling. Words that the source lacks, or has only zeros for, keep their vectors.

    >>> import tempfile
    >>> from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["cat", "dog"])
    >>> model = RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = open(f"{folder}/cats.vec", "w").write("2 2\\ncat 0.5 1.5\\nlion 1 2\\n")
    ...     start_from_word_vectors(model, tokenizer, f"{folder}/cats.vec")
    1
    >>> model.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids("cat")].tolist()
    [0.5, 1.5]

    Args:
        source: a file (.bin: binary, else text; also .gz), a model's folder, or its name on the Hub.

    Returns:
        The number of words that got a vector.

    Raises:
        OSError: there is no such source.
        ValueError: the source is damaged, its vectors have another width, it has no word of the model, or the model
            has no word vectors.
    """
    table = model.get_input_embeddings()
    if not isinstance(table, nn.Embedding):
        raise ValueError(f"word_vectors: {type(model).__name__} has no vector for each word to start with")
    other, its_tokenizer = _read(source)
    vectors = _vectors_of_width(other, table.weight.shape[1], source)
    theirs, ours = its_tokenizer.get_vocab(), tokenizer.get_vocab()
    known = sorted((ours[word], theirs[word]) for word in ours.keys() & theirs.keys() if vectors[theirs[word]].any())
    if not known:
        raise ValueError(f"word_vectors: {source} has no word of the model's vocabulary")
    own, their = torch.tensor(known).T
    with torch.no_grad():
        table.weight[own] = vectors[their].to(table.weight)
    log_once(f"{len(known):,} of {len(ours):,} tokens start with the vectors of {source}")
    return len(known)


def _vectors_of_width(other: Any, width: int, source: str) -> torch.Tensor:
    """Return the input vectors of a model if they have this width."""
    vectors = getattr(other.get_input_embeddings(), "weight", None)
    if not isinstance(vectors, torch.Tensor) or vectors.dim() != 2 or vectors.shape[1] != width:
        found = f"of width {vectors.shape[-1]}" if isinstance(vectors, torch.Tensor) else "none of words"
        raise ValueError(
            f"word_vectors: the vectors of {source} are {found}, those of the model of width {width}; "
            "set the model's width to theirs (`model.hidden_size`)"
        )
    return vectors


def _read(source: str) -> tuple[Any, Any]:
    """Read a model and its tokenizer."""
    if os.path.isfile(source):
        (word2vec,) = model_classes(AutoModel, CONFIG_MAPPING["lecture_word2vec"])
        return word2vec.from_word2vec_format(source, binary=None)  # type: ignore[attr-defined]
    local_only = check_location(source)
    with weights_file_errors(source):
        model = AutoModel.from_pretrained(source, local_files_only=local_only)
    return model, load_tokenizer(source)
