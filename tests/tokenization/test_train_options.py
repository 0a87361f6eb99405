# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`train` of every tokenizer: the arguments that all of them take, and what is said of others."""

import inspect

import pytest

from hf_lecture_models.tokenization.registry import TOKENIZERS

TEXTS = ["the cat saw the dog", "a dog"]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_every_tokenizer_takes_the_same_arguments(kind):
    train = TOKENIZERS[kind].train
    parameters = list(inspect.signature(train).parameters.values())
    assert [(one.name, one.kind.name) for one in parameters[:4]] == [
        ("texts", "POSITIONAL_OR_KEYWORD"),
        ("vocab_size", "POSITIONAL_OR_KEYWORD"),
        ("min_count", "KEYWORD_ONLY"),
        ("progress", "KEYWORD_ONLY"),
    ]
    assert [one.default for one in parameters[1:4]] == [None, 1, True]
    tokenizer = train(iter(TEXTS), 300, min_count=1, progress=False, model_max_length=9, extra_special_tokens=["<x>"])
    assert tokenizer.model_max_length == 9
    assert tokenizer.extra_special_tokens == ["<x>"]
    assert not {"min_count", "progress"} & tokenizer.init_kwargs.keys()


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_an_option_that_no_tokenizer_has_is_refused(kind):
    name = TOKENIZERS[kind].__name__
    with pytest.raises(TypeError, match=rf"{name}.train\(\) has no option min_cuont; it has vocab_size, min_count"):
        TOKENIZERS[kind].train(TEXTS, progress=False, min_cuont=2)
    with pytest.raises(ValueError, match="min_count must be at least 1, not 0"):
        TOKENIZERS[kind].train(TEXTS, progress=False, min_count=0)


def test_a_template_is_an_option_of_tokenizers_that_write_one():
    with pytest.raises(TypeError, match="ElmoTokenizer.train\\(\\) has no option template"):
        TOKENIZERS["elmo"].train(TEXTS, template="bert")
