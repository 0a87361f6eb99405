# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The measures of this package for the library `evaluate`, offline: `evaluate.load(PATH_OF_THIS_FILE, NAME)`.

NAME is accuracy (the default), f1, matthews_correlation, pearson, spearmanr, entities or squad. The library copies this
file into its cache, and reads its imports with a pattern that takes `import a, b` for one package.
"""

import datasets
import evaluate

from hf_lecture_models.tasks.metrics import METRICS, compute
from hf_lecture_models.tasks.question_answering.measures import squad
from hf_lecture_models.tasks.tagging.measures import entities

_TAGS = datasets.List(datasets.Value("string"))
_ANSWER = {"text": datasets.Value("string"), "no_answer_score": datasets.Value("float64")}
# What a prediction and a right answer are; elsewhere ids of classes.
_FEATURES = {
    "entities": (_TAGS, _TAGS),
    "squad": (_ANSWER, _TAGS),
    "pearson": (datasets.Value("float64"),) * 2,
    "spearmanr": (datasets.Value("float64"),) * 2,
}


class LectureMetric(evaluate.Metric):
    """The measure that the name of the configuration names."""

    def _info(self) -> evaluate.MetricInfo:
        self.measure = "accuracy" if self.config_name == "default" else self.config_name
        if self.measure not in (*METRICS, "entities", "squad"):
            raise ValueError(f"there is no measure {self.measure!r}; there are {', '.join(METRICS)}, entities, squad")
        prediction, reference = _FEATURES.get(self.measure, (datasets.Value("int64"),) * 2)
        return evaluate.MetricInfo(
            description=f"{self.measure} of predictions beside the right answers.",
            citation="",
            inputs_description=(
                "predictions, references: ids of classes; numbers (pearson, spearmanr); the tags of each sentence's "
                "words (entities); or the best answer and the score of there being none, and all right answers (squad)."
            ),
            features=datasets.Features({"predictions": prediction, "references": reference}),
        )

    def _compute(self, predictions: list, references: list, **options: float) -> dict[str, float]:
        if self.measure in METRICS:
            return {self.measure: compute(self.measure, predictions, references)}
        if self.measure == "entities":
            return entities(predictions, references)
        return squad(predictions, references, **options)
