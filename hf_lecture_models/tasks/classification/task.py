# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The classification of texts or pairs of texts, or their regression to a number, on benchmarks and other data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from hf_lecture_models.base.traits import trait
from hf_lecture_models.data.benchmarks import Benchmark, Benchmarked, BenchmarkRecipe, benchmarks_of
from hf_lecture_models.data.holdout import SplitKeys, in_tenths
from hf_lecture_models.data.reading import read_rows
from hf_lecture_models.data.rows import UNLABELLED, Rows
from hf_lecture_models.evaluation.by_length import predict_by_length
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.io.runs import best_validation, is_main_process
from hf_lecture_models.tasks.classification.baseline import MostFrequentClass
from hf_lecture_models.tasks.classification.classes import best_classes, class_scores
from hf_lecture_models.tasks.classification.defaults import (
    MODEL,
    TOKENIZER,
    note_pairs_of_bag,
    reads_pairs_as_one,
)
from hf_lecture_models.tasks.classification.errors import class_errors, number_errors, set_errors
from hf_lecture_models.tasks.classification.kinds import MULTI_LABEL, REGRESSION, SINGLE_LABEL, kind_of_labels
from hf_lecture_models.tasks.classification.labels import (
    as_number,
    class_names,
    ids_by_name,
    label_ids,
    read_labels,
)
from hf_lecture_models.tasks.classification.measures import measures_by_class
from hf_lecture_models.tasks.classification.mnli import MISMATCHED, parts_of_accuracy, sets_of_mnli
from hf_lecture_models.tasks.classification.pseudo_labels import with_pseudo_labels
from hf_lecture_models.tasks.classification.several_labels import join_columns, label_matrix, several_class_names
from hf_lecture_models.tasks.classification.several_measures import (
    best_sets,
    checked_thresholds,
    chosen_classes,
    class_thresholds,
    found_thresholds,
    measures_of_sets,
    named_classes,
    sets_of_scores,
)
from hf_lecture_models.tasks.classification.weights import (
    BALANCED,
    balanced_weights,
    note_uneven_classes,
    weighted_loss,
    weighted_set_loss,
)
from hf_lecture_models.tasks.core.baselines import LearnedBaseline
from hf_lecture_models.tasks.core.errors import Errors
from hf_lecture_models.tasks.core.factories import log_once, templated_tokenizer
from hf_lecture_models.tasks.core.heads import HeadRecipe
from hf_lecture_models.tasks.core.hold_out import joined_columns, keys_of_classes, keys_of_rows
from hf_lecture_models.tasks.core.inputs import Example, count_cut, encode_inputs, model_inputs
from hf_lecture_models.tasks.core.labels import (
    class_fields,
    classes_of,
    in_the_order_of_checkpoint,
    keyed_by_text,
    log_default_names,
    make_head,
    named_by_text,
    names_of_labels,
)
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.settings import Settings, store_settings
from hf_lecture_models.tasks.core.shuffled import RowCollator, ShuffledBatches
from hf_lecture_models.tasks.core.task import Encoded, Measure, Task
from hf_lecture_models.tasks.metrics import compute
from hf_lecture_models.tokenization.registry import tokenizer_types
from hf_lecture_models.tokenization.templates import require_template
from hf_lecture_models.trainer.batches import Batches

if TYPE_CHECKING:
    from hf_lecture_models.trainer.loop import Evaluation

_EVALUATION_BATCH = 64
_MEASURES = {
    "accuracy": "accuracy",
    "accuracy_mismatched": "accuracy on the mismatched set",
    "exact_match": "texts with exactly the right classes",
    "f1": "F1",
    "macro_f1": "F1, mean over the classes",
    "micro_f1": "F1, all classes together",
    "matthews_correlation": "Matthews correlation",
    "pearson": "Pearson correlation",
    "spearmanr": "Spearman correlation",
}
_MEASURES_OF_KINDS = {
    SINGLE_LABEL: ("accuracy", "macro_f1"),
    MULTI_LABEL: ("micro_f1", "macro_f1", "exact_match"),
    REGRESSION: ("pearson",),
    None: ("accuracy", "micro_f1", "macro_f1", "exact_match", "pearson"),
}
_TEXTS = ("text", "text_pair")
_HIGHEST_SCORE = 5.0


@dataclass(kw_only=True)
class ClassificationSettings(Settings, Benchmarked):
    """The settings of a classifier."""

    saved = ("max_length",)
    finds_thresholds = False  # whether a measurement uses the thresholds that are best on its own rows

    problem_type: str | None = setting(
        None,
        "what labels are: names of classes, lists of such names, or numbers; null: by the training data, lists or "
        "label_columns are several classes of a text, and numbers that are not all integers are learned as numbers",
        choices=(SINGLE_LABEL, MULTI_LABEL, REGRESSION),
    )
    label_names: dict[str, str] = setting({}, "names of the classes, by what the data call them: {0: bad, 1: good}")
    max_length: int | None = setting(
        None,
        "tokens of an input, longer ones are cut, of a pair the longer text first; null: one that is too long for the "
        "model is an error",
        least=1,
    )
    thresholds: dict[str, float] = setting(
        {},
        "of several classes a text, the probability from which a class is predicted, by its name, 0.5 for others: "
        "{toxic: 0.3}; none: those with the best F1 on the validation data, which are saved with the model",
    )
    task: str | None = setting(
        None,
        "names the columns of its files, its classes and its measures, and its data on the Hub, which are read where "
        "neither files nor rows are named; null: a task of your own. Of mnli, files and splits with `mismatched` in "
        "their names are measured and predicted apart; GLUE's diagnostic rows, a file named AX or diagnostic, are "
        "predicted apart",
        choices=benchmarks_of("text_classification"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.label_names = named_by_text("label_names", self.label_names)
        if self.benchmark is not None:
            self.label_names = {**self.benchmark.classes, **self.label_names}
            self.problem_type = (self.problem_type or SINGLE_LABEL) if self.benchmark.classes else REGRESSION
        if self.thresholds:
            self.thresholds = checked_thresholds(keyed_by_text("thresholds", self.thresholds))

    @property
    def official(self) -> Benchmark | None:
        """The benchmark whose measures are used; None also if its classes are learned as numbers."""
        has_classes = self.benchmark is not None and bool(self.benchmark.classes)
        return self.benchmark if has_classes == (self.problem_type == SINGLE_LABEL) else None

    def for_model(self, config: Any) -> Self:
        """Return the settings with a `problem_type`: their own, or else the model's, which is one class without any."""
        return self if self.problem_type else replace(self, problem_type=config.problem_type or SINGLE_LABEL)

    def to_save(self, data: Any = None) -> dict[str, Any]:
        """Return the settings for `task.json`; thresholds only if the recipe sets them."""
        return super().to_save(data) | ({"thresholds": self.thresholds} if self.thresholds else {})

    @classmethod
    def measured(cls, measures: Mapping[str, Any]) -> dict[str, Any]:
        """Return the thresholds with the best F1, if the measures are those of several classes a text."""
        thresholds = found_thresholds(measures)
        return {"thresholds": thresholds} if thresholds else {}


@dataclass(kw_only=True)
class TextClassificationRecipe(ClassificationSettings, HeadRecipe, BenchmarkRecipe):
    """The recipe of a classifier; its data have the columns `text`, `label` and perhaps `text_pair`."""

    patience_steps: ClassVar[int] = 1000  # 5 evaluations of 150 rows ended 1,350 rows at 66 % in place of 71

    no_label_advice = f"`label_columns` names several of 0 and 1; {UNLABELLED}"

    class_weights: dict[str, float] | str = setting(
        {},
        "weight of a class's rows in the loss, by the class's name, 1 where none is given: {bad: 2.5}; of several "
        "classes a text, of the rows that have the class; balanced: rows / (classes * rows of the class), of several "
        "classes rows without it / rows with it",
    )
    label_columns: list[str] = setting(
        [], "columns of 0 and 1, one for each class, in place of the column `label`: toxic,insult"
    )
    tokenizer: dict[str, Any] = setting(
        TOKENIZER, f"type {tokenizer_types()}; options of its train(); sampling: 0.2, as for every task"
    )
    model: dict[str, Any] = setting(
        MODEL,
        "model_type and the fields of its config; with from_pretrained, fields to change: {dropout: 0.2}",
    )
    pseudo_labels: str = setting("", "folder or Hub name of a trained classifier that labels `unlabelled_files`")
    unlabelled_files: list[str] = setting(
        [], "files of texts, or pairs of texts, to train on as well, with the labels that pseudo_labels gives them"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_label_columns()
        if bool(self.pseudo_labels) != bool(self.unlabelled_files):
            raise ValueError("recipe: pseudo_labels and unlabelled_files belong together; name both or none")
        for name in ("pseudo_labels", "class_weights") if self.problem_type == REGRESSION else ():
            if getattr(self, name):
                raise ValueError(f"recipe: {name} are for classes, problem_type {REGRESSION} learns numbers")
        self._check_class_weights()

    def _check_label_columns(self) -> None:
        if len(self.label_columns) == 1:
            self.label_columns = [name.strip() for name in self.label_columns[0].split(",")]
        if not self.label_columns:
            return
        if len(set(self.label_columns)) < len(self.label_columns) or not all(self.label_columns):
            raise ValueError(f"recipe: label_columns must be different names, not {', '.join(self.label_columns)}")
        if self.problem_type not in (None, MULTI_LABEL):
            raise ValueError(
                f"recipe: label_columns are several classes of a text, problem_type {self.problem_type} not"
            )
        self.problem_type = MULTI_LABEL

    def _check_class_weights(self) -> None:
        weights = self.class_weights
        if isinstance(weights, str):
            if weights != BALANCED:
                raise ValueError(
                    f"recipe: class_weights must be {BALANCED}, or a number for each class "
                    f"(`class_weights.NAME` 2.5), not {weights!r}"
                )
            return
        self.class_weights = weights = keyed_by_text("class_weights", weights)
        for name, weight in weights.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
                raise ValueError(f"recipe: class_weights.{name} must be a number of at least 0, not {weight!r}")

    def column_aliases(self, column: str) -> Sequence[str]:
        """Return the names of a column in files; the number of a row has the names of GLUE and the Hub."""
        own = super().column_aliases(column)
        return ("index", "idx") if column == "index" and list(own) == [column] else own


class PairLines(LineForm):
    """Lines of a text, or of a pair of texts with a tab between them."""

    def read(self, text: str) -> dict[str, Any]:
        """Return a text, or a pair of texts that are separated by a tab, as fields."""
        first, tab, second = text.partition("\t")
        return {"text": first, **({"text_pair": second} if tab else {})}

    def line_of(self, fields: Mapping[str, Any], prediction: Mapping[str, Any]) -> str:
        """Return the line that was read."""
        return "\t".join(fields[name] for name in ("text", "text_pair") if name in fields)


class TextClassification(Task[TextClassificationRecipe]):
    """The task of classifying texts, or pairs of them; its data are `Rows`.

    >>> [measure.key for measure in TextClassification().measures(TextClassificationRecipe(task="mrpc"))]
    ['f1', 'accuracy']
    """

    name = "text_classification"
    auto_class = AutoModelForSequenceClassification
    pipeline_tag = "text-classification"
    items = "examples"
    script = "finetune_glue.py"
    recipe_class: ClassVar[type[TextClassificationRecipe]] = TextClassificationRecipe
    settings_class = ClassificationSettings
    line_form = PairLines("texts, or pairs with a tab between them", optional=("text_pair",))
    next_command = "hf-lecture predict {} < texts.txt"
    baseline = MostFrequentClass()

    def measures(self, settings: ClassificationSettings) -> tuple[Measure, ...]:
        """Return the benchmark's measures, official ones first; for other data those of their `problem_type`.

        These are accuracy and F1, F1 alone for several classes of a text, or the correlation.
        """
        own = _MEASURES_OF_KINDS[settings.problem_type]
        keys = own if settings.official is None else settings.official.measures
        return tuple(Measure(key, _MEASURES[key], lower_is_better=False) for key in keys)

    def read(self, recipe: TextClassificationRecipe, part: str) -> Rows | None:
        """Read the rows of the part; rows to predict may have a column `index`, which is written with predictions.

        Training data set `problem_type`, and are followed by unlabelled rows with a teacher's labels, if the recipe
        names any.

        Raises:
            ValueError, OSError: as `read_rows`, `join_columns`, `kind_of_labels` and `with_pseudo_labels`; or a label
                is not one of the benchmark's.
        """
        required, optional = ["text"], ["index"] if part == "predict" else []
        if recipe.benchmark is None:
            optional.insert(0, "text_pair")
        elif "text_pair" in recipe.benchmark.columns:
            required.append("text_pair")
        rows = read_rows(recipe, part, required, optional, labels=recipe.label_columns or ("label",))
        if rows is not None and recipe.label_columns and part != "predict":
            rows = join_columns(rows, recipe.label_columns)
        if rows is not None and part == "train":
            _set_kind(recipe, rows)
        if rows is not None and recipe.benchmark is not None and part != "predict":
            _check_labels(rows, recipe)
        if rows is not None and part == "train" and recipe.pseudo_labels:
            return with_pseudo_labels(self, rows, recipe)
        return rows

    def split_keys(self, recipe: TextClassificationRecipe, data: Rows) -> SplitKeys:
        """Keep equal texts on one side, and the share of each class, or of each tenth of the numbers, on both.

        Rows with a teacher's labels are never held out.
        """
        names = [name for name in ("text", "text_pair") if name in data.columns]
        equal = {"pair of texts" if len(names) > 1 else "text": joined_columns(data, names)}
        if recipe.problem_type == REGRESSION:
            numbers = [as_number(label, data.where(index)) for index, label in enumerate(data.columns["label"])]
            return keys_of_rows(data, equal, in_tenths(numbers), "tenth of the labels")
        own = sum(length for name, length in data.sources if name not in recipe.unlabelled_files)
        return keys_of_classes(data, equal, recipe.label_names, to_train=range(own, len(data)))

    def processor(self, recipe: TextClassificationRecipe, data: Rows) -> Any:
        """Return the tokenizer, with the template that the model needs."""
        texts, pairs = _texts(data)
        return templated_tokenizer(self.auto_class, recipe, [*texts, *(pairs or ())])

    def model(self, recipe: TextClassificationRecipe, processor: Any, data: Rows) -> Any:
        """Return the classifier, with the classes of the benchmark or of the data.

        A checkpoint that already classifies these classes keeps its order of them. A checkpoint with as many other
        classes is refused, because they cannot be matched.
        """
        if recipe.problem_type == REGRESSION:
            return make_head(self.auto_class, recipe, processor, {"num_labels": 1, "problem_type": REGRESSION})
        kind = recipe.problem_type or kind_of_labels(data)
        if kind == MULTI_LABEL:
            names = several_class_names(data, recipe.label_names, recipe.label_columns)
        else:
            names = class_names(data, recipe.label_names)
            if recipe.benchmark is None and not recipe.class_weights:
                note_uneven_classes([recipe.label_names.get(label, label) for label in read_labels(data)])
        if recipe.benchmark is not None:  # all of its classes, also those that the data lack
            names = list(dict.fromkeys(recipe.label_names.values()))
        if recipe.from_pretrained:
            names = in_the_order_of_checkpoint(names, recipe, "ForSequenceClassification")
        return make_head(self.auto_class, recipe, processor, class_fields(names) | {"problem_type": kind})

    def encode(self, model: Any, processor: Any, data: Rows, settings: ClassificationSettings) -> Encoded:
        """Tokenize the rows, and convert their labels, if they have any, to the model's ids."""
        inputs, settings = (
            encode_examples(model, processor, data, settings.max_length),
            settings.for_model(model.config),
        )
        if "label" not in data.columns:
            return Encoded(data, inputs)
        if settings.problem_type == MULTI_LABEL:
            return Encoded(data, inputs, label_matrix(model.config, data, settings.label_names))
        return Encoded(data, inputs, label_ids(model.config, data, settings))

    def batches(self, model: Any, processor: Any, data: Rows, recipe: TextClassificationRecipe) -> Batches:
        """Return batches of rows in a new order each epoch; each micro-batch is padded to its longest row."""
        if "text_pair" in data.columns and reads_pairs_as_one(model) and recipe.problem_type == SINGLE_LABEL:
            note_pairs_of_bag()
        elif "text_pair" in data.columns and not _parts_pairs(processor):
            fix = "give it a template" if recipe.from_pretrained else "`tokenizer.template` pair parts them"
            log_once(f"the tokenizer puts nothing between the two texts of a pair, which are read as one; {fix}")
        encoded = self.encode(model, processor, data, recipe)
        labels, pad, loss = {"labels": torch.tensor(encoded.labels)}, partial(processor.pad, return_tensors="pt"), None
        if recipe.class_weights:
            several = recipe.for_model(model.config).problem_type == MULTI_LABEL
            weights = _weights_of_classes(model.config, encoded.labels, recipe)
            loss = partial(weighted_set_loss if several else weighted_loss, weights=weights)
        collate = RowCollator(encoded.inputs, labels, pad, loss)
        return ShuffledBatches(len(data), collate, recipe.batch_size, recipe.seed)

    def predict(self, model: Any, processor: Any, encoded: Encoded, batch_size: int = _EVALUATION_BATCH) -> Tensor:
        """Return the logits of encoded rows, (rows, classes), float32 on the CPU."""

        def predict_batch(examples: list[Example]) -> Tensor:
            batch = processor.pad(examples, return_tensors="pt").to(model.device)
            return model(**batch).logits.float().cpu()

        found = predict_by_length(model, encoded.inputs, predict_batch, batch_size, _length)
        return torch.stack(found) if found else torch.empty(0, model.config.num_labels)

    def train(self, model: Any, processor: Any, data: Any, validation_data: Any, recipe: Any, **options: Any) -> Any:
        """Train as all tasks do; then store the thresholds that the validation of the kept weights found."""
        result = super().train(model, processor, data, validation_data, recipe, **options)
        if is_main_process():
            record = {"metric": result.metric_name, "best_metric": result.best_metric, "history": result.history}
            if found := recipe.measured(best_validation(record)):
                store_settings(result.folder, found)
        return result

    def evaluation(
        self,
        model: Any,
        processor: Any,
        data: Rows,
        recipe: TextClassificationRecipe,
        beside: LearnedBaseline | None = None,
    ) -> "Evaluation":
        """Encode data once for a run; each measurement chooses its own thresholds for several classes."""
        recipe = copy(recipe.for_model(model.config))
        recipe.finds_thresholds = recipe.problem_type == MULTI_LABEL and not recipe.thresholds
        return super().evaluation(model, processor, data, recipe, beside)

    def evaluate(
        self,
        model: Any,
        processor: Any,
        data: Rows,
        settings: ClassificationSettings,
        beside: LearnedBaseline | None = None,
    ) -> dict[str, Any]:
        """Encode data, and measure a model on them; log how a model's unnamed classes are matched."""
        settings = settings.for_model(model.config)
        if settings.problem_type == SINGLE_LABEL:
            names = names_of_labels(settings.label_names, settings.label_names)
            log_default_names(model.config, model.config.name_or_path or "the model", names)
        return super().evaluate(model, processor, data, settings, beside)

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: ClassificationSettings) -> Any:
        """Return the id of each row's most probable class, or its number, or the `ClassSets` of all rows."""
        logits, settings = self.predict(model, processor, encoded), settings.for_model(model.config)
        if settings.problem_type == MULTI_LABEL:
            given = None if settings.finds_thresholds else class_thresholds(model.config, settings.thresholds)
            return sets_of_scores(logits.sigmoid(), encoded.labels, given)
        return (logits[:, 0] if settings.problem_type == REGRESSION else logits.argmax(1)).tolist()

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: Any, settings: ClassificationSettings
    ) -> dict[str, Any]:
        """Return the measures, the number of examples and, for classes, the precision, recall and F1 of each."""
        settings = settings.for_model(model.config)
        if settings.problem_type == MULTI_LABEL:
            return measures_of_sets(answers, encoded.labels, classes_of(model.config))
        measured = self.scores(model.config, answers, encoded.labels, encoded.data, settings)
        measured["examples"] = len(encoded.inputs)
        if settings.problem_type == SINGLE_LABEL:
            by_class = measures_by_class(answers, encoded.labels, classes_of(model.config))
            measured["classes"] = by_class["classes"]
        return measured

    def scores(
        self,
        config: Any,
        predictions: Sequence[float],
        labels: Sequence[float],
        data: Rows,
        settings: ClassificationSettings,
    ) -> dict[str, Any]:
        """Return the measures of predictions, which are ids of the model's classes in any order, or numbers."""
        if settings.official is not None:
            return _official_scores(settings, config, predictions, labels, data)
        if settings.problem_type == REGRESSION:
            return {"pearson": compute("pearson", predictions, labels)}
        macro_f1 = measures_by_class(predictions, labels, classes_of(config))["macro_f1"]
        return {"accuracy": compute("accuracy", predictions, labels), "macro_f1": macro_f1}

    def predictions(
        self, model: Any, processor: Any, data: Rows, settings: ClassificationSettings, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Return the most probable classes of each row, or its number.

        Where a row may have several classes, these are all classes from their thresholds on, unless `top_k` is given.
        """
        logits = self.predict(model, processor, self.encode(model, processor, data, settings), options.batch_size)
        names, scores = classes_of(model.config), class_scores(logits, model.config)
        if model.config.problem_type == MULTI_LABEL and options.top_k is None:
            return best_sets(scores, class_thresholds(model.config, settings.thresholds), names)
        return [best_classes(own, names, options.top_k or 1) for own in scores]

    def errors(self, model: Any, processor: Any, data: Rows, settings: ClassificationSettings) -> Errors:
        """Return the rows with wrong classes, or all rows of a regression, with their texts."""
        encoded, settings = self.encode(model, processor, data, settings), settings.for_model(model.config)
        logits = self.predict(model, processor, encoded)
        inputs: dict[str, Any] = {name: data.columns[name] for name in _TEXTS if name in data.columns}
        inputs["where"] = [data.where(row) for row in range(len(data))]
        if settings.problem_type == REGRESSION:
            return number_errors(inputs, logits[:, 0].tolist(), encoded.labels)
        if settings.problem_type == MULTI_LABEL:
            scores = logits.sigmoid()
            chosen = chosen_classes(scores, class_thresholds(model.config, settings.thresholds))
            return set_errors(classes_of(model.config), inputs, scores.tolist(), chosen.tolist(), encoded.labels)
        return class_errors(model.config, inputs, logits, encoded.labels)

    def write_predictions(
        self, model: Any, processor: Any, data: Rows, settings: ClassificationSettings, folder: Path
    ) -> Path:
        """Write `.tsv` files with the columns `index`, from the data or else counted from 0, and `prediction`.

        Several classes of a row have commas between them, and "-" stands for none. For GLUE, the files have its names,
        and the names or numbers of classes that it requires.
        """
        logits = self.predict(model, processor, self.encode(model, processor, data, settings))
        values, index = _written(model.config, logits, settings), data.columns.get("index")
        files = _prediction_files(data, settings.official)
        for name, rows in files.items():
            numbers = range(len(rows)) if index is None else [index[row] for row in rows]
            lines = ["index\tprediction", *(f"{i}\t{values[row]}" for i, row in zip(numbers, rows, strict=True))]
            write_file(folder / name, "\n".join(lines) + "\n")
        return folder / name if len(files) == 1 else folder

    def describe(self, model: Any, settings: ClassificationSettings, data: Rows | None = None) -> dict[str, Any]:
        """Describe the task; add the classes, if there are any, and whether inputs are pairs of texts."""
        settings = settings.for_model(model.config)
        classes = [] if settings.problem_type == REGRESSION else classes_of(model.config)
        pairs = data is not None and "text_pair" in data.columns
        return super().describe(model, settings, data) | {"classes": classes, "pairs": pairs}


def encode_examples(model: Any, tokenizer: Any, data: Rows, max_length: int | None = None) -> list[Example]:
    """Tokenize each row for the model; the number of rows that `max_length` cuts is logged.

    Raises:
        ValueError: a row is too long for the model and `max_length` is None; `max_length` is too long for it; the
            tokenizer belongs to another model, or lacks a padding token or the template that the model needs; or the
            model reads only pairs, and the data have none or the tokenizer does not mark them.
    """
    texts, pairs = _texts(data)
    if trait(model, "extract_token_id") is not None:
        require_template(tokenizer, model.text_template)
    if pairs is None and trait(model, "both_orders"):
        raise ValueError(f"{data.sources[0][0]} has no column text_pair, but the model reads pairs (both_orders)")
    if trait(model, "pair_combination") is not None:
        _check_pairs(tokenizer, data)
    encoded = encode_inputs(model, tokenizer, data, texts, pairs, max_length)
    if max_length is not None and (cut := count_cut(encoded)):
        log_once(f"{data.sources[0][0]}: {cut:,} of {len(data):,} rows are longer than max_length and are cut")
    return model_inputs(model, encoded)


def _length(example: Example) -> int:
    return len(example["input_ids"])


def _check_pairs(tokenizer: Any, data: Rows) -> None:
    if "text_pair" not in data.columns:
        raise ValueError(
            f"{data.sources[0][0]} has no column text_pair, but the model has a pair_combination and reads two texts: "
            "`columns.text_pair` says which one it is; a new model with pair_combination null reads single texts"
        )
    if "token_type_ids" not in tokenizer.model_input_names:
        raise ValueError(
            "the model has a pair_combination and reads two texts apart, but the tokenizer does not say which token is "
            "of which (token_type_ids): tokenizer.template pair in a recipe, or tokenizer.set_template('pair') on a "
            "saved one"
        )


def _parts_pairs(tokenizer: Any) -> bool:
    """Return whether the tokenizer marks pairs of texts, by a token between them or by token types."""
    if "token_type_ids" in tokenizer.model_input_names:
        return True
    return tokenizer.num_special_tokens_to_add(pair=True) > tokenizer.num_special_tokens_to_add(pair=False)


def _texts(data: Rows) -> tuple[list[str], list[str] | None]:
    return data.texts("text"), data.texts("text_pair") if "text_pair" in data.columns else None


def _set_kind(recipe: TextClassificationRecipe, rows: Rows) -> None:
    """Set the recipe's `problem_type` by its training data."""
    recipe.problem_type = recipe.problem_type or kind_of_labels(rows)
    fields = {SINGLE_LABEL: ("thresholds",), MULTI_LABEL: ("pseudo_labels",)}
    for name in fields.get(recipe.problem_type, ("thresholds", "pseudo_labels", "class_weights")):
        if getattr(recipe, name):
            raise ValueError(f"recipe: {name} are not for {recipe.problem_type}, which the labels of the data are for")


def _weights_of_classes(config: Any, labels: Sequence[Any], recipe: TextClassificationRecipe) -> Tensor:
    """Return the weight of each class, (classes,); those of "balanced" data replace the recipe's word."""
    names, kind = classes_of(config), recipe.for_model(config).problem_type
    if isinstance(recipe.class_weights, str):
        ids = [index for row in labels for index, own in enumerate(row) if own] if kind == MULTI_LABEL else labels
        tally = Counter(map(int, ids))
        counts = {name: tally[index] for index, name in enumerate(names)}
        recipe.class_weights = balanced_weights(counts, len(labels), str(kind))
        shown = ", ".join(f"{name} {weight:.3g}" for name, weight in recipe.class_weights.items())
        log_once(f"class_weights {BALANCED}: {shown}")
    weights = recipe.class_weights
    if unknown := [name for name in weights if name not in names]:
        raise ValueError(f"recipe: class_weights.{unknown[0]} names none of the classes {', '.join(names)}")
    return torch.tensor([float(weights.get(name, 1.0)) for name in names])


def _check_labels(rows: Rows, recipe: TextClassificationRecipe) -> None:
    """Raise a ValueError if a label is not one of the benchmark's."""
    if recipe.problem_type == SINGLE_LABEL:
        known = {*recipe.label_names, *recipe.label_names.values()}
        for index, label in enumerate(read_labels(rows)):
            if label not in known:
                classes = ", ".join(f"{label} ({name})" for label, name in recipe.label_names.items())
                fix = UNLABELLED if label == "-1" else f"`label_names.{label}` says which one it is"
                raise ValueError(f"{rows.where(index)}: label {label!r} is none of {recipe.task}'s, {classes}; {fix}")
    elif recipe.official is not None:
        for index, label in enumerate(rows.columns["label"]):
            if not 0 <= as_number(label, rows.where(index)) <= _HIGHEST_SCORE:
                raise ValueError(
                    f"{rows.where(index)}: label {label} of {recipe.task} is no number from 0 to 5; {UNLABELLED}"
                )


def _official_scores(
    settings: ClassificationSettings, config: Any, predictions: Sequence[float], labels: Sequence[float], data: Rows
) -> dict[str, float]:
    assert settings.official is not None
    if f"accuracy_{MISMATCHED}" in settings.official.measures:
        return _scores_by_set(predictions, labels, data)
    scores = {}
    for key in settings.official.measures:
        ours, theirs = predictions, labels
        if key == "f1":
            found = ids_by_name(config, settings.label_names)[settings.label_names["1"]]
            ours, theirs = ([int(value == found) for value in values] for values in (predictions, labels))
        scores[key] = compute(key, ours, theirs)
    return scores


def _scores_by_set(predictions: Sequence[float], labels: Sequence[float], data: Rows) -> dict[str, float]:
    """Return the accuracy of each of MNLI's sets, or that of all rows unless both are there."""
    return {
        key: compute("accuracy", [predictions[row] for row in rows], [labels[row] for row in rows])
        for key, rows in parts_of_accuracy(data).items()
    }


def _prediction_files(data: Rows, benchmark: Benchmark | None) -> dict[str, list[int]]:
    """Return the files of predictions with the rows of each: one file, but for MNLI one of each set."""
    if benchmark is None or benchmark.file != "MNLI":
        return {f"{'predictions' if benchmark is None else benchmark.file}.tsv": list(range(len(data)))}
    return {f"{name}.tsv": rows for name, rows in sets_of_mnli(data).items() if rows}


def _written(config: Any, logits: Tensor, settings: ClassificationSettings) -> list[str]:
    """Return each row's prediction as written: a class's name, its number for some benchmarks, or a number."""
    settings = settings.for_model(config)
    benchmark = settings.official
    if settings.problem_type == REGRESSION:
        values = logits[:, 0].tolist() if benchmark is None else logits[:, 0].clamp(0, _HIGHEST_SCORE).tolist()
        return [f"{value:.6g}" if benchmark is None else f"{value:.3f}" for value in values]
    if settings.problem_type == MULTI_LABEL:
        chosen = chosen_classes(logits.sigmoid(), class_thresholds(config, settings.thresholds))
        return [named_classes(row, classes_of(config)) for row in chosen]
    names: Mapping[int, str] = dict(enumerate(classes_of(config)))
    if benchmark is not None:
        ids = ids_by_name(config, settings.label_names)
        names = {
            ids[settings.label_names[label]]: name if benchmark.writes_names else label
            for label, name in benchmark.classes.items()
        }
    return [names[index] for index in logits.argmax(1).tolist()]
