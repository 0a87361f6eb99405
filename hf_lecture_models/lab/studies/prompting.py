# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Questions with several answers, as prompts of a causal language model (slides Y:620-643).

The model knows no task: an answer a is scored after a prompt x, and the answer with the highest score is the model's.

    sum            ln p(a|x)
    per_token      ln p(a|x) / tokens of a
    per_character  ln p(a|x) / characters of a
    divided        ln p(a|x) - ln p(a|"Answer:"), which takes out how common the answer is (Holtzman et al. 2021)

Prompt and answer are encoded together, with a blank (or what the template has) between them. The first tokens, as many
as the prompt has when it is encoded by itself without blanks at its end, are the prompt's; the others are the answer's,
so that the blank is in the answer (as in lm_eval). The text begins with `<s>` where the tokenizer puts it there, and
`</s>` is not part of an answer, which may go on. An answer with probability 0 has the score minus infinity.

A right answer counts 1, or 1/k if k answers have the highest score.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import check_tokenizer
from hf_lecture_models.evaluation.encoding import EncodedText, encode_texts, start_token_id
from hf_lecture_models.evaluation.scoring import ContextLimit, score_rows

SCORES = ("sum", "per_token", "per_character", "divided")
UNCONDITIONAL = "Answer:"


@dataclass(frozen=True)
class PromptItem:
    """A prompt, its possible answers, and the number of the right one.

    Attributes:
        prompt: with its examples, if it has any.
        answers: two texts at least, without the blank that stands before them.
        label: counted from 0.
        group: items of one group are not independent (an item and its mirror, say); None: it stands alone.
        name: where the item comes from, for messages.
    """

    prompt: str
    answers: tuple[str, ...]
    label: int
    group: Hashable = None
    name: str = ""


@dataclass(frozen=True)
class AnswerScore:
    """The score of one answer after one prompt.

    Attributes:
        log_prob: ln p(a|x); minus infinity for an answer with probability 0.
        tokens: the number of tokens of the answer.
        unknown_words: how many of the answer's words are unknown.
        cut: True if prompt and answer were longer than the model reads.
    """

    log_prob: float
    tokens: int
    unknown_words: int = 0
    cut: bool = False


def encode_prompt(tokenizer: Any, prompt: EncodedText) -> list[int]:
    """Return the tokens of a prompt as the tokenizer begins a text; those of the empty prompt are one, the beginning.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat"])
    >>> [encode_prompt(tokenizer, one) for one in encode_texts(tokenizer, ["the cat", ""])]
    [[3, 1, 2], [3]]
    """
    begin = tokenizer("")["input_ids"][:1]
    front = begin if begin and begin == [tokenizer.bos_token_id] else []
    return [*front, *prompt.ids.tolist()] or [start_token_id(tokenizer)]


def score_answers(
    model: Any,
    tokenizer: Any,
    questions: Sequence[tuple[str, str]],
    separator: str = " ",
    batch_size: int = 32,
    progress: bool = False,
) -> list[AnswerScore]:
    """Score answers, each after its prompt, in their order.

    If both together are longer than the model reads, the beginning is cut off, `<s>` too (as in lm_eval). An answer
    that is longer by itself is scored in windows, as `score_texts` does (lm_eval refuses it). Models that carry a state
    or look back a fixed number of words read everything.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat", "the cat ran"]
    >>> tokenizer = WordTokenizer.train(texts, progress=False)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="maximum_likelihood", progress=False)
    >>> [round(one.log_prob, 2) for one in score_answers(model, tokenizer, [("the", "cat sat"), ("the", "sat")])]
    [-0.69, -inf]

    Args:
        model: any causal language model of transformers, with its `tokenizer`.
        questions: pairs of a prompt, which may be empty, and an answer.
        separator: the text between them.

    Raises:
        ValueError: an answer has no tokens of its own, the tokenizer belongs to another model, or the model gives NaN.
    """
    check_tokenizer(model, tokenizer)
    limit = ContextLimit.of(model)
    longest = None if limit.exact or limit.carries_state else limit.longest
    prompts = list(dict.fromkeys(prompt for prompt, _ in questions))
    encoded = dict(zip(prompts, encode_texts(tokenizer, [prompt.rstrip() for prompt in prompts]), strict=True))
    wholes = encode_texts(tokenizer, [f"{prompt}{separator}{answer}" for prompt, answer in questions])
    rows = [
        _row(tokenizer, encoded[prompt], whole, answer, longest)
        for (prompt, answer), whole in zip(questions, wholes, strict=True)
    ]
    log_probs = _score_distinct(model, [row for row in rows if row is not None], limit, batch_size, progress)
    return [
        _answer_score(row, log_probs, len(whole.unknown_words) - len(encoded[prompt].unknown_words))
        for (prompt, _), whole, row in zip(questions, wholes, rows, strict=True)
    ]


_Row = tuple[np.ndarray, int, bool]
"""The tokens of prompt and answer, how many are the answer's, and whether the beginning was cut off."""


def _answer_score(row: _Row | None, log_probs: Mapping[bytes, np.ndarray], unknown: int) -> AnswerScore:
    if row is None:
        return AnswerScore(-math.inf, 0, unknown)
    tokens, size, cut = row
    return AnswerScore(math.fsum(log_probs[tokens.tobytes()][-size:]), size, unknown, cut)


def _score_distinct(
    model: Any, rows: list[_Row], limit: ContextLimit, batch_size: int, progress: bool
) -> dict[bytes, np.ndarray]:
    """Return ln p of the tokens of each row by its bytes; they are specified for answers only."""
    # Equal rows go through the model once: rounding must not separate equal probabilities.
    distinct = {row.tobytes(): row for row, _, _ in rows}
    wanted = {key: len(row) for key, row in distinct.items()}
    for row, size, _ in rows:
        wanted[row.tobytes()] = min(wanted[row.tobytes()], len(row) - size)
    with evaluation_mode(model), torch.no_grad():
        found = score_rows(model, list(distinct.values()), limit, batch_size, progress, list(wanted.values()))
    return dict(zip(distinct, found, strict=True))


def _row(tokenizer: Any, prompt: EncodedText, whole: EncodedText, answer: str, longest: int | None) -> _Row | None:
    """Return the row of a prompt and its answer, or None for a text that a closed vocabulary cannot encode."""
    if not whole.possible:
        return None
    before, after = encode_prompt(tokenizer, prompt), whole.ids[len(prompt.ids) :].tolist()
    if not after:
        raise ValueError(f"the answer {answer!r} adds no token to its prompt; write it, or leave the item out")
    row = np.array([*before, *after], np.int64)
    if longest is None or len(row) <= longest:
        return row, len(after), False
    # A token must precede the first that is scored, so a longer answer cannot be one window.
    return (row[-longest:] if len(after) < longest else row), len(after), True


def all_scores(score: AnswerScore, unconditional: AnswerScore, characters: int) -> dict[str, float]:
    """Return the four scores of an answer, by the names in `SCORES`.

    An answer that is impossible after its prompt has the divided score minus infinity; one that is possible there, but
    not after "Answer:", has infinity.

    >>> all_scores(AnswerScore(-6.0, tokens=3), AnswerScore(-7.0, tokens=3), characters=12)
    {'sum': -6.0, 'per_token': -2.0, 'per_character': -0.5, 'divided': 1.0}
    """
    return {
        "sum": score.log_prob,
        "per_token": score.log_prob / max(1, score.tokens),
        "per_character": score.log_prob / characters,
        "divided": score.log_prob if math.isinf(score.log_prob) else score.log_prob - unconditional.log_prob,
    }


def points(scores: Sequence[float], label: int) -> float:
    """Return 1 if the right answer has the highest score, 1/k if k answers have it, else 0.

    >>> points([-1.0, -2.0], 0), points([-1.0, -1.0, -3.0], 1), points([-1.0, -2.0], 1)
    (1.0, 0.5, 0.0)
    """
    best = max(scores)
    return 1 / list(scores).count(best) if scores[label] == best else 0.0


def mean_with_error(values: Sequence[float], groups: Sequence[Hashable]) -> tuple[float, float | None]:
    """Return the mean and its standard error; groups of values are independent of each other, not the values in one.

    With m the mean, n the number of values and G the number of groups it is
    sqrt(G / (G - 1) · Σ_g (Σ_{i in g} (x_i - m))²) / n, which is s / √n if each value is a group; None for one group.

    >>> mean_with_error([1, 0, 1, 0], [1, 2, 3, 4])
    (0.5, 0.28867513459481287)
    >>> mean_with_error([1, 0, 1, 0], [1, 1, 2, 2])
    (0.5, 0.0)
    """
    mean = math.fsum(values) / len(values)
    sums: dict[Hashable, float] = defaultdict(float)
    for value, group in zip(values, groups, strict=True):
        sums[group] += value - mean
    count = len(sums)
    if count < 2:
        return mean, None
    return mean, math.sqrt(count / (count - 1) * math.fsum(one * one for one in sums.values())) / len(values)


def independent_groups(items: Sequence[PromptItem]) -> list[Hashable]:
    """Return the group of each item for `mean_with_error`.

    >>> yes = PromptItem("It rains:", ("yes", "no"), 0)
    >>> len(set(independent_groups([yes, yes])))
    2
    """
    return [index if item.group is None else ("group", item.group) for index, item in enumerate(items)]


def measure_items(items: Sequence[PromptItem], scores: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, Any]:
    """Return the accuracy of each score on the items, with what anybody reaches who does not read them.

    >>> items = [PromptItem("the", ("cat", "dog"), 0), PromptItem("a", ("cat", "dog"), 1)]
    >>> found = measure_items(items, [[{"sum": -1.0}, {"sum": -2.0}], [{"sum": -1.0}, {"sum": -1.0}]])
    >>> found["chance"], found["majority"], found["scores"]["sum"]["accuracy"], found["scores"]["sum"]["ties"]
    (0.5, 0.5, 0.75, 1)

    Args:
        scores: for each item and each of its answers the scores by name, as from `all_scores`.

    Returns:
        `items`; `chance`, the mean of 1 / answers; `majority`, the share of the most frequent number of a right answer
        among these items themselves; `scores`: {name: {"accuracy", "standard_error", "ties" (items in which more than
        one answer has the highest score)}}.
    """
    groups = independent_groups(items)
    measured = {}
    for name in scores[0][0]:
        own = [[answer[name] for answer in answers] for answers in scores]
        mean, error = mean_with_error(
            [points(values, item.label) for values, item in zip(own, items, strict=True)], groups
        )
        ties = sum(values.count(max(values)) > 1 for values in own)
        measured[name] = {"accuracy": mean, "standard_error": error, "ties": ties}
    return {
        "items": len(items),
        "chance": math.fsum(1 / len(item.answers) for item in items) / len(items),
        "majority": Counter(item.label for item in items).most_common(1)[0][1] / len(items),
        "scores": measured,
    }


def score_items(
    model: Any,
    tokenizer: Any,
    items: Sequence[PromptItem],
    separator: str = " ",
    unconditional: str = UNCONDITIONAL,
    batch_size: int = 32,
    progress: bool = False,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Score all answers of all items, and measure how often the right one is best.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat on the mat", "a dog ran"]
    >>> tokenizer = WordTokenizer.train(texts, progress=False)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)
    >>> score_items(model, tokenizer, [PromptItem("the cat", ("sat", "ran"), 0)])[0]["scores"]["sum"]["accuracy"]
    1.0

    Args:
        unconditional: the prompt of the second term of the score "divided". The others are as for `score_answers`.

    Returns:
        The result of `measure_items` with `items_with_unknown_words` (in an answer) and `cut_prompts` (items); and for
        each item its label and, in the order of its answers, their `tokens` and their scores by name.

    Raises:
        ValueError: as `score_answers`; or there are no items.
    """
    if not items:
        raise ValueError("there are no items to score")
    questions = [(item.prompt, answer) for item in items for answer in item.answers]
    alone = dict.fromkeys((unconditional, answer) for _, answer in questions)
    found = score_answers(model, tokenizer, [*questions, *alone], separator, batch_size, progress)
    without = {answer: score for (_, answer), score in zip(alone, found[len(questions) :], strict=True)}
    rest = iter(found)
    own = [[next(rest) for _ in item.answers] for item in items]
    scores = [
        [all_scores(score, without[answer], len(answer)) for score, answer in zip(answers, item.answers, strict=True)]
        for answers, item in zip(own, items, strict=True)
    ]
    measured = measure_items(items, scores)
    measured["items_with_unknown_words"] = sum(any(score.unknown_words for score in answers) for answers in own)
    measured["cut_prompts"] = sum(any(score.cut for score in answers) for answers in own)
    return measured, [_item_row(*one) for one in zip(items, own, scores, strict=True)]


def _item_row(
    item: PromptItem, answers: Sequence[AnswerScore], scores: Sequence[Mapping[str, float]]
) -> dict[str, Any]:
    by_name = {name: [one[name] for one in scores] for name in SCORES}
    return {"label": item.label, "tokens": [score.tokens for score in answers], **by_name}
