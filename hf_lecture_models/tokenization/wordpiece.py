# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""WordPiece: words in the longest pieces of a vocabulary, as BERT reads them (slide Y:402).

Encoding takes the longest piece that begins the word, then again and again the longest that continues it; continuing
pieces begin with `##`. A word without such pieces, or of more than 100 characters, is one `[UNK]` (Devlin et al. 2019,
section 3, and its code). The vocabulary grows from characters by merging pairs of pieces; the pair that raises the
likelihood of the texts most comes first (Schuster & Nakajima 2012).

Deviations: the likelihood is that of a unigram model of the pieces, to first order; Schuster and Nakajima leave the
model open. A character that may occur within a word is a piece with and without `##`, so that no word of known
characters is unknown.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, KeysView
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from hf_lecture_models.io.progress import ProgressBar
from hf_lecture_models.tokenization.backend import LectureTokenizer, default_tokens
from hf_lecture_models.tokenization.bounds import plain_texts
from hf_lecture_models.tokenization.likelihood_merges import GAINS, learn_likelihood_merges
from hf_lecture_models.tokenization.merges import learn_merges
from hf_lecture_models.tokenization.splitting import (
    WordIndex,
    count_parts,
    count_words,
    flatten_ids,
    index_words,
    shorten,
)
from hf_lecture_models.tokenization.templates import Template

RULES = (*GAINS, "frequency")
# They begin the vocabulary, in this order.
_SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# BERT's normalization, if the files of a folder do not name another.
_NORMAL: dict[str, Any] = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}
# The normalizer removes these as control characters, although they are white space in Unicode.
_REMOVED = str.maketrans("", "", "\v\f\x85")
_PREFIX = "##"
_MAX_CHARACTERS = 100
# Marks the first character of a word while merges are learned; the normalizer removes it from texts.
_START = "\0"


class WordPieceTokenizer(LectureTokenizer):
    """Words in the longest pieces of a vocabulary, with BERT's normalization and template.

    >>> texts = ["low lower lowest", "new newer newest wide wider widest"]
    >>> tokenizer = WordPieceTokenizer.train(texts, vocab_size=33, progress=False)
    >>> tokenizer.tokenize("Lowest, newish lów")
    ['low', '##e', '##st', '[UNK]', '[UNK]', 'low']
    >>> tokenizer("low", "new").tokens()
    ['[CLS]', 'low', '[SEP]', 'new', '[SEP]']

    Training merges neighbours a and b into a piece; `rule` says which:

    - "total_likelihood": those of the greatest count(ab) log(N count(ab) / (count(a) count(b))), the growth of the
      log-likelihood of the texts. N is the number of all pieces.
    - "likelihood": those of the greatest count(ab) / (count(a) count(b)), the gain in one place alone, as tutorials
      have it. It prefers rare pairs that hold together, so raise `min_count` with it.
    - "frequency": those of the greatest count(ab). This is byte-pair encoding; so does `tokenizers.WordPieceTrainer`.

    With 8,000 tokens of WikiText-2's training part they need 1.18, 3.10 and 1.16 tokens a word.

    A text loses control characters, capitals and accents; punctuation marks and Chinese characters are words of their
    own. Offsets refer to the original text. Decoding joins pieces, with one space between words and none before a full
    stop; capitals and accents do not come back.

    `from_pretrained` loads a folder of BERT's, with a `tokenizer.json` or with a `vocab.txt` alone, and
    `from_vocab_file` loads a `vocab.txt`; the ids are those of `transformers.BertTokenizer`.
    """

    vocab_files_names = {"tokenizer_file": "tokenizer.json", "vocab_file": "vocab.txt"}
    model_class = WordPiece
    pre_tokenizer_class = BertPreTokenizer
    normalizer_class = BertNormalizer
    padding_side = "right"
    model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    default_template = "bert"
    chat_template = None
    saved_options = (*LectureTokenizer.saved_options, "model_input_names")

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int | None = None,
        *,
        min_count: int = 1,
        progress: bool = True,
        rule: str = "total_likelihood",
        do_lower_case: bool = True,
        strip_accents: bool | None = None,
        tokenize_chinese_chars: bool = True,
        **kwargs: Any,
    ) -> WordPieceTokenizer:
        """Grow a vocabulary from characters, until it is full or no pair of pieces is left.

        `LectureTokenizer.train` describes the other arguments, and the errors.

        Args:
            min_count: a rarer pair is not merged, and a rarer character is unknown.
            rule: "total_likelihood", "likelihood" or "frequency". Of equal pairs, the most frequent one is merged, then
                one that begins words, then the first by code points.
            do_lower_case: whether capitals become small letters.
            strip_accents: whether accents are removed; None: if capitals are.
            tokenize_chinese_chars: whether Chinese characters are words of their own.
        """
        cls._special_spellings(min_count, kwargs)
        if rule not in RULES:
            raise ValueError(f"rule is {rule!r}; it must be one of {', '.join(map(repr, RULES))}")
        special = list(_special_tokens(kwargs).values())
        backend = _backend(special, kwargs, do_lower_case, strip_accents, tokenize_chinese_chars)
        counts = _count_words(texts, backend, progress)
        characters = _frequent_characters(counts, min_count)
        symbols = [*special, *(form for character in characters for form in _forms(character, backend))]
        _check_size(vocab_size, symbols, special)
        pieces = _learn_pieces({w: n for w, n in counts.items() if characters >= set(w)}, rule, min_count)
        backend.model = _model(_until_full(symbols, pieces, vocab_size, progress), backend.model.unk_token)
        return cls(tokenizer_object=backend, **kwargs)

    @classmethod
    def from_vocab_file(
        cls,
        path: str | os.PathLike[str],
        do_lower_case: bool = True,
        strip_accents: bool | None = None,
        tokenize_chinese_chars: bool = True,
        **kwargs: Any,
    ) -> WordPieceTokenizer:
        """Load a `vocab.txt` of BERT's: one token on each line, whose number, from 0, is the id.

        Args:
            path: the file.
            do_lower_case, strip_accents, tokenize_chinese_chars: as for `train`, and as when the vocabulary was made;
                `do_lower_case=False` for BERT's cased vocabularies.
            kwargs: options of the tokenizer, among them other spellings of the special tokens; `mask_token=None` for
                a vocabulary without one.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not UTF-8, a line is empty or occurs twice, or a special token is missing.
        """
        normal = (do_lower_case, strip_accents, tokenize_chinese_chars)
        return cls(tokenizer_object=_backend(_read_tokens(path, kwargs), kwargs, *normal), **kwargs)

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Build the backend from the files of a folder; `from_pretrained` calls this."""
        path = kwargs.pop("vocab_file", None)
        if kwargs.get("tokenizer_file") is not None or path is None:
            return super().convert_to_native_format(trust_remote_code=trust_remote_code, **kwargs)
        normal: list[Any] = [kwargs.get(name, default) for name, default in _NORMAL.items()]
        return kwargs | {"tokenizer_object": _backend(_read_tokens(path, kwargs), kwargs, *normal)}

    @classmethod
    def _read_backend(cls, path: str) -> Tokenizer:
        backend = super()._read_backend(path)
        if backend.token_to_id(backend.model.unk_token) is None:
            raise ValueError(f"{path} has no {backend.model.unk_token}, its token for unknown words; save it with one")
        return backend

    @classmethod
    def _default_tokens(cls, backend: Tokenizer, template: str | Template | None) -> dict[str, str | None]:
        # Only tokens of the vocabulary: the model of a folder has no embedding of an added one.
        own = {name: token if backend.token_to_id(token) is not None else None for name, token in _SPECIAL.items()}
        return {**default_tokens(template), "bos_token": None, "eos_token": None, **own}

    def _kind(self) -> dict[str, Any]:
        normalizer: Any = self.backend_tokenizer.normalizer
        return {
            "do_lower_case": normalizer.lowercase,
            "strip_accents": normalizer.strip_accents,
            "tokenize_chinese_chars": normalizer.handle_chinese_chars,
        }

    def index_words(self, texts: list[str]) -> WordIndex:
        """Split `texts` at white space."""
        return _index_words(texts)

    def encode_words(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of words; control characters have none."""
        model = self.backend_tokenizer.model
        pieces = map(_splitter(self.backend_tokenizer), words)
        return flatten_ids([[token.id for piece in row for token in model.tokenize(piece)] for row in pieces])


def _special_tokens(options: dict[str, Any]) -> dict[str, str]:
    """Return the special tokens that begin the vocabulary, by their names."""
    named = {name: options.get(name, token) for name, token in _SPECIAL.items()}
    if named["unk_token"] is None:
        raise ValueError("WordPiece needs an unk_token for words that have no pieces; leave out unk_token=None")
    return {name: str(token) for name, token in named.items() if token is not None}


def _backend(
    tokens: Iterable[str], options: dict[str, Any], lowercase: bool, strip_accents: bool | None, split_chinese: bool
) -> Tokenizer:
    backend = Tokenizer(_model(tokens, _special_tokens(options)["unk_token"]))
    backend.normalizer = BertNormalizer(True, split_chinese, strip_accents, lowercase)  # which cleans the text
    backend.pre_tokenizer = BertPreTokenizer()
    backend.decoder = WordPieceDecoder(_PREFIX)
    return backend


def _model(tokens: Iterable[str], unk_token: str) -> WordPiece:
    vocabulary = {token: id_ for id_, token in enumerate(tokens)}
    return WordPiece(vocabulary, unk_token=unk_token, max_input_chars_per_word=_MAX_CHARACTERS)


def _splitter(backend: Tokenizer) -> Callable[[str], list[str]]:
    """Return the function that normalizes a word and splits it at punctuation."""
    normalize, split = backend.normalizer.normalize_str, backend.pre_tokenizer.pre_tokenize_str
    return lambda word: [piece for piece, _ in split(normalize(word))]


def _count_words(texts: Iterable[str], backend: Tokenizer, progress: bool) -> Counter[str]:
    """Count the words between white space and punctuation, without those that are too long for encoding."""
    counts = count_parts(count_words(plain_texts(texts), _index_words, progress), _splitter(backend))
    return Counter({word: count for word, count in counts.items() if len(word) <= _MAX_CHARACTERS})


def _index_words(texts: list[str]) -> WordIndex:
    return index_words([text.translate(_REMOVED) for text in texts])


def _frequent_characters(words: Counter[str], min_count: int) -> KeysView[str]:
    """Return the characters that occur often enough, by code point."""
    frequent = {character: n for character, n in sorted(count_parts(words).items()) if n >= min_count}
    if not frequent:
        raise ValueError("no words are left of the texts: give texts that are not blank, or lower min_count")
    return frequent.keys()


def _forms(character: str, backend: Tokenizer) -> list[str]:
    """Return the character with and without `##`; without alone if it is always a word of its own."""
    stands_alone = len(_splitter(backend)(f"a{character}")) > 1
    return [character] if stands_alone else [character, _PREFIX + character]


def _check_size(vocab_size: int | None, symbols: list[str], special: list[str]) -> None:
    if len(set(symbols)) < len(symbols):
        raise ValueError(f"the special tokens {', '.join(special)} must differ, and be no single characters")
    if vocab_size is not None and vocab_size < len(symbols):
        raise ValueError(
            f"vocab_size {vocab_size} is less than the {len(symbols)} characters and special tokens before any merge; "
            "raise it, or leave out rare characters by min_count"
        )


def _learn_pieces(counts: dict[str, int], rule: str, min_count: int) -> Iterator[str]:
    # Sorted, so that the order of the texts does not change the sums of likelihoods.
    words = {(_START + word[0], *word[1:]): counts[word] for word in sorted(counts)}
    if rule == "frequency":
        merges = learn_merges(words, min_count=min_count)
    else:
        merges = learn_likelihood_merges(words, rule, min_count)
    for left, right in merges:
        piece = left + right
        yield piece.removeprefix(_START) if piece.startswith(_START) else _PREFIX + piece


def _until_full(symbols: list[str], pieces: Iterator[str], size: int | None, progress: bool) -> list[str]:
    limit = None if size is None else size - len(symbols)
    return [*symbols, *ProgressBar(islice(pieces, limit), total=limit, desc="learning pieces", shown=progress)]


def _read_tokens(path: str | os.PathLike[str], options: dict[str, Any]) -> list[str]:
    """Return the lines of a vocab.txt; every special token that the options do not set to None must be among them."""
    try:
        tokens = Path(path).read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}); a vocab.txt is a text with one token per line") from None
    lines: dict[str, int] = {}
    for number, token in enumerate(tokens, 1):
        if not token or token in lines:
            fault = f"holds {shorten(token)} of line {lines[token]} again" if token else "is empty"
            raise ValueError(
                f"{path}, line {number} {fault}; each line must hold a token of its own, as ids count lines"
            )
        lines[token] = number
    for name, token in _special_tokens(options).items():
        if token not in lines:
            unless = "" if name == "unk_token" else f", or {name}=None where nothing needs one"
            raise ValueError(f"{path} has no line {token}; give the file's own spelling as {name}{unless}")
    return tokens
