# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every architecture of the NLP lectures as Hugging Face models. Importing the package registers all of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hf_lecture_models.evaluation.sentence_ranking import SentenceRankingPipeline
from hf_lecture_models.io.optional_packages import report_output_size
from hf_lecture_models.layers.recurrent_cache import RecurrentCache
from hf_lecture_models.models.bag_of_words import BagOfWordsConfig, BagOfWordsForSequenceClassification, BagOfWordsModel
from hf_lecture_models.models.bert import (
    LectureBertConfig,
    LectureBertForMaskedLM,
    LectureBertForMultipleChoice,
    LectureBertForNextSentencePrediction,
    LectureBertForPreTraining,
    LectureBertForQuestionAnswering,
    LectureBertForSequenceClassification,
    LectureBertForTokenClassification,
    LectureBertModel,
)
from hf_lecture_models.models.efficient_transformer import (
    EfficientTransformerConfig,
    EfficientTransformerForCausalLM,
    EfficientTransformerForMaskedLM,
    EfficientTransformerModel,
)
from hf_lecture_models.models.elmo import (
    ElmoConfig,
    ElmoForPreTraining,
    ElmoForQuestionAnswering,
    ElmoForSequenceClassification,
    ElmoForTokenClassification,
    ElmoModel,
)
from hf_lecture_models.models.feed_forward import FeedForwardConfig, FeedForwardForCausalLM, FeedForwardModel
from hf_lecture_models.models.gpt1 import (
    Gpt1Config,
    Gpt1ForCausalLM,
    Gpt1ForMultipleChoice,
    Gpt1ForSequenceClassification,
    Gpt1Model,
)
from hf_lecture_models.models.graves import (
    GravesConfig,
    GravesForSequencePrediction,
    JointGaussianConfig,
    JointGaussianForSequencePrediction,
)
from hf_lecture_models.models.image_captioning import (
    ImageCaptioningConfig,
    ImageCaptioningForConditionalGeneration,
    ImageCaptioningModel,
)
from hf_lecture_models.models.ngram import NGramConfig, NGramForCausalLM
from hf_lecture_models.models.padded_mlp import (
    LayerPerInputConfig,
    LayerPerInputForSequenceClassification,
    LayerPerInputModel,
    PaddedMlpConfig,
    PaddedMlpForSequenceClassification,
    PaddedMlpModel,
)
from hf_lecture_models.models.recurrent import (
    RecurrentConfig,
    RecurrentForCausalLM,
    RecurrentForSequenceClassification,
    RecurrentForTokenClassification,
    RecurrentModel,
)
from hf_lecture_models.models.recurrent_seq2seq import (
    RecurrentSeq2SeqConfig,
    RecurrentSeq2SeqForConditionalGeneration,
    RecurrentSeq2SeqModel,
)
from hf_lecture_models.models.self_attention import SelfAttentionConfig, SelfAttentionForCausalLM, SelfAttentionModel
from hf_lecture_models.models.transformer import (
    LectureTransformerConfig,
    LectureTransformerForConditionalGeneration,
    LectureTransformerModel,
)
from hf_lecture_models.models.transformer_xl import TransfoXLConfig, TransfoXLLMHeadModel, TransfoXLModel
from hf_lecture_models.models.vit import (
    LectureViTConfig,
    LectureViTForImageClassification,
    LectureViTForMaskedImageModeling,
    LectureViTForMaskedPatchPrediction,
    LectureViTModel,
)
from hf_lecture_models.models.word2vec import Word2VecConfig, Word2VecForPreTraining, Word2VecModel
from hf_lecture_models.tasks.captioning.pipeline import ImageCaptioningPipeline
from hf_lecture_models.tasks.pipelines import register_pipelines
from hf_lecture_models.tasks.question_answering.pipeline import ExtractiveQuestionAnsweringPipeline
from hf_lecture_models.tasks.translation.pipeline import MachineTranslationPipeline
from hf_lecture_models.tokenization import (
    BpeTokenizer,
    ByteTokenizer,
    CharTokenizer,
    ElmoTokenizer,
    UnigramTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)
from hf_lecture_models.version import __version__

register_pipelines()
report_output_size()

if TYPE_CHECKING:
    from hf_lecture_models import hub
    from hf_lecture_models.evaluation.language_model import evaluate_language_model
    from hf_lecture_models.evaluation.scoring import score_texts
    from hf_lecture_models.generation.fusion import NGramLogitsProcessor
    from hf_lecture_models.loading import load_model
    from hf_lecture_models.tasks.prediction import predict
    from hf_lecture_models.tasks.translation.translate import translate

# Imported when they are first used: what registers nothing.
_LATER = {
    "NGramLogitsProcessor": "generation.fusion",
    "evaluate_language_model": "evaluation.language_model",
    "load_model": "loading",
    "predict": "tasks.prediction",
    "score_texts": "evaluation.scoring",
    "translate": "tasks.translation.translate",
}

__all__ = [
    "BagOfWordsConfig",
    "BagOfWordsForSequenceClassification",
    "BagOfWordsModel",
    "BpeTokenizer",
    "ByteTokenizer",
    "CharTokenizer",
    "EfficientTransformerConfig",
    "EfficientTransformerForCausalLM",
    "EfficientTransformerForMaskedLM",
    "EfficientTransformerModel",
    "ElmoConfig",
    "ElmoForPreTraining",
    "ElmoForQuestionAnswering",
    "ElmoForSequenceClassification",
    "ElmoForTokenClassification",
    "ElmoModel",
    "ElmoTokenizer",
    "ExtractiveQuestionAnsweringPipeline",
    "FeedForwardConfig",
    "FeedForwardForCausalLM",
    "FeedForwardModel",
    "Gpt1Config",
    "Gpt1ForCausalLM",
    "Gpt1ForMultipleChoice",
    "Gpt1ForSequenceClassification",
    "Gpt1Model",
    "GravesConfig",
    "GravesForSequencePrediction",
    "ImageCaptioningConfig",
    "ImageCaptioningForConditionalGeneration",
    "ImageCaptioningModel",
    "ImageCaptioningPipeline",
    "JointGaussianConfig",
    "JointGaussianForSequencePrediction",
    "LayerPerInputConfig",
    "LayerPerInputForSequenceClassification",
    "LayerPerInputModel",
    "LectureBertConfig",
    "LectureBertForMaskedLM",
    "LectureBertForMultipleChoice",
    "LectureBertForNextSentencePrediction",
    "LectureBertForPreTraining",
    "LectureBertForQuestionAnswering",
    "LectureBertForSequenceClassification",
    "LectureBertForTokenClassification",
    "LectureBertModel",
    "LectureTransformerConfig",
    "LectureTransformerForConditionalGeneration",
    "LectureTransformerModel",
    "LectureViTConfig",
    "LectureViTForImageClassification",
    "LectureViTForMaskedImageModeling",
    "LectureViTForMaskedPatchPrediction",
    "LectureViTModel",
    "MachineTranslationPipeline",
    "NGramConfig",
    "NGramForCausalLM",
    "NGramLogitsProcessor",
    "PaddedMlpConfig",
    "PaddedMlpForSequenceClassification",
    "PaddedMlpModel",
    "RecurrentCache",
    "RecurrentConfig",
    "RecurrentForCausalLM",
    "RecurrentForSequenceClassification",
    "RecurrentForTokenClassification",
    "RecurrentModel",
    "RecurrentSeq2SeqConfig",
    "RecurrentSeq2SeqForConditionalGeneration",
    "RecurrentSeq2SeqModel",
    "SelfAttentionConfig",
    "SelfAttentionForCausalLM",
    "SelfAttentionModel",
    "SentenceRankingPipeline",
    "TransfoXLConfig",
    "TransfoXLLMHeadModel",
    "TransfoXLModel",
    "UnigramTokenizer",
    "Word2VecConfig",
    "Word2VecForPreTraining",
    "Word2VecModel",
    "WordPieceTokenizer",
    "WordTokenizer",
    "__version__",
    "evaluate_language_model",
    "hub",
    "load_model",
    "predict",
    "score_texts",
    "translate",
]


def __getattr__(name: str) -> Any:
    """Import a public name that registers nothing when it is first used."""
    if name == "hub":
        return import_module(f"{__name__}.hub")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return value


def __dir__() -> list[str]:
    """Return the public names, without the submodules and helpers that this file imports."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
