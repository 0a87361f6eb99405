# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classification tasks by name: their columns, classes and measures, and what their predictions are handed in as.

The tasks of GLUE (Wang et al. 2018), which gluebenchmark.com scores, and the Stanford Sentiment Treebank (Socher et al.
2013) with its five degrees, or with these joined into negative, neutral and positive. Names and numbers of the classes
are those of the data sets nyu-mll/glue on the Hub, which holds every one of GLUE's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch

from hf_lecture_models.data.benchmarks import HubData
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.tasks.pseudo_labels import PseudoLabelClassification, PseudoLabelRecipe
from hf_lecture_models.tasks.task import Measure
from hf_lecture_models.tasks.text_classification import (
    REGRESSION,
    SINGLE_LABEL,
    UNLABELLED,
    as_number,
    ids_by_name,
    read_labels,
)

_MEASURES = {
    "accuracy": "accuracy",
    "accuracy_mismatched": "accuracy on the mismatched set",
    "f1": "F1",
    "matthews_correlation": "Matthews correlation",
    "pearson": "Pearson correlation",
    "spearmanr": "Spearman correlation",
}
_PAIR = {"text": ("sentence1",), "text_pair": ("sentence2",), "label": ("label",)}
_GLUE = ("nyu-mll/glue", "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c")
_BOTH_SETS = {split: f"{split}_matched+{split}_mismatched" for split in ("validation", "test")}
_MISMATCHED = "mismatched"
_HIGHEST_SCORE = 5.0


@dataclass(frozen=True)
class NamedTask:
    """What follows from a task's name.

    Attributes:
        columns: what its files call the columns; of several names the first that a file has counts.
        classes: the names of its classes, by what its files call them; none: labels are numbers from 0 to 5.
        measures: the official ones first; by the first, the best weights are chosen. F1 is that of the class 1.
        header: the columns of its files that lack the line of their names.
        malformed_header: the first line of its files that are known to have rows of other widths, which are left out.
        file: what GLUE calls the file of predictions, without `.tsv`.
        writes_names: whether that holds names of classes, in place of numbers.
        hub: where its data are on the Hub.
    """

    columns: Mapping[str, tuple[str, ...]]
    classes: Mapping[str, str] = field(default_factory=dict)
    measures: tuple[str, ...] = ("accuracy",)
    header: tuple[str, ...] = ()
    malformed_header: tuple[str, ...] = ()
    file: str = "predictions"
    writes_names: bool = True
    hub: HubData | None = None

    @property
    def problem_type(self) -> str:
        """What its labels are."""
        return SINGLE_LABEL if self.classes else REGRESSION


def _numbered(*names: str) -> dict[str, str]:
    return {str(number): name for number, name in enumerate(names)}


_SENTENCE = {"text": ("sentence",), "label": ("label",)}
_ENTAILMENT = _numbered("entailment", "not_entailment")
TASKS = {
    "cola": NamedTask(
        _SENTENCE,
        _numbered("unacceptable", "acceptable"),
        ("matthews_correlation", "accuracy"),
        header=("source", "label", "mark", "sentence"),
        file="CoLA",
        writes_names=False,
        hub=HubData(*_GLUE, "cola"),
    ),
    "sst2": NamedTask(
        _SENTENCE, _numbered("negative", "positive"), file="SST-2", writes_names=False, hub=HubData(*_GLUE, "sst2")
    ),
    "mrpc": NamedTask(
        # The names behind are those of Microsoft's own files.
        {
            "text": ("sentence1", "#1 String"),
            "text_pair": ("sentence2", "#2 String"),
            "label": ("label", "Quality"),
        },
        _numbered("not_equivalent", "equivalent"),
        ("f1", "accuracy"),
        file="MRPC",
        writes_names=False,
        hub=HubData(*_GLUE, "mrpc"),
    ),
    "stsb": NamedTask(
        _PAIR | {"label": ("score", "label")},
        measures=("pearson", "spearmanr"),
        file="STS-B",
        hub=HubData(*_GLUE, "stsb"),
    ),
    "qqp": NamedTask(
        {
            "text": ("question1",),
            "text_pair": ("question2",),
            "label": ("is_duplicate", "label"),
            "index": ("index", "idx", "id"),
        },
        _numbered("not_duplicate", "duplicate"),
        ("f1", "accuracy"),
        # Of its train.tsv: some questions hold the end of a line.
        malformed_header=("id", "qid1", "qid2", "question1", "question2", "is_duplicate"),
        file="QQP",
        writes_names=False,
        hub=HubData(*_GLUE, "qqp"),
    ),
    "mnli": NamedTask(
        {
            "text": ("sentence1", "premise"),
            "text_pair": ("sentence2", "hypothesis"),
            "label": ("gold_label", "label"),
        },
        _numbered("entailment", "neutral", "contradiction"),
        ("accuracy", "accuracy_mismatched"),
        file="MNLI",
        hub=HubData(*_GLUE, "mnli", _BOTH_SETS),
    ),
    "qnli": NamedTask(
        {"text": ("question",), "text_pair": ("sentence",), "label": ("label",)},
        _ENTAILMENT,
        file="QNLI",
        hub=HubData(*_GLUE, "qnli"),
    ),
    "rte": NamedTask(_PAIR, _ENTAILMENT, file="RTE", hub=HubData(*_GLUE, "rte")),
    "wnli": NamedTask(
        _PAIR,
        _numbered("not_entailment", "entailment"),
        file="WNLI",
        writes_names=False,
        hub=HubData(*_GLUE, "wnli"),
    ),
    "sst3": NamedTask(
        {"text": ("sentence",), "label": ("label3",)}, {"-1": "negative", "0": "neutral", "1": "positive"}
    ),
    "sst5": NamedTask(_SENTENCE, _numbered("very negative", "negative", "neutral", "positive", "very positive")),
}


@dataclass(kw_only=True)
class GlueRecipe(PseudoLabelRecipe):
    """The recipe of a task by its name; columns and names of classes may be said otherwise."""

    task: str | None = setting(
        None,
        "names the columns of its files, its classes and its measures, and its data on the Hub, which are read where "
        "neither files nor rows are named; null: a task of your own. Of mnli, files and splits with `mismatched` in "
        "their names are measured and predicted apart",
        choices=tuple(TASKS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task is None:
            return
        named = TASKS[self.task]
        self.label_names = {**named.classes, **self.label_names}
        if not named.classes:
            self.problem_type = named.problem_type
        if named.hub is not None:
            named.hub.fill(self)

    def names_of(self, column: str) -> Sequence[str]:
        """What the named task's files may call a column, unless `columns` says it."""
        if self.task is None or column in self.columns or column not in TASKS[self.task].columns:
            return super().names_of(column)
        return TASKS[self.task].columns[column]

    def header(self) -> Sequence[str]:
        """The columns of CoLA's files, which do not name them."""
        return () if self.task is None else TASKS[self.task].header

    def malformed_header(self) -> Sequence[str]:
        """The first line of QQP's files, where GLUE's readers leave out rows of other widths."""
        return () if self.task is None else TASKS[self.task].malformed_header


class Glue(PseudoLabelClassification):
    """Text classification that knows tasks by their names.

    >>> [measure.key for measure in Glue().measures(GlueRecipe(task="mrpc"))]
    ['f1', 'accuracy']
    """

    recipe_class: ClassVar[type[GlueRecipe]] = GlueRecipe

    def measures(self, recipe: GlueRecipe) -> tuple[Measure, ...]:  # type: ignore[override]
        """Those of the named task, its official one first."""
        named = _named(recipe)
        if named is None:
            return super().measures(recipe)
        return tuple(Measure(key, _MEASURES[key], lower_is_better=False) for key in named.measures)

    def read(self, recipe: GlueRecipe, part: str) -> Rows | None:  # type: ignore[override]
        """The rows of the part, whose labels are the named task's.

        Raises:
            ValueError, OSError: as of any classifier; or a label is none of the task's, or the second text of a
                pair is missing.
        """
        if recipe.task is None:
            return super().read(recipe, part)
        pair = ("text_pair",) if "text_pair" in TASKS[recipe.task].columns else ()
        optional = ("index",) if part == "predict" else ()
        rows = read_rows(recipe, part, ("text", *pair), optional, labels=("label",))
        if rows is not None and part != "predict":
            _check_labels(rows, recipe)
        return rows

    def classes(self, data: Rows, recipe: GlueRecipe) -> list[str]:  # type: ignore[override]
        """All classes of the named task, in its order, whether the data have them or not."""
        found = super().classes(data, recipe)
        return found if recipe.task is None else list(dict.fromkeys(recipe.label_names.values()))

    def scores(  # type: ignore[override]
        self, config: Any, predictions: Sequence[float], labels: Sequence[float], data: Rows, recipe: GlueRecipe
    ) -> dict[str, float]:
        """The named task's measures, whatever numbers the model has for its classes."""
        named = _named(recipe)
        if named is None:
            return super().scores(config, predictions, labels, data, recipe)
        scores = {}
        for key, rows in _rows_by_measure(named, data).items():
            ours: Sequence[float] = [predictions[row] for row in rows]
            theirs: Sequence[float] = [labels[row] for row in rows]
            if key == "f1":
                found = ids_by_name(config, recipe.label_names)[recipe.label_names["1"]]
                ours, theirs = ([int(value == found) for value in values] for values in (ours, theirs))
            scores[key] = compute(key.removesuffix(f"_{_MISMATCHED}"), ours, theirs)
        return scores

    def prediction_files(  # type: ignore[override]
        self, data: Rows, recipe: GlueRecipe
    ) -> dict[str, list[int]]:
        """GLUE's name for the file of predictions; of MNLI there are two."""
        named = _named(recipe)
        if named is None:
            return super().prediction_files(data, recipe)
        if named.file != "MNLI":
            return {f"{named.file}.tsv": list(range(len(data)))}
        matched, mismatched = _matched_and_mismatched(data)
        files = {"MNLI-m.tsv": matched, "MNLI-mm.tsv": mismatched}
        return {name: rows for name, rows in files.items() if rows}

    def prediction_values(  # type: ignore[override]
        self, config: Any, logits: torch.Tensor, recipe: GlueRecipe
    ) -> list[str]:
        """Names or numbers of the task's classes, as GLUE wants them; numbers from 0 to 5."""
        named = _named(recipe)
        if named is None:
            return super().prediction_values(config, logits, recipe)
        if not named.classes:
            return [f"{value:.3f}" for value in logits[:, 0].clamp(0, _HIGHEST_SCORE).tolist()]
        ids = ids_by_name(config, recipe.label_names)
        written = {
            ids[recipe.label_names[label]]: name if named.writes_names else label
            for label, name in named.classes.items()
        }
        return [written[index] for index in logits.argmax(1).tolist()]


def _named(recipe: GlueRecipe) -> NamedTask | None:
    """The named task, if its labels are what it says: classes may also be learned as numbers."""
    named = None if recipe.task is None else TASKS[recipe.task]
    return named if named is not None and named.problem_type == recipe.problem_type else None


def _matched_and_mismatched(data: Rows) -> tuple[list[int], list[int]]:
    """The rows of MNLI's two sets, told apart by the names of their files or splits."""
    sets: tuple[list[int], list[int]] = ([], [])
    first = 0
    for source, length in data.sources:
        name = source if source.startswith("split ") else Path(source).name
        sets[_MISMATCHED in name].extend(range(first, first + length))
        first += length
    return sets


def _rows_by_measure(named: NamedTask, data: Rows) -> dict[str, list[int]]:
    """The rows that each measure counts: all, unless both sets of MNLI are there."""
    matched, mismatched = _matched_and_mismatched(data)
    if f"accuracy_{_MISMATCHED}" in named.measures and matched and mismatched:
        return {"accuracy": matched, f"accuracy_{_MISMATCHED}": mismatched}
    return {key: list(range(len(data))) for key in named.measures if not key.endswith(_MISMATCHED)}


def _check_labels(rows: Rows, recipe: GlueRecipe) -> None:
    """Raise ValueError where a label is none of the named task's."""
    named = _named(recipe)
    if recipe.problem_type == SINGLE_LABEL:
        known = {*recipe.label_names, *recipe.label_names.values()}
        classes = ", ".join(f"{label} ({name})" for label, name in recipe.label_names.items())
        for index, label in enumerate(read_labels(rows)):
            if label not in known:
                fix = UNLABELLED if label == "-1" else f"--label_names.{label} NAME says which one it is"
                raise ValueError(f"{rows.where(index)}: label {label!r} is none of {recipe.task}'s, {classes}; {fix}")
    elif named is not None:
        for index, label in enumerate(rows.columns["label"]):
            if not 0 <= as_number(label, rows.where(index)) <= _HIGHEST_SCORE:
                raise ValueError(
                    f"{rows.where(index)}: label {label} of {recipe.task} is no number from 0 to 5; {UNLABELLED}"
                )
