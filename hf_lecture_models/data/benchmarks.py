# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.

"""The benchmarks that recipes know by name: their columns, classes, measures, and where their data are on the Hub.

These are GLUE (Wang et al. 2018), which gluebenchmark.com scores; the Stanford Sentiment Treebank (Socher et al. 2013)
with its five degrees, or with these merged into negative, neutral and positive; the parts of speech of UD English EWT
(Silveira et al. 2014); the rare and new names of WNUT-17 (Derczynski et al. 2017); SQuAD 1.1 and 2.0 (Rajpurkar et al.
2016, 2018); and multiple choice, whose rows `tasks.choice.rows` describes. The names and numbers of GLUE's classes are
those of nyu-mll/glue on the Hub.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hf_lecture_models.data.recipe import DataRecipe, RowsRecipe
from hf_lecture_models.io.recipe import Recipe, setting

Columns = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class HubData:
    """A data set on the Hub at a commit.

    Attributes:
        name: the name of the data set.
        revision: the commit.
        config: the configuration of the data set.
        splits: other names of the splits "validation" and "test"; "a+b" is split a followed by split b, and "c/a" is
            split a of the configuration c.
    """

    name: str
    revision: str
    config: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)

    def fill(self, recipe: DataRecipe) -> None:
        """Set these data in a recipe without training data of its own, except for the parts that it names itself.

        >>> recipe = DataRecipe(predict_split="test", validation_files=["dev.tsv"])
        >>> HubData("some/set", "abc", splits={"test": "test_a+test_b"}).fill(recipe)
        >>> recipe.dataset_name, recipe.train_split, recipe.validation_split, recipe.predict_split
        ('some/set', 'train', '', 'test_a+test_b')
        """
        if recipe.dataset_name or recipe.train_files or recipe.inline_rows("train"):
            return
        recipe.dataset_name, recipe.dataset_revision, recipe.dataset_config = self.name, self.revision, self.config
        for part in ("train", "validation", "test", "predict"):
            split = getattr(recipe, f"{part}_split")
            own = getattr(recipe, f"{part}_files") or recipe.inline_rows(part)
            setattr(recipe, f"{part}_split", "" if own else self.splits.get(split, split))


@dataclass(frozen=True)
class Benchmark:
    """The facts of a benchmark: its task, columns, classes, measures, files and data.

    Attributes:
        task: the task that it measures.
        columns: the names of the task's columns in its files; if there are several, a file's first match is read.
        classes: the names of its classes or tags, by their spelling in its files; empty: those of the data, or numbers.
        measures: the measures of text classification, official ones first; the first one selects the best weights.
        header: the columns of files without a line of names.
        malformed_header: the first line of files in which rows may have another width; these rows are left out.
        file: the name of its file of predictions; for text classification without `.tsv`.
        writes_names: whether that file holds the names of classes in place of their numbers.
        source: the text that a text-to-text model reads for a row.
        scheme: the kind of its tags, "plain" or "entities".
        has_unanswerable: whether texts may hold no answer; None: the data decide.
        form: the form of its choices, a key of `tasks.choice.rows.FORMS`.
        hub: its data on the Hub.
    """

    task: str
    columns: Columns = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    measures: tuple[str, ...] = ("accuracy",)
    header: tuple[str, ...] = ()
    malformed_header: tuple[str, ...] = ()
    file: str = "predictions"
    writes_names: bool = True
    source: str = ""
    scheme: str = "plain"
    has_unanswerable: bool | None = None
    form: str = "own"
    hub: HubData | None = None


def _numbered(*names: str) -> dict[str, str]:
    return {str(number): name for number, name in enumerate(names)}


_classification = partial(Benchmark, "text_classification")
_tagging = partial(Benchmark, "token_classification")
_questions = partial(Benchmark, "question_answering")
_choices = partial(Benchmark, "multiple_choice")
_glue = partial(HubData, "nyu-mll/glue", "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c")
_arc = partial(HubData, "allenai/ai2_arc", "210d026faf9955653af8916fad021475a3f00453")
_SENTENCE: Columns = {"text": ("sentence",), "label": ("label",)}
_PAIR: Columns = {"text": ("sentence1",), "text_pair": ("sentence2",), "label": ("label",)}
_ENTAILMENT = _numbered("entailment", "not_entailment")
# The model of MNLI also predicts GLUE's diagnostic rows, which have no classes there.
_MNLI_SPLITS = {
    "validation": "validation_matched+validation_mismatched",
    "test": "test_matched+test_mismatched+ax/test",
}
_WNUT_TYPES = ("corporation", "creative-work", "group", "location", "person", "product")
_WNUT_TAGS = ("O", *(f"{prefix}-{kind}" for kind in _WNUT_TYPES for prefix in "BI"))
_IDS: Columns = {"id": ("idx", "id")}
_ARC_COLUMNS: Columns = {"label": ("answerKey", "label"), **_IDS}

BENCHMARKS: dict[str, Benchmark] = {
    "cola": _classification(
        _SENTENCE,
        _numbered("unacceptable", "acceptable"),
        ("matthews_correlation", "accuracy"),
        header=("source", "label", "mark", "sentence"),
        file="CoLA",
        writes_names=False,
        source="cola sentence: {text}",
        hub=_glue("cola"),
    ),
    "sst2": _classification(
        _SENTENCE,
        _numbered("negative", "positive"),
        file="SST-2",
        writes_names=False,
        source="sst2 sentence: {text}",
        hub=_glue("sst2"),
    ),
    "mrpc": _classification(
        # The second names are in Microsoft's own files.
        {"text": ("sentence1", "#1 String"), "text_pair": ("sentence2", "#2 String"), "label": ("label", "Quality")},
        _numbered("not_equivalent", "equivalent"),
        ("f1", "accuracy"),
        file="MRPC",
        writes_names=False,
        source="mrpc sentence1: {text} sentence2: {text_pair}",
        hub=_glue("mrpc"),
    ),
    "stsb": _classification(
        {**_PAIR, "label": ("score", "label")}, measures=("pearson", "spearmanr"), file="STS-B", hub=_glue("stsb")
    ),
    "qqp": _classification(
        {
            "text": ("question1",),
            "text_pair": ("question2",),
            "label": ("is_duplicate", "label"),
            "index": ("index", "idx", "id"),
        },
        _numbered("not_duplicate", "duplicate"),
        ("f1", "accuracy"),
        # The header of train.tsv, in which some questions contain a line break.
        malformed_header=("id", "qid1", "qid2", "question1", "question2", "is_duplicate"),
        file="QQP",
        writes_names=False,
        source="qqp question1: {text} question2: {text_pair}",
        hub=_glue("qqp"),
    ),
    "mnli": _classification(
        {
            "text": ("sentence1", "premise"),
            "text_pair": ("sentence2", "hypothesis"),
            "label": ("gold_label", "label"),
        },
        _numbered("entailment", "neutral", "contradiction"),
        ("accuracy", "accuracy_mismatched"),
        file="MNLI",
        source="mnli hypothesis: {text_pair} premise: {text}",
        hub=_glue("mnli", _MNLI_SPLITS),
    ),
    "qnli": _classification(
        {"text": ("question",), "text_pair": ("sentence",), "label": ("label",)},
        _ENTAILMENT,
        file="QNLI",
        source="qnli question: {text} sentence: {text_pair}",
        hub=_glue("qnli"),
    ),
    "rte": _classification(
        _PAIR,
        _ENTAILMENT,
        file="RTE",
        source="rte sentence1: {text} sentence2: {text_pair}",
        hub=_glue("rte"),
    ),
    "wnli": _classification(
        _PAIR, _numbered("not_entailment", "entailment"), file="WNLI", writes_names=False, hub=_glue("wnli")
    ),
    "sst3": _classification(
        {"text": ("sentence",), "label": ("label3",)},
        {"-1": "negative", "0": "neutral", "1": "positive"},
        source="sst3 sentence: {text}",
    ),
    "sst5": _classification(
        _SENTENCE,
        _numbered("very negative", "negative", "neutral", "positive", "very positive"),
        source="sst5 sentence: {text}",
    ),
    "ewt": _tagging({"tokens": ("tokens", "form"), "tags": ("upos", "upos_tags")}),
    "wnut17": _tagging(
        {"tokens": ("tokens",), "tags": ("ner_tags", "tags")},
        _numbered(*_WNUT_TAGS),
        scheme="entities",
        hub=HubData("leondz/wnut_17", "1ac0b6d18c8a1a1d1606b24bef78b8af2f92d2d9"),
    ),
    "squad": _questions(hub=HubData("rajpurkar/squad", "7b6d24c440a36b6815f21b70d25016731768db1f")),
    "squad_v2": _questions(
        has_unanswerable=True, hub=HubData("rajpurkar/squad_v2", "3ffb306f725f7d2ce8394bc1873b24868140c412")
    ),
    "swag": _choices(
        _IDS,
        form="swag",
        file="predictions.csv",
        hub=HubData("allenai/swag", "dc48148372b3853a9c7bae7bb06c161b46d8364a", "regular"),
    ),
    "copa": _choices(
        _IDS,
        form="copa",
        file="COPA.jsonl",
        hub=HubData("aps/super_glue", "3de24cf8022e94f4ee4b9d55a6f539891524d646", "copa"),
    ),
    "balanced_copa": _choices(_IDS, form="copa", file="predictions.jsonl"),
    "arc_easy": _choices(_ARC_COLUMNS, form="arc", file="predictions.csv", hub=_arc("ARC-Easy")),
    "arc_challenge": _choices(_ARC_COLUMNS, form="arc", file="predictions.csv", hub=_arc("ARC-Challenge")),
    "french_english": Benchmark("translation"),
}


def benchmarks_of(task: str) -> tuple[str, ...]:
    """Return the names of a task's benchmarks.

    >>> benchmarks_of("question_answering")
    ('squad', 'squad_v2')
    """
    return tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.task == task)


@dataclass(kw_only=True)
class Benchmarked(Recipe):
    """A choice of a benchmark by its name."""

    task: str | None = setting(None, "a benchmark", choices=tuple(BENCHMARKS))

    @property
    def benchmark(self) -> Benchmark | None:
        """The named benchmark; None for other data."""
        return None if self.task is None else BENCHMARKS[self.task]


@dataclass(kw_only=True)
class BenchmarkRecipe(Benchmarked, RowsRecipe):
    """A recipe whose `task` may name a benchmark, which brings columns, classes and data on the Hub."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.benchmark is not None and self.benchmark.hub is not None:
            self.benchmark.hub.fill(self)

    def column_aliases(self, column: str) -> Sequence[str]:
        """The benchmark's names for a column, unless `columns` names it."""
        known = None if self.benchmark is None or column in self.columns else self.benchmark.columns.get(column)
        return known or super().column_aliases(column)

    def header(self) -> Sequence[str]:
        """Return the columns of a benchmark's files without a line of names, such as CoLA's."""
        return () if self.benchmark is None else self.benchmark.header

    def malformed_header(self) -> Sequence[str]:
        """Return the first line of a benchmark's files in which some rows have another width, such as QQP's."""
        return () if self.benchmark is None else self.benchmark.malformed_header
