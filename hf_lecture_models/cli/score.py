# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture score`: the log-probability of each line, and the perplexity of all lines."""

import math
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from hf_lecture_models.cli.io import line_chunks, load_language_model, print_json, print_tokens
from hf_lecture_models.evaluation.language_model import CHUNK, PerplexityAccumulator, Scorer
from hf_lecture_models.evaluation.scoring import TextScore, score_stream, score_texts
from hf_lecture_models.io.strict_json import strict_json
from hf_lecture_models.models.ngram import NGramForCausalLM

# The measures of prefixes, texts without an end.
_OF_PREFIXES = ("texts", "tokens", "unknown", "log_prob", "vocab_size", "unk_token", "segmentations")


def run(
    name: str,
    files: list[str],
    probability: str,
    stream: bool,
    tokens: bool,
    json: bool,
    batch_size: int,
    sentencepiece: Path | None,
    scorer: Scorer | None = None,
) -> None:
    """Print the score of each line as soon as it is ready (with `stream`, at the end), then the measures of all.

    Args:
        scorer: what scores the lines in another way, and says so in each line that it scores by itself.
    """
    score = scorer or (score_stream if stream else partial(score_texts, probability=probability))
    model, tokenizer = load_language_model(name, sentencepiece)
    measures = PerplexityAccumulator(model, tokenizer, stream)
    conditions = {} if scorer is None else scorer.conditions(model)
    if not json:
        print(f"{'log_prob':>14} {'per token':>10} {'tokens':>7} {'unknown':>7}  text", file=sys.stderr)
    # An n-gram reads a chunk at once, and is so fast that the results of a large one come soon too.
    is_ngram = scorer is None and isinstance(model, NGramForCausalLM)
    chunks: Iterable[list[str]] = line_chunks(files, max(batch_size, CHUNK) if is_ngram else batch_size)
    for texts in [list(chain.from_iterable(chunks))] if stream else chunks:
        scores: Sequence[TextScore] = score(model, tokenizer, texts, batch_size=batch_size)
        measures.add(scores)
        for one in scores:
            _print_score(one, tokenizer, tokens, json, {} if stream else conditions)
        sys.stdout.flush()
    _print_measures(measures.measures() | conditions, probability, json)


def _print_score(score: TextScore, tokenizer: Any, tokens: bool, json: bool, conditions: dict[str, str]) -> None:
    detail = score.tokens(tokenizer) if tokens else None
    if json:
        print(_json_line(score, detail, conditions))
        return
    counts = f"{len(score.ids):7} {len(score.encoded.unknown_words):7}"
    print(f"{score.log_prob:14.4f} {score.log_prob_per_token:10.4f} {counts}  {score.encoded.text}")
    print_tokens(detail or [])


def _json_line(score: TextScore, detail: list[dict[str, Any]] | None, conditions: dict[str, str]) -> str:
    """Return the line of JSON of a text; to let an encoder write it as a whole would take twice as long."""
    line = (
        f'{{"text": {strict_json(score.encoded.text)}, "log_prob": {_json_number(score.log_prob)}, '
        f'"log_prob_per_token": {_json_number(score.log_prob_per_token)}, "tokens": {len(score.ids)}, '
        f'"unknown": {len(score.encoded.unknown_words)}'
    )
    line += "".join(f', "{key}": {strict_json(value)}' for key, value in conditions.items())
    if detail is not None:
        line += f', "token_log_probs": {strict_json(detail)}'
    return line + "}"


def _json_number(value: float) -> str:
    return repr(value) if math.isfinite(value) else "null"


def _print_measures(measures: dict[str, Any], probability: str, json: bool) -> None:
    if probability == "prefix":  # perplexity is defined for texts with an end
        measures = {key: measures[key] for key in _OF_PREFIXES if key in measures}
    if json:
        print_json({"summary": measures})
        return
    for key, value in measures.items():
        if value is not None:
            print(f"{key:>26}  {value:.6g}" if isinstance(value, float) else f"{key:>26}  {value}", file=sys.stderr)
