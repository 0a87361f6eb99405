# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The base class of tasks: a task knows the data, models and measures that the training loop does not know."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from hf_lecture_models.base.limits import with_input_limit
from hf_lecture_models.data.fingerprint import fingerprint_data
from hf_lecture_models.data.holdout import HeldOut, SplitKeys
from hf_lecture_models.data.recipe import SplitRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.auto_classes import model_classes
from hf_lecture_models.io.recipe import default_of, setting
from hf_lecture_models.tasks.core.baselines import Baseline, LearnedBaseline, Measuring, learn_baseline
from hf_lecture_models.tasks.core.errors import Errors
from hf_lecture_models.tasks.core.hold_out import hold_out_rows, joined_columns, keys_of_rows
from hf_lecture_models.tasks.core.lines import LineForm, PredictionOptions
from hf_lecture_models.tasks.core.sampled import sampled_batches
from hf_lecture_models.tasks.core.settings import Settings, TaskFile
from hf_lecture_models.tokenization.corpus import fingerprint_tokenizer
from hf_lecture_models.tokenization.registry import tokenizer_types
from hf_lecture_models.trainer.batches import Batches
from hf_lecture_models.trainer.recipe import TrainingRecipe

if TYPE_CHECKING:
    # The loop needs accelerate; to know a task and to measure its models, the base install is enough.
    from hf_lecture_models.trainer.loop import Evaluation, TrainingResult


_EPOCHS_OF_FINE_TUNING, _RATE_OF_FINE_TUNING = 3.0, 5e-5


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


@dataclass(kw_only=True)
class TaskRecipe(Settings, TrainingRecipe, SplitRecipe):
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

    def usual_epochs(self) -> float | None:
        """Return 3 epochs for the weights of a checkpoint; None for a new model: until it stops improving."""
        return _EPOCHS_OF_FINE_TUNING if self.from_pretrained else None

    def usual_learning_rate(self) -> float:
        """Return 5e-5 for the weights of a checkpoint, or the rate of the class for a new model."""
        return _RATE_OF_FINE_TUNING if self.from_pretrained else self.new_learning_rate

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
            if given not in ({}, sampling, _PLAIN_WORDS, default_of(type(self).__dataclass_fields__[name])):
                raise ValueError(f"recipe: from_pretrained brings its own {name}; leave {name} out")
            setattr(self, name, sampling)


_PLAIN_WORDS = {"type": "word"}  # of many recipes with a new model; a checkpoint may take its place, too

RecipeType = TypeVar("RecipeType", bound=TaskRecipe)


class Task(ABC, Generic[RecipeType]):
    """A task: its data, its models and its measures.

    `encode`, `measure` and the predictions take its settings (`settings_class`), or a recipe, which has them too.

    Attributes:
        name: its key in `tasks.registry.TASKS`, also on cards.
        auto_class: the Auto class that loads its models.
        pipeline_tag: the pipeline that runs its models, and their kind on the Hub, or "".
        items: the items that the loss is a mean over and the progress bar counts, such as "tokens".
        script: the script in the folder `training` that runs the task.
        recipe_class: the class of its recipes.
        settings_class: the class of its settings, from which that of its recipes inherits.
        line_form: the form of lines that `hf-lecture predict` reads; None: its models predict nothing for a line.
        baseline: the trivial answers that a model is compared with; None: the task has no baseline.
        next_command: the command that uses a trained model, with {} for its folder; "": no command does.
    """

    name: ClassVar[str]
    auto_class: ClassVar[Any]
    pipeline_tag: ClassVar[str]
    items: ClassVar[str]
    script: ClassVar[str]
    recipe_class: ClassVar[type[TaskRecipe]]
    settings_class: ClassVar[type[Settings]] = Settings
    line_form: ClassVar[LineForm | None] = None
    baseline: ClassVar[Baseline | None] = None
    next_command: ClassVar[str] = ""

    def is_for(self, model: Any) -> bool:
        """Return whether the model is one of this task."""
        return type(model) in model_classes(self.auto_class, type(model.config))

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

    def hold_out(self, data: Any, recipe: RecipeType) -> tuple[Any, Any, HeldOut | None]:
        """Split training data into those to train on and those to validate on; log how many they are.

        Returns:
            The data to train on, and those to validate on with their numbers; None for both if none are held out.

        Raises:
            ValueError: the recipe names a share that leaves no row to train on or to validate on.
        """
        return (
            hold_out_rows(data, recipe, self.split_keys(recipe, data)) if isinstance(data, Rows) else (data, None, None)
        )

    def split_keys(self, recipe: RecipeType, data: Rows) -> SplitKeys:
        """Return the rules for a split of rows: equal rows, and those of one document, stay on one side."""
        return keys_of_rows(data, {"row": joined_columns(data, list(data.columns))})

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
    def encode(self, model: Any, processor: Any, data: Any, settings: Any) -> Encoded:
        """Encode data in the form that the model reads.

        Raises:
            ValueError: the model cannot read a row; the message names the row.
        """

    @abstractmethod
    def measures(self, settings: Any) -> tuple[Measure, ...]:
        """Return the measures of `evaluate`; the first one selects the best weights of a run."""

    def measure(self, model: Any, processor: Any, encoded: Encoded, settings: Any) -> dict[str, Any]:
        """Measure a model on encoded data; return the measures, and the settings that they depend on.

        A task defines this, or else `answers` and `measure_answers`, which measure its baseline too.
        """
        answers = self.answers(model, processor, encoded, settings)
        return self.measure_answers(model, processor, encoded, answers, settings)

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: Any) -> Any:
        """Return the model's answers to encoded data, one for each row."""
        raise NotImplementedError(f"{type(self).__name__} measures no answers")

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: Any, settings: Any
    ) -> dict[str, Any]:
        """Return what `measure` returns, of the answers of a model or of a baseline."""
        raise NotImplementedError(f"{type(self).__name__} measures no answers")

    def evaluate(
        self, model: Any, processor: Any, data: Any, settings: Any, beside: LearnedBaseline | None = None
    ) -> dict[str, Any]:
        """Encode data, and measure a model on them.

        Args:
            beside: a baseline of the task, which then has the comparison.

        Raises:
            ValueError: as `encode` and `measure`.
        """
        encoded = self.encode(model, processor, data, settings)
        return Measuring(self, model, processor, encoded, settings, beside)(model)

    def evaluation(
        self, model: Any, processor: Any, data: Any, recipe: RecipeType, beside: LearnedBaseline | None = None
    ) -> "Evaluation":
        """Encode data once, for all the times that a run measures its model on them.

        Args:
            beside: a baseline of the task, which then has the comparison of the last measured weights.

        Raises:
            ValueError: as `encode`.
        """
        from hf_lecture_models.trainer.loop import Evaluation

        first = self.measures(recipe)[0]
        measuring = Measuring(self, model, processor, self.encode(model, processor, data, recipe), recipe, beside)
        return Evaluation(measuring, first.key, first.lower_is_better, measuring.baseline)

    def predictions(
        self, model: Any, processor: Any, data: Any, settings: Any, options: PredictionOptions
    ) -> list[list[dict[str, Any]]]:
        """Predict data without labels; return the predictions of each row, best first.

        A prediction is a dict with `label`, `score` and further keys of the task. It is made by the same functions and
        settings as the measures and the files of predictions.

        Raises:
            ValueError: as `encode`; or models of the task predict no rows.
        """
        raise ValueError(f"{type(model).__name__} predicts no classes, tags, words, choices or answers")

    def errors(self, model: Any, processor: Any, data: Any, settings: Any) -> Errors | None:
        """Return the wrong predictions for labelled data, worst first; None: the task does not tell right from wrong.

        Raises:
            ValueError: as `encode`.
        """
        return None

    def write_predictions(self, model: Any, processor: Any, data: Any, settings: Any, folder: Path) -> Path:
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
        save_with: Sequence[Any] = (),
    ) -> "TrainingResult":
        """Train the model by the recipe; the best one by the first measure is saved with `save_with` in `output_dir`.

        Raises:
            ValueError, FloatingPointError, OSError: as `trainer.loop.train`.
        """
        from hf_lecture_models.trainer.loop import train

        make = partial(self.batches, model, processor, data, recipe)
        batches = sampled_batches(make, model, processor, recipe) if "sampling" in recipe.tokenizer else make()
        task_file = TaskFile(self.describe(model, recipe, data) | {"script": self.script})
        beside = learn_baseline(self, processor, data, recipe)
        found = None if validation_data is None else self.evaluation(model, processor, validation_data, recipe, beside)
        with recipe.while_training(model, batches):
            return train(
                model,
                batches,
                recipe,
                recipe.output_dir if output_dir is None else output_dir,
                evaluation=found,
                save_with=_saved_parts(processor, model, task_file, beside, *save_with),
                **self.training_options(model, recipe),
                items_name=self.items,
                fingerprints=_fingerprints(self, processor, recipe, train=data, validation=validation_data),
                resume=resume,
                quiet=quiet,
            )

    def describe(self, model: Any, settings: Any, data: Any = None) -> dict[str, Any]:
        """Return the facts of the task for a model's card, under the key "task"."""
        return {
            "name": self.name,
            "auto_class": self.auto_class.__name__,
            "pipeline_tag": self.pipeline_tag or None,
            "items": self.items,
            "measures": list(map(asdict, self.measures(settings))),
            "settings": settings.to_save(data),
        }


def _saved_parts(processor: Any, model: Any, *others: Any) -> list[Any]:
    """Return what is saved with a model: its processor and the others, without None."""
    limited = None if processor is None else with_input_limit(processor, model)
    return [part for part in (limited, *others) if part is not None]


def _fingerprints(task: Task[Any], processor: Any, recipe: Any, **parts: Any) -> dict[str, str]:
    """Return the checksums of data and processor by the names that messages use."""
    names = {"train": "the training data", "validation": "the validation data"}
    of_data = {names[part]: task.fingerprint(recipe, part, data) for part, data in parts.items()}
    return _fingerprint_processor(processor) | of_data


def _fingerprint_processor(processor: Any) -> dict[str, str]:
    """Return the checksum of what the data are encoded by, under the name that messages use."""
    if processor is None:
        return {}
    name = "the tokenizer" if hasattr(processor, "get_vocab") else "the image processor"
    return {"the processor" if hasattr(processor, "tokenizer") else name: fingerprint_tokenizer(processor)}


def recipe_of(task: Task[Any], facts: Mapping[str, Any]) -> Any:
    """Return the recipe in the facts of a model, with the saved settings; fields of other tasks are left out.

    Raises:
        ValueError: a field has a value that it cannot have.
    """
    fields = task.recipe_class.__dataclass_fields__
    known = {name: value for name, value in (facts.get("recipe") or {}).items() if name in fields}
    return task.recipe_class(**known | vars(task.settings_class.of(facts, task.name)))
