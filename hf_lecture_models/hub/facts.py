# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Gather the facts of a model card from the model, the record of its training, its recipe and its results."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import constants
from huggingface_hub.file_download import repo_folder_name
from transformers.pipelines import PIPELINE_REGISTRY

from hf_lecture_models.base.traits import trait
from hf_lecture_models.hub.example import example_text
from hf_lecture_models.hub.export import registered_classes
from hf_lecture_models.hub.metadata import PACKAGE, known_sentences
from hf_lecture_models.io.auto_classes import learns_next_sentences
from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.recipe import read_yaml
from hf_lecture_models.io.runs import BASELINE_FILE, best_validation, environment
from hf_lecture_models.io.saved_json import read_fields
from hf_lecture_models.io.task_file import read_task_file

# Beside the model and its card: what the card was rendered from.
FACTS = "facts.json"
# What the Hub calls tasks for which transformers 5 has no pipeline; None where it has no name either.
_WITHOUT_PIPELINE: dict[str, tuple[str, str | None]] = {
    "AutoModelForImageTextToText": ("image-captioning", "image-to-text"),
    "AutoModelForMaskedImageModeling": ("masked-image-modeling", None),
    "AutoModelForMultipleChoice": ("multiple-choice", "multiple-choice"),
    "AutoModelForNextSentencePrediction": ("next-sentence-prediction", None),
    "AutoModelForSeq2SeqLM": ("translation", "translation"),
    "AutoModelForQuestionAnswering": ("question-answering", "question-answering"),
}
# Fields of a recipe that name places on the machine of whoever trained, beside those that end in `_files`.
_PLACES = {"output_dir", "arpa", "from_pretrained", "pseudo_labels", "word_vectors"}


def collect_facts(
    model: Any,
    processor: Any,
    results: Mapping[str, Any],
    *,
    name: str,
    data: Mapping[str, Any],
    task: Mapping[str, Any] | None = None,
    recipe: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    command: str | None = None,
    licence: str | None = None,
) -> dict[str, Any]:
    """Return the facts of a card as plain values that JSON can hold.

    Args:
        model, processor: a model of this package, or of transformers, and its tokenizer or image processor.
        results: measures from its task's evaluation (plain values are kept); empty if nothing was measured.
        name: the card's title.
        data: "name" and "split" of the evaluation data; if known, "language" (ISO codes), "licence", "source", "hub_id"
        task: the description from the task's `describe`, without which results are a ValueError; None without results.
        recipe: the training recipe, or the arguments of `fit`. Absolute paths are cut to their last part.
        training: measured values by name, as `training_record` gives them.
        command, licence: what reproduces the model; the weights' licence, as the Hub writes it ("apache-2.0").
    """
    if results and not task:
        raise ValueError("results need `task`, what their task's `describe` gives, with the names of the measures")
    facts = {
        "name": name,
        **_model_facts(model),
        "library": "transformers" if type(model).__module__.startswith("transformers.") else PACKAGE,
        "task": dict(task or plain_task(model)),
        **_vocabulary_facts(processor),
        "data": dict(data),
        "results": {key: value for key, value in results.items() if isinstance(value, int | float | str | None)},
        "recipe": strip_local_paths(json.loads(json.dumps(dict(recipe or {}), default=str))),
        "training": dict(training or {}),
        "command": command,
        "licence": licence,
    }
    return facts | {"environment": environment()} | _example_facts(model, processor, facts)


def _example_facts(model: Any, processor: Any, facts: Mapping[str, Any]) -> dict[str, Any]:
    example = example_text(model, processor, known_sentences(facts))
    return {"example": example} if example else {}


def facts_of(folder: str | os.PathLike[str], model: Any, processor: Any) -> dict[str, Any]:
    """Return the facts in a model's folder: those of its card, or else those that training recorded.

    Raises:
        ValueError: a record is damaged, or belongs to another model.
    """
    path = Path(folder) / FACTS
    if not path.is_file():
        return facts_of_training(folder, model, processor)
    facts = read_fields(path)
    for key, value in _model_facts(model).items():
        if facts.get(key) != value:
            raise ValueError(f"{path} is of another model: its {key} is {facts.get(key)}, not {value}; remove the file")
    # Settings may have been measured after the card was written.
    settings = read_task_file(folder).get("settings")
    return facts if not settings else facts | {"task": (facts.get("task") or {}) | {"settings": settings}}


def facts_of_training(
    folder: str | os.PathLike[str], model: Any, processor: Any, part: str = "validation"
) -> dict[str, Any]:
    """Return the facts that training left in a folder: the validation results of the kept weights, and the recipe.

    A folder without any record gives facts without results, recipe and training.

    Args:
        part: the part of the recipe's data to name; "test" if test results will replace those of the validation. The
            baseline is that of this part.

    Raises:
        ValueError: a record is damaged.
    """
    folder = Path(folder)
    path = folder / "recipe.yaml"
    recipe = read_yaml(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if not isinstance(recipe, dict):
        raise ValueError(f"{path} holds {recipe!r:.60}, not a recipe's fields: restore it, or remove it")
    record = folder / "training.json"
    training, task = read_fields(record) if record.is_file() else {}, read_task_file(folder)
    task.pop("script", None)
    name = task.get("name")
    facts = collect_facts(
        model,
        processor,
        best_validation(training) if task else {},
        name=recipe.get("name") or folder.resolve().name,
        data=_data_of(recipe, part),
        task=task,
        recipe=recipe,
        training=training_record(training, task.get("items", "items")),
        command=f"hf-lecture train {name} recipe.yaml" if name and recipe else None,
    )
    environment_then = training.get("environment") or facts["environment"]
    return facts | {"environment": environment_then} | _baseline_facts(folder, part)


def _baseline_facts(folder: Path, part: str) -> dict[str, Any]:
    """Return the baseline beside the results under "baseline", {} if the folder has none."""
    path = folder / BASELINE_FILE
    found = read_fields(path).get(part) if path.is_file() else None
    return {"baseline": {key: found[key] for key in ("name", "measures", "differences")}} if found else {}


def plain_task(model: Any) -> dict[str, Any]:
    """Return a model's task from transformers' tables: the Auto class that gives the model, and that class's pipeline.

    Without a pipeline, the tag is the Hub's name of the task, or None. A model that was pre-trained with next sentences
    fills in masked words, too.

    >>> from hf_lecture_models import RecurrentConfig, RecurrentForCausalLM
    >>> plain_task(RecurrentForCausalLM(RecurrentConfig(vocab_size=9, hidden_size=2)))
    {'name': 'text-generation', 'auto_class': 'AutoModelForCausalLM', 'pipeline_tag': 'text-generation'}
    """
    classes = registered_classes(type(model.config))
    auto = next((name for name, cls in classes.items() if cls is type(model)), "AutoModel")
    loader = "AutoModelForMaskedLM" if learns_next_sentences(model) else auto
    pipelines = PIPELINE_REGISTRY.supported_tasks.items()
    found = (tag for tag, entry in pipelines if loader in (cls.__name__ for cls in entry["pt"]))
    name, tag = _WITHOUT_PIPELINE.get(auto) or (next(found, "feature-extraction"),) * 2
    if tag == "feature-extraction" and model.main_input_name == "pixel_values":
        # The model of images has no head, or a head that no pipeline runs.
        name, tag = ("image-feature-extraction",) * 2
    if model.main_input_name == "points":
        name, tag = "sequence-prediction", None
    return {"name": name, "auto_class": auto, "pipeline_tag": tag}


def write_facts(folder: str | os.PathLike[str], facts: Mapping[str, Any]) -> None:
    """Keep the facts beside the model, for `facts_of`."""
    write_file(Path(folder) / FACTS, json.dumps(facts, indent=1) + "\n")


def record_test(folder: Path, model: Any, processor: Any, measured: dict[str, Any]) -> None:
    """Keep the facts of a run with its results on test data in the place of those of the validation."""
    write_facts(folder, facts_of_training(folder, model, processor, "test") | {"results": measured})


def training_record(record: Mapping[str, Any], items: str = "tokens") -> dict[str, Any]:
    """Return time and amount of a training run from its `training.json`; its loss is a mean over `items`.

    CPU seconds are those of the optimizer steps of one process; runs of several processes have none.
    """
    if not record:
        return {}
    named = {
        "steps": record.get("step"),
        items: record.get("items"),
        "run_seconds": record.get("seconds"),
        "cpu_seconds": record.get("step_cpu_seconds") if record.get("num_processes") == 1 else None,
        f"{items}_per_second": record.get(f"{items}_per_second"),
        "processes": record.get("num_processes"),
        "device": record.get("device"),
    }
    return {key: value for key, value in named.items() if value is not None}


def missing_facts(facts: Mapping[str, Any], measurable: bool = True) -> list[str]:
    """Return a line for each fact that the card lacks, with the option that adds it.

    Args:
        measurable: whether a task measures such models.
    """
    measuring = "--evaluate FILE measures the model on a file"
    missing = {
        "results": f"results: {measuring if measurable else 'there is no task that measures such a model'}",
        "recipe": "how the model was made: there is no recipe.yaml beside it",
        "licence": "the licence of the weights: --licence NAME states it",
    }
    return [advice for key, advice in missing.items() if not facts.get(key)]


def vocabulary_policy(tokenizer: Any) -> str:
    """Describe the tokenizer's treatment of unknown words in one sentence."""
    unknown = getattr(tokenizer, "unk_token", None)
    # transformers' own tokenizers are known by the model of the Rust library.
    backend = getattr(tokenizer, "backend_tokenizer", None)
    kind = f"{type(tokenizer).__name__} {type(getattr(backend, 'model', None)).__name__}".lower()
    unknown_words = getattr(tokenizer, "unknown_words", None)
    if hasattr(tokenizer, "max_characters_per_token"):
        predicted = f"; {len(tokenizer.words):,} words are predicted, others as `<UNK>`" if tokenizer.words else ""
        return f"open; a word is its first {tokenizer.max_characters_per_token - 2} bytes" + predicted
    if unknown_words == "spelled":
        return "open; a word outside the vocabulary is spelled in letters, and letters outside it in bytes"
    if unknown_words == "classes":
        return f"closed; every other word is read as its class or as `{unknown}`"
    if any(name in kind for name in ("bpe", "unigram", "wordpiece")) and unknown is not None:
        return f"pieces of words; a letter outside the vocabulary makes `{unknown}`"
    if unknown is not None:
        return f"closed; every other word is read as `{unknown}`"
    if any(name in kind for name in ("bpe", "unigram", "byte", "char")):
        return "open; any text can be spelled, in bytes where need be"
    return "closed, without an unknown word: a text with any other word has probability 0"


def strip_local_paths(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipe with absolute paths cut to their last part, so that a card does not name a user's folders.

    >>> strip_local_paths({"epochs": 2, "train_files": ["/home/me/thesis/train.txt", "data/more.txt"]})
    {'epochs': 2, 'train_files': ['train.txt', 'data/more.txt']}
    """

    def shortened(value: Any) -> Any:
        if isinstance(value, list):
            return [shortened(entry) for entry in value]
        return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value

    places = {key for key in recipe if key in _PLACES or key.endswith("_files")}
    return {key: shortened(value) if key in places else value for key, value in recipe.items()}


def _model_facts(model: Any) -> dict[str, Any]:
    return {
        "model_type": model.config.model_type,
        "class": type(model).__name__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "table_entries": trait(model, "table_entries"),
    }


def _data_of(recipe: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return name and part of the measured data as the recipe names them, or else the files of that part.

    A recipe may name a "split" of its own: GLUE is tested on its validation data.

    >>> _data_of({"train_files": ["sst2/train.tsv"], "validation_files": ["sst2/dev.tsv"]}, "validation")
    {'name': 'dev.tsv'}
    >>> _data_of({"train_files": ["mine.csv"], "validation_share": None}, "validation")
    {'name': 'mine.csv, rows held out'}
    >>> _data_of({"validation_files": ["dev.tsv"], "data": {"name": "SST-2", "language": "en"}}, "validation")
    {'split': 'validation', 'name': 'SST-2', 'language': 'en'}
    >>> _data_of({"dataset_name": "Salesforce/wikitext", "dataset_revision": "b08601e"}, "test")
    {'hub_id': 'Salesforce/wikitext', 'name': 'Salesforce/wikitext', 'split': 'test'}
    """
    # The reader of a data set on the Hub demands its revision; other names are those of data in installed packages.
    on_hub = recipe.get("dataset_name") and recipe.get("dataset_revision")
    ids = {"hub_id": recipe.get("dataset_name"), "hub_config": recipe.get("dataset_config")} if on_hub else {}
    ids["base_model"] = _name_on_hub(recipe.get("from_pretrained") or "")
    said = {key: value for key, value in ids.items() if value} | (recipe.get("data") or {})
    if said.get("name"):
        return {"split": part} | said
    if recipe.get("dataset_name"):
        return {**said, "name": recipe["dataset_name"], "split": recipe.get(f"{part}_split") or part}
    files = recipe.get(f"{part}_files") or recipe.get("train_files") or ()
    name = ", ".join(Path(file).name for file in files) or ("sentences of the recipe" if recipe else "")
    if part == "validation" and not recipe.get("validation_files") and recipe.get("validation_share", 0) != 0:
        name += ", rows held out"
    return {**said, **({"name": name} if name else {})}


def _name_on_hub(model: str) -> str | None:
    """Return the name if this machine loaded a model of this name from the Hub, None for a folder."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model) or Path(model).exists():
        return None
    cached = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=model, repo_type="model")
    return model if cached.is_dir() else None


def _vocabulary_facts(processor: Any) -> dict[str, Any]:
    """Return size and policy of a tokenizer's vocabulary, and a prompt that it can read; {} for an image processor."""
    processor = getattr(processor, "tokenizer", processor)
    if not hasattr(processor, "get_vocab"):
        return {}
    vocabulary, policy = processor.get_vocab(), vocabulary_policy(processor)
    closed = "probability 0" in policy
    prompt = min(vocabulary, key=vocabulary.__getitem__) if closed and "the" not in vocabulary else "the"
    mask = {"mask_token": processor.mask_token} if getattr(processor, "mask_token", None) else {}
    return {"vocabulary": {"size": len(processor), "policy": policy, **mask}, "prompt": prompt}
