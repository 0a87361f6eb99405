# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Classification as text to text: an encoder-decoder reads a text that names the task, and writes the class's name.

Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text Transformer", JMLR 2020: "sst2
sentence: a fine film" becomes "positive". An output is right if it is exactly the name of the right class. The share
of outputs that are the name of no class is measured too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from hf_lecture_models.base.limits import longest_input
from hf_lecture_models.data.benchmarks import BENCHMARKS
from hf_lecture_models.data.holdout import SplitKeys
from hf_lecture_models.data.recipe import RowsRecipe
from hf_lecture_models.data.rows import Rows
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import setting
from hf_lecture_models.tasks.classification.task import TextClassification, TextClassificationRecipe
from hf_lecture_models.tasks.classification.written_baseline import MostFrequentTarget
from hf_lecture_models.tasks.core.errors import Errors, errors_of_classes
from hf_lecture_models.tasks.core.hold_out import keys_of_rows
from hf_lecture_models.tasks.core.task import Encoded, Measure
from hf_lecture_models.tasks.translation.task import Translation, TranslationRecipe, TranslationSettings
from hf_lecture_models.tasks.translation.translate import target_tokenizer_of

# The benchmarks with a source, a text for T5. T5's Stanford Sentiment Treebank is the one of two classes.
_TASKS = tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.source)


@dataclass(kw_only=True)
class TextToTextSettings(TranslationSettings):
    """The settings of classification as text to text."""

    task: str | None = setting("sst2", "names columns, classes, and the data on the Hub", choices=_TASKS)
    num_beams: int = setting(1, "beams on test data, and of the saved model where a call says nothing", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task is None:
            raise ValueError(f"recipe: task names what is learned; it must be one of {', '.join(_TASKS)}")


@dataclass(kw_only=True)
class TextToTextRecipe(TextToTextSettings, TranslationRecipe):
    """The recipe of classification as text to text; files, columns and classes are those of `finetune_glue.py`."""

    epochs: float = setting(3.0, "passes over the training data", least=0)
    batch_tokens: int = setting(
        0, "tokens of one side of one optimizer step, padding included; 0: batch_size rows", least=0
    )
    label_smoothing: float = setting(0.0, "share of the target probability that all tokens have alike", least=0)
    learning_rate: float = setting(1e-3, "learning rate after warm-up", least=0)

    def as_classification(self) -> TextClassificationRecipe:
        """Return the recipe that reads the same rows as texts and classes."""
        shared = {field.name: getattr(self, field.name) for field in fields(RowsRecipe)}
        return TextClassificationRecipe(task=self.task, **shared)


class TextToText(Translation):
    """The task of writing the class of a text; its data are `Rows` of `source` and `target`.

    >>> TextToText().read(TextToTextRecipe(task="sst2", train_rows=[{"text": "a fine film", "label": 1}]), "train")[0]
    {'source': 'sst2 sentence: a fine film', 'target': 'positive'}
    """

    name = "text_to_text"
    pipeline_tag = ""
    script = "finetune_text_to_text.py"
    recipe_class: ClassVar[type[TextToTextRecipe]] = TextToTextRecipe
    settings_class: ClassVar[type[TextToTextSettings]] = TextToTextSettings
    baseline = MostFrequentTarget()

    def measures(self, settings: TextToTextSettings) -> tuple[Measure, ...]:  # type: ignore[override]
        """Return the accuracy, and the share of outputs that name no class."""
        return (
            Measure("accuracy", "accuracy, by exact match of the class's name", lower_is_better=False),
            Measure("no_class", "share of outputs that are no class", lower_is_better=True),
        )

    def read(self, recipe: TextToTextRecipe, part: str) -> Rows | None:  # type: ignore[override]
        """Read the rows of the part as texts; rows to predict have no target, and perhaps an `index`.

        Raises:
            ValueError, OSError: as `TextClassification.read`.
        """
        classification = recipe.as_classification()
        rows = TextClassification().read(classification, part)
        if rows is None:
            return None
        written = BENCHMARKS[str(recipe.task)].source
        texts = {name: rows.texts(name) for name in ("text", "text_pair") if name in rows.columns}
        columns: dict[str, list[Any]] = {
            "source": [
                written.format(**{name: values[row].strip() for name, values in texts.items()})
                for row in range(len(rows))
            ]
        }
        if "label" in rows.columns:
            names = classification.label_names
            columns["target"] = [names.get(str(label), str(label)) for label in rows.columns["label"]]
        return rows.with_columns(columns | {name: rows.columns[name] for name in ("index",) if name in rows.columns})

    def split_keys(self, recipe: TextToTextRecipe, data: Rows) -> SplitKeys:  # type: ignore[override]
        """Keep equal texts on one side, and the share of each class on both."""
        labels = data.columns["target"]
        return keys_of_rows(data, {"text": data.columns["source"]}, labels, "label", [[label] for label in labels])

    def model(self, recipe: TextToTextRecipe, processor: Any, data: Rows) -> Any:  # type: ignore[override]
        """Return the encoder-decoder, which writes no more tokens than the longest class has.

        Raises:
            ValueError: as `written_classes`, before training.
        """
        model = super().model(recipe, processor, data)
        written_classes(model, processor, recipe)
        model.generation_config.max_new_tokens = _most_tokens(model, processor, recipe)
        return model

    def answers(self, model: Any, processor: Any, encoded: Encoded, settings: Any) -> list[Any]:
        """Return the class that each output names, None for one that names no class."""
        classes = written_classes(model, processor, settings)
        return [classes.get(text) for text in super().answers(model, processor, encoded, settings)]

    def measure_answers(
        self, model: Any, processor: Any, encoded: Encoded, answers: Sequence[Any], settings: Any
    ) -> dict[str, Any]:
        """Return the measures, the number of examples, and the number of beams."""
        right = [ours == theirs for ours, theirs in zip(answers, encoded.labels, strict=True)]
        return {
            "accuracy": sum(right) / len(right),
            "no_class": list(answers).count(None) / len(answers),
            "examples": len(answers),
            "num_beams": settings.num_beams,
        }

    def predict(self, model: Any, processor: Any, encoded: Encoded, settings: Any, *args: Any, **options: Any) -> Any:
        """Return the outputs for each source, which have no more tokens than the longest class."""
        options = {"max_new_tokens": _most_tokens(model, processor, settings), **options}
        return super().predict(model, processor, encoded, settings, *args, **options)

    def errors(self, model: Any, processor: Any, data: Rows, settings: TextToTextSettings) -> Errors:  # type: ignore[override]
        """Return the rows with another output than the right class's name, in the order of the data."""
        classes, encoded = written_classes(model, processor, settings), self.encode(model, processor, data, settings)
        texts = [outputs[0].text for outputs in self.predict(model, processor, encoded, settings)]
        items = [
            {"text": source, "gold": gold, "predicted": classes.get(own, own), "where": data.where(row)}
            for row, (source, gold, own) in enumerate(zip(data.columns["source"], encoded.labels, texts, strict=True))
        ]
        return errors_of_classes(items)

    def write_predictions(  # type: ignore[override]
        self, model: Any, processor: Any, data: Rows, settings: TextToTextSettings, folder: Path
    ) -> Path:
        """Write `predictions.tsv` with the columns `index`, from the data or else counted from 0, and `prediction`.

        A prediction is the class's name, or the model's output if it names no class.
        """
        classes = written_classes(model, processor, settings)
        encoded = self.encode(model, processor, data, settings)
        texts = [outputs[0].text for outputs in self.predict(model, processor, encoded, settings)]
        index: Sequence[Any] = data.columns.get("index") or range(len(texts))
        lines = [f"{i}\t{classes.get(text, ' '.join(text.split()))}" for i, text in zip(index, texts, strict=True)]
        return write_file(folder / "predictions.tsv", "\n".join(["index\tprediction", *lines]) + "\n")

    def describe(  # type: ignore[override]
        self, model: Any, settings: TextToTextSettings, data: Rows | None = None
    ) -> dict[str, Any]:
        """Describe the task; add the classes and the form of a source."""
        own = {"classes": class_names(settings), "source": BENCHMARKS[str(settings.task)].source}
        return super(Translation, self).describe(model, settings, data) | own


def class_names(settings: TextToTextSettings) -> list[str]:
    """Return the classes of the recipe's task, in its order.

    >>> class_names(TextToTextSettings(task="rte"))
    ['entailment', 'not_entailment']
    """
    return list(dict.fromkeys(BENCHMARKS[str(settings.task)].classes.values()))


def written_classes(model: Any, processor: Any, settings: TextToTextSettings) -> dict[str, str]:
    """Return the classes by their spelling after the target's tokenizer has encoded and decoded their names.

    Raises:
        ValueError: two classes have the same spelling.
    """
    tokenizer, names = target_tokenizer_of(model, processor), class_names(settings)
    ids = tokenizer(text_target=names, verbose=False)["input_ids"]
    written = [text.strip() for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]
    if len(set(written)) < len(names):
        raise ValueError(
            f"the tokenizer cannot tell the classes apart: it writes {', '.join(names)} as "
            f"{', '.join(map(repr, written))}; "
            "take one that has their words or letters"
        )
    return dict(zip(written, names, strict=True))


def _most_tokens(model: Any, processor: Any, settings: TextToTextSettings) -> int:
    """Return the number of tokens of the longest class, with the end of text."""
    tokenizer = target_tokenizer_of(model, processor)
    ids = tokenizer(text_target=class_names(settings), verbose=False)["input_ids"]
    return min(max(map(len, ids)), longest_input(model, tokenizer) - 1)
