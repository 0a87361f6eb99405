# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The names of the classes in every configuration: whole, matched, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stand_in import EncoderConfig

NAMES = {0: "negative", 1: "neutral", 2: "positive"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_labels": 0}, "at least one"),
        ({"id2label": {}}, "at least one"),
        ({"id2label": {1: "a", 2: "b"}}, r"classes \[1, 2\]; it must name 0, 1, 2"),
        (
            {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 1, "b": 0}},
            "gives 'a' the class 1, which id2label calls 'b'",
        ),
        ({"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "c": 2}}, "'c' the class 2, which id2label calls None"),
        ({"problem_type": "classification"}, "must be one of None, 'regression'"),
        ({"num_label": 3}, "'num_label'; did you mean 'num_labels'"),
        ({"id2lable": NAMES}, "did you mean 'id2label'"),
    ],
)
def test_contradictory_labels_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**fields)


def test_labels_can_be_given_in_any_way(tmp_path: Path) -> None:
    """By number; by names, as JSON has them too; with numbers by name; and two classes of one name, as ImageNet has."""
    assert EncoderConfig(num_labels=3).id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    numbers = {name: number for number, name in NAMES.items()}
    for fields in ({"id2label": NAMES}, {"id2label": {str(n): name for n, name in NAMES.items()}, "label2id": numbers}):
        config = EncoderConfig(**fields)
        assert (config.num_labels, config.id2label, config.label2id) == (3, NAMES, numbers)
        config.save_pretrained(tmp_path)
        loaded = EncoderConfig.from_pretrained(tmp_path)
        assert (loaded.num_labels, loaded.id2label, loaded.label2id) == (3, NAMES, numbers)
    cranes = EncoderConfig(id2label={0: "crane", 1: "crane"}, label2id={"crane": 1})
    assert cranes.num_labels == 2


def test_numbers_follow_new_names(tmp_path: Path) -> None:
    config = EncoderConfig(num_labels=2)
    config.id2label = NAMES
    assert config.label2id == {"negative": 0, "neutral": 1, "positive": 2}
    config.num_labels = 4
    assert config.label2id == {f"LABEL_{number}": number for number in range(4)}
    with pytest.raises(ValueError, match="id2label"):
        config.id2label = {1: "a"}
    config.save_pretrained(tmp_path)
    renamed = EncoderConfig.from_pretrained(tmp_path, id2label=dict(enumerate("abcd")))
    assert renamed.label2id == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert EncoderConfig.from_pretrained(tmp_path, num_labels=5).num_labels == 5
