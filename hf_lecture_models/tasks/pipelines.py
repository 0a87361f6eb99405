# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Register our own pipelines with transformers, and give them the parts that exported models do without."""

from collections.abc import Sequence
from functools import wraps
from typing import Any

from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
)
from transformers.pipelines import (
    PIPELINE_REGISTRY,
    ImageClassificationPipeline,
    ImageFeatureExtractionPipeline,
    TokenClassificationPipeline,
)

from hf_lecture_models.base.pillow_images import open_input
from hf_lecture_models.evaluation import sentence_ranking
from hf_lecture_models.evaluation.sentence_ranking import Score, SentenceRankingPipeline
from hf_lecture_models.tasks.captioning import pipeline as image_captioning
from hf_lecture_models.tasks.captioning.pipeline import ImageCaptioningPipeline
from hf_lecture_models.tasks.question_answering import pipeline as extractive_question_answering
from hf_lecture_models.tasks.question_answering.pipeline import ExtractiveQuestionAnsweringPipeline
from hf_lecture_models.tasks.translation import pipeline as machine_translation
from hf_lecture_models.tasks.translation.pipeline import MachineTranslationPipeline
from hf_lecture_models.tokenization.elmo import ElmoTokenizer
from hf_lecture_models.tokenization.offsets import whole_offsets

_PIPELINES: dict[str, tuple[Any, Any, str]] = {
    sentence_ranking.TASK: (SentenceRankingPipeline, AutoModelForCausalLM, "text"),
    extractive_question_answering.TASK: (ExtractiveQuestionAnsweringPipeline, AutoModelForQuestionAnswering, "text"),
    machine_translation.TASK: (MachineTranslationPipeline, AutoModelForSeq2SeqLM, "text"),
    image_captioning.TASK: (ImageCaptioningPipeline, AutoModelForImageTextToText, "multimodal"),
}


def register_pipelines() -> None:
    """Register our own pipelines with transformers by name; a second call changes nothing."""
    for task, (pipeline_class, auto_class, kind) in _PIPELINES.items():
        if task in PIPELINE_REGISTRY.supported_tasks:
            continue
        PIPELINE_REGISTRY.register_pipeline(task, pipeline_class=pipeline_class, pt_model=auto_class, type=kind)
        # With this mark `save_pretrained` would copy the class's file into the folder, which then needs
        # trust_remote_code.
        del pipeline_class._registered_impl
    SentenceRankingPipeline.score_sentences = staticmethod(_score_with_package)
    if not hasattr(TokenClassificationPipeline.preprocess, "__wrapped__"):
        _refuse_rows_of_characters()
        _take_whole_offsets()
        for image_pipeline in (ImageClassificationPipeline, ImageFeatureExtractionPipeline):
            _open_images_of_all_forms(image_pipeline)


def _refuse_rows_of_characters() -> None:
    """Let transformers' token-classification refuse `ElmoTokenizer`, with which it would fail in its own code.

    For `aggregation_strategy="first"`, "average" and "max" it would advise "simple", which fails too.
    """
    sanitize: Any = TokenClassificationPipeline._sanitize_parameters
    preprocess: Any = TokenClassificationPipeline.preprocess

    def refuse(pipeline: Any) -> None:
        if isinstance(pipeline.tokenizer, ElmoTokenizer):
            raise ValueError(
                "token-classification asks for one number per token, and a word of ElmoTokenizer is a row of them: tag "
                "by the Predictor of hf_lecture_models.tasks.prediction, or by the model itself"
            )

    @wraps(sanitize)
    def sanitized(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return sanitize(self, *args, **kwargs)
        except ValueError:
            refuse(self)
            raise

    @wraps(preprocess)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        refuse(self)
        return preprocess(self, *args, **kwargs)

    setattr(TokenClassificationPipeline, "_sanitize_parameters", sanitized)  # noqa: B010
    setattr(TokenClassificationPipeline, "preprocess", checked)  # noqa: B010


def _take_whole_offsets() -> None:
    """Let transformers' token-classification take the first letters of words into its entities, for our models.

    Its offsets are the tokenizer's, which may leave them out (`whole_offsets`).
    """
    gather: Any = TokenClassificationPipeline.gather_pre_entities

    @wraps(gather)
    def gathered(self: Any, sentence: str, input_ids: Any, scores: Any, offsets: Any, *args: Any, **kwargs: Any) -> Any:
        # Of a list of words, offsets begin anew in each word.
        is_text = offsets is not None and kwargs.get("word_to_chars_map") is None
        if is_text and self.model.config.model_type.startswith("lecture_"):
            tokens = self.tokenizer.convert_ids_to_tokens(input_ids.tolist())
            offsets = whole_offsets(sentence, tokens, offsets.tolist())
        return gather(self, sentence, input_ids, scores, offsets, *args, **kwargs)

    setattr(TokenClassificationPipeline, "gather_pre_entities", gathered)  # noqa: B010


def _open_images_of_all_forms(image_pipeline: Any) -> None:
    """Let a pipeline of transformers open all forms of images for our models, as our own pipelines do."""
    preprocess: Any = image_pipeline.preprocess

    @wraps(preprocess)
    def opened(self: Any, image: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        if self.model.config.model_type.startswith("lecture_"):
            image = open_input(image, timeout)
        return preprocess(self, image, timeout=timeout, **kwargs)

    image_pipeline.preprocess = opened


def _score_with_package(model: Any, tokenizer: Any, sentences: Sequence[str], **options: Any) -> list[Score]:
    """Score sentences of any length with any causal language model, and what they have in common only once."""
    from hf_lecture_models.evaluation.scoring import score_texts

    scores = score_texts(model, tokenizer, sentences, **options)
    return [Score(score.ids.tolist(), score.log_probs.tolist()) for score in scores]
