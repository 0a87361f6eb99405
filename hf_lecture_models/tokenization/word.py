# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Words between white space, from a closed vocabulary (slide Y:310-325).

Unknown words follow one of two policies of the slides. With an `<unk>`, every word outside the vocabulary becomes that
one word. With none, such a word has no id, hence a sentence with it has probability 0: encoding raises
`UnknownWordError`, which evaluation and ranking turn into -inf.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from hf_lecture_models.tokenization.backend import SPECIAL_TOKENS, LectureTokenizer
from hf_lecture_models.tokenization.splitting import chunk_texts, code_words, shorten, split_words

# The Rust model must name an unknown token. A name that no text yields makes it fail at an unknown word; its default,
# "<unk>", would take in unknown words wherever the vocabulary merely contains this spelling.
_NO_UNKNOWN = "(none: unknown words raise)"


class UnknownWordError(ValueError):
    """A word is outside the vocabulary of a tokenizer that has no unknown token.

    Attributes:
        word: the word.
    """

    def __init__(self, word: str) -> None:
        super().__init__(
            f"the word {shorten(word)} is not in the vocabulary, and this tokenizer has no unknown token; "
            "train it with unk_token='<unk>', or leave such texts out"
        )
        self.word = word

    def __reduce__(self) -> tuple[type[UnknownWordError], tuple[str]]:
        # An exception is pickled with its message as argument; worker processes must hand on the word.
        return type(self), (self.word,)


class WordTokenizer(LectureTokenizer):
    """Words split at white space, from a closed vocabulary; see `train`.

    A literal `<unk>` in a text is the unknown word where there is one, else an ordinary word. Decoding joins the words
    by one space; `skip_special_tokens=True` leaves out `<s>`, `</s>`, `<pad>` and, as everywhere in transformers, the
    unknown token.

    With no unknown token, the generic class that loads the files where this package is absent refuses unknown words as
    well, but with a bare `Exception` that does not name the word. `convert_tokens_to_ids` looks up without encoding: it
    gives None for them.
    """

    model_class = WordLevel
    pre_tokenizer_class = WhitespaceSplit

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        min_count: int = 1,
        unk_token: str | None = "<unk>",
        progress: bool = True,
        **kwargs: Any,
    ) -> WordTokenizer:
        """Build the vocabulary from the words of `texts`, the most frequent first.

        Words of equal count stand in the order of their code points, so that the order of the texts does not matter.
        The spellings `<s>`, `</s>` and `<pad>` in the texts are left out: they cannot be words as well.

        >>> tokenizer = WordTokenizer.train(["the cat saw the dog", "a dog"], progress=False)
        >>> tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        ['<unk>', 'dog', 'the', 'a', 'cat', 'saw', '<s>', '</s>', '<pad>']
        >>> tokenizer("the dog barks").input_ids
        [6, 2, 1, 0]

        Args:
            texts: any iterable of str; a generator is consumed once.
            vocab_size: the largest number of tokens, the special ones included: `len(tokenizer)` is at most this.
            min_count: a word that occurs less often is left out.
            unk_token: the unknown word, which has id 0; None for a vocabulary without one.
            progress: whether to show a progress bar on a terminal.
            kwargs: options of the tokenizer, such as `add_eos_token=True` or `model_max_length=512`.

        Raises:
            TypeError: `texts` is one str or holds something that is not a str.
            ValueError: no word is left, or `vocab_size` or `min_count` is too small.
        """
        special = _spellings(kwargs) | ({unk_token} if unk_token else set())
        if min_count < 1:
            raise ValueError(f"min_count must be at least 1, not {min_count}")
        if vocab_size is not None and vocab_size <= len(special):
            raise ValueError(f"vocab_size {vocab_size} leaves no room for words beside {len(special)} special tokens")
        words = _frequent_words(_count_words(texts, progress), min_count, special)
        return cls.from_words(words[: vocab_size and vocab_size - len(special)], unk_token=unk_token, **kwargs)

    @classmethod
    def from_words(cls, words: Iterable[str], unk_token: str | None = "<unk>", **kwargs: Any) -> WordTokenizer:
        """Build a tokenizer from its words, in the order of their ids, after `unk_token` at id 0 if there is one.

        A word with white space inside may stand in the vocabulary (files from elsewhere hold such); no text yields it.

        >>> WordTokenizer.from_words(["a", "b"], unk_token=None)("b a").input_ids
        [2, 1, 0]

        Raises:
            ValueError: a word is empty, occurs twice, or is spelled like a special token.
        """
        special = _spellings(kwargs)
        vocabulary: dict[str, int] = {}
        for word in words if unk_token is None else (unk_token, *words):
            if not word or word in vocabulary or word in special or word == _NO_UNKNOWN:
                reason = "twice in the vocabulary" if word in vocabulary else "empty or a special token"
                raise ValueError(f"the word {shorten(word)} is {reason}; list each ordinary word once")
            vocabulary[word] = len(vocabulary)
        backend = Tokenizer(WordLevel(vocabulary, unk_token=_NO_UNKNOWN if unk_token is None else unk_token))
        backend.pre_tokenizer = WhitespaceSplit()
        return cls(tokenizer_object=backend, unk_token=unk_token, **kwargs)

    def word_ids_of(self, words: list[str]) -> np.ndarray:
        """Return the ids of `words`, each taken as plain text, never as a special token: (number of words,) int32.

        Raises:
            UnknownWordError: a word is unknown and there is no unknown token.
        """
        look_up, unknown = self.backend_tokenizer.model.token_to_id, self.unk_token_id
        ids = [unknown if (found := look_up(word)) is None else found for word in words]
        if unknown is None and None in ids:
            raise UnknownWordError(words[ids.index(None)])
        return np.array(ids, np.int32)

    def check_text(self, text: str) -> None:
        """Raise a ValueError that says why `text` cannot be encoded; return if it can."""
        super().check_text(text)
        for word in split_words(text) if self.unk_token is None else ():
            try:
                self.backend_tokenizer.encode(word, add_special_tokens=False)
            except Exception:
                raise UnknownWordError(word) from None


def _count_words(texts: Iterable[str], progress: bool) -> Counter[str]:
    counts: Counter[str] = Counter()
    for chunk in chunk_texts(texts, progress, desc="counting words"):
        coded = code_words(chunk)
        occurrences = np.bincount(coded.codes, minlength=len(coded.words)).tolist()
        counts.update(dict(zip(coded.words, occurrences, strict=True)))
    return counts


def _frequent_words(counts: Counter[str], min_count: int, special: set[str]) -> list[str]:
    words = [word for word, count in counts.items() if count >= min_count and word not in special]
    if not words:
        reason = f"every word is special or occurs less than {min_count} times" if counts else "they are empty"
        raise ValueError(f"no words are left of the texts: {reason}; give more text or lower min_count")
    # Two stable sorts: by count, and by code point among equal counts.
    return sorted(sorted(words), key=counts.__getitem__, reverse=True)


def _spellings(options: dict[str, Any]) -> set[str]:
    named = [options.get(name, SPECIAL_TOKENS.get(name)) for name in LectureTokenizer.SPECIAL_TOKENS_ATTRIBUTES]
    return {str(token) for token in (*named, *options.get("extra_special_tokens", ())) if token is not None}
