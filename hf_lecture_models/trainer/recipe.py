# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The fields of a recipe that the training loop itself reads, and the check that a resumed run keeps them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from hf_lecture_models.io.recipe import Recipe, default_of, setting

_MOST_BETWEEN, _LEAST_ENTRIES = 100, 20  # of the history, where the recipe does not say


@dataclasses.dataclass(kw_only=True)
class TrainingRecipe(Recipe):
    """The settings of the training loop; the recipes of tasks add data and model."""

    seed: int = setting(0, "seed of dropout and of the order of the data", least=0)
    epochs: float = setting(1.0, "passes over the training data", least=0)
    max_steps: int = setting(0, "optimizer steps; 0: as many as `epochs` gives", least=0)
    batch_size: int = setting(
        32,
        "rows of one optimizer step, all processes and micro-batches together; training is the same however they are "
        "shared, but for dropout masks and noise, which each draws for itself",
        least=1,
    )
    accumulation_steps: int = setting(1, "micro-batches that one optimizer step is cut into, to save memory", least=1)
    mixed_precision: str = setting("no", "bf16: autocast in the forward passes of training", choices=("no", "bf16"))

    optimizer: str = setting("adamw", "optimizer", choices=("adamw", "sgd"))
    learning_rate: float = setting(1e-3, "learning rate after warm-up", least=0)
    adam_beta1: float = setting(0.9, "AdamW: decay of the mean of the gradients", least=0)
    adam_beta2: float = setting(0.999, "AdamW: decay of the mean of their squares", least=0)
    adam_epsilon: float = setting(1e-8, "AdamW: added to the root of the mean of their squares", least=0)
    weight_decay: float = setting(0.0, "decay of matrices; vectors (biases, norms) are never decayed", least=0)
    clip_norm: float | None = setting(
        1.0, "largest norm of the gradient, to which larger ones are scaled; null: no clipping", least=0
    )
    schedule: str = setting(
        "constant",
        "learning rate after warm-up",
        choices=("constant", "linear", "cosine", "inverse_square_root", "plateau"),
    )
    warmup_steps: int = setting(
        0, "steps of linear warm-up; the first has the rate 1/n of the peak, where that of transformers is 0", least=0
    )
    final_learning_rate: float = setting(0.0, "where linear and cosine end, as a part of learning_rate", least=0)
    plateau_factor: float = setting(0.25, "schedule plateau: factor after an evaluation that is no better", least=0)

    evaluate_every: int = setting(0, "steps between evaluations; 0: at the end of each epoch", least=0)
    early_stopping_patience: int = setting(0, "stop after so many evaluations that are no better; 0: never", least=0)

    save_every: int = setting(0, "steps between checkpoints; 0: at each evaluation", free=True, least=0)
    keep_checkpoints: int = setting(2, "checkpoints to keep", free=True, least=1)
    log_every: int | None = setting(
        None, "steps between entries in the history; null: 100, or fewer for 20 entries at least", free=True, least=1
    )
    report_to: str = setting(
        "none", "experiment tracker", choices=("none", "tensorboard", "trackio", "wandb"), free=True
    )
    num_processes: int | None = setting(None, "fail unless so many processes run; null: any number", free=True, least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epochs == 0 and self.max_steps == 0:
            raise ValueError("recipe: epochs and max_steps are both 0; set one of them")
        for name in ("adam_beta1", "adam_beta2"):
            if getattr(self, name) >= 1:
                raise ValueError(f"recipe: {name} must be below 1, not {getattr(self, name)}")

    def history_period(self, total_steps: int) -> int:
        """Return the steps between entries in the history: `log_every`, or so many that a short run has 20 entries.

        >>> [TrainingRecipe().history_period(steps) for steps in (7, 200, 100_000)]
        [1, 10, 100]
        """
        return self.log_every or max(1, min(_MOST_BETWEEN, total_steps // _LEAST_ENTRIES))

    def effective_batch(self) -> str:
        """Return the size of one optimizer step in words."""
        return f"{self.batch_size} rows"


def refuse_changed_recipe(recipe: Recipe, saved: Mapping[str, Any]) -> None:
    """Refuse to continue a run with another recipe.

    A field that the saved recipe lacks has its default: an older version wrote that recipe.

    Raises:
        ValueError: a field differs that is not `free`; the message names the first one.
    """
    for field in dataclasses.fields(recipe):
        value, before = getattr(recipe, field.name), saved.get(field.name, default_of(field))
        if not field.metadata["free"] and before != value:
            raise ValueError(
                f"cannot resume: {field.name} is {value!r} but the run was started with {before!r}; "
                "use the recipe of the run, or another output folder"
            )
