# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipe that a run saved in its output folder, from which a resumed run takes what the command does not say."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.io.recipe import Recipe, default_of, read_values
from hf_lecture_models.trainer.recipe import OLD_VALUES

_OF_ONE_SEED = ("seed", "seeds", "output_dir")


def saved_values(
    path: str | os.PathLike[str] | None, overrides: Mapping[str, Any], recipe_class: type[Recipe]
) -> dict[str, Any]:
    """Return the values of the `recipe.yaml` in a run's output folder; {} without this file.

    A field that an older version did not have gets the value that this version used. Of several seeds' runs the values
    are those of the first one, without its seed and folder.

    Args:
        path: the recipe's file that the command names, if any.
        overrides: the command's options; with the file, they name the output folder.

    Raises:
        OSError: a recipe cannot be read.
        ValueError: a recipe is not a mapping.
    """
    fields = recipe_class.__dataclass_fields__
    given = ({} if path is None else read_values(path)) | dict(overrides)
    folder = Path(str(given.get("output_dir", default_of(fields["output_dir"]))))
    found = [folder / "recipe.yaml", *sorted(folder.glob("seed-*/recipe.yaml"))]
    for number, saved in enumerate(found):
        if saved.is_file():
            values = {name: value for name, value in OLD_VALUES.items() if name in fields} | read_values(saved)
            return {name: value for name, value in values.items() if number == 0 or name not in _OF_ONE_SEED}
    return {}
