# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture rank --scores`: n-best lists of a recogniser, ranked again with a language model's log-probabilities."""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

from hf_lecture_models.cli.io import complete_groups, line_chunks, print_json, print_tokens, print_zeros
from hf_lecture_models.evaluation.sentence_ranking import Score, SentenceRankingPipeline
from hf_lecture_models.lab.studies.rescoring import (
    Hypothesis,
    Rescoring,
    parse_hypothesis,
    tune_weight,
    word_error_rates,
)
from hf_lecture_models.loading import load_model
from hf_lecture_models.tokenization.corpus import read_texts
from hf_lecture_models.tokenization.splitting import split_words

_List = list[tuple[float, str]]


def run(
    name: str,
    files: list[str],
    references: Path | None,
    weight: float | None,
    length_bonus: float,
    probability: str,
    tokens: bool,
    json: bool,
    batch_size: int,
) -> None:
    """Print each group's hypotheses, best first, as soon as the group is complete; with references, at the end.

    Raises:
        ValueError: a line is damaged (the message names file and line), the lists are empty, or the number of
            references differs from that of the groups.
    """
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    ranker = SentenceRankingPipeline(model=model, tokenizer=tokenizer, task="sentence-ranking", device=model.device)
    batches: Iterable[list[_List]] = chain.from_iterable(complete_groups(_parsed(file, batch_size)) for file in files)
    if references:
        batches = [list(chain.from_iterable(batches))]
    if not json:
        print(f"     {'total':>14} {'score':>12} {'log_prob':>12} {'words':>5}  sentence", file=sys.stderr)
    number = zeros = 0
    for lists in batches:
        groups = [[sentence for _, sentence in one] for one in lists]
        scores = ranker.forward(ranker.preprocess(groups), probability=probability, batch_size=batch_size)["scores"]
        rescoring, rates = _rescoring(lists, scores, references, weight, length_bonus)
        outputs = {"groups": groups, "outside": [[score for score, _ in one] for one in lists], "scores": scores}
        for ranking in ranker.postprocess(outputs, tokens, rescoring.weight, rescoring.length_bonus):
            _print_list(number, ranking, json)
            number += 1
            zeros += sum("zeros" in entry for entry in ranking)
        _print_rates(rescoring, rates, json)
        sys.stdout.flush()
    print_zeros(zeros)
    if not number:
        raise ValueError("nothing to rank: give lines of score<TAB>sentence, and a blank line between groups")


def _parsed(file: str, batch_size: int) -> Iterator[list[tuple[float, str] | None]]:
    number = 0
    for lines in line_chunks([file], batch_size):
        parsed: list[tuple[float, str] | None] = []
        for line in lines:
            number += 1
            try:
                parsed.append(parse_hypothesis(line) if line.strip() else None)
            except ValueError as error:
                place = "standard input" if file == "-" else file
                raise ValueError(f"{place}, line {number}: {error}") from None
        yield parsed


def _rescoring(
    lists: list[_List],
    scores: dict[str, Score],
    references: Path | None,
    weight: float | None,
    length_bonus: float,
) -> tuple[Rescoring, dict[str, float]]:
    if references is None:
        assert weight is not None
        return Rescoring(weight, length_bonus), {}
    correct = list(read_texts(references))
    groups = [
        [Hypothesis(text, score, scores[text].log_prob, scores[text].finite_log_prob) for score, text in one]
        for one in lists
    ]
    rescoring = tune_weight(groups, correct, length_bonus) if weight is None else Rescoring(weight, length_bonus)
    return rescoring, word_error_rates(groups, correct, rescoring)


def _print_list(number: int, ranking: list[dict[str, Any]], json: bool) -> None:
    if json:
        print_json({"group": number, "ranking": ranking})
        return
    if number:
        print()
    for rank, entry in enumerate(ranking, start=1):
        words = len(split_words(entry["sequence"]))
        parts = f"{entry['total']:14.4f} {entry['score']:12.4f} {entry['log_prob']:12.4f} {words:5}"
        print(f"{rank:4} {parts}  {entry['sequence']}")
        print_tokens(entry.get("tokens", []))


def _print_rates(rescoring: Rescoring, rates: dict[str, float], json: bool) -> None:
    if not rates:
        return
    if json:
        print_json({"summary": {"weight": rescoring.weight, "length_bonus": rescoring.length_bonus, **rates}})
        return
    print(f"{'weight':>30}  {rescoring.weight:.6g}", file=sys.stderr)
    for name, value in rates.items():
        print(f"{name:>30}  {value:.2f} %", file=sys.stderr)
