# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipes that the package itself carries."""

from pathlib import Path

from hf_lecture_models.io.recipe import unknown_name


def packaged_recipe(name: str) -> Path:
    """Path of a recipe that the package itself carries, by its name without `.yaml`."""
    folder = Path(__file__).parent / "recipes"
    path = folder / f"{name}.yaml"
    if not path.is_file():
        raise ValueError(unknown_name(name, sorted(p.stem for p in folder.glob("*.yaml")), kind="packaged recipe"))
    return path
