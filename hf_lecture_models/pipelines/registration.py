# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Our own pipelines as transformers knows them; what they take from the package, and exported models do without."""

from collections.abc import Sequence
from typing import Any

from transformers import AutoModelForCausalLM
from transformers.pipelines import PIPELINE_REGISTRY

from hf_lecture_models.evaluation.scoring import score_texts
from hf_lecture_models.pipelines.sentence_ranking import TASK, Score, SentenceRankingPipeline


def register_pipelines() -> None:
    """Make `pipeline("sentence-ranking")` known to transformers; a second call changes nothing."""
    if TASK in PIPELINE_REGISTRY.supported_tasks:
        return
    PIPELINE_REGISTRY.register_pipeline(
        TASK, pipeline_class=SentenceRankingPipeline, pt_model=AutoModelForCausalLM, type="text"
    )
    # With this mark `save_pretrained` would copy this file into the folder and ask for trust when it is loaded again.
    del SentenceRankingPipeline._registered_impl  # type: ignore[attr-defined]
    SentenceRankingPipeline.score_sentences = staticmethod(_score_with_package)


def _score_with_package(model: Any, tokenizer: Any, sentences: Sequence[str], **options: Any) -> list[Score]:
    """Any causal language model of transformers, texts of any length, and what sentences have in common only once."""
    scores = score_texts(model, tokenizer, sentences, **options)
    return [Score(score.ids.tolist(), score.log_probs.tolist()) for score in scores]
