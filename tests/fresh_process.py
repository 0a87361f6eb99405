# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What a stranger does with the saved models, in a new interpreter: `echo ROOT | python fresh_process.py with|without`.

Every folder in ROOT is one model's (see `ModelTests.export`). "without" makes the package unimportable first. Beside
the model it leaves PLACE.json, with what pipelines said or an "error", and tensors as PLACE.NAME.safetensors.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import traceback
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any


class Absent(MetaPathFinder):
    """A machine on which the package is not installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.split(".")[0] == "hf_lecture_models":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def lost_code(folder: Path) -> list[str]:
    """The classes that the folder's configuration names, of models and pipelines, and whose file it does not hold."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    pipelines = config.get("custom_pipelines", {}).values()
    named = [*config.get("auto_map", {}).values(), *(entry["impl"] for entry in pipelines)]
    return [name for name in named if not (folder / f"{name.split('.')[0]}.py").is_file()]


WAYS_TO_GENERATE: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beams": {"num_beams": 3},
    "greedy_without_cache": {"use_cache": False},
    "beams_without_cache": {"num_beams": 3, "use_cache": False},
}


def generated(model: Any, prompts: dict[str, Any]) -> dict[str, Any]:
    """What the model generates in each of these ways, without an end, so that all rows grow to the same length."""
    config = model.generation_config
    config.eos_token_id, pad = None, config.pad_token_id
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0 if pad is None else pad}
    return {way: model.generate(**prompts, **options | further) for way, further in WAYS_TO_GENERATE.items()}


def visit(folder: Path, place: str) -> dict[str, Any]:
    """Load one model as `place` allows, run it, and run its pipeline on a batch."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    inputs = load_file(folder / "inputs.safetensors")
    auto_class = getattr(transformers, task["auto_class"])

    def run(model: Any, name: str) -> None:
        if name == "generated":
            outputs = generated(model, load_file(folder / "prompts.safetensors"))
        else:
            with torch.no_grad():
                outputs = model(**inputs)
        tensors = {key: value.contiguous() for key, value in outputs.items() if isinstance(value, torch.Tensor)}
        save_file(tensors, folder / f"{place}.{name}.safetensors")

    found: dict[str, Any] = {}
    if place == "with":
        importlib.import_module(task["registered_by"])
        model = auto_class.from_pretrained(folder / "saved")
        found["module"] = type(model).__module__
        run(model, "outputs")
        run(auto_class.from_pretrained(folder / "exported"), "outputs_exported")
        source, trust = folder / "saved", {}
    else:
        source, trust = folder / "exported", {"trust_remote_code": True}
        modules = set(sys.modules)
        try:
            auto_class.from_pretrained(source)
            found["refusal"] = "none"
        except ValueError as error:
            found["refusal"] = str(error)
        found["executed_untrusted"] = [name for name in set(sys.modules) - modules if "transformers_modules." in name]
        model = auto_class.from_pretrained(source, **trust)
        run(model, "outputs")
        try:
            model(**inputs, atention_mask=None, cahce=1)
        except TypeError as error:
            found["unread"] = str(error)
        if (folder / "prompts.safetensors").is_file():
            run(model, "generated")
            model = auto_class.from_pretrained(source, **trust)  # its generation settings were changed
        model.save_pretrained(folder / "again")
        found["lost_code"] = lost_code(folder / "again")
        run(auto_class.from_pretrained(folder / "again", **trust), "outputs_saved_again")
    if task["task"]:
        pipe = transformers.pipeline(task["task"], model=str(source), **trust)
        found["pipeline"] = pipe(task["pipeline_inputs"], batch_size=2, **task["pipeline_arguments"])
    return found


def main(place: str) -> None:
    """Import, wait for the name of the root, and visit every model; an error is that model's own."""
    if place == "without":
        sys.meta_path.insert(0, Absent())
    else:
        sys.path.insert(0, str(Path(__file__).parents[1]))
    import torch
    import transformers.pipelines  # noqa: F401

    torch.set_num_threads(1)
    root = Path(sys.stdin.readline().strip())
    sys.stdin = io.StringIO()  # nobody answers questions
    for folder in sorted(path for path in root.iterdir() if (path / "task.json").is_file()):
        try:
            found = visit(folder, place)
        except Exception:
            found = {"error": traceback.format_exc()}
        (folder / f"{place}.json").write_text(json.dumps(found, default=float), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
