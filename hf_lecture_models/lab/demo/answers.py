# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The answers of the demo page as numbers: next tokens, rankings, comparisons of models. Surprisals are in bits."""

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hf_lecture_models.evaluation.encoding import start_token_id, unknown_tokens
from hf_lecture_models.evaluation.surprisal import ScoredText, align_spans, score_spans, score_text
from hf_lecture_models.generation.completion import complete

MAX_CHARACTERS = 5_000
MAX_SENTENCES = 50
MAX_NEW_TOKENS = 200
SHOWN_TOKENS = 10


@dataclass(frozen=True)
class LoadedModel:
    """A model with its tokenizer and the name that the page shows."""

    name: str
    model: Any
    tokenizer: Any


@dataclass(frozen=True)
class NextToken:
    """A token that may come next; `kind` is "end", "unknown", or "" for an ordinary one."""

    token: str
    probability: float
    kind: str


@dataclass(frozen=True)
class Sampling:
    """The choice of each token: sampled, or greedy, which takes the most probable one."""

    max_new_tokens: int = 30
    sample: bool = True
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def options(self) -> dict[str, Any]:
        """Return the arguments of `generate`.

        Raises:
            ValueError: a number is out of its range.
        """
        if not 1 <= self.max_new_tokens <= MAX_NEW_TOKENS:
            raise ValueError(f"the number of new tokens must be between 1 and {MAX_NEW_TOKENS}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise ValueError("the seed must be 0 or more, and below 2^63")
        if not self.sample:
            return {"max_new_tokens": self.max_new_tokens, "do_sample": False}
        if not 0 < self.temperature < math.inf:
            raise ValueError("the temperature must be above 0")
        if self.top_k < 0:
            raise ValueError("top-k must be 0 (all tokens) or more")
        if not 0 < self.top_p <= 1:
            raise ValueError("top-p must be above 0 and at most 1")
        return {
            "max_new_tokens": self.max_new_tokens,
            "do_sample": True,
            "temperature": float(self.temperature),
            "top_k": self.top_k,
            "top_p": float(self.top_p),
        }


def checked_text(text: str, most: int = MAX_CHARACTERS, place: str = "page") -> str:
    """Return the text, if it has at most `most` characters.

    Raises:
        TypeError: the request came without a text.
        ValueError: the text is too long for this `place`.
    """
    if not isinstance(text, str):
        raise TypeError("the text is missing")
    if len(text) > most:
        raise ValueError(f"the text has {len(text):,} characters; this {place} takes at most {most:,}")
    return text


def checked_sentences(text: str) -> list[str]:
    """Split a text at line ends, leaving blank lines out.

    Raises:
        ValueError: there are too many sentences, or none, or the text is too long.
    """
    sentences = [line.strip() for line in checked_text(text).splitlines() if line.strip()]
    if not sentences:
        raise ValueError("there is nothing to rank; write one sentence per line")
    if len(sentences) > MAX_SENTENCES:
        raise ValueError(f"there are {len(sentences)} sentences; this page takes at most {MAX_SENTENCES}")
    return sentences


@torch.no_grad()
def next_tokens(loaded: LoadedModel, text: str, number: int = SHOWN_TOKENS) -> list[NextToken]:
    """Return the most probable tokens after `text`, with their probabilities."""
    model, tokenizer = loaded.model, loaded.tokenizer
    ids = tokenizer(checked_text(text))["input_ids"] or [start_token_id(tokenizer)]
    ids = torch.tensor([ids], device=model.device)
    # Only the last row of logits is computed where the model takes `logits_to_keep`.
    options = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
    logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), **options).logits[0, -1]  # (vocab,)
    likeliest = logits.float().softmax(0).topk(min(number, logits.numel()))
    kinds = dict.fromkeys(unknown_tokens(tokenizer), "unknown") | {tokenizer.eos_token_id: "end"}
    return [
        NextToken(_spelling(tokenizer, id_), probability, kinds.get(id_, ""))
        for id_, probability in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
    ]


def _spelling(tokenizer: Any, id_: int) -> str:
    # A byte of a longer character has no text of its own; its name in the vocabulary is clearer than U+FFFD.
    text = tokenizer.decode([id_])
    return tokenizer.convert_ids_to_tokens(id_) if not text or "\ufffd" in text else text


def continue_text(loaded: LoadedModel, text: str, sampling: Sampling) -> dict[str, Any]:
    """Continue a text with `complete`; the global random state stays as it was."""
    checked_text(text)
    options = sampling.options()
    with torch.random.fork_rng(enabled=sampling.sample):
        if sampling.sample:
            torch.seed() if sampling.seed is None else torch.manual_seed(sampling.seed)
        return complete(loaded.model, loaded.tokenizer, [text], stop_at_limit=True, **options)[0]


def rank(loaded: LoadedModel, sentences: Sequence[str], per_token: bool = False) -> list[ScoredText]:
    """Score sentences token by token, the most probable first: by ln P, or by ln P per token."""

    def surprisal(scored: ScoredText) -> float:
        return scored.bits / scored.measures["tokens"] if per_token else scored.bits

    return sorted(score_spans(loaded.model, loaded.tokenizer, sentences), key=surprisal)


def compare(models: Sequence[LoadedModel], text: str) -> list[ScoredText]:
    """Score one text with each model, in the same spans for all."""
    text = checked_text(text)
    return align_spans([score_text(loaded.model, loaded.tokenizer, text) for loaded in models], text)
