# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture score` with caches, dynamic evaluation, or sums over segmentations."""

from pathlib import Path

from hf_lecture_models.cli import score
from hf_lecture_models.evaluation.language_model import Scorer
from hf_lecture_models.lab.studies.adaptation import Adaptation, AdaptedScorer
from hf_lecture_models.lab.studies.cache import ContinuousCache, UnigramCache
from hf_lecture_models.lab.studies.dynamic_evaluation import DynamicEvaluation
from hf_lecture_models.lab.studies.marginal import MarginalScorer


def run(
    name: str,
    files: list[str],
    probability: str,
    stream: bool,
    tokens: bool,
    json: bool,
    batch_size: int,
    sentencepiece: Path | None,
    segmentations: str,
    cache: float | None,
    continuous_cache: float | None,
    dynamic_evaluation: float | None,
    cache_window: int,
) -> None:
    """Print what the verb prints without them, and how the lines were scored."""
    follows: list[Adaptation] = []
    if dynamic_evaluation is not None:
        follows.append(DynamicEvaluation(dynamic_evaluation))
    if continuous_cache is not None:
        follows.append(ContinuousCache(continuous_cache, cache_window))
    if cache is not None:
        follows.append(UnigramCache(cache, cache_window))
    scorer: Scorer = MarginalScorer(probability) if segmentations == "marginal" else AdaptedScorer(follows)
    score.run(name, files, probability, stream, tokens, json, batch_size, sentencepiece, scorer)
