# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Image captioning: a decoder writes a text about an image, by attention to its patches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor
from transformers import AutoModel, AutoModelForImageTextToText, AutoProcessor

from hf_lecture_models.base.image_texts import ImageTextProcessor
from hf_lecture_models.base.limits import check_tokenizer, with_input_limit
from hf_lecture_models.data.holdout import HeldOut, SplitKeys
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.locations import check_location
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.models.vit import LectureViTModel
from hf_lecture_models.tasks.captioning.baseline import SLOTS, Captions, MostFrequentCaption
from hf_lecture_models.tasks.captioning.batches import CaptionCollator
from hf_lecture_models.tasks.captioning.describe import (
    Caption,
    caption_log_probs,
    caption_pixels,
    longest_caption,
    on_patches,
    patch_attention,
)
from hf_lecture_models.tasks.captioning.rows import TEMPLATED, CaptionForm, CaptionsRecipe, read_captions, read_slots
from hf_lecture_models.tasks.core.encoder_decoder import new_tokenizer, special_fields
from hf_lecture_models.tasks.core.factories import SMALL_CAPTIONER, load_checkpoint, log_once, make_model
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.lines import PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings
from hf_lecture_models.tasks.core.shuffled import ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task, TaskRecipe
from hf_lecture_models.tasks.images.pixels import Normalization
from hf_lecture_models.tasks.images.processors import IMAGE_LINES, image_processor_for, pixels_for
from hf_lecture_models.tasks.images.rows import fingerprint_images, hold_out_images, image_checksums, where
from hf_lecture_models.tasks.translation.alignment import words_of
from hf_lecture_models.tasks.translation.bleu import bleu_and_chrf
from hf_lecture_models.trainer.batches import Batches

_EVALUATION_BATCH = 64
_ENCODER = ("image_size", "patch_size", "num_channels", "hidden_size", "num_hidden_layers", "num_attention_heads")
_ENCODER_FIELDS = (*_ENCODER, "intermediate_size", "hidden_act", "layer_norm_eps")


@dataclass(kw_only=True)
class CaptioningSettings(Settings, CaptionForm):
    """The settings of a captioning model."""

    saved = ("captions", "num_beams")

    num_beams: int = setting(1, "beams of the captions that are measured, and of the saved model; 1: greedy", least=1)


@dataclass(kw_only=True)
class ImageCaptioningRecipe(CaptioningSettings, TaskRecipe, CaptionsRecipe):
    """The recipe of a captioning model; its data have the columns `image` and `text`."""

    encoder_from_pretrained: str = setting(
        "", "folder or Hub name of our Vision Transformer, whose weights the encoder of a new model starts with"
    )
    batch_size: int = setting(32, "images per optimizer step", least=1)
    tokenizer: dict[str, Any] = setting({"type": "word"}, "type of the captions' tokenizer; options of its train()")
    model: dict[str, Any] = setting(
        SMALL_CAPTIONER,
        "model_type and the fields of its config, image_size and num_channels (1 or 3) among them, to which all images "
        "are brought",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.from_pretrained and self.encoder_from_pretrained:
            raise ValueError("recipe: from_pretrained brings its own encoder; leave encoder_from_pretrained out")
        if "sampling" in self.tokenizer:
            raise ValueError("recipe: captions are encoded once; leave tokenizer.sampling out")


class ImageCaptioning(Task[ImageCaptioningRecipe]):
    """The task of captioning images; its data are `Rows` of `image` and `text`.

    >>> [measure.key for measure in ImageCaptioning().measures(ImageCaptioningRecipe())]
    ['exact_match', 'bleu']
    """

    name = "image_captioning"
    auto_class = AutoModelForImageTextToText
    pipeline_tag = "image-to-text"
    items = "tokens"
    script = "train_captioning.py"
    next_command = "hf-lecture predict {} photo.png"
    recipe_class: ClassVar[type[ImageCaptioningRecipe]] = ImageCaptioningRecipe
    settings_class = CaptioningSettings
    baseline = MostFrequentCaption()
    line_form = IMAGE_LINES

    def measures(self, settings: CaptioningSettings) -> tuple[Measure, ...]:
        """Return the share of captions that are right word by word, with BLEU; of templated ones each slot's."""
        exact = Measure("exact_match", "captions that are right word by word", lower_is_better=False)
        if settings.captions != TEMPLATED:
            return exact, Measure("bleu", "BLEU", lower_is_better=False)
        others = {
            "class_match": "right class",
            "brightness_match": "right brightness",
            "half_match": "right half",
            "attention_on_half": "attention on the named half, at the word that names it",
            "shuffled_exact_match": "captions that are right of other images",
            "chance_exact_match": "captions that are right by chance",
        }
        return exact, *(Measure(key, label, lower_is_better=False) for key, label in others.items())

    def read(self, recipe: ImageCaptioningRecipe, part: str) -> Rows | None:
        """Read the images and captions of the part."""
        return read_captions(recipe, part)

    def hold_out(self, data: Rows, recipe: ImageCaptioningRecipe) -> tuple[Rows, Rows | None, HeldOut | None]:
        """Split images into those to train on and those to validate on; log how many."""
        return hold_out_images(data, recipe, self.split_keys(recipe, data))

    def split_keys(self, recipe: ImageCaptioningRecipe, data: Rows) -> SplitKeys:
        """Keep all captions of an image on one side."""
        return keys_of_rows(data, {"image": image_checksums(data)})

    def processor(self, recipe: ImageCaptioningRecipe, data: Rows) -> Any:
        """Return the processor of images and captions."""
        if recipe.from_pretrained:
            local = check_location(recipe.from_pretrained)
            return AutoProcessor.from_pretrained(recipe.from_pretrained, local_files_only=local, backend="pil")
        return ImageTextProcessor(image_processor_for(recipe), new_tokenizer(recipe.tokenizer, data.texts("text")))

    def model(self, recipe: ImageCaptioningRecipe, processor: Any, data: Rows) -> Any:
        """Return the captioning model; the recipe's `num_beams` becomes the default of `generate`."""
        if recipe.from_pretrained:
            model, new = load_checkpoint(self.auto_class, recipe.from_pretrained, recipe.seed)
            if new:
                log_once(f"weights that {recipe.from_pretrained} does not hold start anew: {', '.join(new)}")
        else:
            encoder = load_encoder(recipe.encoder_from_pretrained) if recipe.encoder_from_pretrained else None
            own = {} if encoder is None else {name: getattr(encoder.config, name) for name in _ENCODER_FIELDS}
            special = special_fields(str(recipe.model.get("model_type")), processor.tokenizer)
            fields = special | _agreeing(recipe, own)
            model = make_model(self.auto_class, fields, processor.tokenizer, recipe.seed)
            if encoder is not None:
                model.model.encoder.load_state_dict(encoder.state_dict())
        processor.tokenizer = with_input_limit(processor.tokenizer, model)
        decoding = model.generation_config
        decoding.num_beams = recipe.num_beams
        # The start token counts too. A call's own max_length or max_new_tokens replaces `max_length`.
        decoding.max_length, decoding.max_new_tokens = longest_caption(model) + 1, None
        return model

    def batches(self, model: Any, processor: Any, data: Rows, recipe: ImageCaptioningRecipe) -> Batches:
        """Return batches of images in a new order each epoch."""
        captions = encode_captions(model, processor.tokenizer, data)
        pixels = pixels_for(model, processor.image_processor, data)
        collate = CaptionCollator(pixels, captions, Normalization(processor.image_processor))
        return ShuffledBatches(len(captions), collate, recipe.batch_size, recipe.seed)

    def training_options(self, model: Any, recipe: ImageCaptioningRecipe) -> dict[str, Any]:
        """Turn off the cache."""
        return {"forward_options": {"use_cache": False}}

    def encode(self, model: Any, processor: Any, data: Rows, settings: CaptioningSettings) -> Encoded:
        """Decode and resize the images to (images, channels, height, width) bytes, and encode their captions.

        Raises:
            ValueError: an image cannot be read, or a caption is too long for the model.
        """
        pixels = pixels_for(model, processor.image_processor, data)
        captions = encode_captions(model, processor.tokenizer, data) if "text" in data.columns else None
        return Encoded(data, pixels, captions)

    def predict(
        self,
        model: Any,
        processor: Any,
        encoded: Encoded,
        settings: Any,
        batch_size: int = _EVALUATION_BATCH,
        **options: Any,
    ) -> list[list[Caption]]:
        """Return the captions of each image, best first: one, unless `num_return_sequences` asks for more."""
        pixels = Normalization(processor.image_processor)(encoded.inputs)
        search = {"num_beams": settings.num_beams, **options}
        return caption_pixels(model, processor.tokenizer, pixels, batch_size, **search)

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: CaptioningSettings) -> Captions:
        """Return the best caption of each image and, if captions are templated, the attention on the named half."""
        written = [captions[0].text for captions in self.predict(model, processor, encoded, settings)]
        if settings.captions != TEMPLATED:
            return Captions(written)
        pixels, truth = Normalization(processor.image_processor)(encoded.inputs), encoded.data.texts("text")
        return Captions(written, attention_on_half(model, processor.tokenizer, pixels, encoded.labels, truth))

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: Captions, settings: CaptioningSettings
    ) -> dict[str, Any]:
        """Return the measures, and the number of images."""
        written, truth = answers.texts, encoded.data.texts("text")
        found: dict[str, Any] = {"exact_match": share_of_matches(written, truth)}
        if settings.captions == TEMPLATED:
            found |= matches_of_slots(written, truth)
            if answers.attention_on_half is not None:
                found["attention_on_half"] = answers.attention_on_half
            order = np.random.default_rng(0).permutation(len(truth))
            found["shuffled_exact_match"] = share_of_matches([written[index] for index in order], truth)
            found["chance_exact_match"] = chance_of_matches(written, truth)
        else:
            found |= {key: value for key, value in bleu_and_chrf(written, truth).items() if key == "bleu"}
        return found | {"images": len(truth), "num_beams": settings.num_beams}

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: CaptioningSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Return the captions of each image with their probabilities; several are those of beam search."""
        encoded, count = self.encode(model, processor, data, settings), options.top_k or 1
        search = {"num_beams": max(settings.num_beams, count), "num_return_sequences": count}
        found = self.predict(model, processor, encoded, settings, options.batch_size, **search)
        pixels = Normalization(processor.image_processor)(encoded.inputs).repeat_interleave(count, 0)
        ids = [one.ids for captions in found for one in captions]
        chances = iter(caption_log_probs(model, pixels, ids).exp().tolist())
        return [[{"label": one.text, "score": next(chances)} for one in captions] for captions in found]

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, settings: CaptioningSettings, folder: Path
    ) -> Path:
        """Write `captions.tsv` with the columns `image`, its file, or file and row, and `caption`."""
        found = self.predict(model, processor, self.encode(model, processor, data, settings), settings)
        lines = [f"{where(data, row)}\t{captions[0].text}" for row, captions in enumerate(found)]
        return write_file(folder / "captions.tsv", "\n".join(["image\tcaption", *lines]) + "\n")

    def fingerprint(self, recipe: ImageCaptioningRecipe, part: str, data: Any) -> str:
        """Return a checksum of the images and captions."""
        if data is None:
            return "none"
        return fingerprint_images(Rows({"image": data.columns["image"], "label": data.columns["text"]}, data.sources))


def load_encoder(name: str) -> Any:
    """Return the Vision Transformer of a folder or of the Hub, without its head and pooling layer.

    Raises:
        OSError: there is no such model.
        ValueError: it is another kind of model.
    """
    model = AutoModel.from_pretrained(name, local_files_only=check_location(name))
    if not isinstance(model, LectureViTModel):
        raise ValueError(
            f"recipe: encoder_from_pretrained {name} is a {type(model).__name__}; a LectureViTModel is needed"
        )
    model.pooler = model.embeddings.mask_token = None
    return model


def _agreeing(recipe: ImageCaptioningRecipe, encoder: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the recipe's model and of the encoder that it starts with."""
    given = (
        recipe.model if recipe.model != SMALL_CAPTIONER or not encoder else {"model_type": recipe.model["model_type"]}
    )
    for name, value in encoder.items():
        if given.get(name, value) != value:
            raise ValueError(
                f"recipe: model.{name} is {given[name]}, but {value} in {recipe.encoder_from_pretrained}; leave it out"
            )
    return {**encoder, **given}


def encode_captions(model: Any, tokenizer: Any, data: Rows) -> list[list[int]]:
    """Return the tokens of each caption, its end included.

    Raises:
        ValueError: the tokenizer belongs to another model, or a caption is too long; the message names its row.
    """
    check_tokenizer(model, tokenizer)
    rows: list[list[int]] = tokenizer(data.texts("text"), verbose=False)["input_ids"]
    longest = longest_caption(model)
    for index, ids in enumerate(rows):
        if len(ids) > longest:
            raise ValueError(
                f"{where(data, index)} has a caption of {len(ids)} tokens, and the model reads {longest} at most: "
                "shorten it, or raise model.max_position_embeddings"
            )
    return rows


def share_of_matches(written: Sequence[str], truth: Sequence[str]) -> float:
    """Return the share of captions that are the same words.

    >>> share_of_matches(["a  dark shoe", "a shoe"], ["a dark shoe", "a shirt"])
    0.5
    """
    return sum(one.split() == other.split() for one, other in zip(written, truth, strict=True)) / len(truth)


def chance_of_matches(written: Sequence[str], truth: Sequence[str]) -> float:
    """Return the expected share of matches where captions are given to images at random.

    >>> chance_of_matches(["a shoe", "a shoe"], ["a shoe", "a shirt"])
    0.5
    """
    (ones, counts), (others, other_counts) = (np.unique(texts, return_counts=True) for texts in (written, truth))
    of_truth = dict(zip(others.tolist(), other_counts.tolist(), strict=True))
    pairs = sum(count * of_truth.get(text, 0) for text, count in zip(ones.tolist(), counts.tolist(), strict=True))
    return pairs / (len(written) * len(truth))


def matches_of_slots(written: Sequence[str], truth: Sequence[str]) -> dict[str, float]:
    """Return the share of right words in each slot of templated captions; a caption without the template has none.

    >>> matches_of_slots(["a dark shoe with more ink on the left"], ["a dark shoe with more ink on the right"])
    {'class_match': 1.0, 'brightness_match': 1.0, 'half_match': 0.0}
    """
    pairs = [(read_slots(one), read_slots(other)) for one, other in zip(written, truth, strict=True)]
    return {
        key: sum(one is not None and getattr(one, slot) == getattr(other, slot) for one, other in pairs) / len(pairs)
        for key, slot in SLOTS.items()
    }


def attention_on_half(
    model: Any, tokenizer: Any, pixel_values: Tensor, captions: Sequence[Sequence[int]], truth: Sequence[str]
) -> float:
    """Return how much of the attention is on the half that the last word names, where the model predicts that word.

    The mean over images, layers and heads of the weights of the position before the word, given the right words before
    it. [CLS] and a middle column of patches are left out, and the rest adds up to one: evenly spread, 0.5 is on a half.
    """
    found = []
    for start in range(0, len(truth), _EVALUATION_BATCH):
        part = slice(start, start + _EVALUATION_BATCH)
        shown = patch_attention(model, pixel_values[part], captions[part])
        for weights, ids, text in zip(shown, captions[part], truth[part], strict=True):
            words, places = words_of(tokenizer, ids)
            half = text.split()[-1]
            columns = on_patches(weights[:, :, places.index(words.index(half))]).sum(-2)  # (layers, heads, columns)
            number = columns.shape[-1] // 2
            left, right = columns[..., :number].sum(-1), columns[..., columns.shape[-1] - number :].sum(-1)
            found.append(((left if half == "left" else right) / (left + right)).mean().item())
    return float(np.mean(found))
