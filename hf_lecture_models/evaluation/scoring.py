# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The probability that a causal language model gives to a text, as a terminated sequence or as a prefix.

The slides distinguish the two (slide R:239-253): P((u)) of the sequence that ends with `</s>` after u, and P(u) of all
sequences that begin with u. Every number here is a natural logarithm.
"""

import inspect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer, input_limit, is_of_lectures
from hf_lecture_models.base.scoring import token_scores
from hf_lecture_models.base.traits import trait
from hf_lecture_models.evaluation.encoding import EncodedText, EncodedTexts, encode_texts, end_ids, start_token_id
from hf_lecture_models.evaluation.made_items import MadeItems, bounds_of, cut, is_equal
from hf_lecture_models.io.compat import CACHE, cache_of
from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.tokenization.bounds import strip_bounds
from hf_lecture_models.tokenization.splitting import split_rows

# At most so many logits are computed at once (float32: 64 MB, and as much again in the softmax).
_MAX_LOGITS = 2**24
# The window of a model that names no longest input and carries no state.
_DEFAULT_WINDOW = 2048


ZERO = -100 * math.log(10)
"""What counts for ln 0 where two texts of probability 0 are compared: KenLM's number for a word that its file lacks."""


@dataclass(slots=True, eq=False)
class TextScore:
    """One text and the log-probability of each of its tokens, with `</s>` if the text is terminated."""

    encoded: EncodedText
    ids: np.ndarray
    log_probs: np.ndarray
    """float64, one per id, in nats; a single -inf if a closed vocabulary cannot encode the text."""
    log_prob: float
    """ln P of the text, the sum of `log_probs`: 0 for an empty prefix, -inf for probability 0."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(is_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @property
    def log_prob_per_token(self) -> float:
        """`log_prob` divided by the number of tokens; 0 without tokens."""
        return self.log_prob / max(1, len(self.log_probs))

    @property
    def known_log_prob(self) -> float:
        """`log_prob` without the tokens of unknown words; defined for texts that can be encoded."""
        if not self.encoded.unknown_tokens:
            return self.log_prob
        known = np.ones(len(self.ids), dtype=bool)
        known[list(self.encoded.unknown_tokens)] = False
        return float(self.log_probs[known].sum())

    def comparable(self, some: np.ndarray | None = None) -> tuple[float, float]:
        """Return ln P, and again, but with `ZERO` for ln 0 where it is -inf: so texts of probability 0 can be compared.

        Args:
            some: (tokens,) bool, the tokens that count; None: all.
        """
        log_probs = self.log_probs if some is None else self.log_probs[some]
        log_prob = self.log_prob if some is None else float(log_probs.sum())
        return log_prob, log_prob if log_prob > -math.inf else float(log_probs.clip(ZERO).sum())

    def tokens(self, tokenizer: Any) -> list[dict[str, Any]]:
        """Return each token's spelling, id and log-probability; nothing if the text cannot be encoded."""
        ids, log_probs = self.ids.tolist(), self.log_probs[: len(self.ids)].tolist()
        spelled = tokenizer.convert_ids_to_tokens(ids)
        return [
            {"token": token, "id": id_, "log_prob": value}
            for token, id_, value in zip(spelled, ids, log_probs, strict=True)
        ]


class TextScores(MadeItems[TextScore]):
    """The scores of texts as arrays; each `TextScore` is made when it is asked for.

    >>> encoded, log_probs = EncodedTexts.of([EncodedText("a", np.array([1]), words=1)]), np.array([0.0, -0.5, -0.25])
    >>> scores = TextScores(encoded, np.array([3, 1, 4]), log_probs, np.array([0, 3]), np.array([-0.75]))
    >>> len(scores), scores[0].log_prob, scores[-1].ids.tolist()
    (1, -0.75, [1, 4])

    Attributes:
        encoded: the texts.
        ids: (tokens,) int64, text after text, each with the token before it that begins it; no tokens of texts that
            cannot be encoded.
        token_log_probs: (tokens,) float64, of these tokens; unspecified at the first of each text.
        bounds: (texts + 1,) int64, where each text begins in both.
        log_probs: (texts,) float64, ln P of each text.

    Of a slice, `log_probs` are those of its texts, and the other arrays those of the whole.
    """

    def __init__(
        self,
        encoded: EncodedTexts,
        ids: np.ndarray,
        token_log_probs: np.ndarray,
        bounds: np.ndarray,
        log_probs: np.ndarray,
    ) -> None:
        super().__init__(len(encoded))
        self.encoded, self.ids, self.token_log_probs = encoded, ids, token_log_probs
        self.bounds, self._log_probs = bounds, log_probs

    @property
    def log_probs(self) -> np.ndarray:
        """ln P of each text, (texts,) float64."""
        return self._log_probs if self.is_whole else self._log_probs[list(self._places)]

    @property
    def lengths(self) -> np.ndarray:
        """How many tokens of each text are predicted, (texts,) int64; 0 for one that cannot be encoded."""
        return np.maximum(np.diff(self.bounds) - 1, 0)

    def _make(self, begin: int, end: int) -> Iterator[TextScore]:
        texts = list(self.encoded[begin:end])
        ids, log_probs = (cut(values, self.bounds, begin, end, 1) for values in (self.ids, self.token_log_probs))
        scores = map(TextScore, texts, ids, log_probs, self._log_probs[begin:end].tolist())
        if self.encoded.possible[begin:end].all():
            return scores
        return (one if one.encoded.possible else impossible_score(one.encoded) for one in scores)


@dataclass(frozen=True)
class Window:
    """A piece of a row that the model reads at once; the tokens before `scored_from` are only context."""

    row: int
    start: int
    stop: int
    scored_from: int

    def __len__(self) -> int:
        return self.stop - self.start


def windows(length: int, longest: int, overlap: int, row: int = 0) -> Iterator[Window]:
    """Cut a row of `length` tokens into windows of at most `longest`; neighbours share `overlap` tokens.

    >>> [(w.start, w.stop, w.scored_from) for w in windows(9, longest=4, overlap=2)]
    [(0, 4, 1), (2, 6, 4), (4, 8, 6), (6, 9, 8)]
    """
    yield Window(row, 0, min(length, longest), 1)
    for done in range(longest, length, longest - overlap):
        yield Window(row, done - overlap, min(length, done - overlap + longest), done)


@dataclass(frozen=True)
class ContextLimit:
    """The longest window that a model reads, and how many of its tokens the next window reads again."""

    longest: int
    overlap: int
    exact: bool
    """True if the windows do not change any probability."""
    carries_state: bool = False
    """True if pieces of a row do not overlap, but pass the model's state on in `past_key_values`."""

    @classmethod
    def of(cls, model: Any) -> "ContextLimit":
        """Return the limit of a model: recurrent, of fixed order, or with a longest input (then half overlaps).

        Raises:
            ValueError: the model's longest input is one token, or it sees the tokens after a place.
        """
        config = model.config
        window, order, segment = (trait(model, name) for name in ("max_position_embeddings", "order", "segment_length"))
        # A state that knows positions cannot be carried on without end: it has been trained on those of a window.
        takes_state = {"past_key_values", CACHE} & inspect.signature(model.forward).parameters.keys()
        if trait(model, "_is_stateful") and window is None and takes_state:
            # A segment that returns its state computes all logits, whatever `score` does.
            longest = max(2, _MAX_LOGITS // config.vocab_size)
            if segment is not None:  # where the cuts are makes a difference to a memory of some states
                return cls(min(longest, segment), overlap=0, exact=False, carries_state=True)
            return cls(longest, overlap=0, exact=True, carries_state=True)
        fits = max(2, _MAX_LOGITS // _logits_per_token(model))
        if order:
            context = max(1, order - 1)
            return cls(longest=max(fits, 2 * context), overlap=context, exact=True)
        # A model without a limit is given windows of the length that it was trained on, if it names one.
        own = window if is_of_lectures(config) else None
        longest = input_limit(model) or own or _DEFAULT_WINDOW
        if longest < 2:
            raise ValueError(f"max_position_embeddings is {longest}: the model cannot see a token and the one before")
        _refuse_later_tokens(model)
        return cls(longest=longest, overlap=longest // 2, exact=False)


def _refuse_later_tokens(model: Any) -> None:
    """Raise a ValueError for a model of transformers whose logits depend on later tokens, as those of XLNet and BERT.

    Their product over a text is not its probability. The classes load as causal language models all the same.
    """
    config = model.config
    special = {trait(model, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    ids = [number for number in range(config.vocab_size) if number not in special][:2]
    if is_of_lectures(config) or len(ids) < 2:
        return
    first, second = ids
    with evaluation_mode(model), torch.no_grad(), torch.random.fork_rng(devices=[]):
        found = []
        for row in ([first, first], [first, second]):
            torch.manual_seed(0)  # for hashes that are drawn
            found.append(model(input_ids=torch.tensor([row], device=model.device)).logits[0, 0].float())
    sizes = [numbers.abs().nan_to_num(0.0, posinf=0.0).max() for numbers in (found[0] - found[1], found[0])]
    if sizes[0] > 1e-5 * sizes[1]:
        raise ValueError(
            f"{type(model).__name__} sees later tokens, so it gives a text no probability; load a model that reads "
            "from left to right (some do with is_decoder=True), or one with AutoModelForMaskedLM, which surprisal reads"
        )


def _logits_per_token(model: Any) -> int:
    # A `score` of the model's own never holds all rows of the vocabulary, but some tens of numbers per token.
    return model.config.vocab_size if trait(model, "score") is None else 64


def score_texts(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    probability: str = "terminated",
    batch_size: int = 64,
    progress: bool = False,
) -> TextScores:
    """Return the log-probabilities of texts, each by itself, in their order.

    They are kept as arrays; the sequence makes a `TextScore` each time that one is asked for.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat", "the cat ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha")
    >>> [round(score.log_prob, 2) for score in score_texts(model, tokenizer, ["the cat sat", "sat cat the"])]
    [-4.6, -8.18]

    Args:
        model: any causal language model of transformers.
        tokenizer: its tokenizer, with an end of text, which also begins texts if the tokenizer lacks `<s>`.
        texts: the texts; one may be empty. `<s>` and `</s>` around a text are its bounds and are left out.
        probability: "terminated" counts `</s>`, "prefix" leaves it out.
        batch_size: the most texts per batch; batches are smaller if the logits would not fit.

    Raises:
        ValueError: `probability` is unknown, the tokenizer belongs to another model, or the model gives NaN.
    """
    encoded, tokens, predicted = encode_stream(tokenizer, texts, probability)
    check_tokenizer(model, tokenizer)
    limit = ContextLimit.of(model)
    with evaluation_mode(model), torch.no_grad():
        if trait(model, "score_joined") is not None:
            _check_batch_size(batch_size)
            log_probs = _score_joined(model, tokens, ~predicted, limit, progress)
        else:
            rows = np.split(tokens, np.flatnonzero(~predicted)[1:]) if len(tokens) else []
            log_probs = np.zeros(len(tokens))
            log_probs[predicted] = np.concatenate([[], *score_rows(model, rows, limit, batch_size, progress)])
    return split_stream(encoded, tokens, predicted, log_probs)


def _with_ends(encoded: EncodedTexts, start: int, end: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of the texts that can be encoded, each between its start and end: joined, int64, and lengths.

    >>> encoded = [EncodedText("a b", np.array([1, 2]), words=2), EncodedText("", np.array([], int), words=0)]
    >>> _with_ends(EncodedTexts.of(encoded), 3, [4])
    (array([3, 1, 2, 4, 3, 4]), array([4, 2]))
    """
    lengths = encoded.lengths[encoded.possible] + 1 + len(end)
    ends = np.cumsum(lengths)
    tokens = np.full(lengths.sum(), start, np.int64)
    inside = np.ones(len(tokens), bool)
    inside[ends - lengths] = False
    for last in end:
        tokens[ends - 1] = last
        inside[ends - 1] = False
    tokens[inside] = encoded.ids
    return tokens, lengths


def score_stream(
    model: Any, tokenizer: Any, texts: Sequence[str], batch_size: int = 64, progress: bool = False
) -> TextScores:
    """Return log-probabilities of texts that follow each other in one stream, `<s> ... </s> <s> ... </s>`.

    State and context carry across the texts; `<s>` is input and never predicted. A text that a closed vocabulary
    cannot encode has probability 0 and is left out of the stream. Arguments and errors are those of `score_texts`.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["the cat sat", "the cat ran"])
    >>> model = NGramForCausalLM.fit(["the cat sat", "the cat ran"], tokenizer, order=2, smoothing="add_alpha")
    >>> [len(score.ids) for score in score_stream(model, tokenizer, ["the cat sat", "sat"])]
    [4, 2]
    """
    encoded, stream, predicted = encode_stream(tokenizer, texts)
    check_tokenizer(model, tokenizer)
    limit = ContextLimit.of(model)
    with evaluation_mode(model), torch.no_grad():
        if not len(stream):
            log_probs = np.zeros(0)
        elif limit.carries_state:
            log_probs = score_with_state(model, stream, limit.longest, progress)
        else:
            log_probs = score_rows(model, [stream], limit, batch_size, progress)[0]
    return split_stream(encoded, stream, predicted, np.concatenate([[0.0], log_probs]))


def score_stream_chunks(
    model: Any, tokenizer: Any, chunks: Iterable[Sequence[str]], batch_size: int = 64, progress: bool = False
) -> Iterator[TextScores]:
    """Yield what `score_stream` returns for the texts of all chunks, chunk by chunk, with the same numbers.

    An n-gram keeps as many tokens from chunk to chunk as it looks back. Any other model is given all texts at once.
    """
    if trait(model, "score_joined") is None:
        yield score_stream(model, tokenizer, list(chain.from_iterable(chunks)), batch_size, progress)
        return
    limit, before = ContextLimit.of(model), np.zeros(0, np.int64)
    check_tokenizer(model, tokenizer)
    for texts in chunks:
        encoded, stream, predicted = encode_stream(tokenizer, texts)
        tokens = np.concatenate([before, stream])
        log_probs = np.zeros(len(tokens))
        if len(stream):
            with evaluation_mode(model), torch.no_grad():
                log_probs[1:] = score_rows(model, [tokens], limit, batch_size, progress)[0]
        yield split_stream(encoded, stream, predicted, log_probs[len(before) :])
        before = tokens[-limit.overlap :]


def encode_stream(
    tokenizer: Any, texts: Sequence[str], probability: str = "terminated"
) -> tuple[EncodedTexts, np.ndarray, np.ndarray]:
    """Encode texts, and join them in one stream, `<s> ... </s> <s> ... </s>`, without those that cannot be encoded.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat"])
    >>> _, stream, predicted = encode_stream(tokenizer, ["the cat", ""])
    >>> stream.tolist(), predicted.tolist()
    ([3, 1, 2, 4, 3, 4], [False, True, True, True, False, True])

    Args:
        probability: "prefix" leaves `</s>` out.

    Returns:
        The encoded texts; the stream (tokens,) int64; and (tokens,) bool, False for the first token of each text.

    Raises:
        ValueError: the tokenizer has no end of text, or `probability` is unknown.
    """
    encoded = encode_texts(tokenizer, strip_bounds(texts, tokenizer))
    stream, lengths = _with_ends(encoded, start_token_id(tokenizer), end_ids(tokenizer, probability))
    predicted = np.ones(len(stream), bool)
    predicted[np.cumsum(lengths) - lengths] = False
    return encoded, stream, predicted


def split_stream(
    encoded: Sequence[EncodedText], stream: np.ndarray, predicted: np.ndarray, log_probs: np.ndarray
) -> TextScores:
    """Split the (tokens,) `log_probs` of a stream, as `encode_stream` returns it, into the scores of its texts.

    >>> encoded, predicted = EncodedText("a", np.array([1]), words=1), np.array([False, True, True])
    >>> split_stream([encoded], np.array([3, 1, 4]), predicted, np.array([0.0, -0.5, -0.25]))[0].log_prob
    -0.75
    """
    texts, starts = EncodedTexts.of(encoded), np.flatnonzero(~predicted)
    sums, sizes = np.full(len(texts), -math.inf), np.zeros(len(texts), np.int64)
    if len(starts):
        # Each sum begins with the 0 of the text's first token; all at once, since there may be many short texts.
        sums[texts.possible] = np.add.reduceat(np.where(predicted, log_probs, 0.0), starts)
        sizes[texts.possible] = np.diff(starts, append=len(stream))
    return TextScores(texts, stream, log_probs, bounds_of(sizes), sums)


def text_score(encoded: EncodedText, ids: np.ndarray, log_probs: np.ndarray) -> TextScore:
    """Return the score of one text, with the sum of its (tokens,) log-probabilities.

    >>> text_score(EncodedText("a", np.array([1]), words=1), np.array([1, 4]), np.array([-0.5, -0.25])).log_prob
    -0.75
    """
    return TextScore(encoded, ids, log_probs, float(log_probs.sum()))


def impossible_score(encoded: EncodedText) -> TextScore:
    """Return the score of a text that cannot be encoded: one log-probability, minus infinity."""
    return text_score(encoded, encoded.ids, np.array([-math.inf]))


def score_rows(
    model: Any, rows: list[np.ndarray], limit: ContextLimit, batch_size: int, progress: bool,
    wanted_from: Sequence[int] | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """Return ln p of each token but the first, given those before it in its window: per row (len(row) - 1,) float64.

    A beginning that two rows share is scored once; the hypotheses of an n-best list, for example, share most of theirs.
    A model that scores joined rows (`score_joined`: an n-gram) looks all of them up together, whatever `batch_size`.

    Args:
        wanted_from: for each row the place of the first token whose score is wanted, the scores before it are
            unspecified; None: 1.
    """
    _check_batch_size(batch_size)
    if trait(model, "score_joined") is not None:
        return _join_and_score(model, rows, limit, progress)
    first = [1] * len(rows) if wanted_from is None else [max(1, place) for place in wanted_from]
    results = [np.zeros(len(row) - 1) for row in rows]
    jobs: list[Window] = []
    neighbours = _shared_beginnings(rows, first)
    # Equal rows go through the model once: rounding must not separate equal probabilities.
    for index, shared in [(index, shared) for index, _, shared in neighbours if shared < len(rows[index])]:
        if len(rows[index]) <= limit.longest:
            jobs.append(Window(index, 0, len(rows[index]), scored_from=max(first[index], shared)))
        elif limit.carries_state:
            results[index] = score_with_state(model, rows[index], limit.longest, progress=False)
        else:
            jobs += windows(len(rows[index]), limit.longest, limit.overlap, index)
    bar = ProgressBar(total=sum(map(len, jobs)), unit="token", unit_scale=True, desc="scoring", shown=progress)
    # Neighbours in length make batches with little padding.
    for batch in _batches(sorted(jobs, key=len), batch_size, _MAX_LOGITS // _logits_per_token(model)):
        scores = _score_batch(model, rows, batch)
        for window, values in zip(batch, scores, strict=True):
            scored = values[window.scored_from - window.start : len(window)]
            results[window.row][window.scored_from - 1 : window.stop - 1] = scored
        bar.update(sum(map(len, batch)))
    bar.close()
    for index, before, shared in neighbours:
        if shared > 1 and (len(rows[index]) <= limit.longest or shared == len(rows[index])):
            results[index][: shared - 1] = results[before][: shared - 1]
    return results


def _check_batch_size(batch_size: int) -> None:
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be at least 1")


def _join_and_score(model: Any, rows: list[np.ndarray], limit: ContextLimit, progress: bool) -> list[np.ndarray]:
    """Do as `score_rows`, for a model that scores joined rows; the results are views of one array."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    starts = np.zeros(lengths.sum(), bool)
    starts[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
    scores = _score_joined(model, np.concatenate([np.zeros(0, np.int64), *rows]), starts, limit, progress)
    return [row[1:] for row in split_rows(scores, lengths)]


def _score_joined(
    model: Any, tokens: np.ndarray, starts: np.ndarray, limit: ContextLimit, progress: bool
) -> np.ndarray:
    """Score joined rows without padding; a model of fixed order may read them in pieces that cut rows.

    Args:
        tokens: (tokens,), row after row.
        starts: (tokens,) bool, True at the first token of each row.

    Returns:
        (tokens,) float64, 0 at the first token of each row.
    """
    scores = np.zeros(len(tokens))
    if not len(tokens):
        return scores
    with ProgressBar(total=len(tokens), unit="token", unit_scale=True, desc="scoring", shown=progress) as bar:
        for window in windows(len(tokens), limit.longest, limit.overlap):
            piece = slice(window.start, window.stop)
            ids, begins = (torch.from_numpy(part[piece]).to(model.device) for part in (tokens, starts))
            new = window.scored_from - window.start
            scores[window.scored_from : window.stop] = checked(model.score_joined(ids, begins))[new:]
            bar.update(window.stop - window.scored_from)
    return scores


def _shared_beginnings(rows: Sequence[np.ndarray], first: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return for each row, in sorted order, its index, the index before it, and how many tokens they have in common.

    A row whose scores are wanted from an earlier place than those of the row before (`first`) shares nothing with it.

    >>> _shared_beginnings([np.array([7, 2]), np.array([7, 1, 3]), np.array([7, 1])], first=[1, 1, 1])
    [(2, 2, 0), (1, 2, 2), (0, 1, 1)]
    """
    tokens = [row.tolist() for row in rows]
    order = sorted(range(len(rows)), key=tokens.__getitem__)
    shared = [0]
    for index, before in zip(order[1:], order, strict=False):
        length = min(len(tokens[index]), len(tokens[before])) if first[before] <= first[index] else 0
        both = zip(tokens[index][:length], tokens[before][:length], strict=True)
        shared.append(next((place for place, (one, other) in enumerate(both) if one != other), length))
    return list(zip(order, order[:1] + order, shared, strict=False))


def _batches(jobs: list[Window], batch_size: int, max_tokens: int) -> Iterator[list[Window]]:
    batch: list[Window] = []
    for job in jobs:  # ascending in length: the newest is the longest, to which all others are padded
        if batch and (len(batch) == batch_size or (len(batch) + 1) * len(job) > max_tokens):
            yield batch
            batch = []
        batch.append(job)
    if batch:
        yield batch


def _score_batch(model: Any, rows: list[np.ndarray], batch: list[Window]) -> np.ndarray:
    """Return ln p (batch, seq) float64, valid from `scored_from` on; 0 for padding, which is on the right."""
    pieces = [torch.from_numpy(rows[window.row][window.start : window.stop]) for window in batch]
    lengths, scored_from = torch.tensor(list(map(len, batch))), [w.scored_from - w.start for w in batch]
    # Any id will do for padding, since the mask hides it.
    ids = pad_sequence(pieces, batch_first=True, padding_value=int(pieces[0][0]))
    places = torch.arange(ids.shape[1])
    mask = (places < lengths[:, None]).long().to(model.device)
    wanted = (places >= torch.tensor(scored_from)[:, None]).to(model.device)
    ids = ids.to(model.device)
    return checked(token_scores(model, ids, mask, wanted))


def score_with_state(model: Any, row: np.ndarray, segment: int, progress: bool) -> np.ndarray:
    """Score a row in segments, each from the state that the model returned after the one before.

    Returns:
        float64 (len(row) - 1,), as `score_rows`.
    """
    # One array for all: a small one for each segment would keep the memory of its logits from being used again.
    scores, cache, before = np.empty(len(row) - 1), None, None
    for start in ProgressBar(range(0, len(row), segment), unit="segment", desc="scoring", shown=progress):
        ids = torch.from_numpy(row[None, start : start + segment]).to(model.device)
        output = model(input_ids=ids, past_key_values=cache, use_cache=True)
        cache, logits = cache_of(output), output.logits[0].float()  # (seq, vocab)
        # The first token of a segment is predicted by the last logits of the one before.
        predicted = logits[:-1] if before is None else torch.cat([before, logits[:-1]])
        targets = ids[0, 1:] if before is None else ids[0]
        found = checked(-functional.cross_entropy(predicted, targets, reduction="none"))
        scores[max(0, start - 1) :][: len(found)] = found
        before = logits[-1:]
    return scores


def rows_at_once(model: Any, length: int) -> int:
    """Return how many rows of this length the model reads together."""
    return max(1, _MAX_LOGITS // (_logits_per_token(model) * length))


def checked(scores: Tensor) -> np.ndarray:
    """Return scores as float64 on the CPU.

    Raises:
        ValueError: one of them is NaN.
    """
    if torch.isnan(scores).any():
        raise ValueError("the model gives NaN probabilities; its weights are damaged or its training diverged")
    return scores.cpu().double().numpy()
