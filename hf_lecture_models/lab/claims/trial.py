# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Run a claim's trial: tune each arm on validation data, measure both with the same seeds, and compare them."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from hf_lecture_models.io.files import write_file
from hf_lecture_models.io.runs import no_log
from hf_lecture_models.lab.claims.claim import Case, Claim, Trial
from hf_lecture_models.lab.claims.effect import Effect, effect_of, joint_verdict, verdict_of

TUNING_SEED = 1000
"""The settings of the grid are chosen with this seed, which measures nothing."""

Method = Callable[[Mapping[str, Any], int, Path, str], Sequence[float]]


def run_trial(
    trial: Trial,
    methods: Mapping[str, Method],
    folder: Path,
    stamp: str = "",
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Return what each case found: its effect, and of each arm the mean of each seed and the chosen settings.

    A trial that was cut off goes on after the last measurement that it finished.

    Args:
        methods: functions by the names that trials and cases give.
        folder: for the measurements that are finished, each in a folder of its own; models that several of them start
            from are beside these.
        stamp: what else the measurements depend on, such as the commit of the code; each has a folder of its own.
        report: called with a line for each measurement, in place of what its training would log.
    """
    runner = _Runner(trial, methods, folder / _digest(stamp), report)
    cases = {name: runner.compare(case) for name, case in trial.cases.items()}
    return {"cases": cases, "cpu_seconds": round(sum(runner.cpu_seconds.values()), 1)}


def verdicts(claim: Claim, cases: Mapping[str, Mapping[str, Any]], trial: Trial) -> dict[str, str]:
    """Return the verdict on each case of a trial, by the rule of `effect.verdict_of`."""
    return {
        name: verdict_of(
            Effect(**cases[name]["effect"]), claim.least if case.least is None else case.least, case.expected
        )
        for name, case in trial.cases.items()
    }


def verdict(claim: Claim, cases: Mapping[str, Mapping[str, Any]], trial: Trial) -> str:
    """Return the verdict on a claim from what a trial found."""
    return joint_verdict(list(verdicts(claim, cases, trial).values()))


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

    def compare(self, case: Case) -> dict[str, Any]:
        """Measure both arms of a case, and return the effect and a summary of each arm."""
        values: list[np.ndarray] = []
        arms: dict[str, Any] = {}
        for name, arm in case.arms.items():
            if isinstance(arm, int | float):
                values.append(np.full((1, 1), float(arm)))
                arms[name] = {"given": arm}
                continue
            settings = {**self.trial.settings, **case.settings, **arm}
            tuned = self.tune(case, settings)
            chosen = max(tuned, key=lambda one: one["validation"])["settings"] if tuned else {}
            rows = []
            for seed in self.trial.seeds:
                rows.append(self.measure(case, settings | chosen, seed, "test"))
                self.report(f"{name}, seed {seed}: {np.mean(rows[-1]):.3g}")
            values.append(np.array(rows))
            arms[name] = {"means": values[-1].mean(1).tolist(), "tuned": tuned, "chosen": chosen}
        return {"effect": effect_of(values[0] - values[1]).to_dict(), "arms": arms}

    def tune(self, case: Case, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return each combination of the grid's settings with its mean value on validation data."""
        grid, found = case.grid or self.trial.grid, []
        for choices in product(*grid.values()) if grid else ():
            chosen = dict(zip(grid, choices, strict=True))
            value = np.mean(self.measure(case, {**settings, **chosen}, TUNING_SEED, "validation"))
            self.report(f"tuning, {', '.join(f'{key} {one}' for key, one in chosen.items())}: {value:.3g}")
            found.append({"settings": chosen, "validation": float(value)})
        return found

    def measure(self, case: Case, settings: Mapping[str, Any], seed: int, part: str) -> list[float]:
        """Return an arm's values on the items of a part of the data, (items,)."""
        method = case.method or self.trial.method
        place = self.folder / _digest(json.dumps([method, settings, seed, part], sort_keys=True))
        record = place / "measured.json"
        if record.is_file():
            found = json.loads(record.read_text(encoding="utf-8"))
            self.cpu_seconds[place.name] = found["cpu_seconds"]
            return found["values"]
        place.mkdir(parents=True, exist_ok=True)
        start = time.process_time()
        with no_log():
            values = [float(value) for value in self.methods[method](settings, seed, place, part)]
        found = {"values": values, "cpu_seconds": time.process_time() - start}
        write_file(record, json.dumps(found))
        self.cpu_seconds[place.name] = found["cpu_seconds"]
        return values


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
