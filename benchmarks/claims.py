# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Test a claim of the lectures on real data, and write docs/claims.md from the records.

    OMP_NUM_THREADS=1 HF_LECTURE_DATA=... python -m benchmarks.claims NAME ... [--seeds 0 1 2] [--output FOLDER]
    python -m benchmarks.claims --page [--output FOLDER]

NAME is a claim's (`hf-lecture claim` lists them). Before its trial a pilot measures three other seeds on validation
data, and says how many seeds, or clusters of items, the smallest effect that counts needs. A trial that was cut off
goes on after the last measurement that it finished; claims that measure the same share it. Each record is written into
the package, hf_lecture_models/lab/claims/records/NAME.json, so that an installed copy knows the verdicts; with --output
into FOLDER, and nothing into the package.
"""

import dataclasses
from pathlib import Path
from typing import Any

from benchmarks.claims_page import write_page
from benchmarks.common import ROOT, add_output, commit, new_parser, read_options, write_results
from hf_lecture_models.lab.claims.claim import Claim, Trial, find_claim
from hf_lecture_models.lab.claims.methods import METHODS
from hf_lecture_models.lab.claims.report import RECORDS, describe_cases, describe_needs
from hf_lecture_models.lab.claims.trial import run_pilot, run_trial


def pilot(claim: Claim, folder: Path) -> dict[str, Any]:
    """Return for each case that decides the pilot's effect; say how many seeds or clusters of items it asks for.

    Facts, and trials in which only the items are random, need no pilot.
    """
    trial = claim.experiment
    if claim.fact or len(trial.seeds) == 1:
        return {}
    trial = dataclasses.replace(trial, cases={name: case for name, case in trial.cases.items() if case.decides})
    found = run_pilot(trial, METHODS, folder, commit(), report=print)
    clusters = {case: one["effect"]["clusters"] for case, one in found.items()}
    for case, needed in describe_needs(claim, found, clusters).items():
        print(f"{case}: by the pilot, twice the smallest effect that counts needs {needed}")
    return found


def measured(claim: Claim, trial: Trial, folder: Path) -> dict[str, Any]:
    """Return what the pilot and the trial of a claim found."""
    first = pilot(claim, folder)
    found = run_trial(trial, METHODS, folder, commit(), report=print, fact=claim.fact)
    return found | ({"pilot": first} if first else {})


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="claims to test")
    parser.add_argument("--seeds", nargs="+", type=int, help="in place of the claim's; such a run is not recorded")
    add_output(parser, "runs/claims", "what is measured")
    parser.add_argument("--page", action="store_true", help="write docs/claims.md and its pictures from the records")
    options = read_options(parser)
    for name in options.names:
        claim = find_claim(name)
        trial = claim.experiment
        if options.seeds:
            trial = dataclasses.replace(trial, seeds=tuple(options.seeds))
        found = measured(claim, trial, options.output)
        print(name, *describe_cases(claim, found["cases"], trial), sep="\n  ")
        if trial == claim.experiment:
            write_results(name, found, options.kept or RECORDS)
    if options.page:
        write_page(options.kept or ROOT / "docs")


if __name__ == "__main__":
    main()
