# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""sentencepiece on the same vocabulary: the same best segmentations, n-best lists and frequencies of samples."""

from __future__ import annotations

import io
import math
from collections import Counter
from typing import Any

import pytest

from hf_lecture_models import UnigramTokenizer
from tests.interop.installed import need

need("sentencepiece")

TEXTS = [
    "the newer tower is lower than the lowest tower in town",
    "wide and wider words widen the widest world",
    "new news renews the newest of the oldest words",
    "a low slow flow of snow is now below the towns",
] * 5
SPACE = "\u2581"


@pytest.fixture(scope="module")
def both() -> tuple[Any, UnigramTokenizer]:
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=model,
        vocab_size=38,
        character_coverage=1.0,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = range(3, theirs.get_piece_size())  # after <unk>, <s> and </s>
    scores = {theirs.id_to_piece(i).replace(SPACE, " "): theirs.get_score(i) for i in pieces}
    return theirs, UnigramTokenizer.from_scores(scores)


def words(pieces: list[str]) -> tuple[str, ...]:
    return tuple(piece.replace(SPACE, " ") for piece in pieces)


def test_best_segmentations(both: tuple[Any, UnigramTokenizer]) -> None:
    theirs, ours = both
    for text in [*TEXTS[:4], "renewed  snowflow towers", "wworldwordswid"]:
        pieces, best = words(theirs.encode(text, out_type=str)), ours.nbest(text, 1)[0]
        # Other than ours, sentencepiece takes the first one of equally probable segmentations.
        assert sum(map(ours.scores.__getitem__, pieces)) == pytest.approx(best.log_prob, abs=1e-4)
        assert pieces == tuple(ours.tokenize(text))


def test_n_best_lists(both: tuple[Any, UnigramTokenizer]) -> None:
    theirs, ours = both
    for text in ("newest towers", "widen"):
        rows = theirs.nbest_encode(text, nbest_size=20, out_type=str)
        found = ours.nbest(text, 20)
        expected = [sum(map(ours.scores.__getitem__, words(row))) for row in rows]
        assert [one.log_prob for one in found] == pytest.approx(expected, abs=1e-4)
        assert {one.tokens for one in found[:10]} <= set(map(words, rows))


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_samples(both: tuple[Any, UnigramTokenizer], alpha: float) -> None:
    theirs, ours = both
    number, text = 4_000, "lowest"
    options: dict[str, Any] = {"enable_sampling": True, "alpha": alpha, "nbest_size": -1, "out_type": str}
    expected = Counter(words(theirs.encode(text, **options)) for _ in range(number))
    found = Counter(one.tokens for one in ours.sample(text, alpha, number, seed=0))
    for tokens in expected | found:
        share = (expected[tokens] + found[tokens]) / (2 * number)
        bound = 5 * math.sqrt(2 * share * (1 - share) / number) + 1e-9
        assert abs(expected[tokens] - found[tokens]) / number <= bound
