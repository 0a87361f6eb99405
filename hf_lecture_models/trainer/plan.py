# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The plan of a run: its longest length, what ends it earlier, and the sentences that say so.

A recipe with `epochs` or `max_steps` has that length. Any other run is automatic: it is measured at the end of each
epoch, but not more often than every ten steps, and ends when `early_stopping_patience` evaluations in turn brought
nothing better, when its minutes are over, or after 100 epochs (3,000 steps if these are more). Tasks
whose epochs are short wait for a number of steps (`patience_steps`) if these are more evaluations.
"""

import math
from dataclasses import dataclass

from hf_lecture_models.trainer.recipe import TrainingRecipe

MOST_EPOCHS, MOST_STEPS_OF_FEW_ROWS = 100, 3000
"""The longest automatic run: so many epochs, or where an epoch is short so many steps."""
STEPS_BETWEEN_EVALUATIONS = 10
"""An automatic run has at least so many steps between two evaluations: patience is counted in evaluations."""
EPOCHS_WITHOUT_VALIDATION = 10.0
"""The length of a run without `epochs` that has nothing to tell when it stops improving."""
MINUTES, EARLY_STOPPING = "minutes", "early stopping"
"""What a finished run was stopped by, in `training.json`."""
_EPOCHS_OF_HISTORY = 5


@dataclass(frozen=True)
class Plan:
    """The longest length of a run, and what ends it earlier.

    Attributes:
        total_steps: the most optimizer steps; None: no limit but the time.
        steps_per_epoch: 0: not known (data that are streamed).
        evaluate_every: the steps between two evaluations; 0: only at the end.
        history_every: the steps between entries of the loss in the history.
        patience: the run ends after so many evaluations in turn that are no better; 0: never.
        seconds: the run ends after so long; None: no limit.
        is_automatic: the recipe names no length.
        metric: the name of the validation measure; "": nothing is measured.
    """

    total_steps: int | None
    steps_per_epoch: int
    evaluate_every: int
    history_every: int
    patience: int
    seconds: float | None
    is_automatic: bool
    metric: str

    @property
    def sentence(self) -> str:
        """A sentence on what ends the run; "" if the recipe names its length."""
        if not self.is_automatic and self.seconds is None:
            return ""
        limits = [] if self.seconds is None else [f"{_minutes(self.seconds)} (--minutes)"]
        length = [] if self.total_steps is None else [self._length(self.total_steps)]
        if not self.is_automatic:
            return f"trains for {length[0]}, at most {limits[0]}"
        if self.metric and self.evaluate_every and self.patience:
            period = self._length(self.evaluate_every).removeprefix("1 ")
            return (
                f"trains until validation {self.metric} has not improved for {_count(self.patience, 'evaluation')} "
                f"(one every {period}), at most {' or '.join([*limits, *length])}"
            )
        if not self.metric and length:
            limit = f", at most {limits[0]}" if limits else ""
            return f"no validation data tell when training stops improving: trains for {length[0]} (--epochs){limit}"
        unknown = "" if length else "streamed data have no epochs: "
        return f"{unknown}trains at most {' or '.join([*limits, *length])}"

    def ending(self, stopped: str, step: int, improved: bool, spent: float = 0.0) -> str:
        """Return why the run ended, in words; "" where it has the length that its recipe names, or a signal came.

        Args:
            stopped: "" at the last step, else what stopped it.
            step: the steps that were made.
            improved: whether the last evaluation was the best one.
            spent: the seconds of the run, of those before it was resumed too.
        """
        if stopped == EARLY_STOPPING:
            return f"no better for {_count(self.patience, 'evaluation')}"
        if stopped == MINUTES and self.seconds is not None:
            first = " within the first epoch" if step < self.steps_per_epoch else ""
            still = ", still improving" if improved else ""
            longer = f"--resume --minutes {max(2 * self.seconds / 60, math.ceil(spent / 30)):g}"
            return f"the {_minutes(self.seconds)} are over{first}{still}; {longer} goes on"
        if stopped or not self.is_automatic or self.total_steps is None:
            return ""
        return f"all {self._length(self.total_steps)}{', still improving: --epochs names more' if improved else ''}"

    def _length(self, steps: int) -> str:
        """Return a number of steps in epochs, or in steps if these are not whole epochs."""
        if self.steps_per_epoch and steps % self.steps_per_epoch == 0:
            return _count(steps // self.steps_per_epoch, "epoch")
        return _count(steps, "step")


def make_plan(recipe: TrainingRecipe, steps_per_epoch: int, metric: str) -> Plan:
    """Return the plan of a run.

    >>> plan = make_plan(TrainingRecipe(), steps_per_epoch=4, metric="accuracy")
    >>> plan.total_steps, plan.evaluate_every
    (3000, 12)
    >>> print(plan.sentence.partition(", ")[0])
    trains until validation accuracy has not improved for 5 evaluations (one every 3 epochs)

    Args:
        steps_per_epoch: 0: not known.
        metric: the name of the validation measure; "": without validation data.

    Raises:
        ValueError: the recipe names epochs of data without a length.
    """
    if recipe.epochs is not None and not recipe.max_steps and not steps_per_epoch:
        raise ValueError("streamed data have no length, so epochs has no meaning; set max_steps or minutes")
    evaluate_every = recipe.evaluate_every or steps_per_epoch
    if recipe.is_automatic:
        total = _most_steps(steps_per_epoch, bool(metric)) if steps_per_epoch else None
        if steps_per_epoch and not recipe.evaluate_every:
            evaluate_every *= math.ceil(STEPS_BETWEEN_EVALUATIONS / steps_per_epoch)
        history = recipe.history_period(_EPOCHS_OF_HISTORY * evaluate_every if steps_per_epoch else 10**9)
    else:
        total = recipe.max_steps or max(1, round((recipe.epochs or 0) * steps_per_epoch))
        history = recipe.history_period(total)
    return Plan(
        total,
        steps_per_epoch,
        evaluate_every,
        history,
        _patience(recipe, evaluate_every),
        None if recipe.time_limit is None else 60 * recipe.time_limit,
        recipe.is_automatic,
        metric,
    )


def _patience(recipe: TrainingRecipe, evaluate_every: int) -> int:
    """Return the evaluations without a better one that end the run; 0: none do."""
    if recipe.early_stopping_patience is not None or not recipe.is_automatic or not evaluate_every:
        return recipe.patience
    return max(recipe.patience, math.ceil(recipe.patience_steps / evaluate_every))


def _most_steps(steps_per_epoch: int, is_measured: bool) -> int:
    """Return the steps of the longest automatic run, in whole epochs."""
    if not is_measured:
        return round(EPOCHS_WITHOUT_VALIDATION * steps_per_epoch)
    return steps_per_epoch * max(MOST_EPOCHS, math.ceil(MOST_STEPS_OF_FEW_ROWS / steps_per_epoch))


def _minutes(seconds: float) -> str:
    return _count(seconds / 60, "minute")


def _count(number: float, word: str) -> str:
    """Return a number of things in words.

    >>> _count(1, "epoch"), _count(2.5, "minute"), _count(1000, "step")
    ('1 epoch', '2.5 minutes', '1,000 steps')
    """
    digits = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{digits} {word}{'' if number == 1 else 's'}"
