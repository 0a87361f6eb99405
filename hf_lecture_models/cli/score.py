# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture score`: the log-probability of each line, and the perplexity of all lines."""

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.cli.io import line_chunks, load_language_model, print_json, token_line
from hf_lecture_models.evaluation.language_model import CHUNK, PerplexityAccumulator, Scorer
from hf_lecture_models.evaluation.scoring import TextScore, TextScores, score_stream, score_texts
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
        details = (one.tokens(tokenizer) for one in scores) if tokens else repeat(None)
        lines = partial(_json_lines, {} if stream else conditions) if json else _table_lines
        sys.stdout.writelines(lines(*_columns(scores), details))
        sys.stdout.flush()
    _print_measures(measures.measures() | conditions, probability, json)


def _columns(scores: Sequence[TextScore]) -> list[list[Any]]:
    """Return of each text itself, ln P, ln P per token, the number of its tokens, and of its unknown words."""
    if isinstance(scores, TextScores) and scores.is_whole:
        texts, tokens = scores.encoded, scores.lengths
        arrays = (scores.log_probs, scores.log_probs / np.maximum(tokens, 1), tokens, texts.unknown_word_counts)
        return [list(texts.texts), *(array.tolist() for array in arrays)]
    return [
        [one.encoded.text for one in scores],
        [one.log_prob for one in scores],
        [one.log_prob_per_token for one in scores],
        [len(one.ids) for one in scores],
        [len(one.encoded.unknown_words) for one in scores],
    ]


def _table_lines(*columns: Iterable[Any]) -> Iterable[str]:
    """Return the lines of the table: those of texts, each followed by those of its tokens."""
    for text, log_prob, per_token, tokens, unknown, detail in zip(*columns, strict=False):
        yield f"{log_prob:14.4f} {per_token:10.4f} {tokens:7} {unknown:7}  {text}\n"
        yield from map(token_line, detail or [])


def _json_lines(conditions: dict[str, str], *columns: Iterable[Any]) -> Iterable[str]:
    """Return the lines of JSON of texts; to let an encoder write each as a whole would take four times as long."""
    texts, log_probs, per_token, tokens, unknown, details = columns
    more = "".join(f', "{key}": {strict_json(value)}' for key, value in conditions.items()).replace("%", "%%")
    line = f'{{"text": %s, "log_prob": %s, "log_prob_per_token": %s, "tokens": %d, "unknown": %d{more}%s}}\n'
    ends = ("" if detail is None else f', "token_log_probs": {strict_json(detail)}' for detail in details)
    numbers = (_json_numbers(log_probs), _json_numbers(per_token), tokens, unknown)
    return map(line.__mod__, zip(map(strict_json, texts), *numbers, ends, strict=False))


def _json_numbers(values: Any) -> list[str]:
    """Return numbers as JSON writes them.

    >>> _json_numbers([-0.5, float("-inf")])
    ['-0.5', 'null']
    """
    return strict_json(values)[1:-1].split(", ")


def _print_measures(measures: dict[str, Any], probability: str, json: bool) -> None:
    if probability == "prefix":  # perplexity is defined for texts with an end
        measures = {key: measures[key] for key in _OF_PREFIXES if key in measures}
    if json:
        print_json({"summary": measures})
        return
    for key, value in measures.items():
        if value is not None:
            print(f"{key:>26}  {value:.6g}" if isinstance(value, float) else f"{key:>26}  {value}", file=sys.stderr)
