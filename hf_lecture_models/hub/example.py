# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A text that a model can read, for the page of the Hub that offers to try it.

It is made by the model, and not taken from its training text: that may be private, and a card is public. A language
model writes it, greedily, so that the same model gives the same text. For the other models with a vocabulary of words
it is the first words of the vocabulary, the most frequent ones, unless the model knows the sentences of `metadata`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from tokenizers.models import WordLevel

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import input_limit

_WORDS, _NEW_TOKENS, _LONGEST = 6, 12, 80


def example_text(model: Any, processor: Any, sentences: Sequence[str]) -> str | None:
    """Return the beginning of what a language model writes, or a model's first words; None where both are impossible.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["a cat sat on the mat", "a cat sat"]
    >>> tokenizer = WordTokenizer.train(texts, progress=False)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="add_alpha", progress=False)
    >>> example_text(model, tokenizer, [])
    'a cat sat on the mat'

    Args:
        model: a model of this package, or of transformers.
        processor: its tokenizer, or the processor that holds it; None and image processors give None.
        sentences: texts to offer instead of the first words; a model that knows all of their words gets None.
    """
    tokenizer = getattr(processor, "tokenizer", processor)
    if model.main_input_name != "input_ids" or not hasattr(tokenizer, "get_vocab"):
        return None
    if model.can_generate() and not model.config.is_encoder_decoder:
        return _written(model, tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(getattr(backend, "model", None), WordLevel):
        return None
    known = tokenizer.get_vocab()
    if sentences and all(known.keys() >= _words_of(backend, text) for text in sentences):
        return None
    words = [word for word in sorted(known, key=known.__getitem__) if word.isalpha()]
    return " ".join(words[:_WORDS]) or None


def _words_of(backend: Any, text: str) -> set[str]:
    normalized = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
    return {word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normalized)}


def _written(model: Any, tokenizer: Any) -> str | None:
    """Return the first words of a greedy continuation of a text's beginning; None for a model without a beginning."""
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    longest = input_limit(model) or _NEW_TOKENS + 1
    if start is None or longest < 2:
        return None
    ids = torch.tensor([[start]], device=model.device)
    special = [id_ for id_ in tokenizer.all_special_ids if id_ != tokenizer.eos_token_id]
    with evaluation_mode(model):
        found = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            num_beams=1,
            max_new_tokens=min(_NEW_TOKENS, longest - 1),
            suppress_tokens=special,
            pad_token_id=start,
        )
    text = tokenizer.decode(found[0], skip_special_tokens=True)
    return " ".join(text.split()[:_WORDS])[:_LONGEST] or None
