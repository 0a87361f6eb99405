# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""What other code asks of models: each question has a model of ours that answers it, and somebody who asks."""

import re
from pathlib import Path

import pytest
from transformers import CONFIG_MAPPING, GPT2Config, GPT2LMHeadModel, PreTrainedModel

import hf_lecture_models
from hf_lecture_models.base import traits
from hf_lecture_models.base.traits import trait

PACKAGE = Path(hf_lecture_models.__file__).parent
CLASSES = [getattr(hf_lecture_models, name) for name in hf_lecture_models.__all__]
CONFIGURATIONS = [value for value in CLASSES if value in CONFIG_MAPPING._extra_content.values()]
MODELS = [value for value in CLASSES if isinstance(value, type) and issubclass(value, PreTrainedModel)]


def test_each_question_is_answered_by_a_model_and_asked():
    def declares(owner: type, name: str) -> bool:
        return any(name in {**vars(base), **vars(base).get("__annotations__", {})} for base in owner.__mro__)

    source = "".join(
        path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != Path(traits.__file__).name
    )
    for names, owners in ((traits._OF_CONFIGURATION, CONFIGURATIONS), (traits._OF_MODEL, MODELS)):
        for name in names:
            assert f'"{name}"' in source, name
            assert any(declares(owner, name) for owner in owners), name
    asked = set(re.findall(r'\btrait\([^()]+, "(\w+)"\)', source))
    assert asked <= traits._OF_CONFIGURATION.keys() | traits._OF_MODEL.keys()


def test_models_that_do_not_say_have_the_default():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=9, n_embd=4, n_layer=1, n_head=2, n_positions=8))
    assert [trait(model, name) for name in ("max_position_embeddings", "num_attention_heads")] == [8, 2]
    assert [trait(model, name) for name in ("score", "order", "is_distribution")] == [None, None, True]
    with pytest.raises(KeyError):
        trait(model, "ordre")
