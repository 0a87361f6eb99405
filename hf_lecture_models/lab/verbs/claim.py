# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture claim`: what the lectures assert, the verdicts of the records, and a small experiment on each claim."""

import sys
import tempfile
import textwrap
from pathlib import Path

from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.lab.claims.claim import Claim, find_claim, load_claims
from hf_lecture_models.lab.claims.methods import METHODS
from hf_lecture_models.lab.claims.report import describe_cases, read_record, recorded_verdict
from hf_lecture_models.lab.claims.trial import run_trial

_WIDTH = 110


def run(name: str | None) -> None:
    """List all claims; or show one with its record, and run its small experiment."""
    if name is None:
        print("\n".join(overview()))
        return
    claim = find_claim(name)
    print("\n".join(_shown(claim)))
    print("\nA small experiment on data that come with the package, which decides nothing:", flush=True)
    hide_other_bars()
    with tempfile.TemporaryDirectory() as folder:
        found = run_trial(claim.embedded, METHODS, Path(folder), report=_report)
    for line in describe_cases(claim, found["cases"], claim.embedded):
        print(_wrapped(line.rpartition(": ")[0]))
    print(f"  ({found['cpu_seconds']:.0f} CPU seconds; in {claim.unit})")


def _report(line: str) -> None:
    """Show a measurement to a user who waits; a log or a notebook has the result alone."""
    if sys.stderr.isatty():
        print(f"  {line}", file=sys.stderr)


def overview() -> list[str]:
    """Return a line for each claim: name, slide, the verdict of its record, and the sentence."""
    claims = load_claims().values()
    name, slide, verdict = (
        max(map(len, column))
        for column in zip(*((one.id, one.slides[0], recorded_verdict(one)) for one in claims), strict=True)
    )
    return [
        "Claims of the lectures, and the verdicts of their records; `hf-lecture claim NAME` shows one.",
        *(
            f"  {one.id:{name}}  {one.slides[0]:{slide}}  {recorded_verdict(one):{verdict}}  {one.sentence}"
            for one in claims
        ),
    ]


def _shown(claim: Claim) -> list[str]:
    record = read_record(claim)
    lines = [
        f"{claim.sentence} ({', '.join(claim.slides)})",
        _wrapped(f"Confirmed if {claim.confirmed}."),
        _wrapped(f"Refuted if {claim.refuted}."),
        _wrapped(f"Effects are in {claim.unit}; {claim.least:g} or more counts."),
        _wrapped(claim.design),
        f"Verdict: {recorded_verdict(claim)}",
    ]
    if record is not None:
        cases = describe_cases(claim, record["results"]["cases"], claim.experiment)
        lines += [_wrapped(line) for line in cases]
        lines.append(f"  (commit {record['commit']}, {record['date'][:10]})")
    return lines


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _WIDTH, initial_indent="  ", subsequent_indent="    ")
