# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Which rows are held out: their number, their classes, and what stays together."""

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_lecture_models.data.holdout import (
    HeldOut,
    SplitKeys,
    as_key,
    draw_lines,
    draw_rows,
    in_tenths,
    read_split,
    rows_together,
    shared_values,
)

LABELS = st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=200)
SHARES = st.sampled_from([0.05, 0.1, 0.2, 0.5])


def by_labels(labels: Sequence[str], **rules: Sequence[Hashable]) -> SplitKeys:
    return SplitKeys(rules, labels, "label", [[label] for label in labels])


@given(LABELS, SHARES)
def test_the_share_of_each_label_and_of_all_rows_is_that_wanted(labels: list[str], share: float) -> None:
    number = max(1, round(share * len(labels)))
    chosen = draw_rows(number, len(labels), by_labels(labels))
    assert chosen == sorted({*chosen})
    assert {*chosen} <= {*range(len(labels))}
    rows, drawn = Counter(labels), Counter(labels[row] for row in chosen)
    # Every label keeps a row to train on, so that labels of few rows may leave fewer to choose from.
    assert len(chosen) == min(number, len(labels) - len(rows))
    assert all(drawn[label] < of for label, of in rows.items())
    if min(rows.values()) >= 2 / share:
        assert all(abs(drawn[label] - share * of) <= 1.5 for label, of in rows.items())
    assert draw_rows(number, len(labels), by_labels(labels)) == chosen


@given(LABELS, st.lists(st.integers(0, 60), min_size=200, max_size=200), SHARES)
def test_equal_texts_and_documents_are_on_one_side(labels: list[str], numbers: list[int], share: float) -> None:
    texts = [str(number) for number in numbers[: len(labels)]]
    documents = [number // 3 if number < 20 else None for number in reversed(numbers)][: len(labels)]
    number = max(1, round(share * len(labels)))
    chosen = {*draw_rows(number, len(labels), by_labels(labels, text=texts, document=documents))}
    kept = {*range(len(labels))} - chosen
    for values in (texts, documents):
        assert not {values[row] for row in chosen} & {values[row] for row in kept} - {None}
    assert {labels[row] for row in kept} == {*labels}
    largest = max(map(len, rows_together(len(labels), [texts, documents])))
    assert len(chosen) <= max(number + largest / 2, len(labels) / 2)


@given(st.integers(1, 3000), SHARES)
def test_lines_of_running_text_are_drawn_in_stretches(length: int, share: float) -> None:
    chosen = draw_lines(share, length)
    assert chosen == sorted({*chosen})
    assert 0 <= chosen[0] <= chosen[-1] < length
    if length >= 20:
        assert abs(len(chosen) - share * length) <= max(1, share * length) / 2 + 1
        starts = [line for line in chosen if line - 1 not in chosen]
        assert len(starts) <= len(chosen) // (length // 100 if length >= 1000 else 1)


def test_the_choice_stays_the_same_for_good() -> None:
    """Saved runs go on with it, and several seeds and machines share it."""
    labels = ["good"] * 30 + ["bad"] * 10
    assert draw_rows(4, 40, by_labels(labels)) == [3, 15, 25, 35]
    starts = (250, 350, 400, 460, 520, 560, 700, 710, 750, 970)
    assert draw_lines(0.1, 1000) == [line for start in starts for line in range(start, start + 10)]


def test_rows_that_all_stay_together_are_not_held_out() -> None:
    assert draw_rows(3, 30, SplitKeys({"document": ["one"] * 30})) == []
    # Of three documents of equal length the share is a third, which is nearest to a tenth.
    thirds = draw_rows(3, 30, SplitKeys({"document": [row // 10 for row in range(30)]}))
    assert thirds in ([*range(10)], [*range(10, 20)], [*range(20, 30)])
    assert draw_rows(3, 30, SplitKeys(labels=[[row] for row in range(30)])) == []
    assert draw_rows(3, 30, SplitKeys(to_train=range(1, 30))) == [0]


def test_rows_with_a_value_in_common_stay_together_through_others() -> None:
    texts, documents = ["a", "b", "a", "c", "d"], [None, 1, 1, None, None]
    assert rows_together(5, [texts, documents]) == [[0, 1, 2], [3], [4]]


def test_values_are_compared_without_blanks_at_their_ends() -> None:
    assert as_key(" a b\n") == as_key("a b") != as_key("a  b")
    assert as_key(["a ", "b"]) == as_key(("a", "b"))
    assert list(shared_values([as_key(" a"), as_key("b"), None], map(as_key, ["a", "c", None]))) == [0]
    assert in_tenths([float(number) for number in range(20)]) == [number // 2 for number in range(20)]


def test_the_split_is_read_as_it_was_written(tmp_path: Path) -> None:
    held_out = HeldOut(40, [3, 17], [("mine.csv", 30), ("more.csv", 10)], "label", ["text"])
    held_out.save_pretrained(tmp_path)
    assert read_split(tmp_path) == held_out
    (tmp_path / "split.json").write_text('{"rows": 40}')
    with pytest.raises(ValueError, match=r"split\.json is damaged \(KeyError: 'sources'\); restore it"):
        read_split(tmp_path)
    (tmp_path / "split.json").unlink()
    with pytest.raises(FileNotFoundError, match="the run held no rows out"):
        read_split(tmp_path)
