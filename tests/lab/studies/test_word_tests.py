# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Similarities and analogies of words, against gensim and scipy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from hf_lecture_models import Word2VecConfig, Word2VecModel, WordTokenizer
from hf_lecture_models.lab.studies.word_tests import (
    read_analogies,
    read_word_pairs,
    solve_analogy,
    word_analogies,
    word_similarity,
)

WORDS = [f"w{number}" for number in range(12)]


@pytest.fixture
def model() -> Any:
    torch.manual_seed(0)
    config = Word2VecConfig(
        vocab_size=16, hidden_size=3, unk_token_id=0, bos_token_id=13, eos_token_id=14, pad_token_id=15
    )
    model = Word2VecModel(config)
    with torch.no_grad():
        model.embed_tokens.weight[1:13] = torch.randn(12, 3).round(decimals=1)
    return model


TOKENIZER = WordTokenizer.from_words(WORDS)


def test_gensim_finds_the_same(model: Any, tmp_path: Path) -> None:
    """Words outside of the vocabulary are left out alike; equal numbers share their rank."""
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    generator = torch.Generator().manual_seed(1)
    drawn = torch.randint(14, (300, 4), generator=generator).tolist()
    rows = [[f"w{number}" for number in row] for row in drawn if len(set(row)) == 4]
    (tmp_path / "pairs.tsv").write_text(
        "word1\tword2\tscore\n" + "".join(f"{a}\t{b}\t{int(c[1:]) % 5}\n" for a, b, c, _ in rows)
    )
    (tmp_path / "questions.txt").write_text(": one\n" + "".join(f"{' '.join(row)}\n" for row in rows))
    model.save_word2vec_format(tmp_path / "v.bin", TOKENIZER)
    theirs = keyed.load_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    pairs, sections = read_word_pairs(tmp_path / "pairs.tsv"), read_analogies(tmp_path / "questions.txt")
    ours = word_similarity(model, TOKENIZER, pairs)
    _, spearman, unknown = theirs.evaluate_word_pairs(str(tmp_path / "pairs.tsv"), case_insensitive=False)
    assert ours.spearman == pytest.approx(spearman.statistic, abs=1e-6)
    assert ours.unknown / len(pairs) * 100 == pytest.approx(unknown)
    accuracy, found = theirs.evaluate_word_analogies(str(tmp_path / "questions.txt"), case_insensitive=False)
    result = word_analogies(model, TOKENIZER, sections)["total"]
    assert (result.right, result.asked) == (
        len(found[0]["correct"]),
        len(found[0]["correct"]) + len(found[0]["incorrect"]),
    )
    assert result.accuracy == pytest.approx(accuracy)
    assert 0 < result.right < result.asked < len(rows)
    a, b, c = (f"w{number}" for number in (1, 2, 3))
    expected = theirs.most_similar(positive=[b, c], negative=[a], topn=5)
    answers = solve_analogy(model, TOKENIZER, [a, b, c], k=5)
    assert [answer.word for answer in answers] == [word for word, _ in expected]
    assert [answer.similarity for answer in answers] == pytest.approx([cosine for _, cosine in expected], abs=1e-6)


def test_sections_and_nothing_known(model: Any) -> None:
    sections = {"a": [("w1", "w2", "w3", "w4")], "b": [("w1", "zebra", "w2", "w3"), ("<s>", "w1", "w2", "w3")]}
    results = word_analogies(model, TOKENIZER, sections)
    assert (results["a"].asked, results["b"].asked, results["b"].unknown, results["total"].asked) == (1, 0, 2, 1)
    assert results["b"].accuracy != results["b"].accuracy
    assert word_similarity(model, TOKENIZER, [("zebra", "w1", 1.0)]).spearman != 0


def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path: Path) -> None:
    pairs, questions = tmp_path / "pairs.tsv", tmp_path / "questions.txt"
    pairs.write_text("\ufeffcat\tdog\t7.5\n", encoding="utf-8")
    assert read_word_pairs(pairs) == [("cat", "dog", 7.5)]
    questions.write_text("\ufeff: capitals\nParis France Rome Italy\n", encoding="utf-8")
    assert read_analogies(questions) == {"capitals": [("Paris", "France", "Rome", "Italy")]}


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("word1\tword2\tscore\na\tb\t1\na b 2\n")
    with pytest.raises(ValueError, match="line 3: .* is not two words and a number"):
        read_word_pairs(tmp_path / "pairs")
    (tmp_path / "questions").write_text(": one\na b c d\na b c\n")
    with pytest.raises(ValueError, match="line 3: 3 words, but a question has four"):
        read_analogies(tmp_path / "questions")
