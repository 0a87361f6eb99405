# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Test a claim of the lectures on real data, and write docs/claims.md from the records.

    OMP_NUM_THREADS=1 HF_LECTURE_DATA=... python -m benchmarks.claims NAME ... [--seeds 0 1 2] [--output FOLDER]
    python -m benchmarks.claims --page

NAME is a claim's (`hf-lecture claim` lists them). A trial that was cut off goes on after the last measurement that it
finished. Each record is written into the package, hf_lecture_models/lab/claims/records/NAME.json, so that an
installed copy knows the verdicts; with --output into FOLDER, and nothing into the package.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks.common import ROOT, add_output, commit, new_parser, read_options, write_results
from hf_lecture_models.io.files import write_file
from hf_lecture_models.lab.claims.claim import Claim, find_claim, load_claims
from hf_lecture_models.lab.claims.effect import EQUAL, Effect, holm
from hf_lecture_models.lab.claims.methods import METHODS
from hf_lecture_models.lab.claims.report import (
    NOT_MEASURED,
    RECORDS,
    describe_cases,
    interval,
    perplexities,
    read_record,
    recorded_verdict,
    rounded,
)
from hf_lecture_models.lab.claims.trial import run_trial, verdict, verdicts

PAGE = ROOT / "docs" / "claims.md"
LECTURES = {"R": "Ryu, Natural Language Processing", "N": "Nguyen, Tutorial on deep transformer"}
LECTURES["Y"] = "Yvon, Modeling structure, learning representations"
HEAD = """# What the lectures assert, tested

Each row is a sentence of a lecture (in our words) that can be right or wrong. `hf-lecture claim` lists them, and
`hf-lecture claim NAME` shows how one was tested and runs a small experiment on it. `python -m benchmarks.claims NAME`
repeats the recorded one. This page is written by `python -m benchmarks.claims --page` from the records; no verdict is
typed.

How a verdict follows: two arms are measured with the same seeds on the same items. The effect is the mean difference,
in brackets its 95 % interval ([how](../hf_lecture_models/lab/claims/effect.py)). A language model is measured by minus
100 ln of its perplexity, so that a difference of 1 is about one percent; the perplexity itself is beside it. A
claim that expects more of its first arm is **confirmed** where the whole interval is above 0 and the effect is as large
as the smallest one that counts, **refuted** where the whole interval is below that size, and **undecided** otherwise. A
claim of equality is confirmed where the interval lies within that size on both sides of 0. It **depends** where one
case confirms and another refutes.

The page has {tests} tests, so some small p-values are chance: beside each p, "Holm" is the one corrected for their
number (Holm 1979). Verdicts follow from intervals, not from corrected p-values. All experiments are small, for a CPU: a
verdict holds at this scale.
"""


def measured() -> dict[str, Claim]:
    """Return the claims that have a record."""
    return {name: claim for name, claim in load_claims().items() if read_record(claim) is not None}


def corrected() -> dict[tuple[str, str], float]:
    """Return the p-values of all cases that expect a difference, corrected for their number."""
    return holm(
        {
            (name, case): read_record(claim)["results"]["cases"][case]["effect"]["p"]  # type: ignore[index]
            for name, claim in measured().items()
            for case, one in claim.experiment.cases.items()
            if one.expected != EQUAL
        }
    )


def page() -> str:
    """Return docs/claims.md."""
    claims, p_values = load_claims(), corrected()
    counts = Counter(recorded_verdict(claim) for claim in claims.values())
    found = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    lines = [HEAD.format(tests=len(p_values)), f"{len(claims)} claims: {found}."]
    for letter, title in LECTURES.items():
        own = [claim for claim in claims.values() if claim.slides[0][0] == letter]
        if own:
            lines += ["", f"## {letter}: {title}", "", "| claim | slides | verdict |", "|---|---|---|"]
        for one in own:
            verdict_shown = f"**{recorded_verdict(one)}**" if read_record(one) else NOT_MEASURED
            lines.append(f"| [{one.sentence}](#{one.id}) | {', '.join(one.slides)} | {verdict_shown} |")
    lines += ["", "## How each was tested"]
    for claim in claims.values():
        lines += section(claim, p_values)
    return "\n".join(lines) + "\n"


def section(claim: Claim, p_values: dict[tuple[str, str], float]) -> list[str]:
    """Return the lines on one claim."""
    record = read_record(claim)
    lines = [
        f"\n### {claim.id}\n",
        f"{claim.sentence} ({', '.join(claim.slides)})\n",
        f"- Verdict: {recorded_verdict(claim)}.",
        f"- Confirmed if {claim.confirmed}; refuted if {claim.refuted}.",
        f"- {claim.design.strip()}",
        f"- Effects in {claim.unit}; the smallest that counts is {claim.least:g}.",
    ]
    if record is None:
        return lines
    cases = record["results"]["cases"]
    found = verdicts(claim, cases, claim.experiment)
    plain = {name: perplexities(claim.experiment, name, case) for name, case in cases.items()}
    columns = ["case", *(["perplexity"] if any(plain.values()) else []), "arms", "difference", "Holm", "verdict"]
    lines += ["", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, case in cases.items():
        arms = ", ".join(f"{arm} {_arm(one)}" for arm, one in case["arms"].items())
        p = p_values.get((claim.id, name))
        shown = "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
        cells = [name, arms, interval(Effect(**case["effect"])), shown, found[name]]
        if "perplexity" in columns:
            cells.insert(1, ", ".join(f"{arm} {value:.1f}" for arm, value in plain[name].items()))
        lines.append(f"| {' | '.join(cells)} |")
    minutes = record["results"]["cpu_seconds"] / 60
    path = f"../hf_lecture_models/lab/claims/records/{claim.id}.json"
    lines.append(f"\n{minutes:.1f} CPU minutes ([record]({path}), commit {record['commit']}).")
    return lines


def _arm(arm: Mapping[str, Any]) -> str:
    return f"{arm['given']:g}" if "given" in arm else f"({', '.join(map(rounded, arm['means']))})"


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="claims to test")
    parser.add_argument("--seeds", nargs="+", type=int, help="in place of the claim's; such a run is not recorded")
    add_output(parser, "runs/claims", "what is measured")
    parser.add_argument("--page", action="store_true", help="write docs/claims.md from the records")
    options = read_options(parser)
    for name in options.names:
        claim = find_claim(name)
        trial = claim.experiment
        if options.seeds:
            trial = dataclasses.replace(trial, seeds=tuple(options.seeds))
        found = run_trial(trial, METHODS, options.output / name, commit())
        print(
            f"{name}: {verdict(claim, found['cases'], trial)}",
            *describe_cases(claim, found["cases"], trial),
            sep="\n  ",
        )
        if trial == claim.experiment:
            write_results(name, found, options.kept or RECORDS)
    if options.page:
        write_file(options.kept / PAGE.name if options.kept else PAGE, page())


if __name__ == "__main__":
    main()
