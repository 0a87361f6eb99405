# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Synthetic texts follow their rules, by checks that do not know how they are drawn."""

from __future__ import annotations

import statistics
from itertools import pairwise

import numpy as np
import pytest

from hf_lecture_models.tasks.language_models import synthetic_texts
from hf_lecture_models.tasks.language_models.recall_rows import RecallRowsRecipe, read_recall
from hf_lecture_models.tasks.language_models.synthetic_texts import GENERATORS, TextShape, synthetic_rows

SHAPE = TextShape(length=40, words=24, pairs=5, depth=3)


def drawn(kind: str, number: int = 60, shape: TextShape = SHAPE) -> list[tuple[list[str], list[int]]]:
    rows = synthetic_rows(kind, number, 3, shape)
    assert len(rows) == number
    return [(row["text"].split(" "), row["answers"]) for row in rows]


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_seed_gives_the_same_texts_and_another_one_others(kind: str) -> None:
    first, again, other = (synthetic_rows(kind, 20, seed, SHAPE).columns for seed in (1, 1, 2))
    assert first == again
    assert first["text"] != other["text"]
    assert len({*first["text"]}) == 20


def test_each_key_is_asked_for_once_and_its_value_follows() -> None:
    for words, answers in drawn("associative_recall"):
        assert len(words) == 40
        value_of = dict(zip(words[:10:2], words[1:10:2], strict=True))
        assert len(value_of) == len({*value_of.values()}) == 5
        assert sorted(words[place - 1] for place in answers) == sorted(value_of)
        assert all(words[place] == value_of[words[place - 1]] for place in answers)
        rest = {*range(10, 40)} - {*answers} - {place - 1 for place in answers}
        assert {words[place] for place in rest} == {"."}
        assert all(1 <= int(key[1:]) < 12 <= int(value[1:]) < 24 for key, value in value_of.items())


def test_keys_are_asked_for_early_as_in_zoology() -> None:
    """With one pair, the place of its question has the density x^(0.01 - 1), x = 1, 2, ..."""
    shape = TextShape(length=18, words=8, pairs=1)
    places = [(answers[0] - 3) // 2 for _, answers in drawn("associative_recall", 4000, shape)]
    counts = np.bincount(places, minlength=8) / len(places)
    density = np.arange(1, 9) ** -0.99
    np.testing.assert_allclose(counts, density / density.sum(), atol=0.025)  # 3 standard errors


def test_what_is_copied_stands_before() -> None:
    for words, answers in drawn("copying"):
        assert words[19] == "|"
        assert words[:19] == words[20:]
        assert answers == list(range(20, 39))


def test_induction_finds_the_word_by_the_one_before_and_not_by_its_distance() -> None:
    distances = set()
    for words, answers in drawn("induction"):
        first = words[:20]
        assert len({*first}) == 20
        assert sorted(words[20:]) == sorted(first)
        follows = dict(pairwise(first))
        assert all(follows[words[place - 1]] == words[place] for place in answers)
        # The first word cannot be known, nor the one behind the last.
        assert {*range(20, 40)} - {*answers} <= {20, 20 + (20 - first.index(words[20])) % 20}
        distances.add(answers[0] - first.index(words[answers[0]]))
    assert len(distances) > 10


def value_of(tokens: list[str]) -> int:
    """The value of a list, by a stack."""
    stack: list[list[int | str]] = [[]]
    for token in tokens:
        if token.startswith("["):
            stack.append([token[1:]])
        elif token == "]":
            operator, *values = stack.pop()
            numbers = [int(value) for value in values]
            stack[-1].append(
                {
                    "MAX": max(numbers),
                    "MIN": min(numbers),
                    "MED": int(np.median(numbers)),
                    "SM": sum(numbers) % 10,
                }[str(operator)]
            )
        else:
            stack[-1].append(int(token))
    return int(stack[0][0])


def test_lists_have_the_value_that_a_stack_computes() -> None:
    depths, arguments = set(), []
    for words, answers in drawn("list_operations", 300):
        assert 10 <= len(words) <= 40
        assert words[-2] == "="
        assert answers == [len(words) - 1]
        assert int(words[-1]) == value_of(words[:-2])
        open_lists = np.cumsum([word.startswith("[") for word in words]) - np.cumsum([word == "]" for word in words])
        depths.add(int(open_lists.max()))
        arguments.append(words)
    assert depths == {1, 2, 3}
    assert {word for words in arguments for word in words if word.startswith("[")} == {"[MIN", "[MAX", "[MED", "[SM"}


def test_three_quarters_of_the_arguments_are_digits() -> None:
    """In lists of any length; a list as long as asked for is one of many."""
    from hf_lecture_models.tasks.language_models.synthetic_texts import _draw_list

    generator, shares = np.random.default_rng(0), []
    for _ in range(400):
        words, _ = _draw_list(generator, depth=1)
        lists = sum(word.startswith("[") for word in words) - 1
        digits_of_root, level = 0, 0
        for word in words:
            level += word.startswith("[") - (word == "]")
            digits_of_root += level == 1 and word.isdigit()
        shares.append(digits_of_root / (digits_of_root + lists))
    assert statistics.fmean(shares) == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        ("associative_recall", TextShape(15, 40, 4), "4 pairs need texts of at least 16 words"),
        ("associative_recall", TextShape(32, 9, 4), "and 10 different words; there are 32 and 9"),
        ("copying", TextShape(2, 4), "texts of at least 3 words"),
        ("induction", TextShape(20, 9), "half of them different, not 20 words of 9"),
        ("list_operations", TextShape(5), "none has 2 to 5 words; deeper lists are longer, and no list"),
        ("list_operation", TextShape(50), "there are no texts of 'list_operation', only of associative_recall, "),
    ],
)
def test_texts_that_cannot_be_drawn_are_refused(
    kind: str, shape: TextShape, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic_texts, "_MOST_TRIES", 1000)
    with pytest.raises(ValueError, match=message):
        synthetic_rows(kind, 1, 0, shape)


def test_parts_have_other_texts_and_every_number_of_pairs() -> None:
    recipe = RecallRowsRecipe(length=24, pairs=[1, 3], train_size=5, validation_size=4, test_size=0)
    train, validation = (read_recall(recipe, part) for part in ("train", "validation"))
    assert train is not None
    assert validation is not None
    assert [len(answers) for answers in train.columns["answers"]] == [1, 1, 1, 3, 3]
    assert [len(answers) for answers in validation.columns["answers"]] == [1, 1, 3, 3]
    assert {*train.columns["text"]}.isdisjoint(validation.columns["text"])
    assert read_recall(recipe, "test") is None
    assert read_recall(recipe, "predict") is None
