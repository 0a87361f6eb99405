# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page's answers of models with a head: classes, tags, masked words, answers, images.

All come from `tasks.prediction.Predictor`, as those of `hf-lecture predict` do, with the settings that were saved with
the model.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from hf_lecture_models.lab.demo.answers import LoadedModel, checked_text
from hf_lecture_models.lab.demo.examples import GAP
from hf_lecture_models.lab.demo.head_rendering import render_answer, render_classes, render_fillings, render_tags
from hf_lecture_models.lab.demo.images import data_url, decoded_image
from hf_lecture_models.lab.demo.unknown import as_read, unknown_spans
from hf_lecture_models.tasks.core.inputs import TooManyTokensError
from hf_lecture_models.tasks.core.lines import PredictionOptions
from hf_lecture_models.tasks.prediction import Predictor

MOST_CLASSES = 20
FILLINGS = 5
ANSWERS = 3
_HEADS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def head_of(loaded: LoadedModel) -> str:
    """Return the name of the task whose predictions the model gives; "" if it gives none."""
    if loaded.model not in _HEADS:  # every tab asks, and a predictor may read a model's file once more
        try:
            _HEADS[loaded.model] = predictor_of(loaded).task.name
        except ValueError:
            _HEADS[loaded.model] = ""
    return _HEADS[loaded.model]


def predictor_of(loaded: LoadedModel, top_k: int | None = None) -> Predictor:
    """Return the predictor of a loaded model.

    Raises:
        ValueError: as `Predictor`.
    """
    return Predictor(loaded.model, loaded.tokenizer, PredictionOptions(top_k))


def _predict(loaded: LoadedModel, row: Mapping[str, Any], top_k: int | None = None) -> Sequence[Mapping[str, Any]]:
    predictor = predictor_of(loaded, top_k)
    predictor.form.check(row)
    try:
        return predictor.predict([row])[0]
    except TooManyTokensError as error:
        # The page has no options that cut it.
        message = f"the text has {error.tokens} tokens, and {loaded.name} reads {error.longest} at most: shorten it"
        raise ValueError(message) from error


def see_classes(loaded: LoadedModel, text: str, pair: str) -> str:
    """Return the classes of a text, or of a pair of texts, each with its probability and a bar.

    Raises:
        ValueError: the text is blank or too long.
    """
    if not checked_text(text).strip():
        raise ValueError("there is nothing to classify: write a text")
    row = {"text": text, **({"text_pair": checked_text(pair)} if pair.strip() else {})}
    found = _predict(loaded, row, MOST_CLASSES)
    return render_classes(found, loaded.model.config.num_labels, _is_number(loaded)) + as_read([loaded], *row.values())


def _is_number(loaded: LoadedModel) -> bool:
    return bool(loaded.model.config.problem_type == "regression")


def see_image_classes(loaded: LoadedModel, image: str) -> str:
    """Return the classes of an image, which came as a data URL, and the image.

    Raises:
        ValueError: there is no image, or it cannot be read.
    """
    picture = decoded_image(image)
    found = _predict(loaded, {"image": picture}, MOST_CLASSES)
    return render_classes(found, loaded.model.config.num_labels, _is_number(loaded), data_url(picture))


def see_tags(loaded: LoadedModel, text: str) -> str:
    """Return the words of a sentence, each on the colour of its tag.

    Raises:
        ValueError: the sentence is blank or too long.
    """
    if not checked_text(text).strip():
        raise ValueError("there is nothing to tag: write a sentence")
    labels = loaded.model.config.id2label
    found = _predict(loaded, {"text": text})
    unknown = [bool(unknown_spans(loaded.tokenizer, one["word"])) for one in found]
    return render_tags(found, [labels[index] for index in sorted(labels)], unknown)


def see_fillings(loaded: LoadedModel, text: str) -> str:
    """Return the most probable words for each gap of a text: `GAP`, or the tokenizer's own mask.

    Raises:
        ValueError: the text has no gap or is too long.
    """
    mask = loaded.tokenizer.mask_token
    if mask is None:
        raise ValueError(f"the tokenizer of {loaded.name} has no mask")
    text = checked_text(text).replace(GAP, mask)
    if mask not in text:
        raise ValueError(f"there is no gap: write {GAP} in place of a word")
    return render_fillings(_predict(loaded, {"text": text}, FILLINGS)) + as_read([loaded], text)


def see_answer(loaded: LoadedModel, question: str, context: str) -> str:
    """Return a text with the answer to a question marked in it, and the next best answers.

    Raises:
        ValueError: the question or the text is blank or too long.
    """
    row = {"question": checked_text(question), "context": checked_text(context)}
    found = [one for one in _predict(loaded, row, ANSWERS) if math.isfinite(one["score"])]
    shown = render_answer(context, found, unknown_spans(loaded.tokenizer, context))
    return shown + as_read([loaded], question)
