# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base class of tasks: a task knows the data, models and measures that the training loop does not know."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from hf_lecture_models.base.limits import with_input_limit
from hf_lecture_models.data.fingerprint import fingerprint_data
from hf_lecture_models.data.recipe import DataRecipe
from hf_lecture_models.io.auto_classes import model_classes
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import default_of, setting
from hf_lecture_models.io.runs import is_main_process
from hf_lecture_models.io.task_file import TASK_FILE, read_task_file
from hf_lecture_models.tasks.core.sampled import sampled_batches
from hf_lecture_models.tokenization.corpus import fingerprint_tokenizer
from hf_lecture_models.tokenization.registry import tokenizer_types
from hf_lecture_models.trainer.batches import Batches
from hf_lecture_models.trainer.recipe import TrainingRecipe

if TYPE_CHECKING:
    # The loop needs accelerate; to know a task and to measure its models, the base install is enough.
    from hf_lecture_models.trainer.loop import Evaluation, TrainingResult


@dataclass(frozen=True)
class Measure:
    """A number that compares models of a task.

    Attributes:
        key: its name in the results of `Task.evaluate`.
        label: its name on a card.
        variant_of: the key of another measure; if the two are equal, a card shows only the other one.
    """

    key: str
    label: str
    lower_is_better: bool
    variant_of: str = ""


@dataclass(frozen=True)
class Encoded:
    """Data in the form that a model reads.

    Attributes:
        data: the rows, or the texts.
        inputs: the model's inputs, in most tasks one for each row.
        labels: the right answers, one for each row; None: the data have no labels, or the inputs hold them.
    """

    data: Any
    inputs: Any
    labels: Any = None


@dataclass(frozen=True)
class PredictionOptions:
    """The options of a call of `Task.predictions`; they choose how many predictions are returned, and in which form.

    Attributes:
        top_k: the most predictions of a row; None: the task's usual number.
        aggregate: for tags, return entities in place of words.
        batch_size: the number of rows in a batch.
        max_length: the most tokens of an input, for tasks whose recipe has no field of that name.
    """

    top_k: int | None = None
    aggregate: bool = False
    batch_size: int = 64
    max_length: int | None = None


@dataclass(frozen=True)
class LineForm:
    """The form of the lines that `hf-lecture predict` reads for a task.

    Attributes:
        words: the content of a line for messages, such as "texts".
        fields: the fields of a line that is a JSON object, with their types.
        optional: further fields of texts that the object may have.
        needs_json: whether a line must be a JSON object.
        usual: the default number of predictions for a row; 0: one for each of its words.
    """

    words: str = "texts"
    fields: Mapping[str, type] = field(default_factory=lambda: {"text": str})
    optional: tuple[str, ...] = ()
    needs_json: bool = False
    usual: int = 1


@dataclass(kw_only=True)
class TaskRecipe(TrainingRecipe, DataRecipe):
    """A recipe of training, data, tokenizer and model; the recipes of tasks add their own fields."""

    output_dir: str = setting("output", "folder of the trained model, its checkpoints and its history", free=True)
    name: str = setting("", "title of the model's card", free=True)
    seeds: list[int] = setting(
        [], "run once with each of these in place of `seed`, into output_dir/seed-0 and so on: 0,1,2", free=True
    )
    from_pretrained: str = setting("", "folder or Hub name of a model to start from, in place of tokenizer and model")
    word_vectors: str = setting(
        "", "word2vec file, or model's folder or Hub name: the words of a new model start with its input vectors"
    )
    tokenizer: dict[str, Any] = setting(
        {"type": "word"},
        f"type {tokenizer_types()}; options of its train(); sampling: 0.2 draws other segmentations of the type "
        "unigram in each epoch, P(x)^0.2",
    )
    model: dict[str, Any] = setting({}, "model_type and the fields of its config")

    def __post_init__(self) -> None:
        super().__post_init__()
        model_type = self.model.get("model_type", "")
        if not isinstance(model_type, str):
            raise ValueError(f"recipe: model.model_type is {model_type!r}; it must be a name such as lecture_recurrent")
        if not self.output_dir:
            raise ValueError("recipe: output_dir is empty; name a folder")
        if len(set(self.seeds)) < len(self.seeds) or min(self.seeds, default=0) < 0:
            raise ValueError(f"recipe: seeds must be different numbers of at least 0, not {self.seeds}")
        if self.seeds and self.seed:
            raise ValueError("recipe: seed and seeds are both given; keep one of them")
        if self.word_vectors and self.from_pretrained:
            raise ValueError("recipe: from_pretrained brings its own word vectors; leave word_vectors out")
        if self.from_pretrained:
            self._leave_to_checkpoint()

    def while_training(self, model: Any, batches: Batches) -> AbstractContextManager[None]:
        """Return a context for the training; a recipe of a head may keep the rest of the model as it is."""
        return nullcontext()

    def _leave_to_checkpoint(self) -> None:
        """Empty the fields of tokenizer and model, which the checkpoint brings; only `sampling` stays.

        Raises:
            ValueError: the recipe sets one of them.
        """
        for name in ("tokenizer", "model"):
            # How often a segmentation is drawn says nothing about which tokenizer it is.
            given = getattr(self, name)
            sampling = {key: given[key] for key in ("sampling",) if name == "tokenizer" and key in given}
            if given not in ({}, sampling, default_of(type(self).__dataclass_fields__[name])):
                raise ValueError(f"recipe: from_pretrained brings its own {name}; leave {name} out")
            setattr(self, name, sampling)


RecipeType = TypeVar("RecipeType", bound=TaskRecipe)


class Task(ABC, Generic[RecipeType]):
    """A task: its data, its models and its measures.

    Attributes:
        name: the name of its module, also shown on cards.
        auto_class: the Auto class that loads its models; `auto_class_of` returns that of a recipe.
        pipeline_tag: the pipeline that runs its models, and their kind on the Hub.
        items: the items that the loss is a mean over and the progress bar counts, such as "tokens".
        script: the script in the folder `training` that runs the task.
        recipe_class: the class of its recipes.
        line_form: the form of lines that `hf-lecture predict` reads; None: its models predict nothing for a line.
    """

    name: ClassVar[str]
    auto_class: ClassVar[Any]
    pipeline_tag: ClassVar[str]
    items: ClassVar[str]
    script: ClassVar[str]
    recipe_class: ClassVar[type[TaskRecipe]]
    line_form: ClassVar[LineForm | None] = None

    def auto_class_of(self, recipe: RecipeType) -> Any:
        """Return the Auto class of the recipe's model."""
        return self.auto_class

    def is_for(self, model: Any) -> bool:
        """Return whether the model is one of this task."""
        return type(model) in model_classes(self.auto_class, type(model.config))

    @abstractmethod
    def measures(self, recipe: RecipeType) -> tuple[Measure, ...]:
        """Return the measures of `evaluate`; the first one selects the best weights of a run."""

    @abstractmethod
    def read(self, recipe: RecipeType, part: str) -> Any:
        """Read the "train", "validation", "test" or "predict" data of a recipe.

        Data to predict need no labels; if they have labels, these are ignored.

        Returns:
            The data; None if the recipe names none for the part. Training data are required.

        Raises:
            ValueError: the data cannot be used.
            OSError: the data cannot be read.
        """

    def read_file(self, path: str, recipe: RecipeType) -> Any:
        """Read the data of one file as the recipe says.

        Raises:
            ValueError, OSError: as `read`.
        """
        return self.read(replace(recipe, test_files=[path], dataset_name=""), "test")

    @abstractmethod
    def processor(self, recipe: RecipeType, data: Any) -> Any:
        """Return the tokenizer or image processor: that of `from_pretrained`, or a new one for the training data.

        None for a model that reads the data as they are.
        """

    @abstractmethod
    def model(self, recipe: RecipeType, processor: Any, data: Any) -> Any:
        """Return the model to train: that of `from_pretrained`, or one with new weights."""

    @abstractmethod
    def batches(self, model: Any, processor: Any, data: Any, recipe: RecipeType) -> Batches:
        """Return the batches of the training data."""

    @abstractmethod
    def encode(self, model: Any, processor: Any, data: Any, recipe: RecipeType) -> Encoded:
        """Encode data in the form that the model reads.

        Raises:
            ValueError: the model cannot read a row; the message names the row.
        """

    @abstractmethod
    def measure(self, model: Any, processor: Any, encoded: Encoded, recipe: RecipeType) -> dict[str, Any]:
        """Measure a model on encoded data; return the measures, and the settings that they depend on."""

    def evaluate(self, model: Any, processor: Any, data: Any, recipe: RecipeType) -> dict[str, Any]:
        """Encode data, and measure a model on them.

        Raises:
            ValueError: as `encode` and `measure`.
        """
        return self.measure(model, processor, self.encode(model, processor, data, recipe), recipe)

    def evaluation(self, model: Any, processor: Any, data: Any, recipe: RecipeType) -> "Evaluation":
        """Encode data once, for all the times that a run measures its model on them.

        Raises:
            ValueError: as `encode`.
        """
        from hf_lecture_models.trainer.loop import Evaluation

        encoded = self.encode(model, processor, data, recipe)
        first = self.defined_measures(encoded, recipe)[0]
        measure = partial(self.measure, processor=processor, encoded=encoded, recipe=recipe)
        return Evaluation(measure, first.key, first.lower_is_better)

    def defined_measures(self, encoded: Encoded, recipe: RecipeType) -> tuple[Measure, ...]:
        """Return the measures that are defined on these data; the first one decides which weights are the best."""
        return self.measures(recipe)

    def predictions(
        self, model: Any, processor: Any, data: Any, recipe: RecipeType, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Predict data without labels; return the predictions of each row, best first.

        A prediction is a dict with `label`, `score` and further keys of the task. It is made by the same functions and
        settings as the measures and the files of predictions.

        Raises:
            ValueError: as `encode`; or models of the task predict no rows.
        """
        raise ValueError(f"{type(model).__name__} predicts no classes, tags, words, choices or answers")

    def check_predict_data(self, model: Any, processor: Any, data: Any, recipe: RecipeType) -> None:
        """Check before training that `write_predictions` will not fail after it.

        Raises:
            ValueError: the task writes no predictions, or the model cannot read the data.
        """
        if type(self).write_predictions is Task.write_predictions:
            raise ValueError(f"{self.script} writes no predictions; leave out predict_files and predict_split")
        self.encode(model, processor, data, recipe)

    def read_line(self, text: str) -> dict[str, Any]:
        """Return the fields of a line of text that `hf-lecture predict` reads."""
        return {"text": text}

    def check_fields(self, fields: Mapping[str, Any]) -> None:
        """Raise a ValueError if the model cannot read a row of these fields, such as an empty question."""

    def is_blank(self, fields: Mapping[str, Any]) -> bool:
        """Return whether a row holds nothing to predict, so that the model need not read it."""
        return False

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a table's row that `hf-lecture predict` prints with its predictions."""
        form = self.line_form or LineForm()
        return {name: row[name] for name in ("id", *form.fields, *form.optional) if row.get(name) is not None}

    def line_of(self, fields: Mapping[str, Any], prediction: Mapping[str, Any]) -> str:
        """Return the text that a person reads after a prediction's label and score."""
        return str(prediction["text"])

    def write_predictions(self, model: Any, processor: Any, data: Any, recipe: RecipeType, folder: Path) -> Path:
        """Write the predictions for data without labels, in the format of the benchmark.

        Args:
            folder: an existing folder for the files.

        Returns:
            The file, or the folder if there are several files.

        Raises:
            ValueError: the task writes no predictions, or the model cannot read the data.
            OSError: a file cannot be written.
        """
        raise ValueError(f"{type(self).__name__} writes no predictions")

    def training_options(self, model: Any, recipe: RecipeType) -> dict[str, Any]:
        """Return further arguments of `trainer.loop.train`, such as `forward_options`."""
        return {}

    def fingerprint(self, recipe: RecipeType, part: str, data: Any) -> str:
        """Return a checksum of the "train" or "validation" data, by which a resumed run knows them."""
        return fingerprint_data(data)

    def train(
        self,
        model: Any,
        processor: Any,
        data: Any,
        validation_data: Any,
        recipe: RecipeType,
        *,
        output_dir: str | os.PathLike[str] | None = None,
        resume: bool = False,
        quiet: bool = False,
    ) -> "TrainingResult":
        """Train the model by the recipe; the best one by the first measure stays in `output_dir`, or the recipe's.

        Raises:
            ValueError, FloatingPointError, OSError: as `trainer.loop.train`.
        """
        from hf_lecture_models.trainer.loop import train

        make = partial(self.batches, model, processor, data, recipe)
        batches = sampled_batches(make, model, processor, recipe) if "sampling" in recipe.tokenizer else make()
        task_file = _TaskFile(self.describe(model, recipe, data) | {"script": self.script})
        evaluation = None if validation_data is None else self.evaluation(model, processor, validation_data, recipe)
        with recipe.while_training(model, batches):
            result = train(
                model,
                batches,
                recipe,
                recipe.output_dir if output_dir is None else output_dir,
                evaluation=evaluation,
                save_with=(*(() if processor is None else (with_input_limit(processor, model),)), task_file),
                **self.training_options(model, recipe),
                items_name=self.items,
                fingerprints=self._fingerprints(processor, data, validation_data, recipe),
                resume=resume,
                quiet=quiet,
            )
        return self.finish(result, model, recipe, evaluation) if is_main_process() else result

    def finish(
        self, result: "TrainingResult", model: Any, recipe: RecipeType, evaluation: "Evaluation | None"
    ) -> "TrainingResult":
        """Do what is left to do in the main process after training; return the result."""
        return result

    def _fingerprints(self, processor: Any, data: Any, validation_data: Any, recipe: RecipeType) -> dict[str, str]:
        """Return checksums of all that the weights depend on beside the recipe, by the names that messages use."""
        name = "the tokenizer" if hasattr(processor, "get_vocab") else "the image processor"
        name = "the processor" if hasattr(processor, "tokenizer") else name  # of images and texts
        return {
            **({} if processor is None else {name: fingerprint_tokenizer(processor)}),
            "the training data": self.fingerprint(recipe, "train", data),
            "the validation data": self.fingerprint(recipe, "validation", validation_data),
        }

    def settings(self, recipe: RecipeType, data: Any = None) -> dict[str, Any]:
        """Return the settings that turn outputs into predictions, for `task.json`; None: not known yet."""
        return {"max_length": recipe.max_length} if hasattr(recipe, "max_length") else {}

    def measured_settings(self, measured: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that follow from a measurement, such as the best threshold."""
        return {}

    def recipe_fields(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the saved settings as fields of a recipe."""
        known = self.recipe_class.__dataclass_fields__
        return {name: value for name, value in settings.items() if name in known and value is not None}

    def store_measured(
        self, folder: str | os.PathLike[str], measured: Mapping[str, Any], description: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Write the settings that follow from a measurement into the folder's `task.json`, unless it has all of them.

        Args:
            measured: the results of `evaluate`.
            description: the results of `describe`, for a folder without such a file.

        Returns:
            The settings that were written; {} if there was nothing to write.

        Raises:
            ValueError: the file is damaged.
            OSError: the file cannot be written.
        """
        content = read_task_file(folder) or dict(description or {})
        new, settings = self.measured_settings(measured), content.get("settings") or {}
        if not content or all(settings.get(key) is not None for key in new):
            return {}
        beneath = (description or {}).get("settings") or {}
        _TaskFile(content | {"settings": {**beneath, **settings, **new}}).save_pretrained(folder)
        return new

    def describe(self, model: Any, recipe: RecipeType, data: Any = None) -> dict[str, Any]:
        """Return the facts of the task for a model's card, under the key "task"."""
        return {
            "name": self.name,
            "auto_class": self.auto_class_of(recipe).__name__,
            "pipeline_tag": self.pipeline_tag,
            "items": self.items,
            "measures": list(map(asdict, self.measures(recipe))),
            "settings": self.settings(recipe, data),
        }

    def recipe_of(self, facts: Mapping[str, Any]) -> RecipeType:
        """Return the recipe in the facts of a model, with the saved settings; fields of other tasks are left out."""
        fields = self.recipe_class.__dataclass_fields__
        known = {name: value for name, value in (facts.get("recipe") or {}).items() if name in fields}
        task = facts.get("task") or {}
        saved = self.recipe_fields(task.get("settings") or {}) if task.get("name") == self.name else {}
        return self.recipe_class(**(known | saved))  # type: ignore[return-value]


@dataclass(frozen=True)
class _TaskFile:
    """The file `task.json` beside a model's weights, where `hub.facts` reads what the model was trained for."""

    description: dict[str, Any]

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        write_file(Path(folder) / TASK_FILE, json.dumps(self.description, indent=1) + "\n")
