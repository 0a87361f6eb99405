# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write a model so that it needs nothing of this package: its own code travels in the folder."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel
from transformers.image_processing_base import ImageProcessingMixin
from transformers.pipelines import PIPELINE_REGISTRY
from transformers.processing_utils import ProcessorMixin
from transformers.utils import IMAGE_PROCESSOR_NAME, PROCESSOR_NAME

from hf_lecture_models.base.limits import with_input_limit
from hf_lecture_models.hub.card import write_card
from hf_lecture_models.hub.flatten import PACKAGE, TRAVELS_AS, flat_name, flatten
from hf_lecture_models.io.auto_classes import auto_classes, model_classes
from hf_lecture_models.io.compat import PythonBackend
from hf_lecture_models.io.files import staged_folder
from hf_lecture_models.io.saved_json import weight_file_patterns
from hf_lecture_models.io.task_file import TASK_FILE, task_file_of
from hf_lecture_models.tokenization.pairs import TokenizerPair

# What an earlier export to the same folder may have left and this one may not need.
_REPLACED = (*weight_file_patterns(), "*.py", TASK_FILE)


def export(
    model: PreTrainedModel,
    processing_class: Any,
    folder: str | os.PathLike[str],
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Save a self-contained folder, as published: weights, configuration, tokenizer, code, card.

    It loads with `trust_remote_code=True` where this package is absent; where the package is imported, the package's
    own classes serve and no flag is needed. The package's own pipelines for such models come along, and stay with the
    model when it is loaded without the package and saved again. The `task.json` of the folder from which the model
    was loaded is copied, too. A model of transformers itself needs no code.

    Args:
        model: an instance of a registered class.
        processing_class: its tokenizer, image processor, or processor of both, or None. A tokenizer written in Python
            and processors of the package's own travel as code.
        folder: replaced file by file, or created; untouched when anything fails.
        facts: what `hub.facts.collect_facts` gathered; a card is written when given.

    Raises:
        ValueError: the model's class is not registered, or its code cannot travel (see `hub.flatten`).
        OSError: the folder cannot be written.
    """
    processors = _classes_of_processors(processing_class)
    classes, pipelines = _classes_with_code(type(model), model.config), _pipelines_of(type(model), model.config)
    code = published_code(type(model), model.config, processors)
    with staged_folder(folder, replaces=_REPLACED) as stage:
        model.save_pretrained(stage)
        if processing_class is not None:
            with_input_limit(processing_class, model).save_pretrained(stage)
        _write_code(stage, code, classes, processors)
        if pipelines:
            entries = {task: {**entry, "impl": _reference(cls)} for task, (cls, entry) in pipelines.items()}
            _add_to_config(stage / "config.json", {"custom_pipelines": entries})
        _write_task(stage, model, facts)
        if facts is not None:
            write_card(stage, facts)


def published_code(model_class: type, config: Any, processors: Sequence[type] = ()) -> dict[str, str]:
    """Return the source of each file of code of a published model, by its name without `.py`.

    >>> from hf_lecture_models import Gpt1Config, Gpt1ForCausalLM
    >>> "modeling_gpt1" in published_code(Gpt1ForCausalLM, Gpt1Config())
    True

    Args:
        model_class: a registered class.
        config: its configuration; what it never needs is left out.
        processors: classes of tokenizers and image processors that travel as code.

    Raises:
        ValueError: see `export`.
    """
    classes, pipelines = _classes_with_code(model_class, config), _pipelines_of(model_class, config)
    travels_as = TRAVELS_AS | getattr(config, "travels_as", {})
    code = flatten([*classes.values(), *processors, *(cls for cls, _ in pipelines.values())], travels_as)
    _keep_together(code, [cls for auto, cls in classes.items() if auto != "AutoConfig"], pipelines)
    return code


def _write_task(folder: Path, model: PreTrainedModel, facts: Mapping[str, Any] | None) -> None:
    """Write the record of the model's task, whose settings pipelines predict with."""
    task = task_file_of(model.config) or (facts or {}).get("task") or {}
    # A model that was trained further in memory may have another head than what its folder holds.
    is_own = registered_classes(type(model.config)).get(task.get("auto_class", "")) is type(model)
    if is_own and task.get("settings"):
        (folder / TASK_FILE).write_text(json.dumps(task, indent=1) + "\n", encoding="utf-8", newline="\n")


def _classes_with_code(model_class: type, config: Any) -> dict[str, type]:
    """Return the package's classes of the model's type, by Auto class."""
    classes = registered_classes(type(config))
    if model_class not in classes.values() and not _is_transformers_own(model_class):
        raise ValueError(
            f"{model_class.__name__} is not registered with an Auto class; register it as models/*/__init__.py do "
            "(hf_lecture_models.io.registration.register) before exporting it"
        )
    return {auto: cls for auto, cls in classes.items() if not _is_transformers_own(cls)}


def _pipelines_of(model_class: type, config: Any) -> dict[str, tuple[type, dict[str, Any]]]:
    return own_pipelines([auto for auto, cls in _classes_with_code(model_class, config).items() if cls is model_class])


def registered_classes(config_class: type) -> dict[str, type]:
    """Return the class that each Auto class gives for this configuration, by the Auto class's name."""
    found = {name: model_classes(auto_class, config_class) for name, auto_class in auto_classes()}
    # A few models of transformers have several classes for one Auto class.
    return {"AutoConfig": config_class, **{name: classes[0] for name, classes in found.items() if classes}}


def own_pipelines(auto_classes: Sequence[str]) -> dict[str, tuple[type, dict[str, Any]]]:
    """Return the package's pipelines for models of these Auto classes: by task, the class and its entry in a config.

    >>> list(own_pipelines(["AutoModelForCausalLM"]))
    ['sentence-ranking']
    """
    found = {}
    for task, entry in PIPELINE_REGISTRY.supported_tasks.items():
        loaders = [auto.__name__ for auto in entry["pt"] if auto.__name__ in auto_classes]
        if loaders and getattr(entry["impl"], "__module__", "").split(".")[0] == PACKAGE:
            found[task] = (entry["impl"], {"pt": loaders, "type": entry["type"]})
    return found


def _keep_together(code: dict[str, str], models: Sequence[type], pipelines: Mapping[str, tuple[type, Any]]) -> None:
    """Name all files of models and pipelines in each model's file.

    Where a model is loaded without the package and saved again, transformers copies the model's file and the files that
    it names, while the configuration names the classes of all.
    """
    named = {_module(cls): cls.__name__ for cls in (*models, *(cls for cls, _ in pipelines.values()))}
    for module in {_module(cls) for cls in models}:
        others = [f"    from .{other} import {name}\n" for other, name in sorted(named.items()) if other != module]
        if others:
            comment = "never run: transformers copies the files that it finds here"
            code[module] += f"\n\nif False:  # {comment}\n{''.join(others)}"


def _classes_of_processors(processing_class: Any) -> list[type]:
    """Return the classes of a processor, and of its parts, that travel as code.

    A tokenizer written in Python is code, too, a pair of tokenizers and an image processor; `tokenizer.json` alone
    reproduces all others.
    """
    parts = [getattr(processing_class, name, None) for name in ("image_processor", "tokenizer")]
    kinds = PythonBackend | ImageProcessingMixin | ProcessorMixin | TokenizerPair
    found = [type(part) for part in (processing_class, *parts) if isinstance(part, kinds)]
    return [cls for cls in found if not _is_transformers_own(cls)]


def _write_code(folder: Path, code: Mapping[str, str], classes: Mapping[str, type], processors: Sequence[type]) -> None:
    """Write the modules, and into the configurations the place of each class among them."""
    for name, source in code.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8", newline="\n")
    if classes:
        auto_map = {auto: _reference(cls) for auto, cls in classes.items()}
        _add_to_config(folder / "config.json", {"auto_map": auto_map})
    for processor in processors:
        if issubclass(processor, ProcessorMixin):
            _add_to_config(folder / PROCESSOR_NAME, {"auto_map": {"AutoProcessor": _reference(processor)}})
        elif issubclass(processor, ImageProcessingMixin):
            own = {"auto_map": {"AutoImageProcessor": _reference(processor)}}
            _add_to_config(folder / IMAGE_PROCESSOR_NAME, own)
            if (path := folder / PROCESSOR_NAME).is_file():  # where `AutoImageProcessor` looks first
                part = json.loads(path.read_text(encoding="utf-8"))["image_processor"]
                _add_to_config(path, {"image_processor": part | own})
        else:
            # A pair for AutoTokenizer: the class in Python, the class on the Rust library.
            names = {"AutoTokenizer": [_reference(processor), None]}
            _add_to_config(folder / "tokenizer_config.json", {"auto_map": names})


def _is_transformers_own(cls: type) -> bool:
    return cls.__module__.startswith("transformers.")


def _reference(cls: type) -> str:
    """Return the class's file and name as `auto_map` has them."""
    return f"{_module(cls)}.{cls.__name__}"


def _module(cls: type) -> str:
    """Return the name of the published file that has the class."""
    return flat_name(TRAVELS_AS.get(cls.__module__, cls.__module__))


def _add_to_config(path: Path, fields: Mapping[str, Any]) -> None:
    config = json.loads(path.read_text(encoding="utf-8")) | fields
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8", newline="\n")
