# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What the demo page shows, as numbers: next tokens, rankings, two models beside each other. Surprisals are in bits."""

import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import torch

from hf_lecture_models.evaluation.encoding import start_token_id, unknown_tokens
from hf_lecture_models.evaluation.language_model import PerplexityAccumulator
from hf_lecture_models.evaluation.scoring import TextScore, score_texts
from hf_lecture_models.generation.completion import complete

MAX_CHARACTERS = 5_000
MAX_SENTENCES = 50
MAX_NEW_TOKENS = 200
SHOWN_TOKENS = 10

_WORD_END = re.compile(r"(?<=\S)(?=\s|$)")


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
    """How each token is chosen: sampled, or else greedily, the most probable one."""

    max_new_tokens: int = 30
    sample: bool = True
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def options(self) -> dict[str, Any]:
        """Arguments of `generate`.

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


@dataclass(frozen=True)
class TokenSpan:
    """A span of a text with the surprisal of all its tokens; `end` is the position after its last visible character."""

    text: str
    bits: float
    end: int | None = None
    """None for white space alone, and for the end of the text."""
    unknown: bool = False


@dataclass(frozen=True)
class ScoredText:
    """A text scored by one model: its spans, the end of the text last, and its measures.

    A text that a closed vocabulary cannot encode has no spans, and probability 0.
    """

    text: str
    spans: list[TokenSpan]
    measures: dict[str, Any]

    @property
    def possible(self) -> bool:
        """Whether the model's vocabulary can spell the text at all."""
        return bool(self.spans)

    @property
    def bits(self) -> float:
        """-log2 of the probability of the text that ends here."""
        return -self.measures["log_prob"] / math.log(2)


def checked_text(text: str, what: str = "the text") -> str:
    """Return the text, if it is short enough.

    Raises:
        TypeError: it is none.
        ValueError: it is longer than `MAX_CHARACTERS`.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} is missing")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"{what} has {len(text):,} characters; this page takes at most {MAX_CHARACTERS:,}")
    return text


def checked_sentences(text: str) -> list[str]:
    """Split at line ends, leaving blank lines out.

    Raises:
        ValueError: there is no sentence, too many of them, or too much text.
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
    # A byte of a longer character has no text of its own; its name in the vocabulary says more than U+FFFD.
    text = tokenizer.decode([id_])
    return tokenizer.convert_ids_to_tokens(id_) if not text or "\ufffd" in text else text


def continue_text(loaded: LoadedModel, text: str, sampling: Sampling) -> dict[str, Any]:
    """Continue a text; the result is one of `complete`. The global random state stays as it was."""
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

    return sorted((_scored_text(loaded, score) for score in _scores(loaded, sentences)), key=surprisal)


def compare(models: Sequence[LoadedModel], text: str) -> list[ScoredText]:
    """One text scored by each model, cut into the same spans for all.

    A span ends where every tokenizer ends a token; in a text with white space, only where a word ends too.
    """
    scored = [_scored_text(loaded, _scores(loaded, [checked_text(text)])[0]) for loaded in models]
    ends = [{span.end for span in one.spans} - {None} for one in scored if one.possible]
    cuts = set.intersection(*ends) if ends else set()
    words = {match.end() for match in _WORD_END.finditer(text)}
    if len(words) > 1:
        cuts &= words
    return [ScoredText(text, _joined(one.spans, cuts), one.measures) for one in scored]


def _joined(spans: list[TokenSpan], cuts: set[int | None]) -> list[TokenSpan]:
    """Spans that end at `cuts`, and a last one for the rest."""
    joined: list[TokenSpan] = []
    group: list[TokenSpan] = []
    for span in spans:
        group.append(span)
        if span.end in cuts or span is spans[-1]:
            text, bits = "".join(one.text for one in group), math.fsum(one.bits for one in group)
            joined.append(TokenSpan(text, bits, span.end, any(one.unknown for one in group)))
            group = []
    return joined


def _scores(loaded: LoadedModel, texts: Sequence[str]) -> list[TextScore]:
    return score_texts(loaded.model, loaded.tokenizer, texts, batch_size=16)


def _scored_text(loaded: LoadedModel, score: TextScore) -> ScoredText:
    sums = PerplexityAccumulator(loaded.model, loaded.tokenizer)
    sums.add(score)
    spans = _spans(loaded.tokenizer, score) if score.encoded.possible else []
    return ScoredText(score.encoded.text, spans, sums.measures())


def _spans(tokenizer: Any, score: TextScore) -> list[TokenSpan]:
    """Each token with the white space before it (tokens of one character together), and a span for the text's end."""
    text = score.encoded.text
    options = {"add_special_tokens": False, "split_special_tokens": True, "verbose": False}
    ends = [end for _, end in tokenizer(text, return_offsets_mapping=True, **options)["offset_mapping"]]
    *bits, last = (-score.log_probs / math.log(2)).tolist()
    unknown = set(score.encoded.unknown_tokens)
    spans: list[TokenSpan] = []
    start = 0
    # Bytes of one character end at the same place.
    for end, tokens in groupby(enumerate(ends), key=itemgetter(1)):
        places = [place for place, _ in tokens]
        covered = text[start:end]
        visible_end = start + len(covered.rstrip()) if covered.strip() else None
        total = math.fsum(bits[place] for place in places)
        spans.append(TokenSpan(covered, total, visible_end, not unknown.isdisjoint(places)))
        start = end
    return [*spans, TokenSpan(text[start:], last)]
