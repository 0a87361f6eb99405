# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Probabilities that follow the text: caches and dynamic evaluation for any causal language model.

A call takes and returns a `StreamState`, which holds everything that was learnt from the stream; the model and its
weights do not change. Two calls, the second with the state of the first, give the same scores as one call.

Without dynamic evaluation a stream is cut as `score_stream` cuts it. Dynamic evaluation scores each segment with the
weights that it has learnt from the segments before, and then learns the segment. A model that returns its state reads
the segment alone; any other also reads the tokens before it, as many as windows overlap by `ContextLimit`, at most 512.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.scoring import (
    ContextLimit,
    TextScores,
    checked,
    encode_stream,
    score_rows,
    split_stream,
)
from hf_lecture_models.io.compat import cache_of
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.lab.studies.cache import ContinuousCache, Predictions, UnigramCache
from hf_lecture_models.lab.studies.dynamic_evaluation import AdaptedCopy, DynamicEvaluation, Weights, learning
from hf_lecture_models.layers.recurrent_cache import RecurrentCache

Cache = UnigramCache | ContinuousCache
Adaptation = Cache | DynamicEvaluation

# Tokens before a segment of dynamic evaluation that a model without a state reads again.
_MOST_CONTEXT = 512


@dataclass(frozen=True)
class StreamState:
    """The position in a stream, and what was learnt from it; `StreamState()` is the beginning of a stream."""

    tokens: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """The window that is not full yet: its context, and the tokens that were scored."""
    predicted: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    """True for each of `tokens` that is predicted, False for `<s>`."""
    context: int = 1
    """How many of the first `tokens` are only context; at least 1, since nothing predicts a stream's first token."""
    past: Any = None
    """`past_key_values` before `tokens`, if the model returns its state."""
    weights: Weights | None = None
    """The weights that dynamic evaluation has learnt; None for the trained ones."""
    caches: tuple[Predictions | None, ...] = ()
    """The contents of each cache, in the order of the caches."""


def score_adapted(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    adaptation: Adaptation | Sequence[Adaptation],
    state: StreamState | None = None,
    progress: bool = False,
) -> tuple[TextScores, StreamState]:
    """Score texts of a stream with adaptation; return their scores, and the state from which the next texts continue.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat", "the dog sat"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> first, state = score_adapted(model, tokenizer, ["the cat sat"], UnigramCache(weight=0.2))
    >>> again, state = score_adapted(model, tokenizer, ["the cat sat"], UnigramCache(weight=0.2), state)
    >>> again[0].log_prob > first[0].log_prob
    True

    Args:
        model: any causal language model of transformers.
        texts: the next texts of the stream.
        adaptation: one or several, applied in their order; `DynamicEvaluation` at most once, in any place.
        state: None, or the state that a call with the same model and adaptation returned.

    Returns:
        A score for each text, and the state after them.

    Raises:
        TypeError: an adaptation is not a cache or `DynamicEvaluation`.
        ValueError: as `score_stream`; or the model lacks what an adaptation needs (hidden states, weights that can
            learn, probabilities), or the state is of another adaptation.
    """
    encoded, stream, predicted = encode_stream(tokenizer, texts)
    check_tokenizer(model, tokenizer)
    log_probs, state = adapt_stream(model, stream, predicted, adaptation, state, progress)
    return split_stream(encoded, stream, predicted, log_probs), state


@dataclass(frozen=True)
class AdaptedScorer:
    """Scores streams with adaptation, as the `score` of `evaluate_language_model`; `adaptation` is in the measures too.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer, evaluate_language_model
    >>> texts = ["the cat sat", "the dog sat"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> score = AdaptedScorer(UnigramCache(weight=0.2))
    >>> evaluate_language_model(model, tokenizer, texts, stream=True, score=score)["adaptation"]
    'UnigramCache(weight=0.2, window=1000, decay=1.0)'
    """

    adaptation: Adaptation | Sequence[Adaptation]
    stream: ClassVar[bool] = True

    def __call__(
        self, model: Any, tokenizer: Any, texts: Sequence[str], *, batch_size: int = 64, progress: bool = False
    ) -> TextScores:
        """Return the scores of a whole stream, read token by token whatever `batch_size` is."""
        return score_adapted(model, tokenizer, texts, self.adaptation, progress=progress)[0]

    def conditions(self, model: Any) -> dict[str, str]:
        """Return the adaptation in one line."""
        return {"adaptation": describe(self.adaptation)}


def adapt_stream(
    model: Any,
    ids: np.ndarray,
    predicted: np.ndarray,
    adaptation: Adaptation | Sequence[Adaptation],
    state: StreamState | None = None,
    progress: bool = False,
) -> tuple[np.ndarray, StreamState]:
    """Return the log-probabilities of the next tokens of a stream, and the state after them.

    Args:
        ids: (tokens,) int64.
        predicted: (tokens,) bool; False where a text begins: such a token is only input, and enters no cache.
        adaptation: as in `score_adapted`, as are the other arguments and errors; () gives the model's probabilities.

    Returns:
        (tokens,) float64, natural logarithms, 0 where nothing is predicted; and the state after the last token.
    """
    if not trait(model, "is_distribution"):
        raise ValueError(f"the scores of this {type(model).__name__} do not sum to one, so no cache mixes with them")
    dynamic, caches = _kinds(adaptation)
    state = _checked_state(state or StreamState(caches=(None,) * len(caches)), dynamic, caches)
    known = len(state.tokens)
    tokens, predicted = np.concatenate([state.tokens, ids]), np.concatenate([state.predicted, predicted])
    predicted[:1] &= known > 0  # nothing predicts the first token of a stream
    with evaluation_mode(model), torch.no_grad():
        reader = _Reader(model, dynamic, any(cache.needs_states for cache in caches), state.weights)
        with ProgressBar(total=len(ids), unit="token", unit_scale=True, desc="scoring", shown=progress) as bar:
            log_probs, after = _read_windows(reader, caches, tokens, predicted, state, bar)
    return log_probs[known:], after


def _read_windows(
    reader: _Reader, caches: list[Cache], tokens: np.ndarray, predicted: np.ndarray, state: StreamState, bar: Any
) -> tuple[np.ndarray, StreamState]:
    """Read the tokens of the state and those after them, window by window; each window overlaps the one before."""
    log_probs, held = np.zeros(len(tokens)), list(state.caches)
    begin, scored, past, context = 0, max(1, len(state.tokens)), state.past, state.context
    while scored < len(tokens):
        length = reader.longest if reader.segment is None else context + reader.segment
        window = slice(begin, min(begin + length, len(tokens)))
        full = window.stop - begin == length
        own = predicted[window] & (np.arange(window.stop - begin) >= context)
        found, states, after = reader.read(tokens[window], past, own if full else None)
        new = np.flatnonzero(predicted[scored : window.stop]) + scored
        read = Predictions(tokens[new], found[new - begin - 1], None if states is None else states[new - begin - 1])
        for number, cache in enumerate(caches):
            adapted, held[number] = cache.adapt(read, held[number])
            read = replace(read, log_probs=adapted)
        log_probs[new] = read.log_probs
        bar.update(window.stop - scored)
        scored = window.stop
        if full:
            begin, past = max(begin, window.stop - reader.overlap), after
            context = window.stop - begin
    rest = tokens[begin:].copy(), predicted[begin:].copy()
    return log_probs, StreamState(*rest, context, past, reader.weights(), tuple(held))


class _Reader:
    """A model, or a copy of it that learns, with the length of the windows that it reads."""

    def __init__(
        self, model: Any, dynamic: DynamicEvaluation | None, needs_states: bool, weights: Weights | None
    ) -> None:
        self.model, self.needs_states = model, needs_states
        self.learner = None if dynamic is None else AdaptedCopy(model, dynamic, weights)
        self.limit = limit = ContextLimit.of(model)
        self.longest, self.segment = limit.longest, None if dynamic is None else dynamic.segment
        self.overlap = limit.overlap
        if limit.carries_state:
            # It reads no token twice: the last one of a window is only predicted, and is the next one's first input.
            self.longest, self.overlap = limit.longest + 1, 1
        if dynamic is not None:
            self.overlap = min(self.overlap, limit.longest - dynamic.segment, _MOST_CONTEXT)
            if self.overlap < 1:
                raise ValueError(
                    f"a segment of {dynamic.segment} tokens and one before it are more than the model reads at once, "
                    f"{limit.longest}; lower the segment of DynamicEvaluation"
                )

    def weights(self) -> dict[str, Tensor] | None:
        return None if self.learner is None else self.learner.weights()

    def read(self, tokens: np.ndarray, past: Any, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None, Any]:
        """Score a window, and learn its tokens `own` (tokens,) bool, if it is full and there is a copy that learns.

        Returns:
            (tokens - 1,) ln p of each token but the first; (tokens - 1, hidden) the states that predicted them, or
            None if no cache needs them; and `past_key_values` after all tokens but the last.
        """
        if not (self.limit.carries_state or self.needs_states or self.learner):
            return score_rows(self.model, [tokens], self.limit, batch_size=1, progress=False)[0], None, None
        learns = self.learner is not None and own is not None and bool(own.any())
        with learning() if learns else nullcontext():
            log_probs, states, after = self._forward(tokens, past)
            losses = -log_probs if own is None else -log_probs[torch.from_numpy(own[1:]).to(log_probs.device)]
        found = checked(log_probs.detach())
        if isinstance(after, RecurrentCache):
            after = after.detach()
        elif learns and self.limit.carries_state:  # other states cannot be cut from the graph
            after = self._forward(tokens, past)[2]
        if self.learner is not None and learns:
            self.learner.learn(losses)
        return found, states, after

    def _forward(self, tokens: np.ndarray, past: Any) -> tuple[Tensor, np.ndarray | None, Any]:
        model = self.model if self.learner is None else self.learner.model
        ids = torch.from_numpy(tokens[None]).to(model.device)
        options: dict[str, Any] = {"attention_mask": torch.ones_like(ids[:, :-1])}
        if self.limit.carries_state:  # a copy: some models write into the state that they are given
            options = {"past_key_values": copy.deepcopy(past), "use_cache": True}
        if self.needs_states:
            options["output_hidden_states"] = True
        output = model(input_ids=ids[:, :-1], **options)
        log_probs = -functional.cross_entropy(output.logits[0].float(), ids[0, 1:], reduction="none")
        after = cache_of(output) if self.limit.carries_state else None
        return log_probs, self._states(output), after

    def _states(self, output: Any) -> np.ndarray | None:
        if not self.needs_states:
            return None
        states = getattr(output, "hidden_states", None)
        if not states:
            name = type(self.model).__name__
            raise ValueError(f"{name} has no hidden states, which a ContinuousCache compares; use a UnigramCache")
        return states[-1][0].detach().float().cpu().numpy()


def _kinds(adaptation: Adaptation | Sequence[Adaptation]) -> tuple[DynamicEvaluation | None, list[Cache]]:
    several: list[Any] = list(adaptation) if isinstance(adaptation, tuple | list) else [adaptation]
    for one in several:
        if not isinstance(one, Adaptation):
            kinds = "UnigramCache, ContinuousCache or DynamicEvaluation"
            raise TypeError(f"adaptation is {one!r}; it must be a {kinds}, or several of them")
    dynamic = [one for one in several if isinstance(one, DynamicEvaluation)]
    if len(dynamic) > 1:
        raise ValueError("DynamicEvaluation stands twice in adaptation; the weights can follow one rule")
    return (dynamic[0] if dynamic else None), [one for one in several if not isinstance(one, DynamicEvaluation)]


def _checked_state(state: Any, dynamic: DynamicEvaluation | None, caches: list[Cache]) -> StreamState:
    known = isinstance(state, StreamState) and len(state.caches) == len(caches)
    if not known or (state.weights is not None and dynamic is None):
        raise ValueError("the state is of another adaptation; give that one, or begin the stream anew without a state")
    return cast(StreamState, state)


def describe(adaptation: Adaptation | Sequence[Adaptation]) -> str:
    """Describe the adaptation in one line, for results.

    Raises:
        TypeError, ValueError: as `score_adapted`.
    """
    dynamic, caches = _kinds(adaptation)
    return ", ".join(repr(one) for one in ([dynamic] if dynamic else []) + caches)
