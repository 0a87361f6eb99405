# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Words between white space, from a closed vocabulary (slide Y:311-324)."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer, WhitespaceSplit

from hf_lecture_models.tokenization.backend import LectureTokenizer, special_spellings
from hf_lecture_models.tokenization.bounds import strip_bounds
from hf_lecture_models.tokenization.splitting import (
    WordIndex,
    count_parts,
    flatten_ids,
    index_chunks,
    index_words,
    shorten,
    split_words,
    splitter,
)
from hf_lecture_models.tokenization.unknown_words import (
    BYTE_TOKENS,
    CLASS_TOKENS,
    MARK,
    UnknownWordError,
    class_normalizer,
    is_class_normalizer,
    is_spelling_pre_tokenizer,
    spelling_backend,
)

UNKNOWN_WORDS = ("token", "classes", "spelled")

# With this unknown token, which cannot be a word, the Rust model fails at unknown words. With its default, "<unk>", it
# would replace them if the vocabulary has a word of this spelling.
NO_UNKNOWN = "(none: unknown words raise)"


class WordTokenizer(LectureTokenizer):
    """Words split at white space, from a closed vocabulary. The option `unknown_words` treats all other words.

    "token": they become the unknown word, `<unk>`; a tokenizer without one raises `UnknownWordError`.

    >>> texts = ["the cat saw the dog", "a dog"]
    >>> WordTokenizer.train(texts, progress=False).tokenize("the dog saw zebras")
    ['the', 'dog', 'saw', '<unk>']

    "classes": they become `<unk:number>`, `<unk:all-capitals>`, `<unk:capitalised>`, `<unk:hyphenated>` or
    `<unk:punctuation>` (see `unknown_words.unknown_class`), or the unknown word if they have no class.

    >>> WordTokenizer.train(texts, unknown_words="classes", progress=False).tokenize("the dog saw 12 zebras in Paris")
    ['the', 'dog', 'saw', '<unk:number>', '<unk>', '<unk>', '<unk:capitalised>']

    "spelled": they become letters, and bytes for letters that the texts did not have. The tokens of known words begin
    with a space, and a space alone begins a spelled word. Nothing is unknown, and every text comes back up to white
    space.

    >>> tokenizer = WordTokenizer.train(texts, unknown_words="spelled", progress=False)
    >>> tokenizer.tokenize("the coat")
    [' the', ' ', 'c', 'o', 'a', 't']
    >>> tokenizer.decode(tokenizer("the zoë").input_ids, skip_special_tokens=True)
    'the zoë'

    Two further options are for running text. `split_punctuation` makes each punctuation mark a word of its own, and
    `lower_case` makes capitals small letters; decoding undoes neither.

    >>> WordTokenizer.train(["A dog, a cat."], lower_case=True, split_punctuation=True, progress=False).tokenize("Dog.")
    ['dog', '.']

    A literal `<unk>` or class token in a text is that token if the tokenizer has it, else an ordinary word. Decoding
    joins the words by one space; `skip_special_tokens=True` leaves out `<s>`, `</s>`, `<pad>` and, as everywhere in
    transformers, the unknown token, but not the class tokens, which are words of the vocabulary.

    Offsets are exact for words and letters; the bytes of a character have its place, and the mark before a spelled word
    has the place of its first letter.

    Without an unknown token, `convert_tokens_to_ids` returns None for unknown words.
    """

    model_class = WordLevel
    pre_tokenizer_class = WhitespaceSplit

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        unk_token: str | None = "<unk>",
        unknown_words: str = "token",
        lower_case: bool = False,
        split_punctuation: bool = False,
        **kwargs: Any,
    ) -> WordTokenizer:
        """Build the vocabulary from the words of `texts`, the most frequent first, then by code point.

        Words of the texts that are spelled like special tokens, such as `<s>`, are left out.

        >>> tokenizer = WordTokenizer.train(["the cat saw the dog", "a dog"], progress=False)
        >>> tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        ['<unk>', 'dog', 'the', 'a', 'cat', 'saw', '<s>', '</s>', '<pad>']

        `LectureTokenizer.train` describes the other arguments, and the errors.

        Args:
            min_count: a word that occurs less often is left out; so is a letter, which is then spelled in bytes.
            unk_token: the unknown word, which has id 0; None for a vocabulary without one.
            unknown_words: "token", "classes" (with the ids 1 to 5) or "spelled" (then `unk_token` is not used).
            lower_case: whether capitals become small letters.
            split_punctuation: whether each punctuation mark is a word of its own. Both need `unknown_words="token"`.
        """
        special = cls._special_spellings(min_count, kwargs).union(_unknown_tokens(unk_token, unknown_words))
        if vocab_size is not None and vocab_size <= len(special):
            raise ValueError(f"vocab_size {vocab_size} leaves no room for words beside {len(special)} special tokens")
        kwargs |= {"lower_case": lower_case, "split_punctuation": split_punctuation}
        counts = _count_words(texts, progress, _plain_backend({}, unk_token, lower_case, split_punctuation))
        words, letters, others = _most_frequent(counts, min_count, special), None, len(special)
        if not words:
            reason = f"every word is special or occurs less than {min_count} times" if counts else "they are empty"
            raise ValueError(f"no words are left of the texts: {reason}; give more text or lower min_count")
        if unknown_words == "spelled":
            letters = _most_frequent(count_parts(counts), min_count, special)
            others += _count_letters(vocab_size, letters, len(special))
        return cls.from_words(words[: vocab_size and vocab_size - others], unk_token, unknown_words, letters, **kwargs)

    @classmethod
    def from_words(
        cls,
        words: Iterable[str],
        unk_token: str | None = "<unk>",
        unknown_words: str = "token",
        letters: Iterable[str] | None = None,
        *,
        lower_case: bool = False,
        split_punctuation: bool = False,
        **kwargs: Any,
    ) -> WordTokenizer:
        """Build a tokenizer from its words, in the order of their ids.

        `unk_token`, if there is one, has id 0; the classes follow it, then the words, then the letters. A word may have
        white space inside, as in files of other programs; no text has such a word.

        >>> WordTokenizer.from_words(["a", "b"], unk_token=None)("b a").input_ids
        [2, 1, 0]

        Args:
            words: the words, without the unknown word and the classes.
            unk_token, unknown_words, lower_case, split_punctuation: as for `train`. The last two change texts, not
                `words`.
            letters: the letters that spell words; None: those of the words. Other letters are spelled in bytes.
            kwargs: options of the tokenizer.

        Raises:
            ValueError: a word is empty, occurs twice, or is spelled like a special token; a letter is not one
                character, or white space; the options do not go together.
        """
        special = special_spellings(kwargs)
        vocabulary = _number_words([*_unknown_tokens(unk_token, unknown_words), *words], special)
        if unknown_words != "token" and (lower_case or split_punctuation):
            raise ValueError(f"set lower_case and split_punctuation to false for unknown_words={unknown_words!r}")
        if unknown_words == "spelled":
            backend = spelling_backend(vocabulary, _checked_letters(letters, vocabulary, special))
            return cls(tokenizer_object=backend, unk_token=None, **kwargs)
        if letters is not None:
            raise ValueError(f"letters are for unknown_words='spelled', not {unknown_words!r}; leave them out")
        backend = _plain_backend(vocabulary, unk_token, lower_case, split_punctuation)
        if unknown_words == "classes":
            backend.normalizer = class_normalizer(vocabulary)
        return cls(tokenizer_object=backend, unk_token=unk_token, **kwargs)

    @classmethod
    def _is_own_model(cls, model: Any) -> bool:
        spells = isinstance(model, BPE) and model.ignore_merges and model.byte_fallback
        return spells or super()._is_own_model(model)

    @property
    def unknown_words(self) -> str:
        """How unknown words are encoded: "token", "classes" or "spelled", as for `train`, or "refused"."""
        if isinstance(self.backend_tokenizer.model, BPE):
            return "spelled"
        normalizer = self.backend_tokenizer.normalizer
        if normalizer is not None and is_class_normalizer(normalizer):
            return "classes"
        return "refused" if self.unk_token is None else "token"

    def _kind(self) -> dict[str, Any]:
        policy = self.unknown_words
        kind = {"unk_token": self.unk_token, "unknown_words": "token" if policy == "refused" else policy}
        return kind | {"lower_case": self.lower_case, "split_punctuation": self.split_punctuation}

    @property
    def lower_case(self) -> bool:
        """True if capitals become small letters."""
        return isinstance(self.backend_tokenizer.normalizer, Lowercase)

    @property
    def split_punctuation(self) -> bool:
        """True if each punctuation mark is a word of its own."""
        return isinstance(self.backend_tokenizer.pre_tokenizer, BertPreTokenizer)

    def is_unmodified(self) -> bool:
        """Return whether the backend is unchanged."""
        backend, policy = self.backend_tokenizer, self.unknown_words
        if policy == "spelled":
            splits = self._is_own_model(backend.model) and is_spelling_pre_tokenizer(backend.pre_tokenizer)
        else:
            split = backend.pre_tokenizer
            splits = isinstance(backend.model, WordLevel) and isinstance(split, WhitespaceSplit | BertPreTokenizer)
        normal = backend.normalizer is None or (policy != "spelled" and self.lower_case)
        return splits and (policy == "classes" or normal) and self._adds_special_tokens_only()

    def has_one_token_per_word(self) -> bool:
        """Return whether a text has as many tokens as words, whatever it says.

        >>> WordTokenizer.from_words(["a"], unknown_words="spelled").has_one_token_per_word()
        False
        """
        return self.unknown_words != "spelled" and not self.split_punctuation and self.is_unmodified()

    def restrict(self, ids: Iterable[int]) -> WordTokenizer:
        """Return a tokenizer of the tokens with these ids, numbered from 0 in their order; the other words are unknown.

        >>> tokenizer = WordTokenizer.train(["the cat saw the dog", "a dog"], progress=False)
        >>> tokenizer.restrict([0, 1, 2, 6, 7, 8]).tokenize("the cat saw the dog")
        ['the', '<unk>', '<unk>', 'the', 'dog']

        Args:
            ids: increasing, with those of all special tokens.

        Raises:
            ValueError: the tokenizer has no `<unk>` for other words, was changed by hand, or has a special token that
                is not among the ids.
        """
        if self.unknown_words != "token" or not self.is_unmodified():
            raise ValueError("the tokenizer has no <unk> alone for unknown words, or was changed after its training")
        tokens = self.convert_ids_to_tokens(list(ids))
        special = {token.content for token in self.added_tokens_decoder.values()}
        restricted = self.with_words([token for token in tokens if token not in special])
        if restricted.convert_ids_to_tokens(list(range(len(restricted)))) != tokens:
            raise ValueError("the tokenizer has further special tokens, or numbers them as no WordTokenizer does")
        return restricted

    def with_words(self, words: Iterable[str]) -> WordTokenizer:
        """Return a tokenizer of other words, in their order, with the same options and special tokens.

        >>> WordTokenizer.from_words(["the", "cat"], lower_case=True).with_words(["dog"]).tokenize("The DOG")
        ['<unk>', 'dog']
        """
        return self.from_words(words, **self._own_options({}))

    def index_words(self, texts: list[str]) -> WordIndex:
        """Split `texts` into words."""
        return index_words(texts)

    def encode_words(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of words.

        >>> WordTokenizer.from_words(["cat"], unknown_words="spelled").encode_words(["cat", "tac"])
        (array([0, 1, 4, 2, 3], dtype=int32), array([1, 4]))

        Raises:
            UnknownWordError: a word is unknown, and the tokenizer has no unknown token.
        """
        if self.unknown_words == "spelled":
            return self._encode_spelled(words)
        if self.lower_case or self.split_punctuation:
            return self._encode_pieces(words)
        ids = [*map(self.backend_tokenizer.model.token_to_id, words)]
        if None in ids:
            unknown = iter(self._encode_unknown([word for word, id_ in zip(words, ids, strict=True) if id_ is None]))
            ids = [next(unknown) if id_ is None else id_ for id_ in ids]
        return np.array(ids, np.int32), np.ones(len(words), np.int64)

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the text of tokens from within a text: the space that begins a word of "spelled" stays.

        Programs that convert one token at a time, such as outlines, join the results.

        >>> tokenizer = WordTokenizer.from_words(["cat"], unknown_words="spelled")
        >>> "".join(tokenizer.convert_tokens_to_string([token]) for token in ["c", "a", "t", " cat"])
        'cat cat'
        """
        text = super().convert_tokens_to_string(tokens)
        begins_word = self.unknown_words == "spelled" and bool(tokens) and tokens[0].startswith(MARK)
        return MARK + text if begins_word else text

    def _encode_unknown(self, words: list[str]) -> list[int]:
        """Return the ids of words that are not in the vocabulary."""
        model, normalizer, unk = self.backend_tokenizer.model, self.backend_tokenizer.normalizer, self.unk_token_id
        if unk is None:
            raise UnknownWordError(words[0])
        if normalizer is None:
            return [unk] * len(words)
        # The normalizer decides on the class, because its version of Unicode may differ from Python's.
        found = map(model.token_to_id, normalizer.normalize_str("\n".join(words)).split("\n"))
        return [unk if id_ is None else id_ for id_ in found]

    def _encode_pieces(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        split, find = _piece_splitter(self.backend_tokenizer), self.backend_tokenizer.model.token_to_id
        rows = []
        for word in words:
            ids = [self.unk_token_id if (id_ := find(piece)) is None else id_ for piece in split(word)]
            if None in ids:
                raise UnknownWordError(word)
            rows.append(ids)
        return flatten_ids(rows)

    def _encode_spelled(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        vocabulary = self.backend_tokenizer.get_vocab(with_added_tokens=False)
        rows = []
        for word in words:
            tokens = [MARK + word]
            if MARK + word not in vocabulary:
                tokens = [MARK]
                for letter in word:
                    tokens += [letter] if letter in vocabulary else [BYTE_TOKENS[byte] for byte in letter.encode()]
            rows.append([vocabulary[token] for token in tokens])
        return flatten_ids(rows)

    def check_text(self, text: str) -> None:
        """Raise a ValueError with the reason if `text` cannot be encoded."""
        super().check_text(text)
        for word in split_words(text) if self.unk_token is None else ():
            try:
                self.backend_tokenizer.encode(word, add_special_tokens=False)
            except Exception:
                raise UnknownWordError(word) from None


def tokenizer_of_file(words: list[str], unk_token: str | None, path: str | os.PathLike[str]) -> WordTokenizer:
    """Return the tokenizer of the words of a file; warn of those that it never finds in a text."""
    lost = [word for word in words if split_words(word) != [word]]
    if lost:
        warnings.warn(
            f"{path}: {len(lost)} words hold white space such as {lost[0]!r}, where the tokenizer splits texts, "
            "so that it never finds them",
            stacklevel=3,
        )
    return WordTokenizer.from_words(words, unk_token=unk_token)


def _number_words(words: Iterable[str], special: set[str]) -> dict[str, int]:
    vocabulary: dict[str, int] = {}
    for word in words:
        if not word or word in vocabulary or word in special or word == NO_UNKNOWN:
            reason = "twice in the vocabulary" if word in vocabulary else "empty or a special token"
            raise ValueError(f"the word {shorten(word)} is {reason}; list each ordinary word once")
        vocabulary[word] = len(vocabulary)
    return vocabulary


def _count_words(texts: Iterable[str], progress: bool, backend: Tokenizer) -> Counter[str]:
    """Count the words into which the pipeline of `backend` splits texts."""
    counts: Counter[str] = Counter()
    for index in index_chunks(strip_bounds(texts), progress, desc="counting words"):
        counts.update(index.count())
    is_plain = backend.normalizer is None and isinstance(backend.pre_tokenizer, WhitespaceSplit)
    return counts if is_plain else count_parts(counts, _piece_splitter(backend))


def _plain_backend(
    vocabulary: dict[str, int], unk_token: str | None, lower_case: bool, split_punctuation: bool
) -> Tokenizer:
    backend = Tokenizer(WordLevel(vocabulary, unk_token=NO_UNKNOWN if unk_token is None else unk_token))
    backend.pre_tokenizer = BertPreTokenizer() if split_punctuation else WhitespaceSplit()
    if lower_case:
        backend.normalizer = Lowercase()
    return backend


def _piece_splitter(backend: Tokenizer) -> Callable[[str], list[str]]:
    """Return the function that splits a word between white space into words of the vocabulary; `<unk>` stays whole."""
    split, normalizer, unknown = splitter(backend.pre_tokenizer), backend.normalizer, backend.model.unk_token

    def pieces(word: str) -> list[str]:
        if word == unknown:
            return [word]
        return split(word if normalizer is None else normalizer.normalize_str(word))

    return pieces


def _unknown_tokens(unk_token: str | None, unknown_words: str) -> list[str]:
    if unknown_words not in UNKNOWN_WORDS:
        raise ValueError(f"unknown_words is {unknown_words!r}; it must be one of {', '.join(map(repr, UNKNOWN_WORDS))}")
    if unknown_words == "classes" and unk_token is None:
        raise ValueError("unknown_words='classes' needs an unk_token for the unknown words of no class")
    if unknown_words == "spelled" and unk_token not in (None, "<unk>"):
        raise ValueError(f"unknown_words='spelled' has no unknown word; leave out unk_token={unk_token!r}")
    if unknown_words == "spelled" or unk_token is None:
        return []
    return [unk_token, *CLASS_TOKENS] if unknown_words == "classes" else [unk_token]


def _checked_letters(letters: Iterable[str] | None, words: Iterable[str], special: set[str]) -> list[str]:
    if letters is None:
        return sorted({letter for word in words for letter in "".join(split_words(word))} - special)
    checked = list(dict.fromkeys(letters))
    for letter in checked:
        if len(letter) != 1 or not split_words(letter) or letter in special:
            raise ValueError(f"the letter {shorten(letter)} is not one character, or is white space or a special token")
    return checked


def _count_letters(vocab_size: int | None, letters: list[str], special: int) -> int:
    """Return the number of tokens that spell words; raise an error if `vocab_size` leaves no room for words."""
    tokens = len([MARK, *letters, *BYTE_TOKENS])
    beside = f"{special} special tokens, {len(letters)} letters, 256 bytes and a mark"
    if vocab_size is not None and vocab_size <= special + tokens:
        raise ValueError(
            f"vocab_size {vocab_size} leaves no room for words beside {beside}; raise it, or raise min_count for fewer "
            "letters"
        )
    return tokens


def _most_frequent(counts: Counter[str], min_count: int, special: set[str]) -> list[str]:
    """Return what occurs often enough, the most frequent first, then by code point."""
    found = [item for item, count in counts.items() if count >= min_count and item not in special]
    # Two stable sorts: by count, and by code point among equal counts.
    return sorted(sorted(found), key=counts.__getitem__, reverse=True)
