# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""An exercise on generation: beam search."""

from collections.abc import Callable

import torch
from torch import Tensor

from hf_lecture_models.lab.exercises import adapter
from hf_lecture_models.lab.exercises.draws import normal
from hf_lecture_models.lab.exercises.exercise import Case, Exercise, Slip

Search = Callable[..., list[int]]

_START, _END = 0, 1
_STEPS = 4
_IMPOSSIBLE = -30.0


def beam_search(
    log_probs: Tensor, start: int, end: int, beams: int, max_length: int, length_penalty: float
) -> list[int]:
    """Return the text that beam search finds under a bigram model.

    Slides Y:609-618 and Y:649. A text w_1 ... w_m after `start` has ln P = Σ_t log_probs[w_{t-1}, w_t], with w_0 the
    start. Step by step,

    1. extend each live text (at first the empty one) by every token of the vocabulary;
    2. of all extensions, in the order of ln P, look at the best `beams`: those that end in `end` are finished;
    3. the best `beams` of all extensions that do not end in `end` are the next live texts.

    Texts of max_length tokens are finished as well: after the last step, the best `beams` extensions are, whether they
    end in `end` or not. The answer is the finished text with the largest ln P / length ** length_penalty, where the
    length counts all tokens after the start, `end` included.

    Args:
        log_probs: (vocab, vocab), row v holds ln P of each token after v.
        start: the token before the text.
        end: the token that ends a text.
        beams: the number of live texts, two or more.
        max_length: most tokens of the text.
        length_penalty: 0 compares ln P itself, 1 the mean per token.

    Returns:
        The tokens after the start, with `end` if the text has it.
    """
    raise NotImplementedError


def _search_cases(generator: torch.Generator) -> list[Case]:
    while True:
        cases: list[Case] = []
        for beams, length, penalty in ((2, 2, 1.0), (2, 4, 1.0), (3, 5, 1.0), (2, 6, 0.7), (3, 6, 0.0), (4, 8, 1.0)):
            log_probs = _table(generator, length) if cases else normal(generator, 3, 3).log_softmax(1)
            case = {"log_probs": log_probs, "start": _START, "end": _END, "beams": beams, "max_length": length}
            cases.append(case | {"length_penalty": penalty})
        # Often a wrong search finds what the right one finds; four draws in ten tell all of them apart.
        searches: list[Search] = [_wrong_search(), *(slip.function for slip in BEAM_SEARCH.slips)]
        if len({str([search(**case) for case in cases]) for search in searches}) == len(searches):
            return cases


def _table(generator: torch.Generator, length: int) -> Tensor:
    """Return ln P of a model whose texts go forward through the vocabulary, by `_STEPS` tokens at most.

    Texts with the same bigrams in another order, which are equally probable, so have next to no probability.
    """
    vocab = max(_START, _END) + 1 + _STEPS * length
    scores = normal(generator, vocab, vocab)
    tokens = torch.arange(vocab)
    steps = tokens - tokens.clamp(min=_END)[:, None]
    possible = ((steps > 0) & (steps <= _STEPS)) | (tokens == _END)
    return torch.where(possible, scores, scores + _IMPOSSIBLE).log_softmax(1)


def _wrong_search(
    width: Callable[[int], int] = lambda beams: beams,
    penalty: Callable[[float], float] = lambda penalty: penalty,
    longer: int = 0,
    stop_at_first: bool = False,
    one_each: bool = False,
) -> Callable[[Tensor, int, int, int, int, float], list[int]]:
    """Return a search that differs in one of these from the right one."""

    def search(
        log_probs: Tensor, start: int, end: int, beams: int, max_length: int, length_penalty: float
    ) -> list[int]:
        beams, table = width(beams), log_probs.tolist()
        live: list[tuple[float, list[int]]] = [(0.0, [start])]
        finished: list[tuple[float, list[int]]] = []
        for length in range(1, max_length + 1):
            grown = [[(score + p, [*text, w]) for w, p in enumerate(table[text[-1]])] for score, text in live]
            # At first there is one text, from which all live ones have to come.
            best = [max(row) for row in grown] if one_each and length > 1 else [one for row in grown for one in row]
            best.sort(reverse=True)
            over = [one for one in best[:beams] if one[1][-1] == end or length == max_length]
            finished += [(score / max(length + longer, 1) ** penalty(length_penalty), text) for score, text in over]
            live = [one for one in best if one[1][-1] != end][:beams]
            if not live or (stop_at_first and finished):
                break
        return max(finished)[1][1:]

    return search


def _with_start(
    log_probs: Tensor, start: int, end: int, beams: int, max_length: int, length_penalty: float
) -> list[int]:
    return [start, *_wrong_search()(log_probs, start, end, beams, max_length, length_penalty)]


def _greedy(log_probs: Tensor, start: int, end: int, beams: int, max_length: int, length_penalty: float) -> list[int]:
    text = [start]
    while len(text) <= max_length and (len(text) == 1 or text[-1] != end):
        text.append(int(log_probs[text[-1]].argmax()))
    return text[1:]


BEAM_SEARCH = Exercise(
    beam_search,
    "beam search with a length penalty, under a bigram model",
    "Y:609-618, Y:649",
    adapter.beam_search,
    _search_cases,
    ("the tokens",),
    (
        Slip(_greedy, "this is greedy search: the best token at each step, with one live text"),
        Slip(_with_start, "the text is right, but begins with `start`; the tokens after it are asked for"),
        Slip(
            _wrong_search(penalty=lambda penalty: 0.0),
            "finished texts are compared by ln P, which favours short ones; divide by length ** length_penalty",
        ),
        Slip(
            _wrong_search(longer=-1),
            "the length is one too small: the token `end` counts too",
        ),
        Slip(
            _wrong_search(stop_at_first=True),
            "the search stops when a first text is finished; a live one may still become better",
        ),
        Slip(
            _wrong_search(one_each=True),
            "each live text keeps only its own best extension; the best extensions of all texts together go on",
        ),
    ),
)
