# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Where the data of a benchmark are on the Hub."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hf_lecture_models.data.recipe import DataRecipe


@dataclass(frozen=True)
class HubData:
    """A data set on the Hub at a commit.

    Attributes:
        name: of the data set.
        revision: the commit.
        config: its configuration.
        splits: what it calls its splits, where that is not "validation" or "test"; "a+b" is both, one behind the other.
    """

    name: str
    revision: str
    config: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)

    def fill(self, recipe: DataRecipe) -> None:
        """Let a recipe that names no training data of its own read these, but for parts that it names itself.

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
