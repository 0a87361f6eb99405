# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Example texts for the fields of the demo page, in words that the loaded models know."""

from collections.abc import Sequence
from typing import Any

from hf_lecture_models.analysis.neighbours import shown
from hf_lecture_models.evaluation.encoding import unknown_tokens
from hf_lecture_models.lab.demo.answers import LoadedModel

LECTURE_SENTENCE = "Jack is now asleep, because he is tired."
SENTENCES = (
    LECTURE_SENTENCE,
    "the old man saw the sea",
    "it is the first of the two",
    "the keeper of the lighthouse reads a letter",
)
TRANSLATED = (LECTURE_SENTENCE, "A black dog runs on the beach.", "La petite maison est verte")
"""In the languages from which the recipes translate."""
GAP = "___"
_WORDS = 6
_MOST_PIECES = 2.0


def is_known(tokenizer: Any, text: str) -> bool:
    """Return whether the tokenizer has a token for each part of a text, and no token for unknown words in it.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.from_words(["the", "cat"])
    >>> is_known(tokenizer, "the cat"), is_known(tokenizer, "the dog")
    (True, False)

    Every word is known to a tokenizer of the characters of words:

    >>> from hf_lecture_models import ElmoTokenizer
    >>> is_known(ElmoTokenizer(), "the dog")
    True
    """
    try:
        ids = tokenizer(text)["input_ids"]
    except (TypeError, ValueError):  # a closed vocabulary refuses unknown words
        return False
    if ids and isinstance(ids[0], list):  # the characters of each word, as ELMo reads them
        return True
    return bool(ids) and not unknown_tokens(tokenizer).keys() & set(ids)


def known_text(models: Sequence[LoadedModel], candidates: Sequence[str] = SENTENCES) -> str:
    """Return the first candidate that all models know, else that the first one knows, else words of their vocabularies.

    >>> from hf_lecture_models import WordTokenizer
    >>> known_text([LoadedModel("m", None, WordTokenizer.from_words(["the", "cat", "sleeps"]))])
    'the cat sleeps'

    A tokenizer of pieces knows every text. Its words are those that it does not cut into many pieces, so a candidate
    with two pieces a word, or fewer, comes before the others:

    >>> from hf_lecture_models import BpeTokenizer
    >>> french = BpeTokenizer.train(["le chat noir dort"] * 9, vocab_size=300, form="bytes", progress=False)
    >>> known_text([LoadedModel("m", None, french)], ["the black cat sleeps", "le chat noir dort"])
    'le chat noir dort'
    """
    tokenizers = [loaded.tokenizer for loaded in models]
    for readers in (tokenizers, tokenizers[:1]):
        known = [text for text in candidates if all(is_known(tokenizer, text) for tokenizer in readers)]
        if known:
            whole = (text for text in known if all(_pieces(tokenizer, text) <= _MOST_PIECES for tokenizer in readers))
            return next(whole, known[0])
    return " ".join(known_words(models))


def _pieces(tokenizer: Any, text: str) -> float:
    """Return the tokens of a text by the number of its words."""
    return len(tokenizer(text, add_special_tokens=False)["input_ids"]) / len(text.split())


def known_words(models: Sequence[LoadedModel], most: int = _WORDS) -> list[str]:
    """Return words that all models know, one token each for the first model, in the order of its vocabulary.

    Models that share no word get words of the first one, which the page chooses at first.

    >>> from hf_lecture_models import WordTokenizer
    >>> known_words([LoadedModel("m", None, WordTokenizer.from_words(["the", "of", "cat"]))], 2)
    ['the', 'of']
    """
    words = list[str]()
    if not models:
        return words
    first, *others = (loaded.tokenizer for loaded in models)
    for token in sorted(first.get_vocab(), key=first.get_vocab().get):
        word = shown(token).strip()
        is_word = len(word) > 1 and word.isalpha()
        if is_word and word not in words and _is_one_token(first, word) and all(is_known(o, word) for o in others):
            words.append(word)
            if len(words) == most:
                break
    return words or (known_words(models[:1], most) if others else [])


def _is_one_token(tokenizer: Any, word: str) -> bool:
    """Return whether a word alone is one token that is not an unknown word's."""
    return len(tokenizer(word, add_special_tokens=False)["input_ids"]) == 1 and is_known(tokenizer, word)


def text_with_gap(models: Sequence[LoadedModel]) -> str:
    """Return an example with `GAP` in place of its last whole word but one.

    >>> from hf_lecture_models import WordTokenizer
    >>> text_with_gap([LoadedModel("m", None, WordTokenizer.from_words(["the", "cat", "sleeps"]))])
    'the ___ sleeps'
    """
    words = known_text(models).split()
    if words:
        words[max(0, len(words) - 2)] = GAP
    return " ".join(words) or GAP
