# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The fields of a recipe that the training loop itself reads, and the check that a resumed run keeps them."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from hf_lecture_models.io.recipe import Recipe, default_of, setting

_MOST_BETWEEN, _LEAST_ENTRIES = 100, 20  # of the history, where the recipe does not say
_MINUTES, _PATIENCE = 5.0, 5  # of a run without `epochs` and `max_steps`
OLD_VALUES: dict[str, Any] = {"validation_share": 0.0, "stratify": False, "early_stopping_patience": 0}
"""What runs did before a recipe had these fields, where that is not the default of today."""


@dataclasses.dataclass(kw_only=True)
class TrainingRecipe(Recipe):
    """The settings of the training loop; the recipes of tasks add data and model."""

    new_learning_rate: ClassVar[float] = 1e-3
    """The learning rate of a new model where the recipe names none."""
    patience_steps: ClassVar[int] = 0
    """The least steps without a better evaluation, for tasks whose epochs are short, where the recipe names none."""

    seed: int = setting(0, "seed of dropout and of the order of the data", least=0)
    epochs: float | None = setting(
        None,
        "passes over the training data; null: until the validation measure stops improving, or 10 passes without "
        "validation data",
        least=0,
    )
    max_steps: int = setting(0, "optimizer steps; 0: as many as `epochs` gives", least=0)
    minutes: float | None = setting(
        None,
        "longest run, measured and saved at its end; null: 5 where neither epochs nor max_steps are set, else no limit",
        free=True,
        least=0,
    )
    batch_size: int = setting(
        32,
        "rows of one optimizer step, all processes and micro-batches together; training is the same however they are "
        "shared, but for dropout masks and noise, which each draws for itself",
        least=1,
    )
    accumulation_steps: int = setting(1, "micro-batches that one optimizer step is cut into, to save memory", least=1)
    mixed_precision: str = setting("no", "bf16: autocast in the forward passes of training", choices=("no", "bf16"))

    optimizer: str = setting("adamw", "optimizer", choices=("adamw", "sgd"))
    learning_rate: float = setting(
        None, "learning rate after warm-up; null: the usual one, 5e-5 for all weights of from_pretrained", least=0
    )
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
    early_stopping_patience: int | None = setting(
        None,
        "stop after so many evaluations in turn that are no better; 0: never; null: 5 where neither epochs nor "
        "max_steps are set (of classes of texts, as many as 1,000 steps have, if these are more), else never",
        free=True,
        least=0,
    )

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
        if self.epochs is None and not self.max_steps:
            self.epochs = self.usual_epochs()
        if self.learning_rate is None:
            self.learning_rate = self.usual_learning_rate()
        if self.epochs == 0 and self.max_steps == 0:
            raise ValueError("recipe: epochs and max_steps are both 0; set one of them")
        if self.minutes == 0:
            raise ValueError("recipe: minutes must be above 0; leave it out for no limit where epochs are set")
        if self.is_automatic and self.schedule in ("linear", "cosine"):
            raise ValueError(
                f"recipe: schedule {self.schedule} ends where the run ends, so its length must be known; set epochs or "
                "max_steps, or schedule plateau"
            )
        for name in ("adam_beta1", "adam_beta2"):
            if getattr(self, name) >= 1:
                raise ValueError(f"recipe: {name} must be below 1, not {getattr(self, name)}")

    def usual_epochs(self) -> float | None:
        """Return the passes over the data where the recipe names neither epochs nor max_steps; None: automatic."""
        return None

    def usual_learning_rate(self) -> float:
        """Return the learning rate where the recipe names none."""
        return self.new_learning_rate

    @property
    def is_automatic(self) -> bool:
        """True if the run has no given length: it ends when it stops improving, or when its minutes are over."""
        return self.epochs is None and not self.max_steps

    @property
    def time_limit(self) -> float | None:
        """The minutes that the run lasts at most; None: no limit."""
        return _MINUTES if self.minutes is None and self.is_automatic else self.minutes

    @property
    def patience(self) -> int:
        """The evaluations in turn without a better one after which the run ends; 0: never."""
        if self.early_stopping_patience is None:
            return _PATIENCE if self.is_automatic else 0
        return self.early_stopping_patience

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

    A field that the saved recipe lacks has the value that an older version used, which wrote that recipe.

    Raises:
        ValueError: a field differs that is not `free`; the message names the first one.
    """
    for field in dataclasses.fields(recipe):
        if field.name == "epochs" and saved.get("max_steps"):
            continue  # they are not read beside max_steps, which must be the same
        value = getattr(recipe, field.name)
        before = saved.get(field.name, OLD_VALUES.get(field.name, default_of(field)))
        if not field.metadata["free"] and before != value:
            raise ValueError(
                f"cannot resume: {field.name} is {value!r} but the run was started with {before!r}; "
                "use the recipe of the run, or another output folder"
            )
