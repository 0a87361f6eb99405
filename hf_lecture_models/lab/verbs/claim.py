# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture claim`: what the lectures assert, the verdicts of the records, and a small experiment on each claim."""

import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_lecture_models.io.progress import hide_other_bars
from hf_lecture_models.lab.claims.claim import Claim, find_claim, load_claims
from hf_lecture_models.lab.claims.methods import METHODS
from hf_lecture_models.lab.claims.report import (
    NOT_MEASURED,
    case_verdicts,
    corrected_p_values,
    describe_cases,
    first_in_words,
    lesson,
    read_record,
    recorded_verdict,
    same_direction,
)
from hf_lecture_models.lab.claims.trial import run_trial

_WIDTH = 110


def run(name: str | None) -> None:
    """List all claims; or show one with its record, and run its small experiment."""
    if name is None:
        print("\n".join(overview()))
        return
    claim = find_claim(name)
    print("\n".join(shown(claim)))
    print("\nA small experiment on data that come with the package, which decides nothing:", flush=True)
    hide_other_bars()
    with tempfile.TemporaryDirectory() as folder:
        found = run_trial(claim.embedded, METHODS, Path(folder), report=_report, fact=claim.fact)
    for line in describe_cases(claim, found["cases"], claim.embedded):
        print(_wrapped(line))
    print(f"  ({found['cpu_seconds']:.0f} CPU seconds; in {claim.unit})")
    print(_wrapped(compared(claim, found["cases"])))


def _report(line: str) -> None:
    """Show a measurement to a user who waits; a log or a notebook has the result alone."""
    if sys.stderr.isatty():
        print(f"  {line}", file=sys.stderr)


def overview() -> list[str]:
    """Return a line for each claim: name, slide, the verdict of its record, and the sentence."""
    claims, p_values = load_claims().values(), corrected_p_values()
    rows = [(one.id, one.slides[0], recorded_verdict(one, p_values)) for one in claims]
    name, slide, verdict = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "Claims of the lectures, and the verdicts of their records; `hf-lecture claim NAME` shows one.",
        *(
            f"  {row[0]:{name}}  {row[1]:{slide}}  {row[2]:{verdict}}  {one.sentence}"
            for row, one in zip(rows, claims, strict=True)
        ),
    ]


def shown(claim: Claim) -> list[str]:
    """Return what to remember of a claim, the lecture's words, the verdict, and how it was tested."""
    record, p_values = read_record(claim), corrected_p_values()
    lines = [
        *textwrap.wrap(lesson(claim), _WIDTH),
        _wrapped(f'The lecture ({", ".join(claim.slides)}): "{claim.quote}". In our words: {claim.sentence}'),
        f"Verdict: {recorded_verdict(claim, p_values)}",
    ]
    if record is not None:
        cases = describe_cases(claim, record["results"]["cases"], claim.experiment, p_values)
        found = case_verdicts(claim, p_values)
        lines += [_wrapped(f"{line}: {found[name]}") for name, line in zip(found, cases, strict=True)]
        lines.append(f"  (commit {record['commit']}, {record['date'][:10]})")
    return [
        *lines,
        _wrapped(f"What would change our mind: {claim.mind}"),
        _wrapped(f"Confirmed if {claim.confirmed}."),
        _wrapped(f"Refuted if {claim.refuted}."),
        _wrapped(f"Effects are in {claim.unit}; {claim.least:g} or more counts.{first_in_words(claim)}"),
        _wrapped(claim.design),
    ]


def compared(claim: Claim, cases: Mapping[str, Mapping[str, Any]]) -> str:
    """Return whether the small experiment points in the direction of the record, or why it cannot.

    Args:
        cases: what it found.
    """
    if claim.unlike:
        return f"It cannot show the direction of the record: {claim.unlike}"
    directions = same_direction(claim, cases)
    if not directions:
        return f"There is no record to compare it with: {NOT_MEASURED}."
    others = [name for name, same in directions.items() if not same]
    if not others:
        return "It points in the same direction as the record."
    where = "" if len(directions) == 1 else f" in {len(others)} of {len(directions)} cases: {', '.join(others)}"
    return f"It does not point in the same direction as the record{where}."


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _WIDTH, initial_indent="  ", subsequent_indent="    ")
