# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The baseline of captions: the most frequent caption for every image."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from hf_lecture_models.data.rows import Rows
from hf_lecture_models.tasks.captioning.rows import TEMPLATED, read_slots
from hf_lecture_models.tasks.classification.baseline import most_frequent
from hf_lecture_models.tasks.core.baselines import Baseline
from hf_lecture_models.tasks.metrics import sums
from hf_lecture_models.tasks.metrics.sums import Sums
from hf_lecture_models.tasks.translation.baseline import bleu_and_chrf_sums, only_text

SLOTS = {"class_match": "name", "brightness_match": "brightness", "half_match": "half"}
"""The slots of templated captions, by the measures of their words."""


class Captions(NamedTuple):
    """The captions of images.

    Attributes:
        texts: a caption for each image.
        attention_on_half: the share of the model's attention that is on the named half, if it is measured.
    """

    texts: list[str]
    attention_on_half: float | None = None


class MostFrequentCaption(Baseline):
    """The caption that most images of the training data have, by its words."""

    def learn(self, processor: Any, data: Rows, settings: Any) -> dict[str, Any]:
        """Return the caption."""
        counts = Counter(" ".join(text.split()) for text in data.texts("text"))
        return {"name": "most frequent caption", "caption": most_frequent(counts)}

    def answers(
        self, facts: Mapping[str, Any], model: Any, processor: Any, encoded: Any, settings: Any
    ) -> Captions | None:
        """Return the caption for each image."""
        return Captions([facts["caption"]] * len(encoded.data)) if "caption" in facts else None

    def sums(self, model: Any, processor: Any, encoded: Any, answers: Captions, settings: Any) -> dict[str, Sums]:
        """Return the shares of right captions and right words of slots, or BLEU; not what random captions give."""
        truth = encoded.data.texts("text")
        pairs = list(zip(answers.texts, truth, strict=True))
        right = [one.split() == other.split() for one, other in pairs]
        found = {"exact_match": sums.ratio(right, [1] * len(right))}
        if settings.captions != TEMPLATED:
            return found | {key: own for key, own in bleu_and_chrf_sums(*answers[:1], truth).items() if key == "bleu"}
        slots = [(read_slots(one), read_slots(other)) for one, other in pairs]
        for key, slot in SLOTS.items():
            hits = [one is not None and getattr(one, slot) == getattr(other, slot) for one, other in slots]
            found[key] = sums.ratio(hits, [1] * len(hits))
        return found

    def only_answer(self, model: Any, encoded: Any, answers: Captions) -> str:
        """Return the only caption that is written, though there are others."""
        return only_text(answers.texts, encoded.data.texts("text"))
