# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The small experiment of each claim: on data of the package, and in the direction of the record unless it says why."""

import pytest

pytest.importorskip("scipy")

from hf_lecture_models.io.recipe import read_yaml
from hf_lecture_models.lab.claims.claim import LEDGER, find_claim, load_claims
from hf_lecture_models.lab.claims.methods import METHODS
from hf_lecture_models.lab.claims.report import recorded_cases, same_direction
from hf_lecture_models.lab.claims.trial import run_trial

CARRIED = {None, "python", "copying"}
"""Texts that come with the package: those of a recipe, Python's language reference, or drawn ones."""


@pytest.mark.parametrize("name", load_claims())
def test_the_small_experiment_is_written_out_and_needs_no_other_data(name):
    _, start, text = (LEDGER / f"{name}.yaml").read_text(encoding="utf-8").partition("\nembedded:")
    trial = read_yaml(start + text)["embedded"]  # an alias of the large experiment would be unknown here
    settings = [trial.get("settings", {}), *(case.get("settings", {}) for case in trial["cases"].values())]
    assert all(one.get("texts") in CARRIED for one in settings)
    assert not any("grid" in one for one in (trial, *trial["cases"].values()))


def test_the_words_of_the_lecture_are_few_and_the_reasons_are_sentences():
    for name, claim in load_claims().items():
        assert 2 <= len(claim.quote.split()) <= 8, name
        assert len(claim.mind.split()) >= 10, name
        assert not claim.mind.rstrip().endswith("."), name
        assert not claim.unlike or claim.unlike.strip().endswith("."), name


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", load_claims())
def test_the_small_experiment_shows_the_direction_of_the_record_or_says_why_not(name, tmp_path):
    pytest.importorskip("accelerate")
    claim = find_claim(name)
    found = run_trial(claim.embedded, METHODS, tmp_path, fact=claim.fact)
    assert list(found["cases"]) == list(claim.embedded.cases)
    if not recorded_cases(claim):
        pytest.skip(f"{name} is not measured yet")
    directions = same_direction(claim, found["cases"])
    assert directions
    assert claim.unlike or all(directions.values()), directions
