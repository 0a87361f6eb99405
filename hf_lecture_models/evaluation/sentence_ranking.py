# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`pipeline("sentence-ranking")`: A is better than B iff P(A) >= P(B) (slide Y:21-86).

This file travels alone with exported language models. Where the package is installed, registration.py replaces
`score_sentences` by the package's own scoring.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from typing import Any

import torch
from transformers.pipelines import Pipeline

from hf_lecture_models.io.streams import Answers, each_input

TASK = "sentence-ranking"
PROBABILITIES = ("terminated", "prefix")
ZERO = -100 * math.log(10)
"""What counts for ln 0 where several sentences have probability 0: KenLM's number for a word that its file lacks."""


@dataclass(frozen=True)
class Score:
    """The tokens of a sentence with their log-probabilities; [] and [-inf] for an impossible sentence.

    >>> Score([5, 3], [-1.5, -0.5]).log_prob
    -2.0
    """

    ids: list[int]
    log_probs: list[float]

    @property
    def log_prob(self) -> float:
        """ln P of the sentence."""
        return math.fsum(self.log_probs)

    @property
    def zeros(self) -> int:
        """The number of tokens of probability 0."""
        return self.log_probs.count(-math.inf)

    @property
    def log_prob_without_zeros(self) -> float:
        """ln P of the other tokens."""
        return math.fsum(value for value in self.log_probs if value > -math.inf)

    @property
    def finite_log_prob(self) -> float:
        """ln P with `ZERO` for each token of probability 0; it orders sentences of probability 0."""
        return self.log_prob_without_zeros + self.zeros * ZERO


@torch.no_grad()
def score_sentences(
    model: Any, tokenizer: Any, sentences: Sequence[str], probability: str = "terminated", batch_size: int = 64
) -> list[Score]:
    """Score each sentence with `model.score`, sentences of like length together.

    A sentence with a word that a closed vocabulary lacks is impossible.

    Raises:
        ValueError: a sentence is longer than the model's longest input, or the tokenizer has no end of text.
    """
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    end = [tokenizer.eos_token_id] if probability == "terminated" else []
    if start is None:
        raise ValueError(
            "the tokenizer has neither bos_token nor eos_token, so nothing says where a text begins or ends"
        )
    if None in end:
        raise ValueError("the tokenizer has no eos_token, so no text can end; set tokenizer.eos_token")
    found = [Score([], [-math.inf]) for _ in sentences]
    rows: dict[int, list[int]] = {}
    for index, sentence in enumerate(sentences):
        try:
            ids = tokenizer(sentence, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        except Exception as error:
            if type(error) is not Exception:  # the Rust library's own, of a word without an id
                raise
            continue
        rows[index] = [*ids, *end]
    order = sorted(rows, key=lambda index: len(rows[index]))
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        lengths = torch.tensor([len(rows[index]) for index in batch])
        width = int(lengths.max())
        filled = [[start, *rows[index], *[start] * (width - len(rows[index]))] for index in batch]
        mask = (torch.arange(1 + width) <= lengths[:, None]).long()
        scores = model.score(torch.tensor(filled, device=model.device), mask.to(model.device))[:, 1:].double().tolist()
        for index, row in zip(batch, scores, strict=True):
            found[index] = Score(rows[index], row[: len(rows[index])])
    return found


class SentenceRankingPipeline(Pipeline):
    """Order sentences by the probability that a causal language model gives to them, best first.

        rank = pipeline("sentence-ranking", model=folder)
        rank(["A", "B"])             # [{"index", "sequence", "log_prob", "log_prob_per_token"}, ...]
        rank([["A", "B"], ["C"]])    # many groups: a list of rankings
        rank(KeyPairDataset(dataset, "good", "bad"))    # an iterator, which reads as many groups as it ranks

    >>> from transformers import pipeline
    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> tokenizer = WordTokenizer.train(["grey tape", "great ape"])
    >>> model = NGramForCausalLM.fit(["grey tape", "great ape"], tokenizer, order=2, smoothing="add_alpha")
    >>> rank = pipeline("sentence-ranking", model=model, tokenizer=tokenizer)
    >>> [(entry["sequence"], round(entry["log_prob"], 2)) for entry in rank(["grey ape", "great ape"])]
    [('great ape', -3.89), ('grey ape', -4.58)]

    `index` is the place in the input, `log_prob` a natural logarithm; ties keep the order of the input. A sentence of
    probability 0 has two more entries, the number of tokens of probability 0, `zeros`, and the `log_prob_without_zeros`
    of the others. Among such sentences each of these tokens counts -230.3 = ln 1e-100, as in KenLM, so the ones with
    fewest unknown words are first. Options, at construction or per call:

    - `probability`: "terminated" (default; the sentence ends here) or "prefix" (it may go on);
    - `return_tokens`: add `tokens`, a list of {"token", "id", "log_prob"};
    - `batch_size`: sentences per batch, and groups of a generator or data set that are read together (64);
    - `scores` (per call), `weight`, `length_bonus` (0): for the n-best list of a recogniser, with its `scores`, nested
      as the sentences are. Sentences are ranked by `total`, score + weight * log_prob + length_bonus * words; each
      entry has its `score` and `total` too.

    Raises:
        TypeError: the input is neither some sentences (str) nor some lists of sentences, or an option is unknown.
        ValueError: an option has a wrong value, `scores` do not fit the sentences, or one of `scores` and `weight`
            comes without the other.
    """

    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False
    score_sentences: Callable[..., list[Score]] = staticmethod(score_sentences)

    def __call__(  # type: ignore[override]
        self, inputs: Any, batch_size: int | None = None, scores: Any = None, **kwargs: Any
    ) -> Any:
        """Rank one group of sentences, or each of several; a generator or a data set of groups gives an iterator."""
        preprocess, forward, postprocess = self._sanitize_parameters(**kwargs)
        size = self._checked(batch_size)
        forward = {"batch_size": size, **self._forward_params, **forward}
        preprocess, postprocess = {**self._preprocess_params, **preprocess}, {**self._postprocess_params, **postprocess}

        def run(groups: list[list[str]], outside: list[list[float]] | None) -> list[Any]:
            # All groups go through the model together, each distinct sentence once.
            outputs = self.forward(self.preprocess(groups, **preprocess), **forward)
            return self.postprocess({"groups": groups, "outside": outside, **outputs}, **postprocess)

        each = None if isinstance(inputs, list | tuple) else each_input(inputs)
        if each is not None:
            first = list(islice(each, 1))
            each = chain(first, each)
            if first and not isinstance(first[0], str):
                numbers = None if scores is None else iter(scores)
                return Answers(inputs, each, size, lambda some: run(*_as_part(some, numbers)))
            inputs = list(each)
        groups = _as_groups(inputs)
        outside = None if scores is None else _as_scores(scores if _is_nested(inputs) else [scores], groups)
        rankings = run(groups, outside)
        return rankings if _is_nested(inputs) else rankings[0]

    def _checked(self, batch_size: int | None) -> int:
        if batch_size is None:
            batch_size = 64 if self._batch_size is None else self._batch_size
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; it must be an integer of at least 1")
        return batch_size

    def _sanitize_parameters(
        self, probability: str | None = None, return_tokens: bool | None = None, **others: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if unknown := others.keys() - {"weight", "length_bonus"}:
            raise TypeError(
                f"{TASK} has no option {', '.join(sorted(unknown))}; its options are probability, return_tokens, "
                "batch_size, scores, weight and length_bonus"
            )
        if probability is not None and probability not in PROBABILITIES:
            raise ValueError(f"probability is {probability!r}; it must be one of {', '.join(map(repr, PROBABILITIES))}")
        forward = {} if probability is None else {"probability": probability}
        return {}, forward, others if return_tokens is None else others | {"return_tokens": return_tokens}

    def preprocess(self, groups: list[list[str]]) -> dict[str, Any]:  # type: ignore[override]
        """Return the distinct sentences of the groups."""
        return {"sentences": list(dict.fromkeys(sentence for group in groups for sentence in group))}

    def _forward(self, input_tensors: dict[str, Any], **options: Any) -> Any:
        sentences = input_tensors["sentences"]
        scores = self.score_sentences(self.model, self.tokenizer, sentences, **options)
        return {"scores": dict(zip(sentences, scores, strict=True))}

    def postprocess(  # type: ignore[override]
        self,
        model_outputs: Any,
        return_tokens: bool = False,
        weight: float | None = None,
        length_bonus: float | None = None,
    ) -> list[list[dict[str, Any]]]:
        """Return one ranking per group from the scores of the sentences."""
        groups, outside = model_outputs["groups"], model_outputs["outside"]
        if outside is None and (weight, length_bonus) != (None, None):
            raise ValueError(f"weight and length_bonus of {TASK} need scores, one for each sentence")
        if outside is not None and weight is None:
            raise ValueError(f"scores of {TASK} need a weight, by which the model's log_prob is multiplied")
        for name, value in (("weight", weight), ("length_bonus", length_bonus)):
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}; it must be a finite number")
        rankings = []
        for number, group in enumerate(groups):
            entries = self._entries(group, model_outputs["scores"], return_tokens)
            finite = [model_outputs["scores"][sentence].finite_log_prob for sentence in group]
            keys = [(entry["log_prob"], value) for entry, value in zip(entries, finite, strict=True)]
            if outside is not None:
                factors = weight or 0.0, length_bonus or 0.0
                for at, (entry, score) in enumerate(zip(entries, outside[number], strict=True)):
                    total = _total(score, entry["log_prob"], entry["sequence"], *factors)
                    entries[at] |= {"score": score, "total": total}
                    keys[at] = total, _total(score, finite[at], entry["sequence"], *factors)
            # Python's sort is stable, also in reverse.
            rankings.append([entries[at] for at in sorted(range(len(group)), key=keys.__getitem__, reverse=True)])
        return rankings

    def _entries(self, group: list[str], scores: dict[str, Score], return_tokens: bool) -> list[dict[str, Any]]:
        entries = []
        for index, sentence in enumerate(group):
            score = scores[sentence]
            entry: dict[str, Any] = {"index": index, "sequence": sentence, "log_prob": score.log_prob}
            entry["log_prob_per_token"] = score.log_prob / max(1, len(score.log_probs))
            if score.zeros and score.ids:
                entry |= {"zeros": score.zeros, "log_prob_without_zeros": score.log_prob_without_zeros}
            if return_tokens:
                tokenizer: Any = self.tokenizer
                names = tokenizer.convert_ids_to_tokens(score.ids)
                entry["tokens"] = [
                    {"token": token, "id": id_, "log_prob": value}
                    for token, id_, value in zip(names, score.ids, score.log_probs, strict=False)
                ]
            entries.append(entry)
        return entries


def _total(score: float, log_prob: float, sequence: str, weight: float, length_bonus: float) -> float:
    """Return the exact total; a weight of 0 ignores even a log_prob of minus infinity (`evaluation.rescoring`)."""
    log_prob = log_prob if weight else 0.0
    if math.isinf(score) or math.isinf(log_prob):
        return score + weight * log_prob
    exact = [Fraction(repr(float(number))) for number in (score, weight, log_prob, length_bonus)]
    return float(exact[0] + exact[1] * exact[2] + exact[3] * len(sequence.split()))


def _as_scores(scores: Any, groups: list[list[str]]) -> list[list[float]]:
    try:
        numbers = [[float(score) for score in group] for group in scores]
    except TypeError:
        raise TypeError(f"scores of {TASK} must be numbers, nested as the sentences are") from None
    for score in (score for group in numbers for score in group):
        if math.isnan(score) or score == math.inf:
            raise ValueError(f"a score is {score}; it must be a number below infinity")
    if [len(group) for group in numbers] != [len(group) for group in groups]:
        raise ValueError(f"scores of {TASK} must be as many as the sentences, one for each")
    return numbers


def _as_part(some: list[Any], scores: Iterator[Any] | None) -> tuple[list[list[str]], list[list[float]] | None]:
    """Return the next groups of a stream, and their scores; a pair of transformers' `KeyPairDataset` is a group."""
    pair = {"text", "text_pair"}
    nested = [[*item.values()] if isinstance(item, dict) and item.keys() == pair else item for item in some]
    groups = _as_groups(nested)
    return groups, None if scores is None else _as_scores(islice(scores, len(groups)), groups)


def _is_nested(inputs: Any) -> bool:
    return bool(inputs) and isinstance(inputs[0], list | tuple)


def _as_groups(inputs: Any) -> list[list[str]]:
    if isinstance(inputs, str):
        raise TypeError(f"{TASK} compares sentences: give a list of them, not one str")
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"{TASK} takes a list of sentences or a list of such lists, not a {type(inputs).__name__}")
    groups = inputs if _is_nested(inputs) else [inputs]
    for number, group in enumerate(groups):
        if not isinstance(group, list | tuple):
            raise TypeError(f"{TASK} got lists and single sentences mixed: item {number} is a {type(group).__name__}")
        for index, sentence in enumerate(group):
            if not isinstance(sentence, str):
                raise TypeError(
                    f"{TASK} takes a list of sentences or a list of such lists; "
                    f"sentence {index} of group {number} is a {type(sentence).__name__}"
                )
    return [list(group) for group in groups]
