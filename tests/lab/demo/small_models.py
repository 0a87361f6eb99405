# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small model with each head that the demo page has a tab for."""

from typing import Any

import torch

from hf_lecture_models.base.image_texts import ImageTextProcessor
from hf_lecture_models.lab.demo.answers import LoadedModel
from hf_lecture_models.models.graves import GravesConfig, GravesForSequencePrediction
from hf_lecture_models.models.image_captioning import (
    ImageCaptioningConfig,
    ImageCaptioningForConditionalGeneration,
)
from hf_lecture_models.models.ngram import NGramForCausalLM
from hf_lecture_models.models.vit import LectureViTConfig, LectureViTForImageClassification
from hf_lecture_models.tasks.images.processors import make_image_processor
from hf_lecture_models.tokenization.word import WordTokenizer
from tests.tasks import small_answerer, small_classifier, small_pretraining, small_tagger, small_translator

TEXTS = ["the cat saw the dog", "a dog saw a cat", "the dog ran", "the cat ran", "the old man saw the sea"]


def classifier(**fields: Any) -> LoadedModel:
    """A classifier of two classes."""
    names = {"id2label": {0: "bad", 1: "good"}} if "num_labels" not in fields else {}
    model = small_classifier.small_bert(**names, **fields).eval()
    return LoadedModel("classifier", model, small_classifier.small_tokenizer())


def tagger() -> LoadedModel:
    """A tagger of names."""
    return LoadedModel("tagger", small_tagger.small_bert().eval(), small_tagger.small_tokenizer())


def masked() -> LoadedModel:
    """A model of masked words."""
    tokenizer = small_pretraining.word_tokenizer()
    return LoadedModel("masked", small_pretraining.small_bert(tokenizer, pairs=False).eval(), tokenizer)


def answerer() -> LoadedModel:
    """A model that finds answers in texts."""
    return LoadedModel("answerer", small_answerer.small_bert(), small_answerer.small_tokenizer())


def image_classifier() -> LoadedModel:
    """A classifier of images of 16 x 16 pixels."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    names = {0: "cat", 1: "dog", 2: "sea"}
    config = LectureViTConfig(**sizes, image_size=16, patch_size=8, num_channels=3, id2label=names)
    return LoadedModel("vit", LectureViTForImageClassification(config).eval(), make_image_processor(16, 3))


def trigram() -> LoadedModel:
    """An n-gram of words."""
    words = WordTokenizer.train(TEXTS, progress=False)
    model = NGramForCausalLM.fit(TEXTS, words, order=3, smoothing="add_alpha", alpha=0.1, progress=False)
    return LoadedModel("trigram", model, words)


def translator() -> LoadedModel:
    """A recurrent translator with attention."""
    return LoadedModel("translator", *small_translator.make_translator("ours"))


def captioner(seed: int = 4) -> LoadedModel:
    """A model that describes images of 16 x 16 pixels; with the seed 0 it writes nothing."""
    torch.manual_seed(seed)
    words = WordTokenizer.train(TEXTS, add_bos_token=False, add_eos_token=True, progress=False)
    ids = {"pad_token_id": words.pad_token_id, "decoder_start_token_id": words.pad_token_id}
    shape = {"hidden_size": 12, "num_hidden_layers": 1, "decoder_layers": 1, "num_attention_heads": 2}
    shape |= {"intermediate_size": 8, "image_size": 16, "patch_size": 8, "max_position_embeddings": 8}
    config = ImageCaptioningConfig(**shape, **ids, vocab_size=len(words), eos_token_id=words.eos_token_id)
    processor = ImageTextProcessor(make_image_processor(16, 3), words)
    return LoadedModel("captioner", ImageCaptioningForConditionalGeneration(config).eval(), processor)


def writer() -> LoadedModel:
    """A model of pen strokes."""
    torch.manual_seed(0)
    return LoadedModel("writer", GravesForSequencePrediction(GravesConfig(hidden_size=4)).eval(), None)


MODELS = {
    "classifier": classifier,
    "tagger": tagger,
    "masked": masked,
    "answerer": answerer,
    "vit": image_classifier,
    "trigram": trigram,
    "translator": translator,
    "captioner": captioner,
    "writer": writer,
}
