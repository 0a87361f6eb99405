# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Run a claim's trial: tune each arm on validation data, measure both with the same seeds, and compare them."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.runs import no_log
from hf_lecture_models.lab.claims.claim import Case, Trial
from hf_lecture_models.lab.claims.effect import effect_of, fact_of
from hf_lecture_models.lab.claims.tuning import best_of, tune
from hf_lecture_models.lab.claims.values import Values

TUNING_SEED = 1000
"""The settings of the grid are chosen with this seed, which measures nothing."""
PILOT_SEEDS = (1000, 1001, 1002)
"""A pilot's variances are those of these seeds on validation data."""

Method = Callable[[Mapping[str, Any], int, Path, str], Sequence[float] | Values]


def run_trial(
    trial: Trial,
    methods: Mapping[str, Method],
    folder: Path,
    stamp: str = "",
    report: Callable[[str], None] = lambda line: None,
    fact: bool = False,
) -> dict[str, Any]:
    """Return what each case found: its effect, and of each arm the mean of each seed and the chosen settings.

    A trial that was cut off goes on after the last measurement that it finished. The test part is read once, after all
    settings are chosen.

    Args:
        methods: functions by the names that trials and cases give.
        folder: for the measurements that are finished, each in a folder of its own; trials that measure the same share
            them. Models that several of them start from are beside these.
        stamp: what else the measurements depend on, such as the commit of the code; each has a folder of its own.
        report: called with a line for each measurement, in place of what its training would log.
        fact: whether no chance can change what is measured, so that an effect has its extremes in place of an interval.
    """
    runner = _Runner(trial, methods, folder / _digest(stamp), report)
    cases = {name: runner.compare(case, trial.seeds, "test", fact) for name, case in trial.cases.items()}
    return {"cases": cases, "cpu_seconds": round(sum(runner.cpu_seconds.values()), 1)}


def run_pilot(
    trial: Trial,
    methods: Mapping[str, Method],
    folder: Path,
    stamp: str = "",
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, dict[str, Any]]:
    """Return for each case the effect of three other seeds on validation data, and a seed's CPU seconds.

    The arguments are those of `run_trial`, whose tuning it shares.
    """
    runner, found = _Runner(trial, methods, folder / _digest(stamp), report), {}
    for name, case in trial.cases.items():
        compared = runner.compare(case, PILOT_SEEDS, "validation", fact=False)
        seconds = sum(arm.get("cpu_seconds_of_a_seed", 0.0) for arm in compared["arms"].values())
        found[name] = {"effect": compared["effect"], "cpu_seconds_of_a_seed": round(seconds, 1)}
    return found


class _Runner:
    """Measures arms, and keeps each measurement in a file."""

    def __init__(
        self,
        trial: Trial,
        methods: Mapping[str, Method],
        folder: Path,
        report: Callable[[str], None],
    ) -> None:
        self.trial, self.methods, self.folder, self.report = trial, methods, folder, report
        self.cpu_seconds: dict[str, float] = {}  # of each measurement, which several cases may use

    def compare(self, case: Case, seeds: Sequence[int], part: str, fact: bool) -> dict[str, Any]:
        """Measure both arms of a case, and return the effect and a summary of each arm."""
        settings = {
            name: {**self.trial.settings, **case.settings, **arm}
            for name, arm in case.arms.items()
            if not isinstance(arm, int | float)
        }
        tuned = self.tune(case, settings)
        values: list[np.ndarray] = []
        arms: dict[str, Any] = {}
        items = Values(())
        for name, arm in case.arms.items():
            if isinstance(arm, int | float):
                values.append(np.full((1, 1), float(arm)))
                arms[name] = {"given": arm}
                continue
            chosen, seconds = best_of(tuned[name]), 0.0
            found: list[Values] = []
            for seed in seeds:
                found.append(self.measure(case, settings[name] | chosen, seed, part))
                seconds += self.cpu_seconds[self.place(case, settings[name] | chosen, seed, part).name]
                self.report(f"{name}, seed {seed}: {found[-1].mean:.3g}")
                items = _same_items(items, found[-1])
            values.append(np.array([one.values for one in found]))
            means, each = [one.mean for one in found], round(seconds / len(seeds), 1)
            arms[name] = {"means": means, "tuned": tuned[name], "chosen": chosen, "cpu_seconds_of_a_seed": each}
        differences = values[0] - values[1]
        effect = fact_of(differences) if fact else effect_of(differences, items.weights, items.clusters)
        return {"effect": effect.to_dict(), "arms": arms}

    def tune(self, case: Case, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """Return for each measured arm the combinations of the grid's settings with their means on validation data."""
        grid = case.grid or self.trial.grid
        if not grid:
            return {name: [] for name in settings}

        def reached(name: str, chosen: Mapping[str, Any]) -> float:
            value = self.measure(case, {**settings[name], **chosen}, TUNING_SEED, "validation").mean
            self.report(f"tuning {name}, {', '.join(f'{key} {one}' for key, one in chosen.items())}: {value:.3g}")
            return value

        return tune(grid, {name: partial(reached, name) for name in settings})

    def measure(self, case: Case, settings: Mapping[str, Any], seed: int, part: str) -> Values:
        """Return an arm's values on the items of a part of the data."""
        place = self.place(case, settings, seed, part)
        record = place / "measured.json"
        if not record.is_file():
            place.mkdir(parents=True, exist_ok=True)
            start = time.process_time()
            with no_log():
                values = self.methods[case.method or self.trial.method](settings, seed, place, part)
            found = values if isinstance(values, Values) else Values(values)
            fields = {name: list(getattr(found, name)) for name in ("values", "weights", "clusters")}
            write_file(record, json.dumps(fields | {"cpu_seconds": time.process_time() - start}, default=float))
        kept = json.loads(record.read_text(encoding="utf-8"))
        self.cpu_seconds[place.name] = kept.pop("cpu_seconds")
        return Values(**kept)

    def place(self, case: Case, settings: Mapping[str, Any], seed: int, part: str) -> Path:
        """Return the folder of a measurement."""
        measured = [case.method or self.trial.method, settings, seed, part]
        return self.folder / _digest(json.dumps(measured, sort_keys=True))


def _same_items(items: Values, others: Values) -> Values:
    """Return the weights and clusters of both, which must be the same."""
    if items.values and (items.weights, items.clusters) != (others.weights, others.clusters):
        raise ValueError("the arms of a case, or its seeds, have items of other weights or clusters")
    return others


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
