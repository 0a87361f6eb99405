# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A small ARPA file, and what the tests of reading, writing and conversion compare it by."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from hf_lecture_models.layers.ngram_tables import NGramTables
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM

# Made by lmplz -o 3 from four short sentences, then given an <unk>, a p = 0 and a missing weight by hand.
SMALL = """\
\\data\\
ngram 1=7
ngram 2=8
ngram 3=5

\\1-grams:
-1.146128	<unk>	0
0	<s>	-0.30103
-0.90309	</s>	0
-0.6020599	the	-0.2218488
-0.7447275	cat	-0.1760913
-99	Senjō	-0.00001
-0.90309	sat

\\2-grams:
-0.3010300	<s> the	-0.1
-1.2	<s> cat	0
-0.4	the cat	-0.20412
-0.75	the sat
-0.3	cat sat	-0.1249387
-0.6	cat </s>	0
-2.5e-7	sat </s>	0
-1.5	<unk> the	-99

\\3-grams:
-0.25	<s> the cat
-0.35	the cat sat
-0.5	the cat </s>
-0.125	cat sat </s>
-0.95	<unk> the cat

\\end\\
"""


SENTENCES = [
    "",
    "the cat sat",
    "cat",
    "the the the",
    "dog cat sat the cat",
    "Senjō the cat",
    "sat sat cat Senjō sat dog",
]


def changed(tmp_path: Path, *replacements: tuple[str, str]) -> Path:
    text = SMALL
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "changed.arpa"
    path.write_text(text, encoding="utf-8")
    return path


def log10_of(model, tokenizer, sentence: str) -> float:
    ids = torch.tensor([[*tokenizer(sentence).input_ids, tokenizer.eos_token_id]])
    return model.score(ids).double().sum().item() / math.log(10)


def kenlm_model(path: Path):
    kenlm = pytest.importorskip("kenlm")
    options = kenlm.Config()
    options.show_progress = False
    options.arpa_complain = kenlm.ARPALoadComplain.NONE
    return kenlm.Model(str(path), options)


def assert_same_as_kenlm(path: Path, sentences: list[str]) -> None:
    reference = kenlm_model(path)
    model, tokenizer = NGramForCausalLM.from_arpa(path)
    for sentence in sentences:
        assert_same_log10(log10_of(model, tokenizer, sentence), reference.score(sentence), sentence)


def assert_same_log10(ours: float, kenlms: float, sentence: str) -> None:
    """To 1e-4, where p = 0 is -inf for us and -99, one summand among others, for kenlm."""
    if ours == -math.inf:
        assert kenlms < -90, sentence
    else:
        assert ours == pytest.approx(kenlms, abs=1e-4, rel=1e-5), sentence


def assert_same_tables(ours: NGramTables, others: NGramTables) -> None:
    assert ours.vocab_size == others.vocab_size
    assert ours.sizes == others.sizes
    for name in ("keys", "log10_probs", "log10_backoffs"):
        for one, other in zip(getattr(ours, name), getattr(others, name), strict=True):
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes()


def random_tables(
    rng: random.Random, words: list[str], order: int, probs: list[float], weights: list[float], share: float = 0.3
) -> NGramTables:
    """A model of any n-grams whose prefixes are in it, whether or not their other parts are."""

    def draw(values: list[float], count: int) -> np.ndarray:
        return np.array([rng.choice(values) for _ in range(count)], np.float32)

    v = len(words)
    tables = NGramTables(v, [], [draw(probs, v)], [draw(weights, v)] if order > 1 else [])
    tables.log10_probs[0][[words.index("<s>"), words.index("<pad>")]] = -np.inf
    if order > 1:
        tables.log10_backoffs[0][words.index("<pad>")] = 0
    for n in range(2, order + 1):
        prefixes = range(v - 1) if n == 2 else range(tables.sizes[-1])
        keys = [p * v + w for p in prefixes for w in range(v - 1) if words[w] != "<s>" and rng.random() < share]
        tables.keys.append(np.array(keys, np.int64))
        tables.log10_probs.append(draw(probs, len(keys)))
        if n < order:
            tables.log10_backoffs.append(draw(weights, len(keys)))
    return tables
