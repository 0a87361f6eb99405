# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The probability of a text as the sum over all its segmentations ("segmentation is a latent variable ... requires
summing over segmentations", slide Y:405; Cao and Rimell 2021).

Let x = x_1 ... x_m be any segmentation of the text u into pieces of a `UnigramTokenizer`. Then

    P(u) = Σ_x Π_i P(x_i | x_1 ... x_{i-1})

where the best segmentation, which the tokenizer gives, is one term. If P depends on the last n - 1 pieces alone, the
sum is exact: it runs over a lattice whose nodes are the last n - 1 pieces. A network reads all pieces before, so there
is only a lower bound: with x_s drawn from the tokenizer's own distribution q of the text's segmentations,

    E ln (1/S Σ_s P(x_s) / q(x_s)) <= ln P(u)

It holds in the mean over draws, and is tighter for larger S. Every number here is a natural logarithm.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.base.scoring import token_scores
from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.encoding import EncodedText, encode_texts, end_ids, start_token_id
from hf_lecture_models.evaluation.scoring import ContextLimit, TextScore, checked, rows_at_once, score_rows
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.tokenization.bounds import strip_bounds
from hf_lecture_models.tokenization.lattices import Lattices
from hf_lecture_models.tokenization.unigram import UnigramTokenizer

EXACT, BOUND = "exact", "importance-sampled lower bound"

# Stands before the beginning of a text.
_NOTHING = -1
# Texts whose sums are taken together, and the n-grams of pieces that they may have.
_CHARACTERS = 20_000
_MOST_WINDOWS = 2**25


@dataclass(slots=True, eq=False)
class MarginalScore(TextScore):
    """A text and one log-probability, summed over its segmentations; `ids` are those of the best one.

    Attributes:
        method: "exact" or "importance-sampled lower bound".
    """

    method: str

    @property
    def log_prob_per_token(self) -> float:
        """`log_prob` divided by the number of tokens of the best segmentation; 0 without tokens."""
        return self.log_prob / max(1, len(self.ids))

    @property
    def known_log_prob(self) -> float:
        """`log_prob` of a text without unknown words; NaN for others, since it cannot be split into tokens."""
        return float("nan") if self.encoded.unknown_tokens else self.log_prob

    def tokens(self, tokenizer: Any) -> list[dict[str, Any]]:
        """Return an empty list, since a sum over segmentations has no tokens."""
        return []


def score_marginal(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    probability: str = "terminated",
    batch_size: int = 64,
    progress: bool = False,
    samples: int = 16,
    seed: int = 0,
) -> list[MarginalScore]:
    """Return ln P of texts, each by itself, summed over all segmentations.

    >>> from hf_lecture_models import NGramForCausalLM, UnigramTokenizer
    >>> tokenizer = UnigramTokenizer.from_scores({"a": -1.0, "b": -1.0, "ab": -2.5})
    >>> model = NGramForCausalLM.fit(["ab", "b"], tokenizer, order=2, smoothing="add_alpha")
    >>> (score,) = score_marginal(model, tokenizer, ["ab"])
    >>> round(score.log_prob, 4), score.method
    (-2.668, 'exact')

    Args:
        model: any causal language model of transformers. The sum is exact if its configuration has an `order`, and
            otherwise a bound.
        tokenizer: a `UnigramTokenizer`.
        probability: "terminated" counts `</s>`, "prefix" leaves it out; both sum over segmentations of the text alone.
        batch_size, progress: as for `score_texts`.
        samples: S, the draws of the bound.
        seed: determines these draws.

    Raises:
        TypeError: the tokenizer has no segmentations to sum over.
        ValueError: as `score_texts`; or the model's order is so high that a text has too many n-grams of pieces.
    """
    _check(tokenizer, batch_size, samples)
    end = next(iter(end_ids(tokenizer, probability)), None)
    texts = strip_bounds(texts, tokenizer)
    encoded = encode_texts(tokenizer, texts)
    check_tokenizer(model, tokenizer)
    with evaluation_mode(model), torch.no_grad():
        if order := trait(model, "order"):
            sums, method = _sums(model, tokenizer, texts, max(1, order - 1), end, progress), EXACT
        else:
            sums, method = _bounds(model, tokenizer, texts, end, samples, seed, batch_size, progress), BOUND
    return [_score(one, value, end, method) for one, value in zip(encoded, sums, strict=True)]


@dataclass(frozen=True)
class MarginalScorer:
    """Sums over segmentations, as the `score` of `evaluate_language_model`; the fields are those of `score_marginal`.

    The measures have `segmentations`, "exact" or "importance-sampled lower bound", and `tokens` counts those of the
    best segmentation.

    >>> from hf_lecture_models import NGramForCausalLM, UnigramTokenizer, evaluate_language_model
    >>> tokenizer = UnigramTokenizer.from_scores({"a": -1.0, "b": -1.0, "ab": -2.5})
    >>> model = NGramForCausalLM.fit(["ab", "b"], tokenizer, order=2, smoothing="add_alpha")
    >>> measures = evaluate_language_model(model, tokenizer, ["ab"], score=MarginalScorer())
    >>> round(measures["log_prob"], 4), measures["segmentations"]
    (-2.668, 'exact')
    """

    probability: str = "terminated"
    samples: int = 16
    seed: int = 0
    stream: ClassVar[bool] = False

    def __call__(
        self, model: Any, tokenizer: Any, texts: Sequence[str], *, batch_size: int = 64, progress: bool = False
    ) -> list[MarginalScore]:
        """Return ln P of each text, summed over all segmentations."""
        return score_marginal(model, tokenizer, texts, self.probability, batch_size, progress, self.samples, self.seed)

    def conditions(self, model: Any) -> dict[str, str]:
        """Return whether the sum is exact for this model."""
        return {"segmentations": EXACT if trait(model, "order") else BOUND}


def _check(tokenizer: Any, batch_size: int, samples: int) -> None:
    if not isinstance(tokenizer, UnigramTokenizer):
        raise TypeError(
            f"segmentations are summed over the pieces of a UnigramTokenizer, not {type(tokenizer).__name__}"
        )
    if min(batch_size, samples) < 1:
        raise ValueError(f"batch_size and samples must be at least 1, not {batch_size} and {samples}")


def _score(encoded: EncodedText, value: float, end: int | None, method: str) -> MarginalScore:
    ids = encoded.ids if end is None else np.append(encoded.ids, end)
    return MarginalScore(encoded, ids.astype(np.int64), np.array([value]), float(value), method)


# The exact sum


@dataclass(frozen=True)
class _Graph:
    """Arcs, sorted by their first nodes, each with the last k pieces up to its end.

    Attributes:
        begin, end: (arcs,), the nodes of each arc.
        nodes: the number of nodes.
        pieces: (arcs, k), `_NOTHING` before a text.
        at: (arcs,), the node of the lattice where an arc ends.
    """

    begin: np.ndarray
    end: np.ndarray
    nodes: int
    pieces: np.ndarray
    at: np.ndarray

    def line(self) -> "_Graph":
        """Return the graph whose nodes are the arcs of this one, and whose arcs are pairs of consecutive arcs."""
        bounds = np.searchsorted(self.begin, np.arange(self.nodes + 1))
        first, number = bounds[self.end], bounds[self.end + 1] - bounds[self.end]
        if (windows := int(number.sum())) > _MOST_WINDOWS:
            raise ValueError(
                f"there are {windows:,} n-grams of pieces at the model's order, too many to sum over; take a model of "
                "lower order, shorter texts, or the best segmentation alone"
            )
        begin = np.repeat(np.arange(len(first)), number)
        end = np.arange(windows) + np.repeat(first - (np.cumsum(number) - number), number)
        pieces = np.column_stack([self.pieces[begin], self.pieces[end, -1]])
        return _Graph(begin, end, len(first), pieces, self.at[end])


def _sums(
    model: Any, tokenizer: UnigramTokenizer, texts: Sequence[str], context: int, end: int | None, progress: bool
) -> np.ndarray:
    """Return (texts,), ln of the sum over all segmentations, for a model that reads `context` tokens."""
    found = [np.zeros(0)]
    bar = ProgressBar(total=len(texts), unit="text", desc="summing", shown=progress)
    for chunk in _chunks(texts):
        found.append(_sum_chunk(model, tokenizer.lattices(chunk), context, start_token_id(tokenizer), end))
        bar.update(len(chunk))
    bar.close()
    return np.concatenate(found)


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for text in texts:
        if chunk and sum(map(len, chunk)) + len(text) > _CHARACTERS:
            yield chunk
            chunk = []
        chunk.append(text)
    if chunk:
        yield chunk


def _sum_chunk(model: Any, lattices: Lattices, context: int, start: int, end: int | None) -> np.ndarray:
    states, depth, last = _with_ends(lattices, context, start, end)
    for _ in range(context - 1):
        states = states.line()
    graph = states.line()
    scores = _window_scores(model, graph.pieces)
    sums = np.full(graph.nodes, -np.inf)
    # Where each text begins there is one state, `<s>` and nothing before it.
    sums[depth[states.at] == context] = 0.0
    order = np.lexsort((graph.end, depth[graph.at]))
    source, target, scores, depths = graph.begin[order], graph.end[order], scores[order], depth[graph.at[order]]
    for level in np.split(np.arange(len(order)), np.flatnonzero(np.diff(depths)) + 1):
        # The arcs to one state follow each other.
        runs = np.flatnonzero(np.diff(target[level], prepend=-1))
        if len(level):
            sums[target[level[runs]]] = np.logaddexp.reduceat(sums[source[level]] + scores[level], runs)
    totals, text_of = np.full(len(last), -np.inf), np.full(len(depth), -1)
    text_of[last] = np.arange(len(last))
    ends = np.flatnonzero(text_of[states.at] >= 0)
    np.logaddexp.at(totals, text_of[states.at[ends]], sums[ends])
    return totals


def _with_ends(lattices: Lattices, context: int, start: int, end: int | None) -> tuple[_Graph, np.ndarray, np.ndarray]:
    """Put `context` arcs before each text, the last of them `<s>`, and the arc of `end`, if any, after it.

    Returns:
        The graph; (nodes,), the distance of each node from the front; (texts,), the node where each text ends.
    """
    texts = np.arange(len(lattices.first))
    added = context + (end is not None)
    sizes = lattices.last - lattices.first + 1 + added
    front = np.cumsum(sizes) - sizes
    shift = np.repeat(front + context - lattices.first, sizes - added)
    begin, stop = (nodes + shift[nodes] for nodes in (lattices.begin, lattices.end))
    chain = (front[:, None] + np.arange(context)).ravel()
    before = np.full((len(texts), context), _NOTHING)
    before[:, -1] = start
    last = front + sizes - 1
    behind = last if end is not None else last[:0]
    begin = np.concatenate([begin, chain, behind - 1])
    stop = np.concatenate([stop, chain + 1, behind])
    piece = np.concatenate([lattices.piece, before.ravel(), np.full(len(behind), end or 0)])
    order = np.argsort(begin, kind="stable")
    nodes = int(sizes.sum())
    depth = np.arange(nodes) - np.repeat(front, sizes)
    return _Graph(begin[order], stop[order], nodes, piece[order, None], stop[order]), depth, last


def _window_scores(model: Any, windows: np.ndarray) -> np.ndarray:
    """Return (windows,), ln P of each window's last piece after the others; equal windows are computed once."""
    key = np.zeros(len(windows), np.int64)
    for column in windows.T:
        # Dense numbers, so that the key of the next column does not overflow.
        key = np.unique(key * (int(windows.max(initial=0)) + 2) + column + 1, return_inverse=True)[1]
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    distinct = windows[first]
    scores = np.zeros(len(distinct))
    missing = (distinct == _NOTHING).sum(1)
    for number in np.unique(missing):
        rows = np.flatnonzero(missing == number)
        scores[rows] = _last_scores(model, torch.from_numpy(distinct[rows, number:]))
    return scores[codes]


def _last_scores(model: Any, ids: torch.Tensor) -> np.ndarray:
    """Return (rows,), ln P of the last token of each row."""
    found = [np.zeros(0)]
    for rows in ids.split(rows_at_once(model, ids.shape[1])):
        rows = rows.to(model.device)
        last = torch.arange(rows.shape[1], device=rows.device) == rows.shape[1] - 1
        found.append(checked(token_scores(model, rows, torch.ones_like(rows), wanted=last))[:, -1])
    return np.concatenate(found)


# The bound


def _bounds(
    model: Any,
    tokenizer: UnigramTokenizer,
    texts: Sequence[str],
    end: int | None,
    samples: int,
    seed: int,
    batch_size: int,
    progress: bool,
) -> np.ndarray:
    """Return (texts,), ln of the mean of P(x) / q(x) over segmentations drawn from the tokenizer's distribution q."""
    scores = np.array(list(tokenizer.scores.values()))
    lattices = tokenizer.lattices(texts)
    places = np.repeat(np.arange(len(texts)), samples)
    drawn, sizes = lattices.draw(places, scores, np.random.default_rng(seed))
    pieces = np.split(drawn, np.cumsum(sizes)[:-1]) if len(sizes) else []
    proposed = np.array([float(scores[row].sum()) for row in pieces]) - lattices.log_sum(scores)[places]
    start, ends = [start_token_id(tokenizer)], [] if end is None else [end]
    rows = [np.concatenate([start, row, ends]).astype(np.int64) for row in pieces]
    distinct = {row.tobytes(): row for row in rows}
    found = score_rows(model, list(distinct.values()), ContextLimit.of(model), batch_size, progress)
    log_probs = dict(zip(distinct, (float(values.sum()) for values in found), strict=True))
    ratios = np.array([log_probs[row.tobytes()] for row in rows]) - proposed
    return np.logaddexp.reduce(ratios.reshape(len(texts), samples), axis=1) - np.log(samples)
