# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`pipeline("sentence-ranking")`: A is better than B iff P(A) >= P(B) (slide Y:21-86).

Published language models have this file; evaluation/sentence_ranking.py adds checks, streams and faster scoring.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from transformers.pipelines import Pipeline

ZERO = -100 * math.log(10)
"""What counts for ln 0 where several sentences have probability 0: KenLM's number for a word that its file lacks."""


@dataclass(frozen=True)
class Score:
    """The tokens of a sentence with their log-probabilities; [] and [-inf] for an impossible sentence."""

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
        raise ValueError("the tokenizer has neither bos_token nor eos_token: nothing says where a text begins or ends")
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

        rank = pipeline("sentence-ranking", model=folder, trust_remote_code=True)
        rank(["A", "B"])             # [{"index", "sequence", "log_prob", "log_prob_per_token"}, ...]
        rank([["A", "B"], ["C"]])    # many groups: a list of rankings

    The options are `probability` ("terminated" or "prefix"), `return_tokens`, `batch_size`, and, for `scores` of the
    sentences by another program, `weight` and `length_bonus`; see the package's documentation.
    """

    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False
    score_sentences: Callable[..., list[Score]] = staticmethod(score_sentences)

    def __call__(  # type: ignore[override]
        self, inputs: Any, batch_size: int | None = None, scores: Any = None, **kwargs: Any
    ) -> Any:
        """Rank one group of sentences, or each of several."""
        inputs = list(inputs)
        if inputs and not isinstance(inputs[0], str):
            return self.rank(inputs, scores, batch_size or self._batch_size or 64, **kwargs)
        return self.rank([inputs], scores and [scores], batch_size or self._batch_size or 64, **kwargs)[0]

    def rank(self, groups: list[list[str]], scores: Any, batch_size: int, **kwargs: Any) -> list[Any]:
        """Rank each group; all go through the model together, each distinct sentence once."""
        preprocess, forward, postprocess = self._sanitize_parameters(**kwargs)
        forward = {"batch_size": batch_size, **self._forward_params, **forward}
        outputs = self.forward(self.preprocess(groups, **{**self._preprocess_params, **preprocess}), **forward)
        postprocess = {**self._postprocess_params, **postprocess}
        return self.postprocess({"groups": groups, "outside": scores, **outputs}, **postprocess)

    def _sanitize_parameters(
        self, probability: str | None = None, **others: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return {}, {} if probability is None else {"probability": probability}, others

    def preprocess(self, groups: list[list[str]]) -> dict[str, Any]:  # type: ignore[override]
        """Return the distinct sentences of the groups."""
        return {"sentences": list(dict.fromkeys(sentence for group in groups for sentence in group))}

    def _forward(self, input_tensors: dict[str, Any], **options: Any) -> Any:
        sentences = input_tensors["sentences"]
        scores = self.score_sentences(self.model, self.tokenizer, sentences, **options)
        return {"scores": dict(zip(sentences, scores, strict=True))}

    def postprocess(  # type: ignore[override]
        self, model_outputs: Any, return_tokens: bool = False, weight: float = 0.0, length_bonus: float = 0.0
    ) -> list[list[dict[str, Any]]]:
        """Return one ranking per group from the scores of the sentences."""
        groups, outside = model_outputs["groups"], model_outputs["outside"]
        rankings = []
        for number, group in enumerate(groups):
            entries = self._entries(group, model_outputs["scores"], return_tokens)
            finite = [model_outputs["scores"][sentence].finite_log_prob for sentence in group]
            keys = [(entry["log_prob"], value) for entry, value in zip(entries, finite, strict=True)]
            if outside is not None:
                for at, (entry, score) in enumerate(zip(entries, outside[number], strict=True)):
                    total = _total(score, entry["log_prob"], entry["sequence"], weight, length_bonus)
                    entries[at] |= {"score": score, "total": total}
                    keys[at] = total, _total(score, finite[at], entry["sequence"], weight, length_bonus)
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
    """Return the exact total; a weight of 0 ignores even a log_prob of minus infinity."""
    log_prob = log_prob if weight else 0.0
    if math.isinf(score) or math.isinf(log_prob):
        return score + weight * log_prob
    exact = [Fraction(repr(float(number))) for number in (score, weight, log_prob, length_bonus)]
    return float(exact[0] + exact[1] * exact[2] + exact[3] * len(sequence.split()))
