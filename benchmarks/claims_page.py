# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""docs/claims.md and its pictures, docs/claims/NAME.svg, from the records of the claims."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.claims_pictures import draw_all, draw_claim
from hf_lecture_models.io.files import write_file
from hf_lecture_models.lab.claims.claim import Claim, load_claims
from hf_lecture_models.lab.claims.effect import Effect
from hf_lecture_models.lab.claims.report import (
    NOT_MEASURED,
    arms_in_words,
    case_verdicts,
    corrected_p_values,
    counted,
    describe_needs,
    first_in_words,
    first_verdict,
    interval,
    least_of,
    lesson,
    p_in_words,
    read_record,
    recorded_verdict,
)
from hf_lecture_models.lab.claims.rule import DECIDED, DEPENDS

PAGE = "claims.md"
PICTURES = "claims"
NOTES = {
    "discounting": ("Discounting as the key of n-grams, by the size of the corpus", "notes/discounting.md"),
    "reversed_source": ("Does reversing the source help a translator with attention too?", "notes/reversed_source.md"),
    "sinusoids": ("Sinusoids, learned, relative positions and none, by length", "notes/positions_by_length.md"),
}
LECTURES = {
    "R": "Ryu, Natural Language Processing",
    "N": "Nguyen, Tutorial on deep transformer",
    "Y": "Yvon, Modeling structure, learning representations",
}
HEAD = """# What the lectures assert, tested

![Verdicts on all claims: a row for each, with its effect and interval; the tables below have the same verdicts]({all})

A row of the picture is a claim, in the lectures' order. It shows the case that decides the claim and is nearest to a
border, as its effect divided by the smallest one that counts. In each picture whose effects reach more than twelve
times the smallest one that counts, the axis is logarithmic outside of the grey band.

{number} claims: {counts}.

How a verdict follows:

1. Two arms are measured with the same seeds on the same items. The effect is the mean difference, in brackets its 95 %
   interval, whose error counts by seed and by cluster of items, such as the paragraphs of an article
   ([how](../hf_lecture_models/lab/claims/effect.py)).
2. If the interval is wholly above the smallest effect that counts, the claim is **confirmed**; wholly below its
   negative, **refuted**; wholly between both, the arms are **equivalent**; else it is **undecided**. A claim that
   expects equal arms, or not more of the first one, is confirmed between both. A claim **depends** where one case
   confirms it and another does not.
   {widened}
3. A decision counts only if its p-value, corrected for all {tests} comparisons of this page (Holm 1979), is below 5 %.
4. Facts, such as numbers of operations, have no p-value and are outside of these comparisons.
5. A pilot of the cases that decide, with other seeds and on validation data, says beforehand how many seeds and items
   find twice the smallest effect that counts with a probability of 80 %, at the level that the correction asks of the
   first of all comparisons.

A language model is measured by minus 100 ln of its perplexity, so that a difference of 1 is about one percent. All
experiments are small, for a CPU: a verdict holds at this scale. `hf-lecture claim NAME` shows a claim and runs a small
experiment on it, `python -m benchmarks.claims NAME` repeats the recorded one, and `python -m benchmarks.claims --page`
writes this page from the records; no verdict is typed.
"""


def write_page(folder: Path) -> None:
    """Write the page and its pictures into a folder, such as docs."""
    for name, text in page_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_file(folder / name, text)


def page_files() -> dict[str, str]:
    """Return the page and its pictures by their paths below docs."""
    p_values = corrected_p_values()
    files = {PAGE: page(p_values), f"{PICTURES}/all.svg": draw_all(claims_by_lecture(), p_values)}
    for name, claim in load_claims().items():
        if read_record(claim) is not None:
            files[f"{PICTURES}/{name}.svg"] = draw_claim(claim, p_values)
    return files


def claims_by_lecture() -> dict[str, list[Claim]]:
    """Return the claims of each lecture that has some."""
    claims = load_claims().values()
    parts = {
        f"{letter}: {title}": [claim for claim in claims if claim.slides[0][0] == letter]
        for letter, title in LECTURES.items()
    }
    return {title: own for title, own in parts.items() if own}


def page(p_values: Mapping[tuple[str, str], float]) -> str:
    """Return docs/claims.md.

    Args:
        p_values: those of `corrected_p_values`.
    """
    claims = load_claims().values()
    verdicts = {claim.id: recorded_verdict(claim, p_values) for claim in claims}
    counts = ", ".join(f"{number} {name}" for name, number in sorted(Counter(verdicts.values()).items()))
    picture = f"{PICTURES}/all.svg"
    widened = _widened(verdicts)
    lines = [HEAD.format(all=picture, number=len(claims), counts=counts, tests=len(p_values), widened=widened)]
    for title, own in claims_by_lecture().items():
        lines += [f"## {title}", "", "| claim | slides | verdict |", "|---|---|---|"]
        for claim in own:
            verdict = verdicts[claim.id] if verdicts[claim.id] == NOT_MEASURED else f"**{verdicts[claim.id]}**"
            fact = " (fact)" if claim.fact else ""
            lines.append(f"| [{claim.sentence}](#{claim.id}) | {', '.join(claim.slides)} | {verdict}{fact} |")
        lines.append("")
    lines.append("## What to remember, and how it was tested")
    for claim in claims:
        lines += ["", *section(claim, p_values)]
    return "\n".join(lines) + "\n"


def _widened(verdicts: Mapping[str, str]) -> str:
    """Return a sentence on the claims whose smallest effect was set again after a first measurement.

    Args:
        verdicts: those of all claims, by name.
    """
    first = {claim.id: first_verdict(claim) for claim in load_claims().values() if claim.first_least is not None}
    decided, before = (sum(one in DECIDED for one in found.values()) for found in (verdicts, {**verdicts, **first}))
    return (
        f"For {len(first)} claims the smallest effect that counts was set again after a first measurement; their\n"
        f"   sections name the first one. With the first ones {before} claims would be decided (confirmed, refuted or\n"
        f"   equivalent) in place of {decided}."
    )


def section(claim: Claim, p_values: Mapping[tuple[str, str], float]) -> list[str]:
    """Return the lines on one claim: what to remember, its picture, and how it was tested."""
    record = read_record(claim)
    lines = [f"### {claim.id}", "", f"**{lesson(claim)}**", ""]
    if record is not None:
        words = f"Effects and intervals of {claim.id}; the table below has the same figures"
        lines += [f"![{words}]({PICTURES}/{claim.id}.svg)", ""]
    lines += [
        f'- The lecture ({", ".join(claim.slides)}): "{_line(claim.quote)}". In our words: {_line(claim.sentence)}',
        f"- Measured: {_measured(claim, p_values)}.",
        f"- What would change our mind: {_line(claim.mind)}",
        *([f"- Note for researchers: [{NOTES[claim.id][0]}]({NOTES[claim.id][1]})."] if claim.id in NOTES else []),
        "",
        "How it was tested:",
        "",
        f"- Confirmed if {_line(claim.confirmed)}; refuted if {_line(claim.refuted)}.",
        f"- {_line(claim.design)}",
        f"- Effects are in {claim.unit}; the smallest that counts is {claim.least:g}.{first_in_words(claim)}",
    ]
    if record is None:
        return lines
    results = record["results"]
    lines += [*_tuning(results["cases"]), *_planned(claim, results.get("pilot", {}), results["cases"])]
    path = f"../hf_lecture_models/lab/claims/records/{claim.id}.json"
    lines.append(f"- {results['cpu_seconds'] / 60:.1f} CPU minutes ([record]({path}), commit {record['commit']}).")
    return [*lines, "", *_table(claim, results["cases"], p_values)]


def _measured(claim: Claim, p_values: Mapping[tuple[str, str], float]) -> str:
    """Return the verdict, and the effects from which it follows."""
    verdict = recorded_verdict(claim, p_values)
    if verdict == NOT_MEASURED:
        return verdict
    words = f"**{verdict}**" + (f" on {claim.variable or 'the case'}" if verdict == DEPENDS else "")
    cases = (read_record(claim) or {})["results"]["cases"]
    found = case_verdicts(claim, p_values)
    deciding = [name for name in cases if claim.experiment.cases[name].decides]
    if len(deciding) > 3:
        counts = Counter(found[name] for name in deciding)
        return f"{words}; {', '.join(f'{number} cases {one}' for one, number in sorted(counts.items()))}"
    effects = {name: interval(Effect(**cases[name]["effect"])) for name in deciding}
    if len(deciding) == 1:
        return f"{words}, {effects[deciding[0]]}"
    return f"{words}; " + "; ".join(f"{name}: {effects[name]}, {found[name]}" for name in deciding)


def _tuning(cases: Mapping[str, Any]) -> list[str]:
    """Return a line with the number of settings that each arm tried, and those chosen; none without a grid."""
    parts, trials = [], set()
    for name, case in cases.items():
        chosen = []
        for arm, found in case["arms"].items():
            if found.get("tuned"):
                trials.add(len(found["tuned"]))
                chosen.append(f"{arm} {', '.join(f'`{key}` {value}' for key, value in found['chosen'].items())}")
        if chosen:
            parts.append(f"{f'{name}: ' if len(cases) > 1 else ''}{', '.join(chosen)}")
    number = " or ".join(map(str, sorted(trials)))
    return [f"- Each arm tried {number} settings on validation data; chosen: {'; '.join(parts)}."] if parts else []


def _planned(claim: Claim, pilot: Mapping[str, Any], cases: Mapping[str, Any]) -> list[str]:
    """Return a line with how many seeds or clusters of items the pilot asks for, and how many there are."""
    needs = describe_needs(claim, pilot, {name: case["effect"]["clusters"] for name, case in cases.items()})
    parts = [f"{f'{name}: ' if len(cases) > 1 else ''}{needed}" for name, needed in needs.items()]
    return (
        [f"- Twice the smallest effect that counts needs, by a pilot's variances: {'; '.join(parts)}."] if parts else []
    )


def _table(claim: Claim, cases: Mapping[str, Any], p_values: Mapping[tuple[str, str], float]) -> list[str]:
    """Return the rows of the cases."""
    found, least = case_verdicts(claim, p_values), {name: least_of(claim, name) for name in cases}
    own = len({*least.values(), claim.least}) > 1
    columns = ["case", "arms", "difference", *(["counts from"] if own else []), "p (Holm)", "over", "verdict"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, case in cases.items():
        effect, p = Effect(**case["effect"]), p_values.get((claim.id, name))
        verdict = found[name] + ("" if claim.experiment.cases[name].decides else ", does not decide")
        p_shown = "fact" if p is None else p_in_words(p).removeprefix("p ").removeprefix("= ")
        cells = [name, arms_in_words(claim.experiment, name, case), interval(effect)]
        cells += [f"{least[name]:g}"] if own else []
        lines.append(f"| {' | '.join([*cells, p_shown, counted(effect), verdict])} |")
    return lines


def _line(text: str) -> str:
    return " ".join(text.split())
