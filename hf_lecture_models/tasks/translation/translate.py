# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Translate texts with any encoder-decoder. This file travels with exported models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import StoppingCriteria, StoppingCriteriaList

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer, longest_input
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.io.task_file import saved_settings
from hf_lecture_models.tokenization.bounds import strip_bounds
from hf_lecture_models.tokenization.pairs import with_target_tokenizer

# A translation of n tokens has at most 2 n + 10, unless a call says otherwise, so that it ends with any model.
_LENGTH_FACTOR, _LENGTH_OFFSET = 2, 10


@dataclass(frozen=True)
class Translation:
    """A translation, and the tokens of both sides.

    Attributes:
        text: without special tokens.
        source_ids: the tokens that the encoder has read, special ones included.
        ids: the tokens that the decoder has written, with the end of text if it has written one.
        score: the log-probability divided by length ** length_penalty, from beam search; None from greedy search.
    """

    text: str
    source_ids: list[int]
    ids: list[int]
    score: float | None = None


class _RowLimits(StoppingCriteria):
    """Stops each row at a length of its own, so that a translation does not depend on the other rows of its batch."""

    def __init__(self, limits: Tensor) -> None:
        self.limits = limits

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        limits = self.limits.repeat_interleave(len(input_ids) // len(self.limits))
        return limits <= input_ids.shape[1]


@torch.no_grad()
def translate_n_best(
    model: Any,
    tokenizer: Any,
    sources: Sequence[str],
    batch_size: int = 32,
    max_new_tokens: int | None = None,
    max_length: int | None = None,
    where: Callable[[int], str] | None = None,
    **options: Any,
) -> list[list[Translation]]:
    """Return `num_return_sequences` translations of each text, best first; they do not depend on the batch.

    Args:
        model: any that `AutoModelForSeq2SeqLM` loads.
        tokenizer: of the source, or a pair; see `target_tokenizer_of`.
        max_new_tokens: the most tokens of a translation, up to the model's limit; None: twice the source's, and ten.
        max_length: longer sources are cut to so many tokens; None: to the length in the model's `task.json`, with which
            it was measured. Without this length a source that is too long for the model is an error.
        where: returns the name of a text in messages from its number; None: "text 1 of 2" and so on.
        options: of `model.generate`, such as num_beams; by default those that the model was saved with.

    Raises:
        ValueError: a text is blank or too long, or the tokenizer belongs to another model.
    """
    if max_length is None:
        max_length = saved_settings(model.config, "translation").get("max_length")
    rows = encode_sources(model, tokenizer, sources, max_length, where)
    return translate_encoded(model, tokenizer, rows, batch_size, max_new_tokens, **options)


@torch.no_grad()
def translate_encoded(
    model: Any,
    tokenizer: Any,
    rows: Sequence[list[int]],
    batch_size: int = 32,
    max_new_tokens: int | None = None,
    **options: Any,
) -> list[list[Translation]]:
    """Translate texts that `encode_sources` has tokenized; arguments and result as for `translate_n_best`."""
    target = target_tokenizer_of(model, tokenizer)
    order = sorted(range(len(rows)), key=list(map(len, rows)).__getitem__, reverse=True)
    found: list[Any] = [None] * len(rows)
    with evaluation_mode(model):
        for first in ProgressBar(range(0, len(order), batch_size), desc="translating", unit="batch"):
            places = order[first : first + batch_size]
            batch = _translate_batch(model, tokenizer, target, [rows[p] for p in places], max_new_tokens, options)
            for place, translations in zip(places, batch, strict=True):
                found[place] = translations
    return found


def translate(model: Any, tokenizer: Any, sources: Sequence[str], **options: Any) -> list[Translation]:
    """Return the best translation of each text; arguments as for `translate_n_best`.

    >>> from hf_lecture_models import RecurrentSeq2SeqConfig, RecurrentSeq2SeqForConditionalGeneration, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["je suis", "I am"], add_bos_token=False, add_eos_token=True, progress=False)
    >>> ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("eos", "pad")}
    >>> ids |= {"vocab_size": len(tokenizer), "decoder_start_token_id": tokenizer.bos_token_id}
    >>> model = RecurrentSeq2SeqForConditionalGeneration(RecurrentSeq2SeqConfig(hidden_size=4, **ids)).eval()
    >>> [len(one.source_ids) for one in translate(model, tokenizer, ["je suis", "je"])]
    [3, 2]
    """
    return [translations[0] for translations in translate_n_best(model, tokenizer, sources, **options)]


def given_translation(model: Any, tokenizer: Any, source: str, target: str) -> Translation:
    """Tokenize a given pair of source and target, as if the model had translated it.

    Raises:
        ValueError: a side is blank, or longer than the model reads.
    """
    (source_ids,) = encode_sources(model, tokenizer, [source], where=lambda _: "the source")
    target_tokenizer = target_tokenizer_of(model, tokenizer)
    ids = target_tokenizer(text_target=target, verbose=False)["input_ids"]
    longest = longest_input(model, target_tokenizer)
    if not target.strip() or len(ids) > longest:
        raise ValueError("the target is blank" if not target.strip() else f"the target has more than {longest} tokens")
    return Translation(target, source_ids, ids)


def target_tokenizer_of(model: Any, tokenizer: Any) -> Any:
    """Return the decoder's tokenizer: the second of a pair, the one saved beside the model, or `tokenizer` itself."""
    both = with_target_tokenizer(tokenizer, model.config, model.config.name_or_path)
    return getattr(both, "target", both)


def encode_sources(
    model: Any,
    tokenizer: Any,
    sources: Sequence[str],
    max_length: int | None = None,
    where: Callable[[int], str] | None = None,
) -> list[list[int]]:
    """Return the tokens of each text that the encoder reads; `<s>` and `</s>` around a text are left out.

    Args:
        max_length: longer texts are cut to so many tokens; None: a text that is too long for the model is an error.
        where: as for `translate_n_best`.

    Raises:
        ValueError: a text is blank or too long, or the tokenizer belongs to another model or has no padding token.
    """
    check_tokenizer(model, tokenizer)
    if tokenizer.pad_token_id is None:
        raise ValueError("the tokenizer has no pad_token, so texts of several lengths make no batch; set one")
    where = where or (lambda index: f"text {index + 1} of {len(sources)}")
    for index, text in enumerate(sources):
        if not text.strip():
            raise ValueError(f"{where(index)} is blank: there is nothing to translate")
    if not sources:
        return []
    longest = longest_input(model, tokenizer)
    cut = {} if max_length is None else {"truncation": True, "max_length": min(max_length, longest)}
    rows: list[list[int]] = tokenizer(strip_bounds(list(sources), tokenizer), verbose=False, **cut)["input_ids"]
    for index, ids in enumerate(rows):
        if len(ids) > longest:
            raise ValueError(
                f"{where(index)} has {len(ids)} tokens and the model reads {longest} at most; shorten it, or let it be "
                f"cut by max_length {longest}"
            )
    return rows


def start_of(model: Any) -> int:
    """Return the token that the decoder reads first.

    Raises:
        ValueError: the model's configuration does not name one.
    """
    decoding, fields = model.generation_config, model.config.to_dict()
    own = (fields.get("decoder_start_token_id"), fields.get("bos_token_id"))
    for token in (decoding.decoder_start_token_id, decoding.bos_token_id, *own):
        if token is not None:
            return int(token)
    raise ValueError(f"{type(model).__name__} has no decoder_start_token_id; set it in its config.json")


def _translate_batch(
    model: Any, tokenizer: Any, target_tokenizer: Any, rows: list[list[int]], most: int | None, options: dict[str, Any]
) -> list[list[Translation]]:
    ids, mask = pad_rows(rows, tokenizer.pad_token_id)
    lengths = _LENGTH_FACTOR * mask.sum(1) + _LENGTH_OFFSET if most is None else torch.full((len(rows),), most)
    limits = lengths.clamp(max=longest_input(model, target_tokenizer) - 1)
    inputs: dict[str, Any] = {"input_ids": ids.to(model.device), "attention_mask": mask.to(model.device)}
    # One more: the token that the decoder starts from.
    inputs["stopping_criteria"] = StoppingCriteriaList([_RowLimits(limits.to(model.device) + 1)])
    found = write_texts(model, target_tokenizer, inputs, int(limits.max()), options)
    pairs = zip(rows, found, strict=True)
    return [[Translation(text, row, written, score) for text, written, score in own] for row, own in pairs]


def write_texts(
    model: Any, tokenizer: Any, inputs: dict[str, Any], most: int, options: dict[str, Any]
) -> list[list[tuple[str, list[int], float | None]]]:
    """Return the texts that a decoder writes for each row of the inputs, best first, with their tokens and scores.

    Args:
        tokenizer: of the texts.
        inputs: arguments of `model.generate`, of which the main one is the first.
        most: the most tokens of a text.
        options: further arguments.
    """
    beams = options.get("num_beams", model.generation_config.num_beams) or 1
    # The limit that the model's own settings use: transformers warns where both are given.
    by_length = model.generation_config.max_new_tokens is None
    limit = {"max_length": most + 1} if by_length else {"max_new_tokens": most}
    output = model.generate(**inputs, **options, **limit, output_scores=beams > 1, return_dict_in_generate=True)
    ends = model.generation_config.eos_token_id
    stops = set(ends if isinstance(ends, list) else [ends])
    written = [until_end(ids, stops, tokenizer.pad_token_id) for ids in output.sequences[:, 1:].tolist()]
    texts = map(str.strip, tokenizer.batch_decode(written, skip_special_tokens=True))
    scores = getattr(output, "sequences_scores", None)
    found = list(zip(texts, written, [None] * len(written) if scores is None else scores.tolist(), strict=True))
    count = len(found) // len(next(iter(inputs.values())))  # num_return_sequences
    return [found[first : first + count] for first in range(0, len(found), count)]


def until_end(ids: list[int], ends: set[int], pad: int | None) -> list[int]:
    """Return the tokens up to the first end of text, or else all without trailing padding."""
    for place, token in enumerate(ids):
        if token in ends:
            return ids[: place + 1]
    while ids and ids[-1] == pad:
        ids = ids[:-1]
    return ids


def pad_rows(rows: Sequence[Any], pad: int) -> tuple[Tensor, Tensor]:
    """Return a batch of ids (rows, seq), padded on the right to one token or more, and its mask, both int64.

    >>> pad_rows([[5, 6], [7]], pad=0)
    (tensor([[5, 6],
            [7, 0]]), tensor([[1, 1],
            [1, 0]]))
    """
    ids = np.full((len(rows), max([1, *map(len, rows)])), pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row)], mask[place, : len(row)] = row, 1
    return torch.from_numpy(ids), torch.from_numpy(mask)
