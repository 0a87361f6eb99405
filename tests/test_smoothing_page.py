# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""docs/smoothing.md: each of its blocks prints what stands beneath it, and what its sentences say of that holds."""

from __future__ import annotations

import re

import pytest

from tests.test_readme import ROOT


@pytest.mark.slow
def test_the_page_prints_what_it_says(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "smoothing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|text)\n(.*?)```", page, flags=re.DOTALL)
    names = {}
    for index, (kind, block) in enumerate(blocks):
        if kind == "python":
            exec(compile(block, "docs/smoothing.md", "exec"), names)
            printed = capsys.readouterr().out
            promised = [text for following, text in blocks[index + 1 : index + 2] if following == "text"]
            assert printed == "".join(promised)
    models, kept = names["models"], names["kept"]
    assert max(counts[0] for counts in kept.values()) < 1 / 4
    shares = {name: names["group_words"](model, names["tokenizer"], ["of", "the"]) for name, model in models.items()}
    assert max(shares, key=lambda name: shares[name][-1].share) == "+1"
    drawn = (ROOT / "docs" / "smoothing.svg").read_text(encoding="utf-8")
    labels = re.findall(r"<!-- (0\.\d\d) -->", drawn)
    assert labels == [f"{part.share:.2f}" for parts in shares.values() for part in parts if part.share >= 0.09]
    texts = re.findall(r"<!-- (.+?) -->\s", drawn)
    assert texts[texts.index("+1") :][: len(models)] == list(models)
    measures = {
        name: names["evaluate_language_model"](model, names["tokenizer"], names["unseen"])
        for name, model in models.items()
    }
    known = {name: found["perplexity_without_unk"] for name, found in measures.items()}
    discounted = {name: found["perplexity"] for name, found in measures.items()}
    backing_off = {"Good-Turing", "Katz", "W.-B. back-off"}
    for back_off in backing_off:
        for other in set(models) - backing_off - {"+1", "+0.01"}:
            assert discounted[back_off] < discounted[other]
            assert known[other] < known[back_off]
    assert min(set(models) - backing_off, key=discounted.get) == "Pitman-Yor"
