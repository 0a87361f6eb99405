# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture live`: one HTML file with the models as they are; what the page does not compute is refused."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from hf_lecture_models import (
    BpeTokenizer,
    NGramForCausalLM,
    RecurrentConfig,
    RecurrentForCausalLM,
    RecurrentForSequenceClassification,
    WordTokenizer,
)
from hf_lecture_models.lab.verbs import live
from hf_lecture_models.loading import load_model
from tests.cli.conftest import TEXTS


def models_of(page: Path) -> dict[str, Any]:
    """What the page's script sets as LIVE."""
    (text,) = re.findall(r"^var LIVE = JSON\.parse\((.*)\);$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return json.loads(json.loads(text))


def saved(model: Any, tokenizer: Any, folder: Path) -> Path:
    for part in (model, tokenizer):
        part.save_pretrained(folder)
    return folder


def recurrent(tokenizer: Any, **options: Any) -> RecurrentForCausalLM:
    return RecurrentForCausalLM(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8, **options))


@pytest.mark.parametrize("half", [False, True])
def test_the_page_holds_the_models(run: Any, place: Path, half: bool) -> None:
    recipe = 'train_files: [texts/tales.txt]\nname: "tales"\n'
    (place / "lstm" / "recipe.yaml").write_text(recipe, encoding="utf-8")
    names, out = [place / "trigram", place / "lstm", place / "lm.arpa"], place / "new" / "page.html"
    options = ["--title", "Cats & dogs", "--example", "the cat ", "--example", "a <b>", *["--float16"] * half]
    status, said, errors = run("live", *names, out, *options)
    assert (status, errors) == (0, "")
    assert said == f"{out}: trigram, lstm, lm.arpa; {out.stat().st_size:,} bytes; open it in a browser\n"
    assert "<title>Cats &amp; dogs</title>" in out.read_text(encoding="utf-8")
    page = models_of(out)
    assert page["examples"] == ["the cat ", "a <b>"]
    assert [one["seen"] for one in page["models"]] == ["", "tales.txt", ""]
    for name, one in zip(names, page["models"], strict=True):
        model, tokenizer = load_model(str(name))
        stored = load(base64.b64decode(one["tensors"]))
        assert stored.keys() == model.state_dict().keys()
        for key, tensor in model.state_dict().items():
            is_half = half and one["title"] == "lstm"
            assert torch.equal(stored[key], tensor.half() if is_half else tensor.to(stored[key].dtype)), key
        assert page["tokenizers"][one["tokenizer"]] == json.loads(tokenizer.backend_tokenizer.to_str())
    assert (
        run("live", place / "lstm", out)[2] == f"hf-lecture live: {out} is there already; remove it or name another\n"
    )


def refused(tmp_path: Path) -> dict[str, Path]:
    """Folders that are refused, by a pattern of what is said."""
    tokenizer = WordTokenizer.train(TEXTS, progress=False)
    pieces = BpeTokenizer.train(TEXTS, vocab_size=40, progress=False)
    spelled = WordTokenizer.train(TEXTS, unknown_words="spelled", progress=False)
    bare = WordTokenizer.train(TEXTS, add_bos_token=False, progress=False)
    trigram = NGramForCausalLM.fit(TEXTS, tokenizer, order=3, smoothing="add_alpha", progress=False)
    stupid = NGramForCausalLM.fit(TEXTS, tokenizer, order=2, smoothing="stupid_backoff", progress=False)
    classifier = RecurrentForSequenceClassification(RecurrentConfig(vocab_size=len(tokenizer), hidden_size=8))
    made = {
        "has cell_type='gru', which .*: train a model with cell_type='lstm'": (
            recurrent(tokenizer, cell_type="gru"),
            None,
        ),
        "has smoothing='stupid_backoff', which .*: its scores are no probabilities; fit with another": (stupid, None),
        "has quantisation_bits=8, which .*: take the model from before `quantise`": (trigram.quantise(8), None),
        "is a RecurrentForSequenceClassification, and the page computes n-gram, LSTM": (classifier, None),
        "is a BpeTokenizer, which the page does not read: train a model of words": (recurrent(pieces), pieces),
        "is a WordTokenizer with unknown_words='spelled', which": (recurrent(spelled), spelled),
        "puts nothing before a text, .*: set add_bos_token to true": (recurrent(bare), bare),
    }
    return {
        what: saved(model, own or tokenizer, tmp_path / str(i)) for i, (what, (model, own)) in enumerate(made.items())
    }


def test_what_the_page_does_not_compute_is_refused(run: Any, place: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    for what, folder in refused(tmp_path).items():
        status, said, errors = run("live", place / "trigram", folder, out)
        assert (status, said, errors.count("\n")) == (1, "", 1)
        assert re.search(what, errors), errors
        assert str(folder) in errors
    assert "must end in .html" in run("live", place / "trigram", tmp_path / "page")[2]
    assert "nowhere" in run("live", place / "nowhere", out)[2]
    assert not out.exists()


def test_a_page_that_would_be_too_large_is_not_written(run: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_BYTES", 2500)
    out = place / "page.html"
    _, _, errors = run("live", place / "trigram", place / "lstm", out)
    assert re.search("would have 0 MB, and at most 0 are allowed; most of it is lstm .*: set --float16, which", errors)
    assert "prune" in errors
    _, _, errors = run("live", place / "trigram", place / "lstm", out, "--float16")
    assert "float16" not in errors
    assert "most of it is lstm" in errors
    assert not out.exists()
    assert run("live", place / "trigram", out)[0] == 0
