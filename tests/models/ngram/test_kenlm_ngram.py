# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Modified Kneser-Ney beside KenLM: its recorded figures, and its programs and module where they are installed."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import warnings

import numpy as np
import pytest
import torch

from hf_lecture_models.models.ngram.counting_ngram import make_stream
from hf_lecture_models.models.ngram.modeling_ngram import NGramForCausalLM
from hf_lecture_models.models.ngram.smoothing import interpolated
from hf_lecture_models.tokenization.corpus import encode_corpus, read_texts
from hf_lecture_models.tokenization.word import WordTokenizer


def zipf_texts(seed, count, words=40):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1)
    return [
        " ".join(f"w{i}" for i in rng.choice(words, size=rng.integers(0, 12), p=weights / weights.sum()))
        for _ in range(count)
    ]


def stream(model, tokenizer, texts):
    corpus = encode_corpus(tokenizer, texts)
    return torch.from_numpy(make_stream(corpus.ids, corpus.lengths, model.config).words)[None]


def perplexity(scores):
    return math.exp(-scores.double().mean().item())


def run_lmplz(folder, texts, order, arguments):
    """Write its model of the texts to lm.arpa in the folder."""
    lmplz = shutil.which("lmplz")
    if lmplz is None:
        pytest.skip("lmplz is not on the PATH")
    (folder / "corpus.txt").write_text("".join(f"{text}\n" for text in texts))
    command = [lmplz, "-o", str(order), "-S", "5%", "--discount_fallback", "-T", str(folder), *arguments]
    with open(folder / "corpus.txt") as source, open(folder / "lm.arpa", "w") as target:
        subprocess.run(command, stdin=source, stdout=target, stderr=subprocess.PIPE, check=True)


@pytest.mark.parametrize(
    "arguments",
    [[], ["--prune", "0", "1", "2"], ["--prune", "0", "0", "1"], ["--prune", "0", "2"], ["--prune", "140", "140"]],
)
@pytest.mark.parametrize("order", [2, 3, 4])
def test_equals_lmplz(tmp_path, order, arguments):
    kenlm = pytest.importorskip("kenlm", reason="the kenlm module is not installed")
    if len(arguments) > order + 1:
        arguments = arguments[: order + 1]
    texts, other = zipf_texts(0, 3000), zipf_texts(1, 200, words=45)  # w40 to w44 are unknown words
    run_lmplz(tmp_path, texts, order, arguments)
    theirs = kenlm.Model(str(tmp_path / "lm.arpa"))

    tokenizer = WordTokenizer.train(texts, progress=False)
    prune = [int(value) for value in arguments[1:]] or None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*too few, or artificial")
        model = NGramForCausalLM.fit(texts, tokenizer, order=order, prune=prune, progress=False)
    tokenizer = model.own_tokenizer
    assert (len(tokenizer) < 44) == bool(prune and prune[0])
    # <unk> and <s> are in both tables; <pad> is in ours alone.
    counts = [line for line in (tmp_path / "lm.arpa").read_text().splitlines() if line.startswith("ngram ")]
    assert counts == [f"ngram {n}={size - (n == 1)}" for n, size in enumerate(model.config.table_sizes, 1)]
    for text in other:
        expected = [score * math.log(10) for score, _, _ in theirs.full_scores(text)]
        scores = model.score(stream(model, tokenizer, [text]))[0, 1:].tolist()
        assert scores == pytest.approx(expected, abs=1e-5)


@pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
@pytest.mark.parametrize("prune", [[], [0, 2]])
@pytest.mark.parametrize("seed", [1, 5])
def test_of_repeated_texts_lmplz_differs_by_one_count(tmp_path, monkeypatch, seed, prune):
    """In its counts of counts, the last new word has its raw count: with that, the tables are equal."""
    texts = zipf_texts(seed, 100) * 3
    run_lmplz(tmp_path, texts, 2, ["--prune", *map(str, prune)] if prune else [])
    theirs, tokenizer = NGramForCausalLM.from_arpa(tmp_path / "lm.arpa")

    def fit():
        return NGramForCausalLM.fit(texts, tokenizer, order=2, prune=prune or None, progress=False)

    def distance(ours):
        pairs = zip(ours.named_buffers(), theirs.buffers(), strict=True)
        return max(float((own - other).nan_to_num(0).abs().max()) for (name, own), other in pairs if "log" in name)

    as_documented = fit()
    words = [word for text in texts for word in text.split()]
    last = list(dict.fromkeys(words))[-1]
    whole, place = interpolated.small_counts, tokenizer.convert_tokens_to_ids(last)

    def with_raw_count(used):
        if len(used) == len(tokenizer):
            used = used.copy()
            used[place] = words.count(last)
        return whole(used)

    monkeypatch.setattr(interpolated, "small_counts", with_raw_count)
    assert distance(as_documented) > 1e-3
    assert distance(fit()) < 1e-5


@pytest.mark.filterwarnings("ignore:.*too few, or artificial text")
def test_unknown_words_equal_kenlm(tmp_path):
    """Both perplexities, of the same tables: with unknown words, and over the known ones only."""
    kenlm = pytest.importorskip("kenlm", reason="the kenlm module is not installed")
    texts, other = zipf_texts(0, 500), zipf_texts(1, 200, words=60)
    tokenizer = WordTokenizer.train(texts, progress=False)
    model = NGramForCausalLM.fit(texts, tokenizer, order=3, progress=False)
    model.save_arpa(tmp_path / "lm.arpa", tokenizer)
    theirs = [result for text in other for result in kenlm.Model(str(tmp_path / "lm.arpa")).full_scores(text)]

    ids = stream(model, tokenizer, other)
    event = ids[0] != tokenizer.bos_token_id
    known = ids[0] != tokenizer.unk_token_id
    scores = model.score(ids)[0]
    assert [bool(unknown) for _, _, unknown in theirs] == (~known[event]).tolist()
    assert any(unknown for _, _, unknown in theirs)
    expected = 10 ** -np.mean([score for score, _, _ in theirs])
    without = 10 ** -np.mean([score for score, _, unknown in theirs if not unknown])
    assert perplexity(scores[event]) == pytest.approx(expected, rel=1e-5)
    assert perplexity(scores[event & known]) == pytest.approx(without, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("order", [3, 5])
def test_wikitext_2(shared_data, order):
    """The recorded perplexities to 4 digits, the number of n-grams and the discounts."""
    recorded = json.loads((shared_data.parent / "reference" / "kenlm.json").read_text())

    def texts(split):
        return (text.replace("<unk>", "<UNKNOWN>") for text in read_texts(shared_data / "wikitext-2" / f"{split}.txt"))

    tokenizer = WordTokenizer.train(texts("train"), progress=False)
    model = NGramForCausalLM.fit(texts("train"), tokenizer, order=order, progress=False)
    assert [model.config.table_sizes[0] - 1, *model.config.table_sizes[1:]] == recorded["ngrams"][str(order)]
    for n, discounts in recorded[f"train_discounts_order_{order}"].items():
        # lmplz takes the last n-gram of each lower order with its raw count into the counts of counts: here one word of
        # 33280 counts 3 for 2, which is seen from the fourth digit on.
        assert model.config.discounts[int(n) - 1] == pytest.approx(discounts, rel=1e-3 if n == "1" else 1e-5)
    for split in ("valid", "test"):
        ids = stream(model, tokenizer, texts(split))
        scores = model.score(ids)[0][ids[0] != tokenizer.bos_token_id]
        assert len(scores) == recorded["tokens"][split]
        assert f"{perplexity(scores):.4g}" == f"{recorded['perplexity'][str(order)][split]:.4g}"
