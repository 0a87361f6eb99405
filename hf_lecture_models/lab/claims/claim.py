# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The claims of the lectures that can be measured: one YAML file each, in the folder `ledger`."""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from hf_lecture_models.io.recipe import read_yaml
from hf_lecture_models.lab.claims.rule import EXPECTATIONS, GREATER

LEDGER = Path(__file__).with_name("ledger")
_SLIDE = re.compile(r"[RY]:\d+(-\d+)?|N s\d+(-\d+)?")


@dataclass(frozen=True)
class Case:
    """Two arms that are compared under the same circumstances, such as one data set.

    Attributes:
        arms: two of them, by name: the settings that differ, or a number that the other arm is compared with. The first
            is the one for which the claim expects more.
        settings: what both arms have beside the trial's settings.
        expected: "greater", "not greater" or "equal".
        least, first_least: the smallest effect that counts, in the claim's unit, and the first one; None: the claim's.
        method: the case's own method; empty: the trial's.
        grid: values of settings that are tried for each arm on validation data; the best ones are used; empty: the
            trial's.
        decides: whether the verdict on the claim follows from this case; others show how far it reaches.
        at: the place of the case on the axis of the claim's `variable`.
    """

    arms: Mapping[str, Mapping[str, Any] | float]
    settings: Mapping[str, Any] = field(default_factory=dict)
    expected: str = GREATER
    least: float | None = None
    first_least: float | None = None
    method: str = ""
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    decides: bool = True
    at: float | None = None

    def __post_init__(self) -> None:
        if len(self.arms) != 2:
            raise ValueError(f"a case compares two arms, not {', '.join(self.arms) or 'none'}")
        if all(isinstance(arm, int | float) for arm in self.arms.values()):
            raise ValueError(f"one of the arms {' and '.join(self.arms)} must be measured, not given as a number")
        if self.expected not in EXPECTATIONS:
            raise ValueError(f"expected is {self.expected!r}; it must be one of {', '.join(EXPECTATIONS)}")


@dataclass(frozen=True)
class Trial:
    """An experiment: what is measured, with which settings, and in which cases.

    Attributes:
        method: the name of a function in `methods.METHODS`.
        settings: its settings in all cases.
        cases: by name; their names are shown.
        seeds: each arm is measured once with each of them.
        grid: that of each case which has none of its own; a number is widened to both sides in the steps 1, 3, 10, 30
            until the best one is inside for both arms, and both arms have the same trials.
    """

    method: str
    cases: Mapping[str, Case]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Lesson:
    """The sentence to remember of a claim.

    Attributes:
        verdict: the one that the sentence was written for.
        sentence: for the classroom. `{1.effect}` is the size of the effect of the first case, and `{1.first}` and
            `{1.second}` what its arms reach.
    """

    verdict: str
    sentence: str


@dataclass(frozen=True)
class Claim:
    """One sentence of a lecture that can be right or wrong.

    Attributes:
        id: the name of its file.
        sentence: what the lecture says, in our words.
        quote: a few words of the lecture that the verdict is about.
        slides: where it says so, as docs/lecture_map.md cites slides: "R:588", "N s9".
        confirmed, refuted: which results would speak for it and against it, in words.
        design: what makes the comparison fair, and what it leaves open.
        mind: what would change our mind.
        unit: what the effect is measured in.
        least: the smallest effect that counts, in this unit.
        lesson: what to remember.
        experiment: the trial on real data whose record gives the verdict.
        embedded: a small one on data that come with the package, under two minutes of CPU time.
        unlike: why the small one does not show the direction of the experiment; empty: it does.
        fact: whether no chance can change what is measured, such as a number of operations.
        every: whether the claim is about every case, so that one refutes it.
        variable: on what it depends, with the unit, where cases have places on an axis.
        first_least: the smallest effect that counted in a first version of the test, after whose measurement `least`
            was set; None: `least` is the first.
    """

    id: str
    sentence: str
    quote: str
    slides: tuple[str, ...]
    confirmed: str
    refuted: str
    design: str
    mind: str
    unit: str
    least: float
    lesson: Lesson
    experiment: Trial
    embedded: Trial
    unlike: str = ""
    fact: bool = False
    every: bool = False
    variable: str = ""
    first_least: float | None = None


@cache
def load_claims() -> dict[str, Claim]:
    """Return all claims by their names, in the lectures' order.

    >>> load_claims()["pooling"].slides
    ('R:588',)
    """
    found = [read_claim(path) for path in LEDGER.glob("*.yaml")]
    return {claim.id: claim for claim in sorted(found, key=lambda claim: (_place(claim.slides[0]), claim.id))}


def find_claim(name: str) -> Claim:
    """Return the claim of this name.

    Raises:
        ValueError: there is none; the message has the most similar names.
    """
    claims = load_claims()
    if name not in claims:
        near = difflib.get_close_matches(name, claims, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`hf-lecture claim` lists them"
        raise ValueError(f"there is no claim {name!r}; {hint}")
    return claims[name]


def read_claim(path: Path) -> Claim:
    """Read a claim from its file.

    Raises:
        ValueError: a field is missing, unknown or impossible; the message names the file.
    """
    try:
        values = read_yaml(path.read_text(encoding="utf-8"))
        values["experiment"], values["embedded"] = (_trial(values[name]) for name in ("experiment", "embedded"))
        values["slides"], values["lesson"] = tuple(values["slides"]), Lesson(**values["lesson"])
        claim = Claim(id=path.stem, **values)
        if wrong := [slide for slide in claim.slides if not _SLIDE.fullmatch(slide)]:
            raise ValueError(f"{wrong[0]!r} is no slide, such as R:588, N s9 or Y:193-201")
        if not 0 < claim.least < math.inf:
            raise ValueError(f"least is {claim.least}; it must be above 0")
        return claim
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _trial(values: Mapping[str, Any]) -> Trial:
    if unknown := values.keys() - {one.name for one in fields(Trial)}:
        raise ValueError(f"a trial has no field {', '.join(sorted(unknown))}")
    cases = {name: Case(**case) for name, case in values["cases"].items()}
    return Trial(**{**values, "cases": cases, "seeds": tuple(values.get("seeds", (0,)))})


def _place(slide: str) -> tuple[int, int]:
    """Return a key that sorts slides by lecture and line.

    >>> sorted(["Y:245", "N s9", "R:588", "R:43"], key=_place)
    ['R:43', 'R:588', 'N s9', 'Y:245']
    """
    return "RNY".index(slide[0]), int(re.findall(r"\d+", slide)[0])
