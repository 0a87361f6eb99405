# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The recipe of tasks whose models are a backbone with a head."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from hf_lecture_models.io.recipe import default_of, setting
from hf_lecture_models.tasks.core.frozen import frozen_backbone
from hf_lecture_models.tasks.core.task import TaskRecipe
from hf_lecture_models.trainer.batches import Batches

_RATE_OF_HEAD = 1e-3  # of a new head on features that do not change


@dataclass(kw_only=True)
class HeadRecipe(TaskRecipe):
    """A recipe of a task whose models are a backbone with a head.

    With `from_pretrained`, `model` holds the fields of the checkpoint's configuration to change.
    """

    freeze_backbone: bool = setting(
        False,
        "train the head alone, on the outputs of from_pretrained's backbone, which are computed once for each text",
    )

    def __post_init__(self) -> None:
        changes = self._changes_of_checkpoint() if self.from_pretrained and isinstance(self.model, dict) else None
        self.model = self.model if changes is None else {}
        super().__post_init__()
        self.model = self.model if changes is None else changes
        if self.freeze_backbone and not self.from_pretrained:
            raise ValueError("recipe: freeze_backbone needs from_pretrained: a new backbone has learned nothing")

    def usual_epochs(self) -> float | None:
        """Return 3 epochs for all weights of a checkpoint; None, until it stops improving, for the head alone."""
        return None if self.freeze_backbone else super().usual_epochs()

    def usual_learning_rate(self) -> float:
        """Return the learning rate of new weights for the head alone, else that of all weights."""
        return _RATE_OF_HEAD if self.freeze_backbone else super().usual_learning_rate()

    def _changes_of_checkpoint(self) -> dict[str, Any] | None:
        """Return the fields of `model` that differ from the recipe's default; None if it is a model of another type."""
        default = default_of(type(self).__dataclass_fields__["model"])
        # A model that extends the default changes only what differs from it; any other one is meant as it is.
        given = default if default.items() <= self.model.items() else {"model_type": default["model_type"]}
        changes = {name: value for name, value in self.model.items() if (name, value) not in given.items()}
        return None if "model_type" in changes else changes

    def while_training(self, model: Any, batches: Batches) -> AbstractContextManager[None]:
        """Return a context for the training, in which a frozen backbone reads each text once."""
        if self.freeze_backbone:
            return frozen_backbone(model, batches, self.mixed_precision)
        return super().while_training(model, batches)
